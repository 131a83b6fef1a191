"""Pairs that one kernel leaves to another: the answers of both together, in the order of the batch."""

import numpy as np
from numba import njit

from wfa_kernels.cpu.backtrace import copy_run, subset
from wfa_kernels.result import NO_SCORE, OK


def with_rest(rest, pairs, penalties, scope, start, budget_bytes, scores, runs=None, lengths=None, first=None):
    """The answers of a range of pairs from ``start`` on, those with NO_SCORE in ``scores`` aligned by ``rest``.

    rest: a kernel with align_range, whose other arguments these are. scores: int32[k]. For CIGARs: runs, uint32[...],
    packed elements; lengths, int64[k], how many each pair has there; first, int64[k], where they begin, None if the
    pairs follow one another. These arrays may be changed. Returns what align_range does.
    """
    rows = np.flatnonzero(scores == NO_SCORE)
    if 0 < len(rows) == len(scores):
        return rest.align_range(pairs, penalties, scope, start, start + len(scores), budget_bytes)
    status = np.full(len(scores), OK, np.uint8)
    if scope == "cigar" and first is None and len(rows):
        first = np.cumsum(lengths) - lengths
    if len(rows):
        others = rest.align_range(subset(pairs, rows + start), penalties, scope, 0, len(rows), budget_bytes)
        scores[rows], status[rows] = others[:2]
        if scope == "cigar":
            first[rows], lengths[rows] = len(runs) + np.cumsum(others[3]) - others[3], others[3]
            runs = np.concatenate([runs, others[2]])
    if scope != "cigar":
        return scores, status, None, None
    return scores, status, runs if first is None else _in_order(runs, first, lengths), lengths


@njit(nogil=True, cache=True)
def _in_order(runs, first, lengths):
    """The CIGARs one after the other."""
    cigars = np.empty(lengths.sum(), np.uint32)
    filled = 0
    for i in range(len(lengths)):
        copy_run(runs, first[i], cigars, filled, lengths[i])
        filled += lengths[i]
    return cigars
