"""Gap-affine wavefront alignment (WFA) on the CPU: score, and CIGAR by backtrace.

Problem: the cheapest global alignment of pattern and text where a mismatch costs x and a gap of n letters o + n * e.

Recurrence (thesis Eq. 3; Marco-Sola et al. 2021, Algorithm 1), offsets h on diagonal k = h - v for score s:
    I[s][k] = max(M[s - o - e][k - 1], I[s - e][k - 1]) + 1
    D[s][k] = max(M[s - o - e][k + 1], D[s - e][k + 1])
    M[s][k] = LCP-extended min(max(M[s - x][k] + 1, I[s][k], D[s][k]), n, m + k)
The clamp stands in for "no such cell": a diagonal that was already followed to the border of the matrix cannot be part
of a cheaper path, so what grows out of a clamped cell never decides a score. Penalties are divided by their greatest
common divisor, so that scores no path can have are not visited.

Memory layout: int32 offsets in rings of rows, one row per score (M: max(x, o + e) + 1 rows, I and D: gap_rows each), a
row indexed by diagonal around ``centre``. Outside the range [lo, hi] of its score a row holds UNREACHED. For the
CIGAR one byte of origins per cell is kept (bit 0: I extends, bit 1: D extends, bits 2-3: M comes from a mismatch, I or
D) and traced back; the matches are found again going forward (thesis Algorithm 6).

Where rows grow wide, the score of a path near the straight way (an alignment, so an upper bound) is found first: then
diagonals that are too far from the final one to be closed by gaps within the bound are left alone, which is exact.

Heuristics (see wfa_kernels.heuristics): a band bounds the ranges; a reduction cuts them. With one nothing is clamped
but unreached, as a clamped cell might live on where the cheaper one on the border was cut.

Limits: lengths below 2**29; penalties above 256 after the division, which make many scores and large rings, go to
affine_band; what does not fit the budget gets status OUT_OF_MEMORY.
"""

from math import gcd

import numpy as np
from numba import njit

from wfa_kernels.cpu.affine_band import EVERYWHERE, align_in_band
from wfa_kernels.cpu.affine_lanes import UNREACHED, next_lanes, next_lanes_traced
from wfa_kernels.cpu.affine_memory import (
    EMPTY_HI,
    EMPTY_LO,
    PADDING,
    back,
    bytes_of,
    centre_of,
    clear,
    fresh_memory,
    gap_rows,
    load_pair,
    narrows,
    reduce_rows,
    set_range,
    widened,
    with_origins,
)
from wfa_kernels.cpu.affine_trace import followed, rebuild, trace
from wfa_kernels.cpu.backtrace import read_only_arrays, splits, with_room
from wfa_kernels.cpu.helper import helper
from wfa_kernels.cpu.intrinsics import count_trailing_zeros, load_u64, peek, poke
from wfa_kernels.cpu.lanes import LANES
from wfa_kernels.heuristics import StaticBand, WavefrontReduction
from wfa_kernels.result import NO_SCORE, OK, OUT_OF_MEMORY

#: Why _advance stops.
_AT_END, _ROWS_FULL, _ORIGINS_FULL, _WIDE = 0, 1, 2, 3
#: Diagonals of a row from which on an upper bound of the score is worth its time (measured).
_WORTH_A_BOUND = 1024
#: Diagonals beyond the straight way that the search for an upper bound follows.
_BAND = 48
_NEVER = 2**62
#: Largest penalty (after division) for wavefronts. Above, most scores are visited for little: at 5 % error and 150 to
#: 10,000 bp the band takes a quarter of the time for (437, 612, 205); for (41, 60, 23) it is up to 4 times as slow.
_LARGEST = 256


