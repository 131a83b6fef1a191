"""Edit distance by a banded bit-parallel matrix (Myers 1999; Hyyro 2003, section 5) on a GPU: one thread per pair.

Problem: unit-cost global alignment of a pattern (m letters, rows) and a text (n letters, columns).

Recurrence. The band is the B diagonals k = h - v from -a to b, a + b = B - 1. Bit i of a column's vectors is diagonal
b - i, so that a step to the next column moves the vectors up by one row. With X the rows whose letter equals the
column's, VP and VN the vertical differences +1 and -1 of the column before (all B bits wide):
    D0 = (((X & VP) + VP) ^ VP) | X | VN        the diagonal difference is 0
    HP = VN | ~(D0 | VP)                        the horizontal difference is +1
    VP' = (D0 & VP) | ~((D0 >> 1) | HP)
    VN' = (D0 >> 1) & HP
Cells outside the band count as unreachable, rows above the matrix as empty (no letter of theirs equals any).

Exactness (Ukkonen 1985). A path that leaves the band at its lower side costs at least 2a + 2 + n - m, at its upper
side 2b + 2 - (n - m). The band is laid evenly about diagonals 0 and n - m; a score up to B - 1 is then certain. A pair
with a higher one, and one whose lengths differ by B or more, goes to the queue of the next band.

Memory layout. Vectors live in registers. For CIGARs VP and VN before every 32nd column are kept in ``marks``, one
uint64 for each 32 diagonals: word w before column 32 j at j * words + w, each THREADS behind the one before, so that a
warp writes 256 bytes at once. The way back computes 32 columns again at a time, and puts into shared memory, for the
diagonals near the one it comes from, whether a cell's vertical and horizontal differences are +1: where its letters
differ, an optimal path came down, across, or else diagonally. That is one uint32 a column and thread, so that as many
threads have room as have registers. Where the path leaves these diagonals the columns are computed again about the one
that it has reached: for every 8 letters in gaps at the most, and the band limits those. Where two letters are equal the
diagonal step is optimal, so the way back compares 32 packed letters at once and looks up only what differs. A pair with
score s keeps room for 2s + 1 of the batch's ``runs`` and fills it from its end.

Operations, per column and 32 diagonals: about 25 (compare 8, recurrence 9, the rest 8), with CIGARs twice that, and 10
a column for what the way back needs; that about 60 an error, times the most errors of a warp in 32 columns.
Bytes, per 32 columns and 32 diagonals: 8 written and read again. On an H200 (33 T instructions/s of a thread each, at
the most, 4.2 TB/s) 10M pairs of 1000 letters with 50 errors, 64 diagonals, need about 70 ms for the operations and 5 ms
for the bytes (kernels took 105 ms in a race); the wire needs 90 ms for packed letters. What was here first, two bits of
every cell in global memory, is 160 GB written, 38 ms at the least; kernels took 179 ms with it, 34 without CIGARs.
"""

from functools import cache
from types import SimpleNamespace

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cuda import banded
from wfa_kernels.cuda.banded import even_band, letters_outside, put_before, put_rest
from wfa_kernels.cuda.bits import bits_from
from wfa_kernels.cuda.compaction import THREADS
from wfa_kernels.cuda.device import inlined
from wfa_kernels.cuda.packing import LETTERS, funnel, letters_from

#: Diagonals of the bands, in the order in which a pair tries them.
BANDS = (32, 64, 128, 256)
#: Diagonals that the way back has at hand, half of the bits of a word.
_NEAR = 16
_NEAR_WORDS = LETTERS * THREADS  # Numba takes array sizes by name only


def make_column(words):
    """Device functions for a band of so many words: (lines, column)."""

    @inlined
    def lines(raw, shift, line_0, line_1):
        """Both planes of the letters of raw, uint64[words + 2], from letter shift < 32 on: uint32[words + 1] each."""
        for w in range(words + 1):
            line_0[w] = funnel(uint32(raw[w]), uint32(raw[w + 1]), shift)
            line_1[w] = funnel(uint32(raw[w] >> uint64(32)), uint32(raw[w + 1] >> uint64(32)), shift)

    @inlined
    def column(line_0, line_1, j, text_0, text_1, above, differ, flat, across, plus, minus):
        """Compute column j of the 32 that the lines are for: the complement of X, D0, HP, VP, VN, uint32[words] each.

        text_0, text_1: the column's letter, in the highest bit. above: rows of the band above the matrix in column 0.
        flat, D0: one word more, 0. plus and minus, VP and VN, are those of the column before until then.
        """
        letter_0, letter_1 = uint32(-int32(text_0 >> uint32(31))), uint32(-int32(text_1 >> uint32(31)))
        for w in range(words):
            differ[w] = (funnel(line_0[w], line_0[w + 1], j) ^ letter_0) | (
                funnel(line_1[w], line_1[w + 1], j) ^ letter_1
            )
        if j < above:
            for w in range(words):
                differ[w] |= ~bits_from(above - j - int32(32 * w))
        carry = uint64(0)
        for w in range(words):
            total = uint64(plus[w] & ~differ[w]) + uint64(plus[w]) + carry
            carry = total >> uint64(32)
            flat[w] = (uint32(total) ^ plus[w]) | ~differ[w] | minus[w]
        for w in range(words):
            across[w] = minus[w] | ~(flat[w] | plus[w])
            moved = funnel(flat[w], flat[w + 1], uint32(1))
            minus[w] = moved & across[w]
            plus[w] = (flat[w] & plus[w]) | ~(moved | across[w])

    return lines, column


