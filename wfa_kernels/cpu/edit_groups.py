"""Edit distance by the wavefront algorithm for 16 pairs of few errors side by side, one in each lane of a vector.

Problem and recurrence are those of edit_wfa, and so are the answers, CIGARs too: of a cell's origins the same one is
kept. A wavefront of one pair is short and waits for the one before; of 16 pairs each cell is one vector step, some 40
instructions and two gathers, where the loop of edit_wfa takes 16 times 25, and no branch depends on one pair alone but
where letters go on matching. No wavefront is cut: pairs have up to MOST_ERRORS errors and at least as many letters, so
all diagonals of a wavefront lie inside the matrix and are reached.

A group goes on until all its pairs have ended, or until the lanes that idle have cost as much as to begin the others
anew; these wait until there are 16 of them. So each pair costs at most about twice what it would among its like.
Left to edit_wfa: pairs with more errors, shorter ones, long ones, and the whole rest where most of a batch is such.

Letters are gathered from where they are, by 32 bits behind the first pair's: a range of pairs that 31 bits do not tell
apart is left to edit_wfa. The last groups of a range are copied, with those pairs whose blocks might reach beyond the
batch's letters.

Memory, besides the answers: a row, of 64 bytes a diagonal, or for CIGARs the rows of all wavefronts, from which the
steps are told again on the way back; and that copy. 0.4 MB at most.
"""

import numpy as np
from numba import njit, uint64

from wfa_kernels.cpu import edit_wfa
from wfa_kernels.cpu.backtrace import read_only_arrays
from wfa_kernels.cpu.edit_group_run import (
    MOST_LETTERS,
    addresses,
    limit_of,
    make_run,
    places,
    scratch_bytes,
)
from wfa_kernels.cpu.edit_wfa import PAD
from wfa_kernels.cpu.helper import compiled, helper
from wfa_kernels.cpu.intrinsics import BLOCK, count_trailing_zeros, poke, prefetch
from wfa_kernels.cpu.lanes import LANES
from wfa_kernels.cpu.left_over import with_rest
from wfa_kernels.result import NO_SCORE

#: Pairs of a chunk of a batch should be a multiple of this.
PAIRS_AT_ONCE = LANES
#: Pairs of fewer letters in either sequence are left to edit_wfa.
_FEWEST_LETTERS = 16
#: Letters of a sequence that are prefetched, before the processor sees that they come one after the other.
_AHEAD = 4 * BLOCK
#: Pairs given up from which on a batch is left to edit_wfa, where they are more than the settled ones.
_HOPELESS = 2 * LANES
#: Letters that 31 bits tell apart.
_MOST_APART = 2**31 - 2 * PAD


def align_range(pairs, penalties, scope, start, stop, budget_bytes):
    """Align pairs start..stop of a batch by edit distance; arguments and result are those of edit_wfa.align_range."""
    traced = scope == "cigar"
    arrays = read_only_arrays(pairs)
    letters = max(int(offsets[stop] - offsets[start]) for offsets in arrays[1::2])
    if stop - start < LANES or budget_bytes < scratch_bytes(traced) or letters > _MOST_APART:
        return edit_wfa.align_range(pairs, penalties, scope, start, stop, budget_bytes)
    found = _cigar_range(*arrays, start, stop) if traced else _score_range(*arrays, start, stop)
    return with_rest(edit_wfa, pairs, penalties, scope, start, budget_bytes, *found)


@helper
def _inside(sequences, start, stop):
    """The pair from which on a block that begins at a sequence's end may reach behind the batch's letters."""
    while stop > start:
        pattern, m, text, n = places(sequences, stop - 1)
        if pattern + m + PAD <= sequences[2] and text + n + PAD <= sequences[5]:
            break
        stop -= 1
    return stop


@helper
def _prefetched(sequences, row):
    """Lengths of a pair whose letters are soon needed."""
    pattern, m, text, n = places(sequences, row)
    for ahead in range(0, _AHEAD, BLOCK):
        prefetch(pattern + min(ahead, m))
        prefetch(text + min(ahead, n))
    return m, n


@helper
def _suits(m, n):
    return min(m, n) >= _FEWEST_LETTERS and m + n <= MOST_LETTERS and abs(n - m) <= limit_of(m, n)


@helper
def _taken(waiting, held, rows, count):
    """Move pairs that wait into the lanes that are free: (lanes taken, pairs that still wait)."""
    while held > 0 and count < LANES:
        held -= 1
        rows[count] = waiting[held]
        count += 1
    return count, held


def _make_range(traced):
    run = make_run(traced)

    def align(pattern, pattern_offsets, text, text_offsets, start, stop):
        """(scores int32[k], NO_SCORE where left to others; runs uint32[...]; lengths int64[k], first int64[k]).

        The CIGAR of pair start + i is runs[first[i] : first[i] + lengths[i]].
        """
        sequences = addresses(pattern, pattern_offsets, text, text_offsets)
        scores = np.full(stop - start, NO_SCORE, np.int32)
        told = stop - start if traced else 0
        first, lengths, runs = np.zeros(told, np.int64), np.zeros(told, np.int64), np.empty(4 * told, np.uint32)
        scratch = np.empty(scratch_bytes(traced), np.uint8)
        found, rows, waiting = np.empty(LANES, np.int64), np.empty(LANES, np.int64), np.empty(2 * LANES, np.int64)
        inside = _inside(sequences, start, stop)
        held, filled, given_up, row = 0, 0, 0, start
        while row < stop or held > 0:
            count = 0
            if held >= LANES:
                count, held = _taken(waiting, held, rows, count)
            while count < LANES and row < stop:
                m, n = _prefetched(sequences, row)
                poke(rows, count, row)
                count += _suits(m, n)
                row += 1
            if row == stop:
                count, held = _taken(waiting, held, rows, count)
            if count == 0:
                break
            runs, filled, left_over, more = run(
                sequences, start, rows, count, row > inside, row == stop and held == 0, scratch, found, scores,
                first, lengths, runs, filled,
            )  # fmt: skip
            while left_over != 0:
                waiting[held] = rows[count_trailing_zeros(left_over)]
                left_over &= left_over - uint64(1)
                held += 1
            given_up += more
            if given_up >= _HOPELESS and 2 * given_up > row - start:
                break
        return scores, runs[:filled], lengths, first

    return compiled(align, traced)


_score_pairs, _cigar_pairs = _make_range(False), _make_range(True)


@njit(nogil=True, cache=True)
def _score_range(pattern, pattern_offsets, text, text_offsets, start, stop):
    return _score_pairs(pattern, pattern_offsets, text, text_offsets, start, stop)


@njit(nogil=True, cache=True)
def _cigar_range(pattern, pattern_offsets, text, text_offsets, start, stop):
    return _cigar_pairs(pattern, pattern_offsets, text, text_offsets, start, stop)
