/* What is not timed: which letters a batch holds, and alignments in a library's own form into packed CIGARs of ours:
   length << 4 | operation, in the letters = X I D, runs merged. */
#include "peers.h"

enum { MATCH = 7, MISMATCH = 8, INSERTION = 1 };

static void mark(const uint8_t *letters, int64_t count, uint8_t *seen) {
  for (int64_t at = 0; at < count; at++) seen[letters[at]] = 1;
}

/* seen: 256 bytes, of which those that stand in the batch's sequences are set to 1. */
void peer_letters(const peer_batch *batch, uint8_t *seen) {
  const int64_t *patterns = batch->pattern_offsets, *texts = batch->text_offsets;
  mark(PATTERN(batch, batch->start), patterns[batch->stop] - patterns[batch->start], seen);
  mark(TEXT(batch, batch->start), texts[batch->stop] - texts[batch->start], seen);
}

/* batch: as it was aligned. runs: whether room holds uint32 runs, else bytes, a column each. operations: ours of each
   of the library's codes, 0 for one that stands for both match and mismatch. packed: elements of all pairs, or NULL to
   count only. offsets: one more than pairs. Returns the count of elements. */
int64_t peer_pack(const peer_batch *batch, int runs, const uint8_t *operations, uint32_t *packed, int64_t *offsets) {
  int64_t filled = 0;
  for (int64_t i = batch->start; i < batch->stop; i++) {
    const int64_t row = i - batch->start;
    const uint8_t *pattern = PATTERN(batch, i), *text = TEXT(batch, i);
    uint32_t operation = 0, length = 0;
    offsets[row] = filled;
    for (int64_t at = batch->room_offsets[row]; at < batch->room_offsets[row + 1]; at++) {
      const uint32_t code = runs ? ((const uint32_t *)batch->room)[at] : 1u << 4;
      const uint32_t told = operations[runs ? code & 15 : ((const uint8_t *)batch->room)[at]];
      for (uint32_t column = 0; column < code >> 4; column++) {
        const uint32_t found = told ? told : *pattern == *text ? MATCH : MISMATCH;
        pattern += found != INSERTION;
        text += found >= MATCH || found == INSERTION;
        if (found != operation && length) {
          if (packed) packed[filled] = length << 4 | operation;
          filled++;
          length = 0;
        }
        operation = found;
        length++;
      }
    }
    if (length) {
      if (packed) packed[filled] = length << 4 | operation;
      filled++;
    }
  }
  offsets[batch->stop - batch->start] = filled;
  return filled;
}