def make_forward(band, traced):
    """Device function that computes one pair within a band of ``band`` diagonals; see banded.make_kernel."""
    words = band // 32
    words_1, words_2 = words + 1, words + 2  # Numba takes array sizes by name only
    lines, column = make_column(words)

    @inlined
    def forward(pattern, pattern_at, text, text_at, m, n, a, limit, marks, mark):
        """The score within the band. Leaves the marks."""
        b = int32(band - 1) - a
        plus, minus = cuda.local.array(words, uint32), cuda.local.array(words, uint32)
        differ, flat = cuda.local.array(words, uint32), cuda.local.array(words_1, uint32)
        across, raw = cuda.local.array(words, uint32), cuda.local.array(words_2, uint64)
        line_0, line_1 = cuda.local.array(words_1, uint32), cuda.local.array(words_1, uint32)
        flat[words] = uint32(0)
        # Bit 0 of column j is pattern letter j - b: the letters are read in words, and lines shifted to begin there.
        first = int32(pattern_at) - b
        shift = uint32(first) & uint32(31)
        at = int64(first >> int32(5))
        for w in range(words):
            plus[w] = bits_from(b - int32(32 * w))
            minus[w] = uint32(0)
        for w in range(words + 2):
            raw[w] = pattern[at + w]
        lowest = a + n
        start = int32(0)
        while start < n:
            if traced:
                for w in range(words):
                    marks[mark + uint64(w * THREADS)] = (uint64(minus[w]) << uint64(32)) | uint64(plus[w])
                mark += uint64(words * THREADS)
            text_0, text_1 = letters_from(text, int32(text_at) + start)
            lines(raw, shift, line_0, line_1)
            text_0, text_1 = uint32(cuda.brev(text_0)), uint32(cuda.brev(text_1))
            stop, above = min(int32(n - start), int32(LETTERS)), int32(b - start)
            passed = uint32(0)  # where the lowest diagonal has differences of 0
            j = int32(0)
            while j < stop:
                column(line_0, line_1, j, text_0, text_1, above, differ, flat, across, plus, minus)
                passed = funnel(flat[words - 1], passed, uint32(31))
                text_0, text_1 = uint32(text_0 << uint32(1)), uint32(text_1 << uint32(1))
                j = int32(j + int32(1))
            lowest -= int32(cuda.popc(passed))
            start = int32(start + int32(LETTERS))
            at += int64(1)
            for w in range(words + 1):
                raw[w] = raw[w + 1]
            raw[words + 1] = pattern[at + int64(words + 1)]
        # From the lowest row of the band up to row m, which is diagonal n - m.
        final = b - (n - m)
        for w in range(words):
            below = bits_from(final - int32(32 * w))
            if w == words - 1:
                below &= uint32(0x7FFFFFFF)
            lowest += int32(cuda.popc(minus[w] & below)) - int32(cuda.popc(plus[w] & below))
        return lowest

    return forward


def make_pick(words):
    """Device function: word ``chosen`` of the first ``words`` of a vector that is in registers, the last if beyond."""

    @inlined
    def pick(vector, chosen):
        word = vector[words - 1]
        for w in range(words - 1):
            if chosen == int32(w):
                word = vector[w]
        return word

    return pick


def make_pick_letters(words):
    """Device function: the two words from bit ``places`` < 32 of word ``chosen`` of a line on, where it has so many."""
    pick = make_pick(words + 1)

    @inlined
    def pick_letters(line, chosen, places):
        middle = pick(line, chosen + int32(1))
        low = funnel(pick(line, chosen), middle, places)
        return low, funnel(middle, pick(line, chosen + int32(2)), places)

    return pick_letters


