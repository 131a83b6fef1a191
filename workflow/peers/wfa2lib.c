/* WFA2-lib: end to end, no heuristic, one thread. Unidirectional keeps every wavefront where alignments are asked;
   biwfa is its ultralow memory mode, in score-only jobs the strongest peer for long reads.
   Its I is a letter extra in the text, as ours; gap-affine scores are negated costs, edit distances are not. */
#include <stdlib.h>
#include <string.h>

#include "peers.h"
#include "wavefront/wavefront_align.h"

void *peer_wfa2lib_open(const peer_job *job) {
  wavefront_aligner_attr_t attributes = wavefront_aligner_attr_default;
  attributes.distance_metric = job->edit ? edit : gap_affine;
  attributes.affine_penalties.match = 0;
  attributes.affine_penalties.mismatch = job->mismatch;
  attributes.affine_penalties.gap_opening = job->gap_open;
  attributes.affine_penalties.gap_extension = job->gap_extend;
  attributes.alignment_scope = job->cigar ? compute_alignment : compute_score;
  attributes.alignment_form.span = alignment_end2end;
  attributes.heuristic.strategy = wf_heuristic_none;
  attributes.memory_mode = strcmp(job->variant, "biwfa") ? wavefront_memory_high : wavefront_memory_ultralow;
  wavefront_aligner_t *aligner = wavefront_aligner_new(&attributes);
  if (aligner) wavefront_aligner_set_max_memory(aligner, job->memory_bytes, job->memory_bytes);
  return aligner;
}

void peer_wfa2lib_align(void *peer, const peer_batch *batch) {
  wavefront_aligner_t *aligner = peer;
  const int trace = aligner->alignment_scope == compute_alignment;
  char *room = batch->room;
  int64_t filled = 0;
  for (int64_t i = batch->start; i < batch->stop; i++) {
    const int64_t row = i - batch->start;
    if (trace) batch->room_offsets[row] = filled;
    const int status = wavefront_align(aligner, (const char *)PATTERN(batch, i), PATTERN_LENGTH(batch, i),
                                       (const char *)TEXT(batch, i), TEXT_LENGTH(batch, i));
    if (status != WF_STATUS_ALG_COMPLETED) {
      batch->statuses[row] = status == WF_STATUS_OOM ? PEER_OUT_OF_MEMORY : PEER_UNSUPPORTED;
      batch->scores[row] = -1;
      continue;
    }
    batch->statuses[row] = PEER_OK;
    batch->scores[row] = abs(aligner->cigar->score);
    if (trace) {
      const cigar_t *cigar = aligner->cigar;
      const int columns = cigar->end_offset - cigar->begin_offset;
      memcpy(room + filled, cigar->operations + cigar->begin_offset, columns);
      filled += columns;
    }
  }
  if (trace) batch->room_offsets[batch->stop - batch->start] = filled;
}

void peer_wfa2lib_close(void *peer) { wavefront_aligner_delete(peer); }
