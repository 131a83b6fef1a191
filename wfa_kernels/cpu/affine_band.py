"""Gap-affine alignment by dynamic programming in a band, for penalties that are too large for wavefronts.

Wavefronts step from score to score and keep one row for each score back to x and o + e: with a mismatch of 4,000,001
that is gigabytes for two letters. Here time and memory do not depend on the size of the penalties.

Recurrence (Gotoh 1982; thesis Eq. 2), costs at v letters of the pattern on diagonal k = h - v:
    I[v][k] = min(M[v][k - 1] + o + e, I[v][k - 1] + e)
    D[v][k] = min(M[v - 1][k + 1] + o + e, D[v - 1][k + 1] + e)
    M[v][k] = min(M[v - 1][k] + (0 if the letters are equal, else x), I[v][k], D[v][k])
Only diagonals within ``band`` of those between 0 and the final one n - m are computed. A path that leaves them holds
two gaps of together at least abs(n - m) + 2 * (band + 1) letters; the band is widened until its score is below the
cost of those, which proves it (Ukkonen 1985).

Memory layout: one row of M and one of D, int64 indexed by diagonal; for the CIGAR one byte of origins per cell of the
proven band (as in affine_lanes), rows of equal length one after the other.

Limits: what does not fit the budget gets status OUT_OF_MEMORY.
"""

import numpy as np
from numba import njit

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cpu.affine_lanes import (
    EXTENDS_DELETION,
    EXTENDS_INSERTION,
    FROM_DELETION,
    FROM_INSERTION,
    FROM_MISMATCH,
    SOURCE,
)
from wfa_kernels.cpu.backtrace import append_run, reverse_runs, with_room
from wfa_kernels.cpu.helper import helper
from wfa_kernels.result import NO_SCORE, OK, OUT_OF_MEMORY

#: Cost of a cell that no path reaches; costs added to it do not overflow.
_FAR = 2**60
#: A band that leaves no diagonal out.
EVERYWHERE = 2**31
#: A band that is too narrow is at most doubled, and widened by this.
_MORE_DIAGONALS = 15


@njit(nogil=True, cache=True)
def align_in_band(
    pattern, pattern_offsets, text, text_offsets, start, stop, mismatch, gap_open, gap_extend, unit, traced, budget,
    given, reduction,
):  # fmt: skip
    """Align pairs start..stop; arguments and results as those of affine_wfa's kernel.

    given: the band of a heuristic, to stay in without proof, or EVERYWHERE. reduction: None; it is for wavefronts.
    """
    scores = np.full(stop - start, NO_SCORE, np.int32)
    status = np.full(stop - start, OUT_OF_MEMORY, np.uint8)
    lengths = np.zeros(stop - start, np.int64)
    cigars = np.empty(64 if traced else 0, np.uint32)
    filled = 0
    penalties = (mismatch, gap_open, gap_extend)
    for i in range(start, stop):
        p = pattern[pattern_offsets[i] : pattern_offsets[i + 1]]
        t = text[text_offsets[i] : text_offsets[i + 1]]
        score, band = _proven(p, t, penalties, budget, given)
        lowest, width = _diagonals(len(p), len(t), band)
        stride = min(width, len(t) + 1)
        if score < 0 or (traced and _row_bytes(width) + (len(p) + 1) * stride > budget):
            continue
        scores[i - start] = score * unit
        status[i - start] = OK
        if traced:
            origins = np.empty((len(p) + 1) * stride, np.uint8)
            _fill(p, t, penalties, lowest, width, origins)
            before = filled
            cigars, filled = _trace(p, t, lowest, width, origins, cigars, filled)
            lengths[i - start] = filled - before
    return scores, status, cigars[:filled].copy(), lengths


@helper
def _proven(p, t, penalties, budget, given):
    """(score, a band that holds an optimal alignment, or the given one); score -1 when the budget has no two rows."""
    band = 0 if given == EVERYWHERE else given
    while True:
        lowest, width = _diagonals(len(p), len(t), band)
        if _row_bytes(width) > budget:
            return -1, band
        score = _fill(p, t, penalties, lowest, width, np.empty(0, np.uint8))
        enough = _sufficient_band(score, len(t) - len(p), penalties)
        if given != EVERYWHERE:
            return score, given
        if enough <= band or width == len(p) + len(t) + 1:
            return score, min(band, enough)
        band = min(2 * band + _MORE_DIAGONALS, enough)


@helper
def _sufficient_band(score, final, penalties):
    """Smallest band such that every path which leaves it costs more than ``score``."""
    _, gap_open, gap_extend = penalties
    affordable = (score - 2 * gap_open) // gap_extend  # letters of two gaps
    return max(0, (affordable - abs(final)) // 2)


@helper
def _diagonals(m, n, band):
    """(lowest diagonal of a band, number of its diagonals)."""
    lowest, highest = max(-m, min(0, n - m) - band), min(n, max(0, n - m) + band)
    return lowest, highest - lowest + 1


@helper
def _row_bytes(width):
    return 2 * 8 * (width + 1)


@helper
def _fill(p, t, penalties, lowest, width, origins):
    """Score of the best path within the band; notes each cell's origins unless that array is empty."""
    mismatch, gap_open, gap_extend = penalties
    best, deletion = np.full(width + 1, _FAR), np.full(width + 1, _FAR)  # one diagonal more is never reached
    best[-lowest] = 0
    stride = min(width, len(t) + 1)
    for v in range(len(p) + 1):
        insertion = left = _FAR
        first = max(0, -v - lowest)
        for c in range(first, min(width, len(t) + 1 - v - lowest)):
            h = v + lowest + c
            origin = FROM_MISMATCH
            opened, longer = left + gap_open + gap_extend, insertion + gap_extend
            if longer < opened:
                origin |= EXTENDS_INSERTION
            insertion = min(opened, longer)
            here = best[c]  # of row v - 1; in row 0 that of the start
            if v > 0:
                opened, longer = best[c + 1] + gap_open + gap_extend, deletion[c + 1] + gap_extend
                if longer < opened:
                    origin |= EXTENDS_DELETION
                deletion[c] = min(opened, longer)
                here = here + (0 if h > 0 and p[v - 1] == t[h - 1] else mismatch)
            if insertion < here:
                here = insertion
                origin |= FROM_INSERTION
            if deletion[c] < here:
                here = deletion[c]
                origin = (origin & ~SOURCE) | FROM_DELETION
            best[c] = left = here
            if len(origins):
                origins[v * stride + c - first] = origin
    return best[len(t) - len(p) - lowest]


@helper
def _trace(p, t, lowest, width, origins, cigars, filled):
    """Append the CIGAR, walking from the end to the start; (the CIGARs, their number of elements)."""
    start = filled
    stride = min(width, len(t) + 1)
    v, h = len(p), len(t)
    matrix = MATCH
    while v > 0 or h > 0:
        origin = origins[v * stride + min(h, h - v - lowest)]
        if matrix == MATCH and origin & SOURCE != FROM_MISMATCH:
            matrix = INSERTION if origin & SOURCE == FROM_INSERTION else DELETION
        operation = matrix
        if matrix == INSERTION:
            h -= 1
            matrix = INSERTION if origin & EXTENDS_INSERTION else MATCH
        elif matrix == DELETION:
            v -= 1
            matrix = DELETION if origin & EXTENDS_DELETION else MATCH
        else:
            v -= 1
            h -= 1
            operation = MATCH if p[v] == t[h] else MISMATCH
        cigars = with_room(cigars, filled, 2)
        filled = append_run(cigars, start, filled, operation, 1)
    reverse_runs(cigars, start, filled)
    return cigars, filled
