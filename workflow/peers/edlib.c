/* Edlib: global edit distance, or its path; the library chooses its band itself. A column of its path is 0 for a
   match, 1 for a letter extra in the pattern, 2 for one extra in the text, 3 for a mismatch. */
#include <stdlib.h>
#include <string.h>

#include "edlib/include/edlib.h"
#include "peers.h"

void *peer_edlib_open(const peer_job *job) {
  EdlibAlignConfig *config = malloc(sizeof *config);
  if (config) {
    *config = edlibNewAlignConfig(-1, EDLIB_MODE_NW, job->cigar ? EDLIB_TASK_PATH : EDLIB_TASK_DISTANCE, NULL, 0);
  }
  return config;
}

void peer_edlib_align(void *peer, const peer_batch *batch) {
  const EdlibAlignConfig *config = peer;
  const int trace = config->task == EDLIB_TASK_PATH;
  char *room = batch->room;
  int64_t filled = 0;
  for (int64_t i = batch->start; i < batch->stop; i++) {
    const int64_t row = i - batch->start;
    if (trace) batch->room_offsets[row] = filled;
    EdlibAlignResult result = edlibAlign((const char *)PATTERN(batch, i), PATTERN_LENGTH(batch, i),
                                         (const char *)TEXT(batch, i), TEXT_LENGTH(batch, i), *config);
    const int done = result.status == EDLIB_STATUS_OK;
    batch->statuses[row] = done ? PEER_OK : PEER_UNSUPPORTED;
    batch->scores[row] = done ? result.editDistance : -1;
    if (trace && done) {
      memcpy(room + filled, result.alignment, result.alignmentLength);
      filled += result.alignmentLength;
    }
    edlibFreeAlignResult(result);
  }
  if (trace) batch->room_offsets[batch->stop - batch->start] = filled;
}

void peer_edlib_close(void *peer) { free(peer); }
