/* What every peer offers: open, align a whole batch in one call, close. workflow/aligners/_native.py mirrors the structs.

   A peer compares bytes literally. Neither side of a pair is empty: the caller answers such pairs. */
#ifndef WAVEBENCH_PEERS_H
#define WAVEBENCH_PEERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEER_OK = 0, PEER_OUT_OF_MEMORY = 2, PEER_UNSUPPORTED = 3 }; /* as wfa_kernels/result.py */

/* What is asked of a peer. Penalties are costs; a gap of n letters costs gap_open + n * gap_extend. */
typedef struct {
  const char *variant;  /* which of the library's kernels */
  const char *library;  /* path of a shared library to load, or NULL */
  const char *letters;  /* every byte that the batch may hold, zero-ended, or NULL where the peer does not ask */
  int64_t memory_bytes; /* of one pair, where the library takes a bound */
  int32_t edit;         /* 1: edit distance, whatever the penalties */
  int32_t mismatch, gap_open, gap_extend;
  int32_t cigar;        /* 1: alignments, 0: scores only */
} peer_job;

/* Pairs start..stop of a batch: pair i's pattern is pattern[pattern_offsets[i]..pattern_offsets[i + 1]].
   scores, statuses: one a pair, from the first pair of the call. The alignments in the library's own form stand one
   after the other in room, whose elements are bytes (a letter a column) or uint32 (length << 4 | operation); room for
   pattern + text elements a pair is there. room_offsets: one more than pairs, in elements. */
typedef struct {
  const uint8_t *pattern, *text;
  const int64_t *pattern_offsets, *text_offsets;
  int64_t start, stop;
  int32_t *scores;
  uint8_t *statuses;
  void *room;
  int64_t *room_offsets;
} peer_batch;

#define PATTERN(b, i) ((b)->pattern + (b)->pattern_offsets[i])
#define PATTERN_LENGTH(b, i) ((int)((b)->pattern_offsets[(i) + 1] - (b)->pattern_offsets[i]))
#define TEXT(b, i) ((b)->text + (b)->text_offsets[i])
#define TEXT_LENGTH(b, i) ((int)((b)->text_offsets[(i) + 1] - (b)->text_offsets[i]))

/* open returns NULL when memory or the shared library is missing. */
#define PEER_FUNCTIONS(name)                                  \
  void *name##_open(const peer_job *job);                     \
  void name##_align(void *peer, const peer_batch *batch);     \
  void name##_close(void *peer);

PEER_FUNCTIONS(peer_wfa2lib)
PEER_FUNCTIONS(peer_edlib)
PEER_FUNCTIONS(peer_ksw2)
PEER_FUNCTIONS(peer_parasail)
PEER_FUNCTIONS(peer_seqan)

#ifdef __cplusplus
}
#endif
#endif
