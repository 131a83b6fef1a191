"""What the rest of a pair costs at least, by its seeds: for the strips to leave chunks out by.

Problem: for every row of the matrix that a strip begins with, and every column that a chunk begins with, a cost that
any path from there to the end has at least, besides the gaps that lead it back to the final diagonal.

Seeds: ``SEED`` letters in a row of a sequence, PER_BLOCK of them in every block of 32 letters. One that does not occur
in the other sequence is not matched as a whole by any path. (The seed heuristic of A*, without the places of the
matches: Ivanov et al. 2022, Groot Koerkamp and Ivanov 2024.)

Exactness. Take a path from row i = 32 s on, where it is d > 0 diagonals left of the final one. It needs d letters of
the text in gaps, and one more for each letter of the pattern in a gap. So besides d * e it pays x a mismatch, o an
insertion, and for a deletion of k letters o + 2 e k, or 2 e k where it began before row i. Each seed of the pattern in
the rows from i on that does not occur in the text has a mismatch, letters of a deletion, or an insertion between two of
its letters. A mismatch and an insertion are in one seed only, a deletion of k letters touches k seeds at most. So the
path pays w = min(x, o, 2 e) a seed at least. The same holds for the text's seeds from column j on where a path goes
right of the final diagonal. The strips compare costs at the first or last cell of a row or column, o too high at most,
so what is kept is max(0, w * seeds - o). Where gaps open for nothing (o = 0) w is 0, and there are no seeds.

Whether a seed occurs is looked up in a table of bits that different seeds share: it may find what is not there, which
makes the bound lower. Pairs of 10,000 letters fill 7 % of it, random ones besides have 1 % of all seeds in common.

Memory layout. One block a pair. The table is in shared memory, 16 KiB, for one sequence after the other. The bounds are
the first words of a pair's part of the scratch memory, 2 * ``bounds`` in all, and lie backwards: that of strip 0 last,
and ``bounds`` before it that of chunk 0. So their places need no registers that the strips' kernel does not have.

Operations: a letter that is entered takes 16 and an atomic in shared memory. 100K pairs of 10,000 letters: 3.2e10, 2 ms
of an H200 (16.4 T/s); atomics, 4 cycles for 32 in random banks: 6.3e7 * 4, 1.1 ms of 132 processors. Bytes: 0.5 GB of
packed letters, two times, and 0.25 GB of bounds: 0.3 ms.
"""

from functools import cache

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.cuda.compaction import sums_before
from wfa_kernels.cuda.device import SIDE_BY_SIDE, inlined, named, simulated
from wfa_kernels.cuda.packing import LETTERS, funnel, letters_from
from wfa_kernels.cuda.queues import lengths_of, pair_at, waiting_pairs

#: Letters of a seed, and seeds in a block of 32.
SEED, PER_BLOCK = 10, 3
#: Threads of a block. The simulator starts a Python thread for each of them.
THREADS = 4 if simulated() else 128
_TABLE_BITS = 17
_TABLE_WORDS, _SUMS = (1 << _TABLE_BITS) // LETTERS, 2 * THREADS  # Numba takes array sizes by name only


def price_of_a_seed(triple):
    """Cost of a seed that does not occur, for penalties without a common divisor; 0: seeds tell nothing."""
    mismatch, gap_open, gap_extend = triple
    return min(mismatch, gap_open, 2 * gap_extend)


