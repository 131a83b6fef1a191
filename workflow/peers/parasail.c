/* Parasail: the shared library of its wheel, loaded at run time. 16-bit kernels, again at 32 bits where they saturate;
   a pair whose longer side as one gap comes near 16 bits goes to the 32-bit kernels at once.
   Its open is the cost of a gap's first letter, its scores are negated costs, its D is a letter extra in the text. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers.h"

typedef struct result result_t;
typedef struct matrix matrix_t;
typedef struct {
  uint32_t *runs; /* length << 4 | operation, numbered as in BAM */
  int count, pattern_begin, text_begin;
} cigar_t;

typedef result_t *align_t(const char *, int, const char *, int, int, int, const matrix_t *);

typedef struct {
  void *library;
  align_t *narrow, *wide;
  int (*score)(const result_t *);
  int (*saturated)(const result_t *);
  void (*free_result)(result_t *);
  cigar_t *(*cigar)(result_t *, const char *, int, const char *, int, const matrix_t *, int, const char *);
  void (*free_cigar)(cigar_t *);
  void (*free_matrix)(matrix_t *);
  matrix_t *matrix;
  int trace, first, extend, longest;
} aligner_t;

static align_t *kernel(void *library, const peer_job *job, int bits) {
  char name[64];
  snprintf(name, sizeof name, "parasail_nw_%s%s_%d", job->cigar ? "trace_" : "", job->variant, bits);
  return (align_t *)dlsym(library, name);
}

void peer_parasail_close(void *peer) {
  aligner_t *aligner = peer;
  if (aligner->matrix) aligner->free_matrix(aligner->matrix);
  if (aligner->library) dlclose(aligner->library);
  free(aligner);
}

/* Fill the functions in; 0 where one is not there. */
static int load(aligner_t *a, const peer_job *job) {
  a->library = dlopen(job->library, RTLD_NOW | RTLD_LOCAL);
  if (!a->library) return 0;
  a->narrow = kernel(a->library, job, 16);
  a->wide = kernel(a->library, job, 32);
  a->score = dlsym(a->library, "parasail_result_get_score");
  a->saturated = dlsym(a->library, "parasail_result_is_saturated");
  a->free_result = dlsym(a->library, "parasail_result_free");
  a->cigar = dlsym(a->library, "parasail_result_get_cigar_extra");
  a->free_cigar = dlsym(a->library, "parasail_cigar_free");
  a->free_matrix = dlsym(a->library, "parasail_matrix_free");
  matrix_t *(*matrix)(const char *, int, int) = dlsym(a->library, "parasail_matrix_create_case_sensitive");
  if (!a->narrow || !a->wide || !a->score || !a->saturated || !a->free_result || !a->cigar || !a->free_cigar) return 0;
  if (!a->free_matrix || !matrix) return 0;
  a->matrix = matrix(job->letters, 0, -job->mismatch);
  return a->matrix != NULL;
}

void *peer_parasail_open(const peer_job *job) {
  aligner_t *aligner = calloc(1, sizeof *aligner);
  if (!aligner) return NULL;
  aligner->trace = job->cigar;
  aligner->first = job->gap_open + job->gap_extend;
  aligner->extend = job->gap_extend;
  aligner->longest = (INT16_MAX - job->mismatch - 2 * job->gap_open - job->gap_extend) / job->gap_extend;
  if (load(aligner, job)) return aligner;
  peer_parasail_close(aligner);
  return NULL;
}

void peer_parasail_align(void *peer, const peer_batch *batch) {
  const aligner_t *a = peer;
  uint32_t *room = batch->room;
  int64_t filled = 0;
  for (int64_t i = batch->start; i < batch->stop; i++) {
    const int64_t row = i - batch->start;
    const char *pattern = (const char *)PATTERN(batch, i), *text = (const char *)TEXT(batch, i);
    const int m = PATTERN_LENGTH(batch, i), n = TEXT_LENGTH(batch, i);
    align_t *align = m <= a->longest && n <= a->longest ? a->narrow : a->wide;
    result_t *result = align(pattern, m, text, n, a->first, a->extend, a->matrix);
    if (a->saturated(result)) {
      a->free_result(result);
      result = a->wide(pattern, m, text, n, a->first, a->extend, a->matrix);
    }
    batch->statuses[row] = PEER_OK;
    batch->scores[row] = -a->score(result);
    if (a->trace) {
      cigar_t *cigar = a->cigar(result, pattern, m, text, n, a->matrix, 1, NULL);
      batch->room_offsets[row] = filled;
      memcpy(room + filled, cigar->runs, cigar->count * sizeof *room);
      filled += cigar->count;
      a->free_cigar(cigar);
    }
    a->free_result(result);
  }
  if (a->trace) batch->room_offsets[batch->stop - batch->start] = filled;
}
