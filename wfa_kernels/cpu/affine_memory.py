"""Working memory of the gap-affine WFA: grown as a call needs it, within its budget, and reused from pair to pair.

A memory is the tuple (sequences uint8, rings int32, ranges int64, origins uint8, bases int64):
sequences: pattern from 0 on, then text, each with PADDING bytes behind it. rings: ``rows`` rows of equal length, a row
indexed by diagonal around its centre; outside its range a row holds UNREACHED. ranges: lowest diagonal of each row,
then highest diagonal of each. origins: one byte per cell, score after score. bases: where diagonal 0 of a score's row
would be in origins.
"""

import numpy as np

from wfa_kernels.cpu.affine_lanes import UNREACHED
from wfa_kernels.cpu.backtrace import apart, copy_run, grown
from wfa_kernels.cpu.helper import helper
from wfa_kernels.cpu.intrinsics import peek, poke
from wfa_kernels.cpu.lanes import LANES

#: Range of a row without cells: min and max with a real range give that one; one step wider it is still empty.
EMPTY_LO, EMPTY_HI = 2**30, -(2**30)
#: Bytes that may be read past the end of a sequence by an 8-byte compare.
PADDING = 8
#: Diagonals of a row to begin with; it doubles as wavefronts widen.
_FIRST_STRIDE = 2 * 24 + 1 + LANES


@helper
def fresh_memory():
    """(sequence copies, rows, row ranges, origins, index in origins of diagonal 0 of each score's row)."""
    nothing = np.empty(0, np.uint8)
    return nothing, np.empty(0, np.int32), np.empty(0, np.int64), nothing, np.empty(0, np.int64)


@helper
def bytes_of(memory):
    sequences, rings, ranges, origins, bases = memory
    return len(sequences) + 4 * len(rings) + 8 * len(ranges) + len(origins) + 8 * len(bases)


@helper
def load_pair(pattern, text, pair, rows, budget, memory):
    """Copy a pair where 8-byte reads past its end are safe, and see that rows exist; (memory, whether it fits)."""
    sequences, rings, ranges, origins, bases = memory
    m, n = pair[1] - pair[0], pair[3] - pair[2]
    needed = m + n + 2 * PADDING
    fresh_rows = 0 if len(rings) else rows * (4 * _FIRST_STRIDE + 16)
    if bytes_of(memory) + fresh_rows + max(0, needed - len(sequences)) > budget:
        return memory, False
    if needed > len(sequences):
        sequences = np.zeros(needed, np.uint8)
    if fresh_rows:
        rings = np.full(rows * _FIRST_STRIDE, UNREACHED, np.int32)
        ranges = np.full(2 * rows, EMPTY_LO, np.int64)
        ranges[rows:] = EMPTY_HI
    copy_run(pattern, pair[0], sequences, 0, m)
    copy_run(text, pair[2], sequences, m + PADDING, n)
    return (sequences, rings, ranges, origins, bases), True


@helper
def with_origins(memory, width, rows, state, budget):
    """Room for the origins of one more score, at most ``width`` of them; (memory, whether there is any)."""
    sequences, rings, ranges, origins, bases = memory
    score, _, _, filled = state
    needed = filled + min(width, 2 * centre_of(len(rings) // rows)) + LANES
    shared = budget - bytes_of(memory) + len(origins) + 8 * len(bases)  # what the two may take; 1/16 stays for rows
    origins = grown(origins, filled, needed, shared // 16 * 13)
    bases = grown(bases, min(score + 1, len(bases)), score + 2, shared // 64)
    fits = needed <= len(origins) and score + 1 < len(bases)
    return (sequences, rings, ranges, origins, bases), fits


@helper
def centre_of(stride):
    """Index of diagonal 0 in a row; diagonals 1 - centre to centre - 1 fit, with room for a vector behind them."""
    return (stride - LANES) // 2


@helper
def widened(rings, rows, reach, spare_bytes):
    """Rows of about twice the width; the same ones if the bytes left do not allow it."""
    stride = len(rings) // rows
    wider = 2 * min(2 * centre_of(stride), reach + 1) + 1 + LANES
    if 4 * rows * wider > spare_bytes:
        return rings
    larger = apart(rows * wider, rings)
    larger[:] = UNREACHED
    shift = centre_of(wider) - centre_of(stride)
    for row in range(rows):
        copy_run(rings, row * stride, larger, row * wider + shift, stride)
    return larger


@helper
def set_range(ranges, rows, row, lo, hi):
    poke(ranges, row, lo)
    poke(ranges, rows + row, hi)


@helper
def narrows(ranges, rows, row, lo, hi):
    """Whether the previous score of this row reached diagonals outside [lo, hi]."""
    return peek(ranges, row) < lo or peek(ranges, rows + row) > hi


@helper
def clear(rings, ranges, rows, row, lo, hi):
    """Make what the previous score of this row had outside [lo, hi] unreached."""
    stride = len(rings) // rows
    zero = row * stride + centre_of(stride)
    old_lo, old_hi = ranges[row], ranges[rows + row]
    for k in range(old_lo, min(old_hi, lo - 1) + 1):
        rings[zero + k] = UNREACHED
    for k in range(max(old_lo, hi + 1), old_hi + 1):
        rings[zero + k] = UNREACHED


@helper
def reduce_rows(rings, ranges, rows, cut, m, n, reduction):
    """Cut the rows of M, I and D of a score, ``cut``, to the diagonals that a reduction keeps.

    reduction: (least length, most distance), see wfa_kernels.heuristics.WavefrontReduction.
    """
    stride = len(rings) // rows
    zero, m_lo, m_hi = cut[0] * stride + centre_of(stride), ranges[cut[0]], ranges[rows + cut[0]]
    lowest, highest = _kept(rings, zero, m_lo, m_hi, m, n, reduction)
    for row in cut:
        lo, hi = max(lowest, ranges[row]), min(highest, ranges[rows + row])
        clear(rings, ranges, rows, row, lo, hi)
        set_range(ranges, rows, row, lo, hi)


@helper
def _kept(rings, zero, lo, hi, m, n, reduction):
    """The lowest and the highest diagonal that are kept of lo..hi of the row of M around ``zero``."""
    least_length, most_distance = reduction
    nearest, lowest, highest = EMPTY_LO, EMPTY_LO, EMPTY_HI
    for k in range(lo, hi + 1):
        h = np.int64(peek(rings, zero + k))
        if h >= 0:
            nearest = min(nearest, max(m - (h - k), n - h))
            lowest, highest = min(lowest, k), max(highest, k)
    if highest - lowest + 1 < least_length:
        return lo, hi
    near_lo, near_hi = n - m, n - m
    for k in range(lowest, highest + 1):
        h = np.int64(peek(rings, zero + k))
        if h >= 0 and max(m - (h - k), n - h) <= nearest + most_distance:
            near_lo, near_hi = min(near_lo, k), max(near_hi, k)
    return max(lo, near_lo), min(hi, near_hi)


@helper
def back(slot, distance, ring):
    """Row of a ring ``distance`` scores before row ``slot``."""
    return slot - distance if slot >= distance else slot - distance + ring


@helper
def gap_rows(penalties, reduction):
    """Rows of I, and of D: back to s - e; with a reduction to s - o - e, as no gap opens where one has just ended."""
    _, gap_open, gap_extend = penalties
    return gap_extend + 1 if reduction is None else gap_open + gap_extend + 1
