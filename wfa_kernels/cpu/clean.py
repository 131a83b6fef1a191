"""Pairs of so few errors that a look along one or two diagonals gives an alignment that is proven cheapest.

Problem: global alignment where a mismatch costs x and a gap of n letters o + n * e (edit distance: 1, 0, 1). Of clean
short reads nearly all pairs are settled here in a few vector compares; another kernel is handed the rest.

Equal lengths: the one alignment without gaps holds the j mismatches of the main diagonal. Every other inserts as many
letters as it deletes, at least one: two gaps of at least two letters. So it is cheapest if

    j * x <= 2 * (o + e)

Lengths that differ by d: an alignment of one gap has d letters in it, and follows the main diagonal for p letters of
the shorter sequence, then the final one: j(p) mismatches. All others have two gaps or more; of at least d letters if
these are all insertions or all deletions, which takes d >= 2, else of at least d + 2. So the least of the j(p) is
cheapest if

    j * x <= o  for d >= 2,      j * x <= o + 2 * e  for d = 1

j(p) = a(p) + b(p), mismatches of the main diagonal before p and of the final one from p on. b falls as p grows, so only
where the main diagonal has its next mismatch, or the shorter sequence its end, can j be least.

Memory: the answers, and a copy of a pair that ends less than a block before the end of the batch's letters, where
blocks cannot be loaded. The other kernel might give it another of its cheapest alignments than it gets elsewhere, and
where letters end depends on the threads (longest_first). Limits: where the copy has no room, it is left to that kernel.
"""

import numpy as np
from numba import njit, uint64

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cpu.backtrace import append_run, copy_run, read_only_arrays, splits, with_room
from wfa_kernels.cpu.helper import helper
from wfa_kernels.cpu.intrinsics import BLOCK, address_of, count_ones, count_trailing_zeros, differing_letters
from wfa_kernels.cpu.left_over import with_rest
from wfa_kernels.result import NO_SCORE

_ALL = np.uint64(2**64 - 1)
_NO_PLACE = -1
#: Pairs that tell how many of a batch are settled.
_SAMPLE = 32


def align_range(pairs, penalties, scope, start, stop, budget_bytes, rest):
    """Align pairs start..stop of a batch, those with more errors by ``rest``, a kernel with align_range.

    The other arguments and the result are those of affine_wfa.align_range.
    """
    traced = scope == "cigar"
    arrays = read_only_arrays(pairs)
    scores, cigars, lengths = _settle(*arrays, start, stop, *penalties.triple, budget_bytes, traced)
    return with_rest(rest, pairs, penalties, scope, start, budget_bytes, scores, cigars, lengths)


def share(pairs, penalties):
    """Share of settled pairs among a few of a batch, its middle ones."""
    start = max(0, (len(pairs) - _SAMPLE) // 2)
    stop = min(len(pairs), start + _SAMPLE)
    no_copies = 0
    scores, _, _ = _settle(*read_only_arrays(pairs), start, stop, *penalties.triple, no_copies, False)
    return float(np.mean(scores != NO_SCORE)) if stop > start else 0.0


@njit(nogil=True, cache=True)
def _settle(
    pattern, pattern_offsets, text, text_offsets, start, stop, mismatch, gap_open, gap_extend, budget_bytes, traced
):  # fmt: skip
    """(scores int32[k], NO_SCORE where not settled; packed CIGARs of the settled pairs; elements of each)."""
    scores = np.full(stop - start, NO_SCORE, np.int32)
    lengths = np.zeros(stop - start, np.int64)
    cigars = np.empty(4 * (stop - start) if traced else 0, np.uint32)
    filled, letters = 0, np.empty(0, np.uint8)
    limits = (2 * (gap_open + gap_extend) // mismatch, (gap_open + 2 * gap_extend) // mismatch, gap_open // mismatch)
    for i in range(start, stop):
        p, t = address_of(pattern) + pattern_offsets[i], address_of(text) + text_offsets[i]
        m, n = pattern_offsets[i + 1] - pattern_offsets[i], text_offsets[i + 1] - text_offsets[i]
        if pattern_offsets[i + 1] + BLOCK > len(pattern) or text_offsets[i + 1] + BLOCK > len(text):
            copied = m + n + 2 * BLOCK
            if copied > budget_bytes:
                continue
            if copied > len(letters):
                letters = np.empty(copied, np.uint8)
            copy_run(pattern, pattern_offsets[i], letters, 0, m)
            copy_run(text, text_offsets[i], letters, m + BLOCK, n)
            p, t = address_of(letters), address_of(letters) + m + BLOCK
        d = abs(n - m)
        limit = limits[min(d, 2)]
        if d == 0:
            place, mismatches = m, _mismatches(p, t, m, limit)
        else:
            place, mismatches = _best_place(p, t, m, n, limit)
        if mismatches > limit:
            continue
        scores[i - start] = mismatches * mismatch + (gap_open + d * gap_extend if d else 0)
        if traced:
            before = filled
            cigars = with_room(cigars, filled, 2 * mismatches + 4 + splits(m + n))
            filled = _append_letters(p, t, place, cigars, before, filled)
            filled = append_run(cigars, before, filled, INSERTION if n > m else DELETION, d)
            p, t = p + place + max(m - n, 0), t + place + max(n - m, 0)
            filled = _append_letters(p, t, min(m, n) - place, cigars, before, filled)
            lengths[i - start] = filled - before
    return scores, cigars[:filled], lengths


@helper
def _differing(p, t, at, count):
    """differing_letters from letter ``at`` on, of ``count`` letters."""
    bits = differing_letters(p + at, t + at)
    left = count - at
    return bits if left >= BLOCK else bits & ~(_ALL << uint64(left))


@helper
def _mismatches(p, t, count, limit):
    """Letters that differ among the first ``count``; where there are more than ``limit``, any number above it."""
    found = 0
    for at in range(0, count, BLOCK):
        found += count_ones(_differing(p, t, at, count))
        if found > limit:
            break
    return found


@helper
def _best_place(p, t, m, n, limit):
    """(letters of the shorter sequence before the gap, mismatches): the least of those with at most limit before it."""
    shorter = min(m, n)
    p_end, t_end = p + m - shorter, t + n - shorter  # where the final diagonal begins
    best, place = shorter + 1, _NO_PLACE
    before, passed = 0, 0  # mismatches of the main and of the final diagonal
    for at in range(0, shorter, BLOCK):
        bits = _differing(p, t, at, shorter) if before <= limit else uint64(0)
        final = _differing(p_end, t_end, at, shorter)
        while bits != 0 and before <= limit:
            bit = count_trailing_zeros(bits)
            here = before - passed - count_ones(final & ~(_ALL << uint64(bit)))
            if here < best:
                best, place = here, at + bit
            before += 1
            bits &= bits - uint64(1)
        passed += count_ones(final)
    if before <= limit and before - passed < best:
        best, place = before - passed, shorter
    return place, best + passed


@helper
def _append_letters(p, t, count, cigars, start, filled):
    """Append matches and mismatches of ``count`` letters."""
    done = 0
    for at in range(0, count, BLOCK):
        bits = _differing(p, t, at, count)
        while bits != 0:
            here = at + count_trailing_zeros(bits)
            filled = append_run(cigars, start, filled, MATCH, here - done)
            filled = append_run(cigars, start, filled, MISMATCH, 1)
            done = here + 1
            bits &= bits - uint64(1)
    return append_run(cigars, start, filled, MATCH, count - done)
