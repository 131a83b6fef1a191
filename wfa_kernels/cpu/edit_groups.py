"""Edit distance by the wavefront algorithm for 16 pairs of few errors side by side, one in each lane of a vector.

Problem and recurrence are those of edit_wfa, and so are the answers, CIGARs too: of a cell's origins the same one is
kept. A wavefront of one pair is short and waits for the one before; of 16 pairs each cell is one vector step, about 40
instructions and two gathers, where the loop of edit_wfa takes 16 times 25, and no branch depends on one pair alone but
where letters go on matching. No wavefront is cut: pairs have up to _MOST_ERRORS errors and at least as many letters, so
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
from numba import int64, njit, uint64

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cpu import edit_wfa
from wfa_kernels.cpu.backtrace import append_run, read_only_arrays, subset, with_room
from wfa_kernels.cpu.edit_group_lanes import (
    FINAL,
    NUMBERS,
    PATTERN,
    TEXT,
    VECTOR,
    M,
    N,
    copy_block,
    ended,
    fill_lanes,
    next_cells,
)
from wfa_kernels.cpu.edit_wfa import PAD, UNREACHED, compiled
from wfa_kernels.cpu.helper import helper
from wfa_kernels.cpu.intrinsics import (
    BLOCK,
    address_of,
    count_ones,
    count_trailing_zeros,
    differing_letters,
    load_i32,
    load_u8,
    load_u64,
    peek,
    poke,
    prefetch,
    store_i32,
    store_u8,
    store_u16,
)
from wfa_kernels.cpu.lanes import LANES
from wfa_kernels.result import NO_SCORE, OK

#: Pairs of a chunk of a batch should be a multiple of this.
PAIRS_AT_ONCE = LANES
#: Pairs of fewer letters in either sequence, or more in both, are left to edit_wfa; so is what has more errors.
_FEWEST_LETTERS, _MOST_LETTERS, _MOST_ERRORS = 16, 6000, 64
#: Letters of a sequence that are prefetched, before the processor sees that they come one after the other.
_AHEAD = 4 * BLOCK
#: What it takes to begin a group, in vector steps.
_SET_UP = 8
#: Pairs given up from which on a batch is left to edit_wfa, where they are more than the settled ones.
_HOPELESS = 2 * LANES
_EVERY_LANE = uint64(2**LANES - 1)
#: Places in the scratch: after the numbers of the pairs 16 bits for each cell of a wavefront, then the wavefronts.
_MARKS_AT = NUMBERS
_ROWS_AT = _MARKS_AT + (2 * (2 * _MOST_ERRORS + 4) + BLOCK) // BLOCK * BLOCK
#: Letters that 31 bits tell apart.
_MOST_APART = 2**31 - 2 * PAD


def align_range(pairs, penalties, scope, start, stop, budget_bytes):
    """Align pairs start..stop of a batch by edit distance; arguments and result are those of edit_wfa.align_range."""
    traced = scope == "cigar"
    arrays = read_only_arrays(pairs)
    letters = max(int(offsets[stop] - offsets[start]) for offsets in arrays[1::2])
    if stop - start < LANES or budget_bytes < _scratch_bytes(traced) or letters > _MOST_APART:
        return edit_wfa.align_range(pairs, penalties, scope, start, stop, budget_bytes)
    if traced:
        scores, runs, first, lengths = _cigar_range(*arrays, start, stop)
    else:
        scores = _score_range(*arrays, start, stop)[0]
    rows = np.flatnonzero(scores == NO_SCORE)
    if len(rows) == stop - start:
        return edit_wfa.align_range(pairs, penalties, scope, start, stop, budget_bytes)
    status = np.full(stop - start, OK, np.uint8)
    if len(rows):
        others = edit_wfa.align_range(subset(pairs, rows + start), penalties, scope, 0, len(rows), budget_bytes)
        scores[rows], status[rows] = others[:2]
    if not traced:
        return scores, status, None, None
    if len(rows):
        lengths[rows] = others[3]
        first[rows] = len(runs) + len(others[2]) - np.cumsum(others[3])
        runs = np.concatenate([runs, others[2][::-1]])
    return scores, status, _in_order(runs, first, lengths), lengths


@helper
def _copies_at(traced):
    """Bytes of the scratch before its letters."""
    cells = (_MOST_ERRORS + 1) * (_MOST_ERRORS + 5) if traced else 2 * _MOST_ERRORS + 3
    return _ROWS_AT + cells * VECTOR


@helper
def _scratch_bytes(traced):
    return BLOCK + _copies_at(traced) + LANES * (_MOST_LETTERS + 2 * (PAD + BLOCK))


@helper
def _addresses(pattern, pattern_offsets, text, text_offsets):
    """(its letters, its offsets, behind its letters) of the patterns, then of the texts: addresses, since a call counts
    references to an array."""
    patterns = (address_of(pattern), address_of(pattern_offsets), address_of(pattern) + len(pattern))
    return (*patterns, address_of(text), address_of(text_offsets), address_of(text) + len(text))


@helper
def _inside(sequences, start, stop):
    """The pair from which on a block that begins at a sequence's end may reach behind the batch's letters."""
    while stop > start:
        pattern, m, text, n = _places(sequences, stop - 1)
        if pattern + m + PAD <= sequences[2] and text + n + PAD <= sequences[5]:
            break
        stop -= 1
    return stop


@helper
def _places(sequences, row):
    """(pattern, its letters, text, its letters): addresses and lengths of a pair."""
    pattern, pattern_offsets, _, text, text_offsets, _ = sequences
    first, other = int64(load_u64(pattern_offsets, 8 * row)), int64(load_u64(text_offsets, 8 * row))
    m = int64(load_u64(pattern_offsets, 8 * row + 8)) - first
    n = int64(load_u64(text_offsets, 8 * row + 8)) - other
    return pattern + first, m, text + other, n


@helper
def _lengths(sequences, row):
    _, m, _, n = _places(sequences, row)
    return m, n


@helper
def _prefetched(sequences, row):
    """Lengths of a pair whose letters are soon needed."""
    pattern, m, text, n = _places(sequences, row)
    for ahead in range(0, _AHEAD, BLOCK):
        prefetch(pattern + min(ahead, m))
        prefetch(text + min(ahead, n))
    return m, n


@helper
def _limit(m, n):
    """The most errors a pair can have in a group."""
    return min(_MOST_ERRORS, min(m, n))


@helper
def _suits(m, n):
    return min(m, n) >= _FEWEST_LETTERS and m + n <= _MOST_LETTERS and abs(n - m) <= _limit(m, n)


@helper
def _copy(source, count, end, target):
    """Copy a sequence to an address that is a multiple of a block; end: that behind the batch's letters."""
    if source + count + BLOCK > end:
        for j in range(count):
            store_u8(target + j, uint64(load_u8(source, j)))
        return
    for j in range(0, count, BLOCK):
        copy_block(source + j, target + j)


