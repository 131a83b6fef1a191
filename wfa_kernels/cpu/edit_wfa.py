"""Edit distance by the wavefront algorithm (WFA) on one CPU thread.

Problem: global alignment of a pattern of m and a text of n bytes; mismatch, insertion and deletion cost 1 each.

Recurrence (thesis Eq. 4; Algorithms 3 to 5): W[e, k] is the furthest offset h on diagonal k = h - v that e edits reach.

    d       = max( W[e-1, k+1]        deletion
                   W[e-1, k  ] + 1    mismatch
                   W[e-1, k-1] + 1 )  insertion
    W[e, k] = d + length of the common prefix of pattern[d-k:] and text[d:]

The distance is the first e with W[e, n-m] = n. Diagonals stay within [-m, n] and offsets within lim = min(n, m+k).
Diagonals with e + |k - (n-m)| > max(m, n) are left out as well: an alignment through them costs more than replacing
and deleting everything does. All three origins of a cell that is kept are kept, so this too is exact; it makes pairs
of very different lengths linear. Past _WORTH_A_BOUND errors the same is done with a lower bound: the errors of an
alignment that follows the diagonals that get furthest.

Clamping to lim is exact for the distance: the clamped offset is a point that e edits do reach (e-1 edits reached it
already), and no point of the matrix lies beyond it. It is exact for the path too: a clamped step starts at a point
with h = n or v = m, x diagonals away from n-m, that e-1 edits reach. From there x more edits, all deletions or all
insertions, end the alignment, so the distance is at most e-1+x. A path through the clamped cell, again at distance x
or more from the final diagonal, would cost at least e+x. So the path traced back holds no clamped step.

Memory: two int32 rows of m+n+24 offsets. A narrow wavefront is updated in place, its two neighbours still needed in
registers; a wide one goes from row to row, 16 diagonals at a time (edit_lanes). For the last pairs of the batch a copy,
padded so that loads of a block stay inside, while all others are read where they are; for CIGARs 2 bits per cell, 32
cells per uint64: came it by an insertion, in the low half, or by a deletion, in the high one. Every wavefront begins a
new word: e*e/4 bytes and a little more for distance e. The steps are traced back from (e, n-m) to (0, 0) and the
matches put back between them by walking forward with the extend operator (thesis Algorithm 6).

Extend compares 64 bytes at a time, whatever they are, by a vector instruction or two: on the path of clean reads that
is mostly the one time, without the branch at the end of a loop of 8 bytes a time (docs/notes/cpu-kernels.md).
Packing A, C, G, T to 2 bits and comparing 29 bases at a time (thesis section 3.2.2) does not pay on a CPU: off the
path nearly every extension ends within the first 8 bytes, and the shifts and the packing made it 1.2 to 4 times slower
from 150 bp to 1 Mbp, at 0.05 to 10 % error.

Limits: lengths below 2**31 - 8 together; a pair whose rows or backtrace exceed the budget gets OUT_OF_MEMORY.
"""

import numpy as np
from numba import int64, njit, uint64

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cpu.backtrace import append_run, copy_run, grown, read_only_arrays, splits, with_room
from wfa_kernels.cpu.edit_lanes import DELETION_AT, GOING_AT, INSERTION_AT, next_lanes
from wfa_kernels.cpu.helper import compiled, helper
from wfa_kernels.cpu.intrinsics import (
    BLOCK,
    address_of,
    count_trailing_zeros,
    differing_letters,
    load_i32,
    peek,
    poke,
    store_i32,
    store_u64,
)
from wfa_kernels.cpu.lanes import LANES
from wfa_kernels.result import NO_SCORE, OK, OUT_OF_MEMORY

#: Offset of a cell no path reaches; far enough from the int32 limit that steps cannot overflow it.
UNREACHED = -(1 << 29)
NO_BOUND = 2**62
#: Errors from which on an upper bound of the distance is worth its time: with it wavefronts narrow again after half the
#: distance, half of the cells. Diagonals on either side of the furthest one in the search for it, and its row's length.
_WORTH_A_BOUND, _NEAR, _RING = 40, 5, 32
#: Wavefronts of more diagonals than this are taken by vectors.
_WIDE = LANES
#: Pad after each sequence, in bytes, so that a block stays inside that begins one letter behind its end, as an offset
#: may before it is bounded.
PAD = BLOCK + 1
#: Bit of a step's deletion flag above that of its insertion flag, in a word of the backtrace.
_DELETIONS = 32
#: Steps of a path.
STEP_MISMATCH, STEP_INSERTION, STEP_DELETION = 0, 1, 2


