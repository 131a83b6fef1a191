/* KSW2 (minimap2's): ksw_extz2_sse over the whole matrix, no band, no drop, the exact score at the far corner.
   It is told that 1 is its wildcard letter, so that it compares all other bytes as they are. The pattern is its target:
   its I is a letter extra in the text, as ours; its M stands for match and mismatch. Scores are negated costs. */
#include <stdlib.h>
#include <string.h>

#include "kalloc.h"
#include "ksw2.h"
#include "peers.h"

enum { LETTERS = 2 };

typedef struct {
  void *pool;
  int8_t scores[LETTERS * LETTERS];
  int8_t gap_open, gap_extend;
  int flags;
  ksw_extz_t answer;
} aligner_t;

void *peer_ksw2_open(const peer_job *job) {
  aligner_t *aligner = calloc(1, sizeof *aligner);
  if (!aligner) return NULL;
  aligner->pool = km_init();
  memset(aligner->scores, -job->mismatch, sizeof aligner->scores);
  aligner->scores[0] = 0;
  aligner->gap_open = job->gap_open;
  aligner->gap_extend = job->gap_extend;
  /* The maximum inside the matrix is not asked for; following one path to the corner, its score is still exact. */
  aligner->flags = KSW_EZ_APPROX_MAX | (job->cigar ? 0 : KSW_EZ_SCORE_ONLY);
  return aligner;
}

void peer_ksw2_align(void *peer, const peer_batch *batch) {
  aligner_t *aligner = peer;
  ksw_extz_t *answer = &aligner->answer;
  const int trace = !(aligner->flags & KSW_EZ_SCORE_ONLY);
  uint32_t *room = batch->room;
  int64_t filled = 0;
  for (int64_t i = batch->start; i < batch->stop; i++) {
    const int64_t row = i - batch->start;
    ksw_extz2_sse(aligner->pool, TEXT_LENGTH(batch, i), TEXT(batch, i), PATTERN_LENGTH(batch, i), PATTERN(batch, i),
                  LETTERS, aligner->scores, aligner->gap_open, aligner->gap_extend, -1, -1, 0, aligner->flags, answer);
    batch->statuses[row] = PEER_OK;
    batch->scores[row] = -answer->score;
    if (trace) {
      batch->room_offsets[row] = filled;
      memcpy(room + filled, answer->cigar, answer->n_cigar * sizeof *room);
      filled += answer->n_cigar;
    }
  }
  if (trace) batch->room_offsets[batch->stop - batch->start] = filled;
}

void peer_ksw2_close(void *peer) {
  aligner_t *aligner = peer;
  km_destroy(aligner->pool);
  free(aligner);
}