def make_backward(band):
    """Device function that walks the way back of one pair, from its marks and its letters; see banded.make_kernel."""
    words = band // 32
    words_1, words_2 = words + 1, words + 2  # Numba takes array sizes by name only
    lines, column = make_column(words)
    pick, pick_letters = make_pick(words), make_pick_letters(words)

    @inlined
    def backward(pattern, pattern_at, text, text_at, m, n, a, marks, mark, runs, stop):
        """Where the pair's runs begin: they end before ``stop``."""
        near = cuda.shared.array(_NEAR_WORDS, uint32)
        thread = int32(cuda.threadIdx.x)
        b = int32(band - 1) - a
        plus, minus = cuda.local.array(words, uint32), cuda.local.array(words, uint32)
        differ, flat = cuda.local.array(words, uint32), cuda.local.array(words_1, uint32)
        across, raw = cuda.local.array(words, uint32), cuda.local.array(words_2, uint64)
        line_0, line_1 = cuda.local.array(words_1, uint32), cuda.local.array(words_1, uint32)
        flat[words] = uint32(0)
        at, run = stop, uint32(0)
        v, h = m, n
        bit = b - (n - m)
        first = int32(pattern_at) - b
        shift = uint32(first) & uint32(31)
        while v > int32(0) and h > int32(0):
            block = (h - int32(1)) >> int32(5)
            start = block << int32(5)
            for w in range(words):
                kept = marks[mark + uint64((block * int32(words) + int32(w)) * int32(THREADS))]
                plus[w], minus[w] = uint32(kept), uint32(kept >> uint64(32))
            for w in range(words + 2):
                raw[w] = pattern[int64((first >> int32(5)) + block + int32(w))]
            lines(raw, shift, line_0, line_1)
            text_0, text_1 = letters_from(text, int32(text_at) + start)
            # The diagonals at hand.
            lowest = min(max(bit - int32(_NEAR // 2), int32(0)), int32(band - _NEAR))
            chosen, places = lowest >> int32(5), uint32(lowest) & uint32(31)
            left_0, left_1 = uint32(cuda.brev(text_0)), uint32(cuda.brev(text_1))
            columns, above = int32(h - start), int32(b - start)
            j = int32(0)
            while j < columns:
                column(line_0, line_1, j, left_0, left_1, above, differ, flat, across, plus, minus)
                right = funnel(pick(across, chosen), pick(across, chosen + int32(1)), places)
                # What is +1 in the row above is a step down from there.
                below = funnel(pick(plus, chosen), pick(plus, chosen + int32(1)), places)
                near[j * int32(THREADS) + thread] = (right & uint32(0xFFFF)) | uint32(below << uint32(_NEAR + 1))
                left_0, left_1 = uint32(left_0 << uint32(1)), uint32(left_1 << uint32(1))
                j = int32(j + int32(1))
            line_0_low, line_0_high = pick_letters(line_0, chosen, places)
            line_1_low, line_1_high = pick_letters(line_1, chosen, places)
            least, d = min(lowest, int32(1)), bit - lowest
            while v > int32(0) and h > start and d >= least and d < int32(_NEAR):
                j = h - int32(1) - start
                apart = (funnel(line_0_low, line_0_high, d) ^ text_0) | (funnel(line_1_low, line_1_high, d) ^ text_1)
                matches = int32(cuda.clz(uint32(apart << uint32(int32(LETTERS - 1) - j))))
                matches = min(matches, min(j + int32(1), v))
                at, run = put_before(runs, at, run, uint32(MATCH), matches)
                v -= matches
                h -= matches
                if v > int32(0) and h > start:
                    steps = near[(j - matches) * int32(THREADS) + thread] >> uint32(d)
                    taken = uint32(MISMATCH)
                    if steps & uint32(1 << _NEAR) != uint32(0):
                        taken = uint32(DELETION)
                        d -= int32(1)
                    elif steps & uint32(1) != uint32(0):
                        taken = uint32(INSERTION)
                        d += int32(1)
                    at, run = put_before(runs, at, run, taken, int32(1))
                    if taken != uint32(INSERTION):
                        v -= int32(1)
                    if taken != uint32(DELETION):
                        h -= int32(1)
            bit = lowest + d
        return put_rest(runs, at, run, v, h)

    return backward


@cache
def make_kernel(band, traced):
    """The kernel of one band; see banded.make_kernel. band: diagonals, a multiple of 32."""

    @inlined
    def lay(m, n):
        return even_band(m, n, band)

    @inlined
    def limit(m, n, a):
        return letters_outside(m, n, a, band)

    @inlined
    def words(m, n):
        return int64((n + int32(LETTERS - 1)) >> int32(5)) * int64(band // 32)

    @inlined
    def most_runs(score):
        return int32(2) * score + int32(1)

    forward, backward = make_forward(band, traced), make_backward(band)
    matrix = SimpleNamespace(
        unit=1, lay=lay, limit=limit, words=words, forward=forward, most_runs=most_runs, backward=backward
    )
    return banded.make_kernel(f"_bpm_{band}" + ("_traced" if traced else ""), band, traced, matrix)


def words(band, longest):
    """uint64 words of ``marks`` that a pair of sequences of up to ``longest`` letters takes."""
    return -(-longest // LETTERS) * (band // 32)
