"""Gap-affine alignment in bit planes within a band on a GPU: one thread per pair.

Problem: global alignment, a mismatch costs x, a gap of n letters o + n * e.

Recurrence: wfa_kernels.affine_cell. Antidiagonal by antidiagonal, a word of 32 bits is 32 cells (affine_forward).

Exactness. A path that leaves the band at its lower side has a gap of at least a + 1 letters of the pattern and one of
at least a + 1 + n - m letters of the text: it costs 2o + e * (2a + 2 + n - m) or more. With b = B - 1 - a it costs
2o + e * (2b + 2 - (n - m)) or more at the upper side. A score below both is the optimum, and no way back of that score
leaves the band. The other pairs go to the queue of the next band. The score so far of the final diagonal never falls,
so a thread stops as soon as it is too high.

Memory layout. The planes live in registers. For CIGARs each antidiagonal leaves two uint64 of codes a word: 16 bytes
for 32 cells, THREADS apart, so that a warp writes 256 bytes at once. Where letters are equal the diagonal step is
optimal (H[i, j] >= H[i - 1, j - 1], since taking away a letter of each makes nothing dearer), so outside gaps the way
back compares the packed letters, 32 at a time, and reads codes only where they differ.

Operations, for penalties 2, 3, 1, per antidiagonal and 32 cells: 55 gates, 6 moves of planes, 4 of letters, 3 for
their comparison, 5 for the score and the loop: 73 (measured: 75, with codes 80). Bytes: 16 written with codes. 10M
pairs of 150 letters, 300 antidiagonals of one word: 2.3e11 operations, 14 ms of an H200 (16.4 T/s), and 48 GB, 12 ms
(4.2 TB/s); the wire needs 54 ms. 1M pairs of 1000 letters in bands of 64, 192 and 384 diagonals: 9, 26 and 52 ms and
8, 23 and 46 ms; the wire 36 ms.
"""

from functools import cache
from types import SimpleNamespace

from numba import int32, int64, uint32, uint64

from wfa_kernels.affine_cell import make_cell
from wfa_kernels.cigar import DELETION, INSERTION, MATCH
from wfa_kernels.cuda import banded
from wfa_kernels.cuda.affine_forward import make_forward
from wfa_kernels.cuda.affine_trace import BEGINS, REACHED, step_back
from wfa_kernels.cuda.banded import even_band, letters_outside, put_before, put_rest
from wfa_kernels.cuda.compaction import THREADS
from wfa_kernels.cuda.device import inlined
from wfa_kernels.cuda.packing import matches_back

#: Diagonals of a word.
WORD = 64


@inlined
def _code(codes, at, bit):
    """A side's two digits of one cell, from the word they stand in."""
    both = codes[at] >> uint64(bit & int32(31))
    return int32(both & uint64(1)) | int32((both >> uint64(31)) & uint64(2))


def _make_backward(words):
    """The way back of one pair, from its codes and its letters; see banded.make_kernel."""

    @inlined
    def backward(pattern, pattern_at, text, text_at, m, n, a, codes, at, runs, stop):
        end, run, gap = stop, uint32(0), uint32(0)
        v, h = m, n
        while v > int32(0) and h > int32(0):
            if gap == uint32(0):
                matches = matches_back(pattern, int32(pattern_at) + v, text, int32(text_at) + h, min(v, h))
                end, run = put_before(runs, end, run, uint32(MATCH), matches)
                v -= matches
                h -= matches
            if v > int32(0) and h > int32(0):
                bit = (h - v + a) >> int32(1)
                row = (v + h - (a & int32(1)) - int32(1)) * int32(words) + (bit >> int32(5))
                place = at + uint64(uint32(row)) * uint64(2 * THREADS)
                left, above = int32(BEGINS), int32(BEGINS)
                if gap != uint32(DELETION):
                    left = _code(codes, place, bit)
                if gap == uint32(DELETION) or (gap == uint32(0) and left != int32(REACHED)):
                    above = _code(codes, place + uint64(THREADS), bit)
                taken, gap = step_back(left, above, gap)
                if taken != uint32(0):
                    end, run = put_before(runs, end, run, taken, int32(1))
                    if taken != uint32(INSERTION):
                        v -= int32(1)
                    if taken != uint32(DELETION):
                        h -= int32(1)
        return put_rest(runs, end, run, v, h)

    return backward


@cache
def make_kernel(penalties, band, traced):
    """The kernel of one band; see banded.make_kernel. penalties: (mismatch, gap_open, gap_extend)."""
    cell = make_cell(*penalties)
    mismatch, gap_open, gap_extend = cell.triple
    dearest = min(mismatch, gap_open + gap_extend)  # the least that a run other than of matches costs

    @inlined
    def lay(m, n):
        a = even_band(m, n, band)
        return a - ((n - m + a) & int32(1))

    @inlined
    def limit(m, n, a):
        certain = int32(2 * gap_open) + int32(gap_extend) * letters_outside(m, n, a, band)
        if a < int32(0):  # of B diagonals none is to spare for the parity of a: the band lacks diagonal 0
            certain = int32(0)
        return certain

    @inlined
    def words_of(m, n):
        return int64(m + n) * int64(2 * (band // WORD))

    @inlined
    def most_runs(score):
        return int32(2) * (score // int32(dearest)) + int32(1)

    matrix = SimpleNamespace(
        unit=cell.divisor,
        lay=lay,
        limit=limit,
        words=words_of,
        forward=make_forward(cell.triple, band // WORD, traced),
        most_runs=most_runs,
        backward=_make_backward(band // WORD),
    )
    name = "_".join(["_affine", *map(str, penalties), str(band)] + ["traced"] * traced)
    return banded.make_kernel(name, band, traced, matrix)


def words(band, longest):
    """uint64 words of codes that a pair of sequences of up to ``longest`` letters leaves."""
    return 2 * longest * 2 * (band // WORD)
