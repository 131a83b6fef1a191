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

Memory layout. Vectors live in registers. For CIGARs each column leaves two bits a cell in ``columns``, the step that
leads there if the letters differ (1 'X', 2 'I', 3 'D'), as one uint64 for each 32 diagonals: word w of column j at
j * words + w, each THREADS behind the one before, so that a warp writes 256 bytes at once. Where two letters are equal
the diagonal step is optimal, so the way back compares the packed letters, 32 at a time, and reads a column only where
they differ. A pair with score s keeps room for 2s + 1 of the batch's ``runs`` and fills it from its end.

Operations, per column and 32 diagonals: about 25 (compare 8, recurrence 9, step 4, loop 4); the way back about 80 an
error, times the most errors of a warp. Bytes, per column and 32 diagonals: 8 written; per error 96 read (sectors of 32
bytes: a column, pattern, text). On an H200 (16.4 T operations/s, 4.2 TB/s) 10M pairs of 150 letters with 7 errors each
need 3 ms for the operations and 5 ms for the bytes; the wire needs 54 ms.
"""

from functools import cache
from types import SimpleNamespace

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cuda import banded
from wfa_kernels.cuda.banded import even_band, letters_outside, put_before, put_rest
from wfa_kernels.cuda.bits import bits_from
from wfa_kernels.cuda.compaction import THREADS
from wfa_kernels.cuda.packing import LETTERS, funnel, letters_from, matches_back

#: Diagonals of the bands, in the order in which a pair tries them.
BANDS = (32, 64, 128, 256)


def make_forward(band, traced):
    """Device function that computes one pair within a band of ``band`` diagonals; see banded.make_kernel."""
    words = band // 32
    words_1, words_2 = words + 1, words + 2  # Numba takes array sizes by name only

    @cuda.jit(device=True, inline="always")
    def forward(pattern, pattern_at, text, text_at, m, n, a, limit, columns, column):
        """The score within the band. Leaves the columns."""
        b = int32(band - 1) - a
        plus, minus = cuda.local.array(words, uint32), cuda.local.array(words, uint32)
        equal, flat = cuda.local.array(words, uint32), cuda.local.array(words_1, uint32)
        raw = cuda.local.array(words_2, uint64)
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
            text_0, text_1 = letters_from(text, int32(text_at) + start)
            for w in range(words + 1):
                line_0[w] = funnel(uint32(raw[w]), uint32(raw[w + 1]), shift)
                line_1[w] = funnel(uint32(raw[w] >> uint64(32)), uint32(raw[w + 1] >> uint64(32)), shift)
            stop = min(n - start, int32(LETTERS))
            j = int32(0)
            while j < stop:
                letter_0 = uint32(-int32(text_0 & uint32(1)))
                letter_1 = uint32(-int32(text_1 & uint32(1)))
                text_0 >>= uint32(1)
                text_1 >>= uint32(1)
                for w in range(words):
                    equal[w] = ~(
                        (funnel(line_0[w], line_0[w + 1], j) ^ letter_0)
                        | (funnel(line_1[w], line_1[w + 1], j) ^ letter_1)
                    )
                hidden = b - start - j  # rows above the matrix
                if hidden > int32(0):
                    for w in range(words):
                        equal[w] &= bits_from(hidden - int32(32 * w))
                carry = uint64(0)
                for w in range(words):
                    total = uint64(equal[w] & plus[w]) + uint64(plus[w]) + carry
                    carry = total >> uint64(32)
                    flat[w] = (uint32(total) ^ plus[w]) | equal[w] | minus[w]
                lowest -= int32(flat[words - 1] >> uint32(31))
                before = uint32(0)
                for w in range(words):
                    across = minus[w] | ~(flat[w] | plus[w])
                    moved = funnel(flat[w], flat[w + 1], uint32(1))
                    minus[w] = moved & across
                    plus[w] = (flat[w] & plus[w]) | ~(moved | across)
                    if traced:
                        down = uint32((plus[w] << uint32(1)) | before)
                        before = plus[w] >> uint32(31)
                        high, low = uint32(down | across), uint32(down | ~across)  # Numba computes with 64 bits
                        columns[column + uint64(w * THREADS)] = (uint64(high) << uint64(32)) | uint64(low)
                column += uint64(words * THREADS)
                j += int32(1)
            start += int32(LETTERS)
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


def make_backward(band):
    """Device function that walks the way back of one pair, from its columns and its letters; see banded.make_kernel."""
    words = band // 32

    @cuda.jit(device=True, inline="always")
    def backward(pattern, pattern_at, text, text_at, m, n, a, columns, column, runs, stop):
        """Where the pair's runs begin: they end before ``stop``."""
        at, run = stop, uint32(0)
        v, h = m, n
        bit = int32(band - 1) - a - (n - m)
        while v > int32(0) and h > int32(0):
            # A match is never worse than a gap: columns are read where letters differ only.
            matches = matches_back(pattern, int32(pattern_at) + v, text, int32(text_at) + h, min(v, h))
            at, run = put_before(runs, at, run, uint32(MATCH), matches)
            v -= matches
            h -= matches
            if v > int32(0) and h > int32(0):
                place = uint32((h - int32(1)) * int32(words) + (bit >> int32(5)))
                codes = columns[column + uint64(place) * uint64(THREADS)]
                codes >>= uint64(bit & int32(31))
                taken = uint32(MISMATCH)
                if codes & uint64(1) == uint64(0):
                    taken = uint32(INSERTION)
                    bit += int32(1)
                elif (codes >> uint64(32)) & uint64(1) != uint64(0):
                    taken = uint32(DELETION)
                    bit -= int32(1)
                at, run = put_before(runs, at, run, taken, int32(1))
                if taken != uint32(INSERTION):
                    v -= int32(1)
                if taken != uint32(DELETION):
                    h -= int32(1)
        return put_rest(runs, at, run, v, h)

    return backward


@cache
def make_kernel(band, traced):
    """The kernel of one band; see banded.make_kernel. band: diagonals, a multiple of 32."""

    @cuda.jit(device=True, inline="always")
    def lay(m, n):
        return even_band(m, n, band)

    @cuda.jit(device=True, inline="always")
    def limit(m, n, a):
        return letters_outside(m, n, a, band)

    @cuda.jit(device=True, inline="always")
    def words(m, n):
        return int64(n) * int64(band // 32)

    @cuda.jit(device=True, inline="always")
    def most_runs(score):
        return int32(2) * score + int32(1)

    forward, backward = make_forward(band, traced), make_backward(band)
    matrix = SimpleNamespace(
        unit=1, lay=lay, limit=limit, words=words, forward=forward, most_runs=most_runs, backward=backward
    )
    return banded.make_kernel(f"_bpm_{band}" + ("_traced" if traced else ""), band, traced, matrix)


def words(band, longest):
    """uint64 words of ``columns`` that a pair of sequences of up to ``longest`` letters takes."""
    return longest * (band // 32)