def align_range(pairs, penalties, scope, start, stop, budget_bytes):
    """Align pairs start..stop of a batch by edit distance.

    pairs: PairBatch. penalties: Edit() (the only ones this algorithm knows). scope: "score" or "cigar".
    budget_bytes: bound of the working memory, not counting the answers.
    Returns (scores int32[k], status uint8[k], cigars uint32[m] or None, lengths int64[k] or None), k = stop - start,
    lengths[i] the number of packed CIGAR elements of pair start + i.
    """
    arrays = read_only_arrays(pairs)
    if scope == "score":
        scores, status, _, _ = _score_range(*arrays, start, stop, budget_bytes)
        return scores, status, None, None
    return _cigar_range(*arrays, start, stop, budget_bytes)


@helper
def diagonals(e, m, n, bound=NO_BOUND):
    """(lo, hi), inclusive: the diagonals of wavefront e that an optimal alignment can use.

    bound: an upper bound of the distance that is used past _WORTH_A_BOUND.
    """
    final = n - m
    slack = (min(bound, max(m, n)) if e > _WORTH_A_BOUND else max(m, n)) - e
    return max(-min(e, m), final - slack), min(min(e, n), final + slack)


@helper
def _extend(letters, text_at, k, h, lim):
    """Offset reached by matches from h on diagonal k; letters: address of the pattern, the text text_at bytes on.

    The first block is compared even where nothing is left: PAD makes that safe, and a branch less is time won.
    """
    while True:
        different = differing_letters(letters + h - k, letters + text_at + h)
        if different != 0:
            return min(h + count_trailing_zeros(different), lim)
        h += BLOCK
        if h >= lim:
            return lim


@helper
def _upper_bound(letters, text_at, m, n):
    """Errors of an alignment: the best one that stays near the diagonal that has got furthest.

    As that gets further with every error, no more than m + n are tried. Diagonal k lies at row[k & (_RING - 1)].
    """
    row = np.full(_RING, UNREACHED, np.int32)
    final = n - m
    poke(row, 0, _extend(letters, text_at, 0, 0, min(m, n)))
    e, lo, hi, ahead = 0, 0, 0, 0
    while not (lo <= final <= hi and peek(row, final & (_RING - 1)) == n):
        for beyond in (1, 2):
            poke(row, (lo - beyond) & (_RING - 1), UNREACHED)
            poke(row, (hi + beyond) & (_RING - 1), UNREACHED)
        e += 1
        lo, hi = max(lo - 1, -m, ahead - _NEAR), min(hi + 1, n, ahead + _NEAR)
        left, here = int64(peek(row, (lo - 1) & (_RING - 1))), int64(peek(row, lo & (_RING - 1)))
        furthest = 0  # the most letters of both, then k - lo
        for k in range(lo, hi + 1):
            right = int64(peek(row, (k + 1) & (_RING - 1)))
            offset = max(max(left, here) + 1, right)
            left, here = here, right
            offset = _extend(letters, text_at, k, offset, min(n, m + k))
            poke(row, k & (_RING - 1), offset)
            furthest = max(furthest, (2 * offset - k) * _RING + k - lo)
        ahead = lo + (furthest & (_RING - 1))
    return e


@helper
def _advance_wide(old, new, letters, text_at, lo, hi, m, n, steps):
    """A wavefront from row to row. All are int64; old, new: addresses of diagonal 0 in the rows; steps: address of the
    words for its steps, or 0.

    Addresses, since a call counts references to an array.
    """
    for k in range(lo, hi + 1, 2 * LANES):
        low = next_lanes(old, new, k, hi, m, n, letters, letters + text_at)
        high = uint64(0)
        if k + LANES <= hi:
            high = next_lanes(old, new, k + LANES, hi, m, n, letters, letters + text_at)
        going = _joined(low, high, GOING_AT)
        while going != 0:
            diagonal = k + count_trailing_zeros(going)
            going &= going - uint64(1)
            at = new + 4 * diagonal
            store_i32(at, _extend(letters, text_at, diagonal, load_i32(at), min(n, m + diagonal)))
        if steps:
            word = _joined(low, high, INSERTION_AT) | (_joined(low, high, DELETION_AT) << uint64(_DELETIONS))
            store_u64(steps + ((k - lo) >> 5) * 8, word)