@helper
def _load(sequences, start, rows, count, numbers, copies):
    """Set up a group: (addresses behind which patterns and texts begin, limit). Lanes that idle hold the first pair.

    start: the first pair of the range. copies: address that letters are copied to first, or 0.
    """
    limit, to = _MOST_ERRORS, copies
    patterns, _, texts, _ = _places(sequences, start)
    if copies:
        patterns, texts = copies, copies
    for z in range(LANES):
        pattern, m, text, n = _places(sequences, peek(rows, z if z < count else 0))
        if copies:
            _copy(pattern, m, sequences[2], to)
            _copy(text, n, sequences[5], to + _copy_bytes(m))
            pattern, text = to, to + _copy_bytes(m)
            to = text + _copy_bytes(n)
        limit = min(limit, _limit(m, n))
        at = numbers + 4 * z
        store_i32(at + M * VECTOR, m)
        store_i32(at + N * VECTOR, n)
        store_i32(at + FINAL * VECTOR, n - m)
        store_i32(at + PATTERN * VECTOR, pattern - patterns)
        store_i32(at + TEXT * VECTOR, text - texts)
    return patterns, texts, limit


@helper
def _copy_bytes(letters):
    """Letters and a pad, in whole blocks."""
    return ((letters + PAD + BLOCK - 1) // BLOCK) * BLOCK


@helper
def _go_on(numbers, marks, at, patterns, texts, e):
    """Extend the marked cells of a wavefront, whose lowest diagonal lies at ``at``.

    Not in the loop over its cells, nor each to its end: whether there are more letters to compare cannot be foretold,
    and told so late each wrong guess would cost as much as a cell.
    """
    for cell in range(2 * e + 1, 2 * e + 4):  # four cells are looked at together
        store_u16(marks + 2 * cell, uint64(0))
    for four in range(0, 2 * e + 1, 4):
        going = load_u64(marks, 2 * four)
        while going != 0:
            further = uint64(0)
            while going != 0:
                bit = count_trailing_zeros(going)
                going &= going - uint64(1)
                cell, z = four + bit // LANES, bit % LANES
                more = _extend_block(numbers + 4 * z, at + cell * VECTOR + 4 * z, cell - e, patterns, texts)
                further |= uint64(more) << uint64(bit)
            going = further


@helper
def _extend_block(pair, cell, k, patterns, texts):
    """Extend a cell by up to a block of letters; whether it may go further. pair: address of the pair's numbers."""
    m, n = load_i32(pair + M * VECTOR), load_i32(pair + N * VECTOR)
    h, limit = load_i32(cell), min(n, m + k)
    pattern, text = patterns + load_i32(pair + PATTERN * VECTOR), texts + load_i32(pair + TEXT * VECTOR)
    different = differing_letters(pattern + h - k, text + h)
    end = min(h + count_trailing_zeros(different), limit)
    store_i32(cell, end)
    return (different == 0) & (end < limit)


def _make_sweep(traced):
    """The wavefronts of a group; compiled with ``traced`` all are kept."""

    def sweep(numbers, patterns, texts, limit, pending, patient, found):
        """Put the errors of the pairs that end into found[lane]. Returns (pairs still pending, errors).

        patient: no other group will take the pairs that are left. The first three are addresses.
        """
        marks = numbers + _MARKS_AT
        row = _row(numbers, 0, traced)
        _close(row, 0)
        fill_lanes(row, 0)
        store_u16(marks, pending)
        _go_on(numbers, marks, row, patterns, texts, 0)
        e, idle = 0, 0
        while True:
            done = pending & ended(row + e * VECTOR, e, numbers)
            pending &= ~done
            while done != 0:
                found[count_trailing_zeros(done)] = e
                done &= done - uint64(1)
            left = count_ones(pending)
            if left == 0 or e == limit or (idle > left * ((e + 1) * (e + 1) + _SET_UP) and not patient):
                return pending, e
            e += 1
            old, row = row - 2 * VECTOR, _row(numbers, e, traced)
            if traced:
                _close(row, e)
            else:
                fill_lanes(row, UNREACHED)
                fill_lanes(row + VECTOR, UNREACHED)
            for cell in range(2 * e + 1):
                at = cell * VECTOR
                going = next_cells(old + at, row + at, cell - e, numbers, patterns, texts)
                store_u16(marks + 2 * cell, going & pending)
            _go_on(numbers, marks, row, patterns, texts, e)
            idle += (2 * e + 1) * (LANES - left)

    return compiled(sweep, traced)


@helper
def _row(numbers, e, traced):
    """Address of a wavefront's lowest diagonal.

    Where wavefronts are not kept diagonal k is written where diagonal k - 1 of the one before was read for the last
    time, so that one row serves all.
    """
    if traced:
        return numbers + _ROWS_AT + (e * e + 4 * e + 2) * VECTOR
    return numbers + _ROWS_AT + 2 * (_MOST_ERRORS - e) * VECTOR


@helper
def _close(row, e):
    """Two unreached diagonals on either side of a wavefront."""
    for beyond in (1, 2):
        fill_lanes(row - beyond * VECTOR, UNREACHED)
        fill_lanes(row + (2 * e + beyond) * VECTOR, UNREACHED)


@helper
def _trace(numbers, z, n, final, e, runs, start):
    """Append the CIGAR of a lane's pair, backwards; of a cell's origins the one that edit_wfa keeps."""
    filled, k, h = start, final, n
    for d in range(e - 1, -1, -1):
        at = _row(numbers, d, True) + (d + k) * VECTOR + 4 * z
        left, here, right = load_i32(at - VECTOR), load_i32(at), load_i32(at + VECTOR)
        one_more = max(left, here) + 1
        if right > one_more:
            filled = append_run(runs, start, filled, MATCH, h - right)
            filled = append_run(runs, start, filled, DELETION, 1)
            k, h = k + 1, right
        else:
            filled = append_run(runs, start, filled, MATCH, h - one_more)
            filled = append_run(runs, start, filled, INSERTION if left > here else MISMATCH, 1)
            k, h = k - (left > here), one_more - 1
    return append_run(runs, start, filled, MATCH, h)


@helper
def _taken(waiting, held, rows, count):
    """Move pairs that wait into the lanes that are free: (lanes taken, pairs that still wait)."""
    while held > 0 and count < LANES:
        held -= 1
        rows[count] = waiting[held]
        count += 1
    return count, held


def _make_range(traced):
    sweep = _make_sweep(traced)

    def run(sequences, start, rows, count, last, patient, scratch, found, scores, first, lengths, runs, filled):
        """Align the pairs rows[:count]: (runs, filled, lanes left over, lanes given up). last: letters are copied."""
        numbers = (address_of(scratch) + BLOCK - 1) // BLOCK * BLOCK
        copies = numbers + _copies_at(traced) if last else 0
        patterns, texts, limit = _load(sequences, start, rows, count, numbers, copies)
        among = _EVERY_LANE >> uint64(LANES - count)
        pending, e = sweep(numbers, patterns, texts, limit, among, patient, found)
        left_over, given_up = uint64(0), uint64(0)
        for z in range(count):
            m, n = _lengths(sequences, rows[z])
            if (pending >> uint64(z)) & uint64(1):
                if e < _limit(m, n):
                    left_over |= uint64(1) << uint64(z)
                else:
                    given_up |= uint64(1) << uint64(z)
                continue
            i = rows[z] - start
            scores[i] = found[z]
            if traced:
                runs = with_room(runs, filled, 2 * found[z] + 2)
                before = filled
                filled = _trace(numbers, z, n, n - m, found[z], runs, before)
                first[i], lengths[i] = before, filled - before
        return runs, filled, left_over, count_ones(given_up)

    run = compiled(run, traced)

    def align(pattern, pattern_offsets, text, text_offsets, start, stop):
        """(scores int32[k], NO_SCORE where left to others; runs uint32[...]; first int64[k], lengths int64[k]).

        The CIGAR of pair start + i is runs[first[i] : first[i] + lengths[i]], backwards.
        """
        sequences = _addresses(pattern, pattern_offsets, text, text_offsets)
        scores = np.full(stop - start, NO_SCORE, np.int32)
        told = stop - start if traced else 0
        first, lengths, runs = np.zeros(told, np.int64), np.zeros(told, np.int64), np.empty(4 * told, np.uint32)
        scratch = np.empty(_scratch_bytes(traced), np.uint8)
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
        return scores, runs[:filled], first, lengths

    return compiled(align, traced)


_score_pairs, _cigar_pairs = _make_range(False), _make_range(True)


@njit(nogil=True, cache=True)
def _score_range(pattern, pattern_offsets, text, text_offsets, start, stop):
    return _score_pairs(pattern, pattern_offsets, text, text_offsets, start, stop)


@njit(nogil=True, cache=True)
def _cigar_range(pattern, pattern_offsets, text, text_offsets, start, stop):
    return _cigar_pairs(pattern, pattern_offsets, text, text_offsets, start, stop)


@njit(nogil=True, cache=True)
def _in_order(runs, first, lengths):
    """All CIGARs one after the other, from runs that are backwards and anywhere."""
    cigars = np.empty(lengths.sum(), np.uint32)
    filled = 0
    for i in range(len(lengths)):
        last = first[i] + lengths[i] - 1
        for j in range(lengths[i]):
            poke(cigars, filled + j, peek(runs, last - j))
        filled += lengths[i]
    return cigars