def bounds_of(longest):
    """Words for the bounds of one of a pair's sequences: of its blocks, and two behind them."""
    return -(-longest // LETTERS) + 2


@inlined
def _place_of(low, high):
    """Bit of the table for the seed at the low end of two planes of letters."""
    ones = uint32((1 << SEED) - 1)
    key = uint32(low & ones) | uint32(uint32(high & ones) << uint32(SEED))
    return uint32(key ^ uint32(key >> uint32(_TABLE_BITS))) & uint32((1 << _TABLE_BITS) - 1)


@inlined
def _enter(table, planes, at, length, thread):
    """Enter every seed of a sequence into the table, which is cleared before."""
    word = thread
    while word < int32(_TABLE_WORDS):
        table[word] = uint32(0)
        word += int32(THREADS)
    cuda.syncthreads()
    first = thread * int32(LETTERS)
    while first + int32(SEED) <= length:
        low, high = letters_from(planes, at + first)
        next_low, next_high = letters_from(planes, at + first + int32(LETTERS))
        for shift in range(min(int32(LETTERS), length - int32(SEED - 1) - first)):
            place = _place_of(funnel(low, next_low, uint32(shift)), funnel(high, next_high, uint32(shift)))
            cuda.atomic.or_(table, place >> uint32(5), uint32(uint32(1) << (place & uint32(31))))
        first += int32(THREADS * LETTERS)
    cuda.syncthreads()


@inlined
def _missing(table, planes, at, letters):
    """Number of a block's seeds, within its first ``letters``, that are not in the table."""
    low, high = letters_from(planes, at)
    found = int32(0)
    for seed in range(PER_BLOCK):
        place = _place_of(uint32(low >> uint32(SEED * seed)), uint32(high >> uint32(SEED * seed)))
        bit = uint32(table[place >> uint32(5)] >> (place & uint32(31))) & uint32(1)
        if int32(SEED) * (int32(seed) + int32(1)) <= letters and bit == uint32(0):
            found += int32(1)
    return found


@cache
def make_seeds(price, gap_open):
    """The kernel that tells the bounds, one block a pair; for penalties without a common divisor.

    Arguments: those of affine_strips.make_forward up to ``level``, then first, count: the pairs of the queue to take;
    scores: int32[pairs]; words: uint32[...], of which each pair has ``part``; bounds: of each of its sequences.
    """

    @inlined
    def tell(table, sums, planes, at, length, words, end, thread):
        """Bounds of a sequence, up to the word before ``end``, from its last block on, by a table of the other one."""
        blocks, carried, done = (length + int32(LETTERS - 1)) >> int32(5), int32(0), int32(0)
        if thread == int32(0):
            words[end - uint64(uint32(blocks + int32(1)))] = uint32(0)
            words[end - uint64(uint32(blocks + int32(2)))] = uint32(0)
        while done < blocks:
            block, missing = blocks - int32(1) - done - thread, int32(0)
            if block >= int32(0):
                first = block * int32(LETTERS)
                missing = _missing(table, planes, at + first, length - first)
            half = sums_before(sums, missing, thread, int32(THREADS)) * int32(THREADS)
            if block >= int32(0):
                cost = int32(price) * (carried + sums[half + thread]) - int32(gap_open)
                words[end - uint64(uint32(block + int32(1)))] = uint32(max(cost, int32(0)))
            carried += sums[half + int32(THREADS - 1)]
            done += int32(THREADS)
            cuda.syncthreads()

    def affine_seeds(pattern, text, pairs, shape, place, queues, level, first, count, scores, words, part, bounds):
        table = cuda.shared.array(_TABLE_WORDS, uint32)
        sums = cuda.shared.array(_SUMS, int32)
        thread = int32(cuda.threadIdx.x)
        index = int64(cuda.blockIdx.x)
        if index < count and int64(first) + index < waiting_pairs(queues, level, pairs):
            i, mine = pair_at(queues, level, int64(first) + index, scores)
            if mine:
                m, n = lengths_of(shape, i)
                pattern_at, text_at = int32(place[0, i]), int32(place[1, i])
                end = uint64(index * int64(part) + int64(2) * int64(bounds))
                _enter(table, text, text_at, n, thread)
                tell(table, sums, pattern, pattern_at, m, words, end, thread)
                _enter(table, pattern, pattern_at, m, thread)
                tell(table, sums, text, text_at, n, words, end - uint64(bounds), thread)

    return named(affine_seeds, f"_{price}_{gap_open}", carveout=SIDE_BY_SIDE)
