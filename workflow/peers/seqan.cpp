/* SeqAn 2, from the headers of Debian's libseqan2-dev: global gap-affine alignment of one pair after the other.
   The score of opening a gap is that of its first letter; scores are negated costs. A column is 0 where both sides have
   a letter, 1 where only the text has, 2 where only the pattern has. */
#include <seqan/align.h>

#include "peers.h"

namespace {

typedef seqan::String<char> sequence_t;
typedef seqan::Score<int, seqan::Simple> scheme_t;
typedef seqan::Align<sequence_t, seqan::ArrayGaps> align_t;

struct aligner_t {
  scheme_t scheme;
  bool trace;
};

void assign(sequence_t &sequence, const uint8_t *letters, int length) {
  seqan::assign(sequence, seqan::toRange(reinterpret_cast<const char *>(letters),
                                         reinterpret_cast<const char *>(letters) + length));
}

uint8_t *write_columns(align_t &alignment, uint8_t *out) {
  auto pattern = seqan::begin(seqan::row(alignment, 0)), end = seqan::end(seqan::row(alignment, 0));
  auto text = seqan::begin(seqan::row(alignment, 1));
  for (; pattern != end; ++pattern, ++text) *out++ = seqan::isGap(pattern) ? 1 : seqan::isGap(text) ? 2 : 0;
  return out;
}

}  // namespace

void *peer_seqan_open(const peer_job *job) {
  scheme_t scheme(0, -job->mismatch, -job->gap_extend, -(job->gap_open + job->gap_extend));
  return new aligner_t{scheme, job->cigar != 0};
}

void peer_seqan_align(void *peer, const peer_batch *batch) {
  const aligner_t &aligner = *static_cast<aligner_t *>(peer);
  uint8_t *room = static_cast<uint8_t *>(batch->room), *out = room;
  sequence_t pattern, text;
  for (int64_t i = batch->start; i < batch->stop; i++) {
    const int64_t row = i - batch->start;
    assign(pattern, PATTERN(batch, i), PATTERN_LENGTH(batch, i));
    assign(text, TEXT(batch, i), TEXT_LENGTH(batch, i));
    batch->statuses[row] = PEER_OK;
    if (!aligner.trace) {
      batch->scores[row] = -seqan::globalAlignmentScore(pattern, text, aligner.scheme, seqan::AffineGaps());
      continue;
    }
    align_t alignment;
    seqan::resize(seqan::rows(alignment), 2);
    seqan::assignSource(seqan::row(alignment, 0), pattern);
    seqan::assignSource(seqan::row(alignment, 1), text);
    batch->scores[row] = -seqan::globalAlignment(alignment, aligner.scheme, seqan::AffineGaps());
    batch->room_offsets[row] = out - room;
    out = write_columns(alignment, out);
  }
  if (aligner.trace) batch->room_offsets[batch->stop - batch->start] = out - room;
}

void peer_seqan_close(void *peer) { delete static_cast<aligner_t *>(peer); }