@helper
def _joined(low, high, at):
    """The 16 bits at ``at`` of both, those of ``high`` above."""
    mask = uint64(2**LANES - 1)
    return ((low >> uint64(at)) & mask) | (((high >> uint64(at)) & mask) << uint64(LANES))


@helper
def _narrow_word(flags, cells):
    """A word of steps of ``cells`` cells, whose flags came in from the top of either half and moved down."""
    half = uint64(2**_DELETIONS - 1)
    unused = uint64(_DELETIONS - cells)
    return ((flags & half) >> unused) | ((flags >> uint64(_DELETIONS)) >> unused) << uint64(_DELETIONS)


def _make_sweep(traced):
    """The wavefront recurrence; compiled with ``traced`` it stores the step of every cell."""

    def sweep(letters, text_at, m, n, rows, steps, limit_words):
        """(distance or NO_SCORE, steps, bound for diagonals): NO_SCORE when the steps do not fit limit_words."""
        final = n - m
        here_at, other_at = m + 3, m + 3 + _row_length(m + n)  # of diagonal 0
        poke(rows, here_at, _extend(letters, text_at, 0, 0, min(m, n)))
        e, lo, hi, filled = 0, 0, 0, 0
        bound = NO_BOUND
        while not (lo <= final <= hi and peek(rows, here_at + final) == n):
            for beyond in (1, 2):
                poke(rows, here_at + lo - beyond, UNREACHED)
                poke(rows, here_at + hi + beyond, UNREACHED)
            if e == _WORTH_A_BOUND:
                bound = _upper_bound(letters, text_at, m, n)
            e += 1
            lo, hi = diagonals(e, m, n, bound)
            words = (hi - lo + 32) >> 5
            if traced and filled + words > len(steps):  # asked here first, as a call counts references to the array
                steps = grown(steps, filled, filled + words, limit_words)
                if filled + words > len(steps):
                    return NO_SCORE, steps, bound
            if hi - lo >= _WIDE:
                old, new = address_of(rows) + 4 * here_at, address_of(rows) + 4 * other_at
                steps_at = address_of(steps) + 8 * filled if traced else 0
                _advance_wide(old, new, letters, text_at, lo, hi, m, n, steps_at)
                here_at, other_at = other_at, here_at
            else:
                left, here = int64(peek(rows, here_at + lo - 1)), int64(peek(rows, here_at + lo))
                flags = uint64(0)  # they come in from the top and move down
                for k in range(lo, hi + 1):
                    right = int64(peek(rows, here_at + k + 1))
                    offset = max(left, here) + 1
                    if traced:
                        deletion = right > offset
                        insertion = left > here and not deletion
                        flags = (
                            (flags >> uint64(1)) | (uint64(insertion) << uint64(31)) | (uint64(deletion) << uint64(63))
                        )
                    offset = max(right, offset)
                    left, here = here, right
                    poke(rows, here_at + k, _extend(letters, text_at, k, offset, min(n, m + k)))
                if traced:
                    poke(steps, filled, _narrow_word(flags, hi - lo + 1))
            filled += words
        return e, steps, bound

    return compiled(sweep, traced)


@helper
def _trace(steps, m, n, e, bound, path):
    """Write the e steps of the path into path[:e], first step first (path: the rows, no longer needed)."""
    filled = 0
    for d in range(1, e + 1):
        lo, hi = diagonals(d, m, n, bound)
        filled += (hi - lo + 32) >> 5
    k = n - m
    for d in range(e, 0, -1):
        lo, hi = diagonals(d, m, n, bound)
        filled -= (hi - lo + 32) >> 5
        cell = k - lo
        flags = steps[filled + (cell >> 5)] >> uint64(cell & 31)
        if flags & uint64(1):
            path[d - 1] = STEP_INSERTION
            k -= 1
        elif (flags >> uint64(_DELETIONS)) & uint64(1):
            path[d - 1] = STEP_DELETION
            k += 1
        else:
            path[d - 1] = STEP_MISMATCH


