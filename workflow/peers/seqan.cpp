/* SeqAn 2, from the headers of Debian's libseqan2-dev: global gap-affine alignment. Scores come from its batch interface,
   a pair in each 16-bit lane, where every cell of the pair's matrix fits; alignments one pair after the other.
   The score of opening a gap is that of its first letter; scores are negated costs. A column is 0 where both sides have
   a letter, 1 where only the text has, 2 where only the pattern has. */
#define SEQAN_SIMD_ENABLED
#include <seqan/align.h>
#include <seqan/align_parallel.h>

#include "peers.h"

namespace {

typedef seqan::String<char> sequence_t;
typedef seqan::Score<int, seqan::Simple> scheme_t;
typedef seqan::Align<sequence_t, seqan::ArrayGaps> align_t;

struct aligner_t {
  scheme_t scheme;
  seqan::Score<int16_t, seqan::Simple> lanes;
  bool trace;
};

/* No cell costs as much: half the range of 16 bits, below which SeqAn keeps its infinity. */
const int64_t LANE_COSTS = 1 << 14;

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

bool fits_lane(const scheme_t &scheme, int64_t m, int64_t n) {
  const int64_t gaps = -2 * int64_t(seqan::scoreGapOpen(scheme)) - (m + n) * seqan::scoreGapExtend(scheme);
  return gaps - seqan::scoreMismatch(scheme) < LANE_COSTS;
}

void align_scores(const aligner_t &aligner, const peer_batch *batch) {
  seqan::StringSet<sequence_t> patterns, texts;
  std::vector<int64_t> rows;
  sequence_t pattern, text;
  for (int64_t i = batch->start; i < batch->stop; i++) {
    const int64_t row = i - batch->start;
    assign(pattern, PATTERN(batch, i), PATTERN_LENGTH(batch, i));
    assign(text, TEXT(batch, i), TEXT_LENGTH(batch, i));
    batch->statuses[row] = PEER_OK;
    if (fits_lane(aligner.scheme, PATTERN_LENGTH(batch, i), TEXT_LENGTH(batch, i))) {
      seqan::appendValue(patterns, pattern);
      seqan::appendValue(texts, text);
      rows.push_back(row);
    } else {
      batch->scores[row] = -seqan::globalAlignmentScore(pattern, text, aligner.scheme, seqan::AffineGaps());
    }
  }
  if (rows.empty()) return;
  const seqan::ExecutionPolicy<seqan::Serial, seqan::Vectorial> policy;
  auto scores = seqan::globalAlignmentScore(policy, patterns, texts, aligner.lanes, seqan::AlignConfig<>(),
                                            seqan::AffineGaps());
  for (size_t at = 0; at < rows.size(); at++) batch->scores[rows[at]] = -int32_t(scores[at]);
}

void align_traces(const aligner_t &aligner, const peer_batch *batch) {
  uint8_t *room = static_cast<uint8_t *>(batch->room), *out = room;
  sequence_t pattern, text;
  for (int64_t i = batch->start; i < batch->stop; i++) {
    const int64_t row = i - batch->start;
    assign(pattern, PATTERN(batch, i), PATTERN_LENGTH(batch, i));
    assign(text, TEXT(batch, i), TEXT_LENGTH(batch, i));
    align_t alignment;
    seqan::resize(seqan::rows(alignment), 2);
    seqan::assignSource(seqan::row(alignment, 0), pattern);
    seqan::assignSource(seqan::row(alignment, 1), text);
    batch->statuses[row] = PEER_OK;
    batch->scores[row] = -seqan::globalAlignment(alignment, aligner.scheme, seqan::AffineGaps());
    batch->room_offsets[row] = out - room;
    out = write_columns(alignment, out);
  }
  batch->room_offsets[batch->stop - batch->start] = out - room;
}

}  // namespace

void *peer_seqan_open(const peer_job *job) {
  const int mismatch = -job->mismatch, extend = -job->gap_extend, open = -(job->gap_open + job->gap_extend);
  return new aligner_t{{0, mismatch, extend, open}, {0, int16_t(mismatch), int16_t(extend), int16_t(open)}, job->cigar != 0};
}

void peer_seqan_align(void *peer, const peer_batch *batch) {
  const aligner_t &aligner = *static_cast<aligner_t *>(peer);
  aligner.trace ? align_traces(aligner, batch) : align_scores(aligner, batch);
}

void peer_seqan_close(void *peer) { delete static_cast<aligner_t *>(peer); }
