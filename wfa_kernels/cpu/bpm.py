"""Edit distance by Myers' bit-parallel dynamic programming (BPM) on one CPU thread.

Problem: global alignment of a pattern of m and a text of n bytes; mismatch, insertion and deletion cost 1 each.

Recurrence: the matrix of thesis Eq. 1, M[i, j], held as the differences down a column, one bit per row:
Pv[i] = (M[i, j] - M[i-1, j] == +1), Mv[i] = (... == -1). One text letter takes 64 rows from column j-1 to j
(Myers 1999, figure 8; the differences along a row, Ph and Mh, as Hyyro 2003 carries them from block to block):

    Xv = Eq | Mv;   Eq |= Mh_in;   Xh = (((Eq & Pv) + Pv) ^ Pv) | Eq
    Ph = Mv | ~(Xh | Pv);   Mh = Pv & Xh        top bits: Ph, Mh into the next block
    Ph = Ph << 1 | Ph_in;   Mh = Mh << 1 | Mh_in
    Pv = Mh | ~(Xv | Ph);   Mv = Ph & Xv

Eq holds the rows whose pattern letter is the text letter. For global alignment Ph_in of the first block is 1, as
M[0, j] = j. The distance starts at M[m, 0] = m and follows the bits Ph, Mh of row m.

Backtrace, from (m, n), on the stored columns: equal letters are a match (a diagonal step never lowers the cost);
else a deletion if Pv[i] of column j is set, for then M[i-1, j] + 1 = M[i, j]; else an insertion if Mv[i] of column
j-1 is set, for then M[i, j-1] + 1 = M[i-1, j-1] <= M[i, j]; else neither gap is best and it is a mismatch.

Memory: one buffer of uint64. First Eq: a row of ceil(m / 64) words for every distinct pattern byte and one of zeros
for all others; then the columns, Pv and Mv of a block side by side: one column for scores, n + 1 for CIGARs, that is
n * m / 4 bytes.

Limits: lengths below 2**31 together; a pair whose buffer exceeds the budget gets OUT_OF_MEMORY.
"""

import numpy as np
from numba import njit, uint64

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cpu.backtrace import append_run, grown, read_only_arrays, reverse_runs, splits, with_room
from wfa_kernels.cpu.helper import helper
from wfa_kernels.cpu.intrinsics import peek, poke
from wfa_kernels.result import NO_SCORE, OK, OUT_OF_MEMORY

ONE = np.uint64(1)
ALL = np.uint64(2**64 - 1)


def align_range(pairs, penalties, scope, start, stop, budget_bytes):
    """Align pairs start..stop of a batch by edit distance.

    pairs: PairBatch. penalties: Edit() (the only ones this algorithm knows). scope: "score" or "cigar".
    budget_bytes: bound of the working memory, not counting the answers.
    Returns (scores int32[k], status uint8[k], cigars uint32[m] or None, lengths int64[k] or None), k = stop - start,
    lengths[i] the number of packed CIGAR elements of pair start + i.
    """
    traced = scope == "cigar"
    scores, status, cigars, lengths = _align_range(*read_only_arrays(pairs), start, stop, budget_bytes, traced)
    return (scores, status, cigars, lengths) if traced else (scores, status, None, None)


@helper
def _number_letters(pattern, pattern_at, m, row_of_byte):
    """Give every distinct pattern byte a row of Eq, from 1; row 0 is that of all other bytes. Returns the rows."""
    row_of_byte[:] = 0
    rows = 1
    for i in range(m):
        byte = peek(pattern, pattern_at + i)
        if row_of_byte[byte] == 0:
            row_of_byte[byte] = rows
            rows += 1
    return rows


@helper
def _fill(words, rows, blocks, pattern, pattern_at, m, row_of_byte):
    """Eq of every letter, and column 0: all differences +1."""
    columns = rows * blocks
    for i in range(columns):
        poke(words, i, uint64(0))
    for i in range(m):
        at = row_of_byte[peek(pattern, pattern_at + i)] * blocks + (i >> 6)
        poke(words, at, peek(words, at) | (ONE << uint64(i & 63)))
    for block in range(blocks):
        poke(words, columns + 2 * block, ALL)
        poke(words, columns + 2 * block + 1, uint64(0))