@helper
def _rebuild(letters, text_at, m, n, e, path, cigars, start):
    """Append the CIGAR of a path: matches by extending, steps as stored (thesis Algorithm 6)."""
    k, h, filled = 0, 0, start
    for i in range(e + 1):
        reached = _extend(letters, text_at, k, h, min(n, m + k))
        filled = append_run(cigars, start, filled, MATCH, reached - h)
        h = reached
        if i < e:
            step = path[i]
            operation = DELETION if step == STEP_DELETION else (INSERTION if step == STEP_INSERTION else MISMATCH)
            filled = append_run(cigars, start, filled, operation, 1)
            h += step != STEP_DELETION
            k += (step == STEP_INSERTION) - (step == STEP_DELETION)
    return filled


@helper
def _fixed_bytes(m, n):
    """Working memory of a pair but for its steps: the rows and the padded copy."""
    return 4 * (2 * _row_length(m + n) + _RING) + (m + n + 2 * PAD)


@helper
def _row_length(letters):
    """Offsets of a row, with two unreached ones on either side, and what vectors write past the last."""
    return letters + 8 + LANES


@helper
def _copy_pair(pattern, pattern_at, m, text, text_at, n, letters):
    """Pattern, pad, text, pad into the scratch; what a pad holds does not matter."""
    copy_run(pattern, pattern_at, letters, 0, m)
    copy_run(text, text_at, letters, m + PAD, n)


def _make_range(traced):
    sweep = _make_sweep(traced)

    def align(pattern, pattern_offsets, text, text_offsets, start, stop, budget_bytes):
        scores = np.full(stop - start, NO_SCORE, np.int32)
        status = np.full(stop - start, OUT_OF_MEMORY, np.uint8)
        lengths = np.zeros(stop - start, np.int64)
        largest = 0
        for i in range(start, stop):
            m, n = pattern_offsets[i + 1] - pattern_offsets[i], text_offsets[i + 1] - text_offsets[i]
            if _fixed_bytes(m, n) <= budget_bytes:
                largest = max(largest, m + n)
        rows = np.empty(2 * _row_length(largest), np.int32)
        letters = np.empty(largest + 2 * PAD, np.uint8)
        steps = np.empty(0, np.uint64)
        limit_words = (budget_bytes - _fixed_bytes(largest, 0)) // 8
        cigars = np.empty(0, np.uint32)
        filled = 0
        for i in range(start, stop):
            m, n = pattern_offsets[i + 1] - pattern_offsets[i], text_offsets[i + 1] - text_offsets[i]
            if _fixed_bytes(m, n) > budget_bytes:
                continue
            at, text_at = address_of(pattern) + pattern_offsets[i], address_of(text) + text_offsets[i]
            if pattern_offsets[i + 1] + PAD > len(pattern) or text_offsets[i + 1] + PAD > len(text):
                _copy_pair(pattern, pattern_offsets[i], m, text, text_offsets[i], n, letters)
                at, text_at = address_of(letters), address_of(letters) + m + PAD
            e, steps, bound = sweep(at, text_at - at, m, n, rows, steps, limit_words)
            if e == NO_SCORE:
                continue
            scores[i - start], status[i - start] = e, OK
            if traced:
                _trace(steps, m, n, e, bound, rows)
                cigars = with_room(cigars, filled, 2 * e + 2 + splits(m + n))
                before = filled
                filled = _rebuild(at, text_at - at, m, n, e, rows, cigars, before)
                lengths[i - start] = filled - before
        return scores, status, cigars[:filled], lengths

    return compiled(align, traced)


_score_pairs, _cigar_pairs = _make_range(False), _make_range(True)


@njit(nogil=True, cache=True)
def _score_range(pattern, pattern_offsets, text, text_offsets, start, stop, budget_bytes):
    return _score_pairs(pattern, pattern_offsets, text, text_offsets, start, stop, budget_bytes)


@njit(nogil=True, cache=True)
def _cigar_range(pattern, pattern_offsets, text, text_offsets, start, stop, budget_bytes):
    return _cigar_pairs(pattern, pattern_offsets, text, text_offsets, start, stop, budget_bytes)
