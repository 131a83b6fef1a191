"""One group of edit_groups: 16 pairs set up in the lanes of a vector, their wavefronts, and the way back.

Letters are gathered from where they are, by 32 bits behind the first pair of the range, or from copies.

Memory of a group, 64 bytes aligned: its numbers (edit_group_lanes), 16 bits for each cell of a wavefront, the
wavefronts of 64 bytes a diagonal, copies of letters. For scores one row serves all wavefronts; for CIGARs all are kept,
and the steps told from them on the way back.
"""

from numba import int64, uint64

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cpu.backtrace import append_run, reverse_runs, splits, with_room
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
from wfa_kernels.cpu.edit_wfa import PAD, UNREACHED
from wfa_kernels.cpu.helper import compiled, helper
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
    store_i32,
    store_u8,
    store_u16,
)
from wfa_kernels.cpu.lanes import LANES

#: Pairs of more letters in both sequences, and what has more errors, no group takes.
MOST_LETTERS, MOST_ERRORS = 6000, 64
#: What it takes to begin a group, in vector steps.
_SET_UP = 8
_EVERY_LANE = uint64(2**LANES - 1)
#: Places in the memory of a group.
_MARKS_AT = NUMBERS
_ROWS_AT = _MARKS_AT + (2 * (2 * MOST_ERRORS + 4) + BLOCK) // BLOCK * BLOCK


@helper
def _copies_at(traced):
    """Bytes of the scratch before its letters."""
    cells = (MOST_ERRORS + 1) * (MOST_ERRORS + 5) if traced else 2 * MOST_ERRORS + 3
    return _ROWS_AT + cells * VECTOR


@helper
def scratch_bytes(traced):
    return BLOCK + _copies_at(traced) + LANES * (MOST_LETTERS + 2 * (PAD + BLOCK))


@helper
def addresses(pattern, pattern_offsets, text, text_offsets):
    """(its letters, its offsets, behind its letters) of the patterns, then of the texts: addresses, since a call counts
    references to an array."""
    patterns = (address_of(pattern), address_of(pattern_offsets), address_of(pattern) + len(pattern))
    return (*patterns, address_of(text), address_of(text_offsets), address_of(text) + len(text))


@helper
def places(sequences, row):
    """(pattern, its letters, text, its letters): addresses and lengths of a pair."""
    pattern, pattern_offsets, _, text, text_offsets, _ = sequences
    first, other = int64(load_u64(pattern_offsets, 8 * row)), int64(load_u64(text_offsets, 8 * row))
    m = int64(load_u64(pattern_offsets, 8 * row + 8)) - first
    n = int64(load_u64(text_offsets, 8 * row + 8)) - other
    return pattern + first, m, text + other, n


@helper
def lengths_of(sequences, row):
    _, m, _, n = places(sequences, row)
    return m, n


@helper
def limit_of(m, n):
    """The most errors a pair can have in a group."""
    return min(MOST_ERRORS, min(m, n))


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
    limit, to = MOST_ERRORS, copies
    patterns, _, texts, _ = places(sequences, start)
    if copies:
        patterns, texts = copies, copies
    for z in range(LANES):
        pattern, m, text, n = places(sequences, peek(rows, z if z < count else 0))
        if copies:
            _copy(pattern, m, sequences[2], to)
            _copy(text, n, sequences[5], to + _copy_bytes(m))
            pattern, text = to, to + _copy_bytes(m)
            to = text + _copy_bytes(n)
        limit = min(limit, limit_of(m, n))
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
    return numbers + _ROWS_AT + 2 * (MOST_ERRORS - e) * VECTOR


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


def make_run(traced):
    """What aligns a group; compiled with ``traced`` CIGARs too."""
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
            m, n = lengths_of(sequences, rows[z])
            if (pending >> uint64(z)) & uint64(1):
                if e < limit_of(m, n):
                    left_over |= uint64(1) << uint64(z)
                else:
                    given_up |= uint64(1) << uint64(z)
                continue
            i = rows[z] - start
            scores[i] = found[z]
            if traced:
                runs = with_room(runs, filled, 2 * found[z] + 2 + splits(m + n))
                before = filled
                filled = _trace(numbers, z, n, n - m, found[z], runs, before)
                reverse_runs(runs, before, filled)
                first[i], lengths[i] = before, filled - before
        return runs, filled, left_over, count_ones(given_up)

    return compiled(run, traced)