@helper
def _sweep(words, columns, stride, blocks, m, text, text_at, n, row_of_byte):
    """Take the columns from 0 to n; stride: words from one to the next, 0 to overwrite. Returns the distance."""
    distance = m
    last_row = uint64((m - 1) & 63)
    for j in range(n):
        eq_at = row_of_byte[peek(text, text_at + j)] * blocks
        old = columns + j * stride
        new = old + stride
        ph_in, mh_in = ONE, uint64(0)
        ph, mh = uint64(0), uint64(0)
        for block in range(blocks):
            eq = peek(words, eq_at + block)
            pv, mv = peek(words, old + 2 * block), peek(words, old + 2 * block + 1)
            xv = eq | mv
            eq |= mh_in
            xh = (((eq & pv) + pv) ^ pv) | eq
            ph = mv | ~(xh | pv)
            mh = pv & xh
            ph_shifted = (ph << ONE) | ph_in
            mh_shifted = (mh << ONE) | mh_in
            ph_in, mh_in = ph >> uint64(63), mh >> uint64(63)
            poke(words, new + 2 * block, mh_shifted | ~(xv | ph_shifted))
            poke(words, new + 2 * block + 1, ph_shifted & xv)
        distance += int((ph >> last_row) & ONE) - int((mh >> last_row) & ONE)
    return distance


@helper
def _trace(words, columns, stride, pattern, pattern_at, m, text, text_at, n, cigars, start):
    """Append the CIGAR (see the module's text); the caller has made room. Returns the new end."""
    i, j, filled = m, n, start
    while i > 0 and j > 0:
        run = 0
        while run < min(i, j) and peek(pattern, pattern_at + i - 1 - run) == peek(text, text_at + j - 1 - run):
            run += 1
        filled = append_run(cigars, start, filled, MATCH, run)
        i, j = i - run, j - run
        if i == 0 or j == 0:
            break
        bit = uint64((i - 1) & 63)
        pv_here = columns + j * stride + 2 * ((i - 1) >> 6)
        if (words[pv_here] >> bit) & ONE:
            operation = DELETION
        elif (words[pv_here - stride + 1] >> bit) & ONE:
            operation = INSERTION
        else:
            operation = MISMATCH
        filled = append_run(cigars, start, filled, operation, 1)
        i -= operation != INSERTION
        j -= operation != DELETION
    filled = append_run(cigars, start, filled, DELETION, i)
    filled = append_run(cigars, start, filled, INSERTION, j)
    reverse_runs(cigars, start, filled)
    return filled


@njit(nogil=True, cache=True)
def _align_range(pattern, pattern_offsets, text, text_offsets, start, stop, budget_bytes, traced):
    scores = np.full(stop - start, NO_SCORE, np.int32)
    status = np.full(stop - start, OUT_OF_MEMORY, np.uint8)
    lengths = np.zeros(stop - start, np.int64)
    row_of_byte = np.zeros(256, np.int64)
    words = np.empty(0, np.uint64)
    cigars = np.empty(0, np.uint32)
    filled = 0
    for i in range(start, stop):
        pattern_at, text_at = pattern_offsets[i], text_offsets[i]
        m, n = pattern_offsets[i + 1] - pattern_at, text_offsets[i + 1] - text_at
        rows = _number_letters(pattern, pattern_at, m, row_of_byte)
        blocks = (m + 63) >> 6
        columns, stride = rows * blocks, 2 * blocks if traced else 0
        needed = columns + 2 * blocks + n * stride
        words = grown(words, 0, needed, (budget_bytes - row_of_byte.nbytes) // 8)
        if needed > len(words):
            continue
        _fill(words, rows, blocks, pattern, pattern_at, m, row_of_byte)
        distance = _sweep(words, columns, stride, blocks, m, text, text_at, n, row_of_byte) if m else n
        scores[i - start], status[i - start] = distance, OK
        if traced:
            cigars = with_room(cigars, filled, 2 * distance + 2 + splits(m + n))
            before = filled
            filled = _trace(words, columns, stride, pattern, pattern_at, m, text, text_at, n, cigars, before)
            lengths[i - start] = filled - before
    return scores, status, cigars[:filled], lengths