def align_range(pairs, penalties, scope, start, stop, budget_bytes, heuristic=None):
    """Align pairs start..stop of a batch, single-threaded.

    pairs: PairBatch. penalties: object with ``triple`` (mismatch, gap_open, gap_extend). scope: "score" or "cigar".
    budget_bytes: bound of the working memory (rows, origins and sequence copies; the CIGARs given back are not in it).
    heuristic: None, a StaticBand or a WavefrontReduction.
    Returns (scores int32[k], status uint8[k], packed CIGARs uint32[m], elements per pair int64[k]), k = stop - start;
    the last two are None for scope "score". A pair that does not fit has status OUT_OF_MEMORY and NO_SCORE.
    """
    mismatch, gap_open, gap_extend = penalties.triple
    if heuristic is None:
        # Past the cost of an insertion and a deletion no optimal alignment holds a mismatch; rings grow with its cost.
        mismatch = min(mismatch, 2 * (gap_open + gap_extend) + 1)
    unit = gcd(mismatch, gap_open, gap_extend)
    scaled = (mismatch // unit, gap_open // unit, gap_extend // unit)
    traced = scope == "cigar"
    band = heuristic.width if isinstance(heuristic, StaticBand) else EVERYWHERE
    reduction = (heuristic.min_length, heuristic.max_distance) if isinstance(heuristic, WavefrontReduction) else None
    large = max(scaled[0], scaled[1] + scaled[2]) > _LARGEST and reduction is None
    scores, status, cigars, lengths = (align_in_band if large else _align_range)(
        *read_only_arrays(pairs), start, stop, *scaled, unit, traced, budget_bytes, band, reduction
    )
    return (scores, status, cigars, lengths) if traced else (scores, status, None, None)


@njit(nogil=True, cache=True)
def _align_range(
    pattern, pattern_offsets, text, text_offsets, start, stop, mismatch, gap_open, gap_extend, unit, traced, budget,
    band, reduction,
):  # fmt: skip
    scores = np.full(stop - start, NO_SCORE, np.int32)
    status = np.full(stop - start, OUT_OF_MEMORY, np.uint8)
    lengths = np.zeros(stop - start, np.int64)
    cigars = np.empty(64 if traced else 0, np.uint32)
    filled = 0
    penalties = (mismatch, gap_open, gap_extend)
    rows = max(mismatch, gap_open + gap_extend) + 1 + 2 * gap_rows(penalties, reduction)
    memory = fresh_memory()
    i = start
    while i < stop:
        pair = (pattern_offsets[i], pattern_offsets[i + 1], text_offsets[i], text_offsets[i + 1])
        inherited = bytes_of(memory) > 0
        # The only call: Numba would keep the buffers of a try that failed alive through a second one further down.
        score, memory = _wavefronts(pattern, text, pair, penalties, traced, rows, budget, memory, band, reduction)
        if score < 0:  # an earlier pair's buffers may be what is in the way: once more without them
            memory = fresh_memory()
            i += 0 if inherited else 1
            continue
        scores[i - start] = score * unit
        status[i - start] = OK
        if traced:
            before = filled
            m, n = pair[1] - pair[0], pair[3] - pair[2]
            operations = np.empty(min(score, m + n), np.uint8)
            count = trace(memory, n - m, score, penalties, operations)
            cigars = with_room(cigars, filled, 2 * count + 1 + splits(m + n))
            filled = rebuild(memory[0], m, n, operations, count, cigars, filled)
            lengths[i - start] = filled - before
        i += 1
    return scores, status, cigars[:filled].copy(), lengths


@helper
def _wavefronts(pattern, text, pair, penalties, traced, rows, budget, memory, band, reduction):
    """Compute wavefronts until one reaches the end, growing the buffers on the way.

    pair: (start, end) of the pattern and (start, end) of the text. band: how far outside diagonals 0 to n - m.
    reduction: None, or (least length, most distance). Returns (score, memory), score -1 when the budget
    does not suffice. The rows in ``memory`` are left unreached.
    """
    m, n = pair[1] - pair[0], pair[3] - pair[2]
    held = bytes_of(memory)  # the caller's reference keeps an earlier pair's buffers alive when they are replaced
    memory, fits = load_pair(pattern, text, pair, rows, budget, memory)
    if not fits:
        return -1, memory
    sequences, rings, ranges, origins, bases = memory
    rings[centre_of(len(rings) // rows)] = followed(sequences, m + PADDING, 0, 0, min(m, n))
    ranges[0] = ranges[rows] = 0
    state = (0, 0, 0, 0)
    lowest, highest = max(-m, min(0, n - m) - band), min(n, max(0, n - m) + band)
    if reduction is None:
        limits = (lowest, highest, _plain_cost(m, n, penalties), _WORTH_A_BOUND)
    else:  # what is reduced keeps to no bound
        limits = (lowest, highest, _NEVER, _NEVER)
    while True:
        stopped, state = _advance(memory, m, n, rows, penalties, traced, limits, reduction, state)
        if stopped == _AT_END:
            break
        if stopped == _WIDE:
            bound = _upper_bound(sequences, m, n, penalties, rows, budget - bytes_of(memory), min(band, _BAND))
            limits = (lowest, highest, min(bound, limits[2]), _NEVER)
            continue
        if stopped == _ROWS_FULL:
            wider = widened(rings, rows, max(m, n), budget - bytes_of(memory))
            fits = len(wider) > len(rings)
            memory = (sequences, wider, ranges, origins, bases)
        else:
            memory, fits = with_origins(memory, m + n + 1, rows, state, budget - held)
        if not fits:
            return -1, memory
        sequences, rings, ranges, origins, bases = memory
    for row in range(rows):
        clear(rings, ranges, rows, row, EMPTY_LO, EMPTY_HI)
        ranges[row] = EMPTY_LO
        ranges[rows + row] = EMPTY_HI
    fits = not traced or bytes_of(memory) + min(state[0], m + n) <= budget  # the operations of the backtrace
    return (state[0] if fits else -1), memory


@helper
def _plain_cost(m, n, penalties):
    """Cost of replacing letter by letter with one gap for the rest, an upper bound that keeps unlike lengths cheap."""
    mismatch, gap_open, gap_extend = penalties
    rest = abs(n - m)
    return min(m, n) * mismatch + (gap_open + rest * gap_extend if rest else 0)


@helper
def _upper_bound(sequences, m, n, penalties, rows, spare_bytes, band):
    """Score of the best path within ``band`` of diagonals 0 to n - m; _NEVER where the bytes left do not allow it.

    With it the exact wavefronts narrow again after half the score: half of the cells.
    """
    lowest, highest = max(-m, min(0, n - m) - band), min(n, max(0, n - m) + band)
    centre = max(-lowest, highest) + 1
    stride = 2 * centre + 1 + LANES
    if rows * (4 * stride + 16) > spare_bytes:
        return _NEVER
    rings = np.full(rows * stride, UNREACHED, np.int32)
    ranges = np.full(2 * rows, EMPTY_LO, np.int64)
    ranges[rows:] = EMPTY_HI
    rings[centre] = followed(sequences, m + PADDING, 0, 0, min(m, n))
    ranges[0] = ranges[rows] = 0
    limits = (lowest, highest, _plain_cost(m, n, penalties), _NEVER)
    memory = (sequences, rings, ranges, *fresh_memory()[3:])
    _, state = _advance(memory, m, n, rows, penalties, False, limits, None, (0, 0, 0, 0))
    return state[0]


@helper
def _advance(memory, m, n, rows, penalties, traced, limits, reduction, state):
    """Wavefronts from ``state`` on to the end, a full buffer or the first wide row: (which of these, state).

    limits: (lowest and highest diagonal to follow, upper bound of the score, what counts as wide). A path on diagonal k
    has at least abs(k - final) gap letters ahead of it: where that exceeds the bound, the diagonal is left alone.
    state: (score, its row of M, its row of I, origins filled). The buffers are fixed in here, because Numba counts
    references at every turn of a loop that may replace an array: 200 ns a score.
    """
    mismatch, gap_open, gap_extend = penalties
    sequences, rings, ranges, origins, bases = memory
    lowest, highest, bound, wide = limits
    score, slot, gap_slot, filled = state
    gap_ring = gap_rows(penalties, reduction)
    ring = rows - 2 * gap_ring
    stride = len(rings) // rows
    centre = centre_of(stride)
    final = n - m
    while not (
        peek(ranges, slot) <= final <= peek(ranges, rows + slot) and peek(rings, slot * stride + centre + final) == n
    ):
        state = (score, slot, gap_slot, filled)
        score += 1
        slot = slot + 1 if slot + 1 < ring else 0
        gap_slot = gap_slot + 1 if gap_slot + 1 < gap_ring else 0
        replaced = back(slot, mismatch, ring)
        opened = back(slot, gap_open + gap_extend, ring)
        insertion = ring + gap_slot
        deletion = insertion + gap_ring
        extended = ring + back(gap_slot, gap_extend, gap_ring)
        ended = ring + back(gap_slot, gap_ring - 1, gap_ring)
        ahead = max(0, bound - score) // gap_extend
        gap_lo = max(min(peek(ranges, opened), peek(ranges, extended)) - 1, lowest, final - ahead)
        gap_hi = min(max(peek(ranges, rows + opened), peek(ranges, rows + extended)) + 1, highest, final + ahead)
        if gap_lo > gap_hi:
            gap_lo, gap_hi = EMPTY_LO, EMPTY_HI
        lo = max(min(peek(ranges, replaced), gap_lo), final - ahead)
        hi = min(max(peek(ranges, rows + replaced), gap_hi), final + ahead)
        if lo > hi:
            lo, hi = EMPTY_LO, EMPTY_HI
        elif hi - lo > wide:
            return _WIDE, state
        if lo <= hi and max(-lo, hi) >= centre:
            return _ROWS_FULL, state
        if traced and lo <= hi and (filled + hi - lo + LANES >= len(origins) or score >= len(bases)):
            return _ORIGINS_FULL, state
        if narrows(ranges, rows, slot, lo, hi):
            clear(rings, ranges, rows, slot, lo, hi)
        if narrows(ranges, rows, insertion, gap_lo, gap_hi):
            clear(rings, ranges, rows, insertion, gap_lo, gap_hi)
            clear(rings, ranges, rows, deletion, gap_lo, gap_hi)
        set_range(ranges, rows, slot, lo, hi)
        set_range(ranges, rows, insertion, gap_lo, gap_hi)
        set_range(ranges, rows, deletion, gap_lo, gap_hi)
        if lo > hi:
            continue
        if traced:
            poke(bases, score, filled - lo)
        written, read = (slot, insertion, deletion), (replaced, opened, extended, ended)
        zeros = _diagonal_0(written, read, gap_ring, stride, centre)
        for k in range(lo, hi + 1, LANES):
            if traced:
                going = next_lanes_traced(
                    rings, sequences, zeros, k, hi, m, n, m + PADDING, reduction, origins, filled + k - lo
                )
            else:
                going = next_lanes(rings, sequences, zeros, k, hi, m, n, m + PADDING, reduction)
            while going != 0:  # followed, written out: a call counts references to the sequences, 10 ns a cell
                diagonal = k + count_trailing_zeros(going)
                going &= going - np.uint64(1)
                h = np.int64(peek(rings, zeros[0] + diagonal))
                limit = min(n, m + diagonal)
                while h < limit:
                    differing = load_u64(sequences, h - diagonal) ^ load_u64(sequences, m + PADDING + h)
                    if differing != 0:
                        h += count_trailing_zeros(differing) >> 3
                        break
                    h += 8
                poke(rings, zeros[0] + diagonal, np.int32(min(h, limit)))
        filled += hi - lo + 1
        if reduction is not None and hi - lo + 1 >= reduction[0]:
            reduce_rows(rings, ranges, rows, written, m, n, reduction)
    return _AT_END, (score, slot, gap_slot, filled)


@helper
def _diagonal_0(written, read, gap_ring, stride, centre):
    """Where diagonal 0 lies in each row that next_lanes takes. read: rows of M[s-x], M[s-o-e], I[s-e], I[s-o-e]."""
    replaced, opened, extended, ended = read
    return (
        written[0] * stride + centre,
        written[1] * stride + centre,
        written[2] * stride + centre,
        replaced * stride + centre,
        opened * stride + centre,
        extended * stride + centre,
        (extended + gap_ring) * stride + centre,
        ended * stride + centre,
        (ended + gap_ring) * stride + centre,
    )
