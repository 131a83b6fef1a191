"""Gap-affine alignment by the wavefront algorithm (WFA) as WFA-GPU does it: a block per pair (thesis chapter 4).

Recurrence (thesis Eq. 3, Algorithm 7), offsets h on diagonal k = h - v for score s:
    I[s, k] = max(M[s - o - e, k - 1], I[s - e, k - 1]) + 1
    D[s, k] = max(M[s - o - e, k + 1], D[s - e, k + 1])
    M[s, k] = LCP-extended max(M[s - x, k] + 1, I[s, k], D[s, k])
The score is the first s with M[s, n - m] = n. What lies outside the matrix is unreached: it grows out of a cell on the
border that a cheaper path has reached, from which nothing but the gap to the corner goes on, so it decides no score.
Penalties are divided by their greatest common divisor. With s at hand, no path is further from diagonal 0 than
(s - o) / e: only these diagonals are computed, as far as the matrix has them, and no others are ever read. A heuristic
leaves fewer (affine_wfa_ranges).

As in the thesis: persistent blocks take pair after pair from a pool, by an atomic counter (4.2); threads take the
diagonals of a wavefront and meet at a barrier (Fig. 8); the central diagonals lie in shared memory (4.2), all others in
global memory; letters are packed to two bits and compared 32 at a time (4.4); operations ride on the two low bits of
the offsets when their maximum is taken and are kept in BT-blocks (4.3, affine_wfa_trace).

Memory layout. Rings of rows, a row a score: max(x, o + e) + 1 of M, then e + 1 of I, then e + 1 of D (o + e + 1 with a
WavefrontReduction). A cell is one int32, its offset; traced, it has two more, its BT-block and the number of the block
before, in further rings behind all of these. Diagonal k of row r, if -central <= k <= central, is int32
r * (2 * central + 1) + central + k of the shared memory; in a wide kernel it is else int32 r * (2 * reach + 1) + reach
+ k of the block's part of the global memory, behind which, there, lies its BT-buffer.

Limits: reach, the furthest diagonal there is memory for, and the blocks of the BT-buffer. A pair over them goes on to
the next kernel, and after the last one to the host.
"""

from functools import cache

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.cuda.affine_wfa_ranges import back, make_ranges, make_reduction, shared_words
from wfa_kernels.cuda.affine_wfa_trace import leave_chain, push
from wfa_kernels.cuda.compaction import send_on
from wfa_kernels.cuda.device import inlined, named
from wfa_kernels.cuda.edit_wfa import INSERTED, REPLACED, UNREACHED
from wfa_kernels.cuda.packing import matches_on
from wfa_kernels.cuda.queues import lengths_of, pair_at, waiting_pairs
from wfa_kernels.heuristics import WavefrontReduction
from wfa_kernels.result import NO_SCORE

#: int32 of a block's part of the memory that lie before the first part: the counter of the pool.
POOL = 2


def rings(triple, heuristic=None):
    """Rows of M and of I; D has as many as I."""
    x, o, e = triple
    return max(x, o + e) + 1, (o + e if isinstance(heuristic, WavefrontReduction) else e) + 1


def rows(triple, heuristic=None):
    """Rows of all rings."""
    ring, gap_ring = rings(triple, heuristic)
    return ring + 2 * gap_ring


@inlined
def take(memory, shared, thread):
    """The next number of the pool, for all threads of the block; the BT-buffer is empty again."""
    cuda.syncthreads()
    if thread == 0:
        shared[0] = cuda.atomic.add(memory, 0, 1)
        shared[1] = int32(0)
    cuda.syncthreads()
    return shared[0]


@inlined
def _inside(h, limit):
    """The offset, if there is such a cell on its diagonal."""
    return h if int32(0) <= h <= limit else int32(UNREACHED)


@inlined
def _coded(h, code, bits):
    """An offset with a code in its low bits, so that the greatest of several tells where it came from."""
    return int32(int32(h << int32(bits)) | int32(code))


def make_access(wide):
    """(read, write) of an int32 of a row. where: central, 2 * central + 1, reach, 2 * reach + 1, the block's memory.

    Numba takes no care of the sign of unsigned indices, which saves four instructions an access.
    """

    @inlined
    def read(chip, memory, where, row, k):
        central, width, reach, far_width, first = where
        if wide and abs(k) > central:
            return memory[uint64(first) + uint64(uint32(row * far_width + reach + k))]
        return chip[uint32(row * width + central + k)]

    @inlined
    def write(chip, memory, where, row, k, value):
        central, width, reach, far_width, first = where
        if wide and abs(k) > central:
            memory[uint64(first) + uint64(uint32(row * far_width + reach + k))] = value
        else:
            chip[uint32(row * width + central + k)] = value

    return read, write


def make_next(triple, read, write, traced, heuristic):
    """The device function that computes the cells of one diagonal: whether the BT-buffer had room.

    where: see make_access. sources: of M[s - x], M[s - o - e] and I[s - e], each the row and the lowest and the highest
    diagonal, in this order: rows, lowest, highest; then, for a reduction, the row of I[s - o - e]. here: rows of M[s]
    and I[s].
    """
    every, gap_ring = rows(triple, heuristic), rings(triple, heuristic)[1]
    reduced = isinstance(heuristic, WavefrontReduction)

    @inlined
    def offset(chip, memory, where, row, k, lowest, highest):
        if k < lowest or k > highest:
            return int32(UNREACHED)
        return read(chip, memory, where, row, k)

    @inlined
    def opener(chip, memory, where, row, gap_row, k, lowest, highest):
        """M, where no gap of that row's kind has just ended, if wavefronts are cut (see WavefrontReduction)."""
        h = offset(chip, memory, where, row, k, lowest, highest)
        if reduced and h == offset(chip, memory, where, gap_row, k, lowest, highest):
            h = int32(UNREACHED)
        return h

    @inlined
    def pushed(chip, memory, where, source, row, k, operation, buffer, first, capacity, shared):
        """The BT-block of a source, (row, diagonal), with an operation more becomes that of a cell."""
        block = read(chip, memory, where, int32(source[0] + int32(every)), source[1])
        previous = read(chip, memory, where, int32(source[0] + int32(2 * every)), source[1])
        block, previous, fits = push(block, previous, operation, buffer, first, capacity, shared)
        write(chip, memory, where, int32(row + int32(every)), k, block)
        write(chip, memory, where, int32(row + int32(2 * every)), k, previous)
        return fits

    @inlined
    def next_cells(
        chip, memory, where, sources, here, s, k, m, n, pattern, pattern_at, text, text_at, buffer, first, capacity,
        shared,
    ):  # fmt: skip
        replaced, opened, longer, low_x, low_o, low_e, high_x, high_o, high_e, ended = sources
        limit, fits = min(n, int32(m + k)), True
        h = int32(offset(chip, memory, where, replaced, k, low_x, high_x) + int32(1))
        if reduced:  # else a mismatch outside the matrix is in nobody's way
            h = _inside(h, limit)
        best = _coded(h, REPLACED, 2)
        gap, row, step = longer, here[1], int32(-1)
        while step <= int32(1):  # first I, from diagonal k - 1, then D, from k + 1: written once, they compile faster
            beside, code = int32(k + step), int32(int32(REPLACED) + step)
            reached = _coded(opener(chip, memory, where, opened, ended, beside, low_o, high_o), 1, 1)
            reached = max(reached, _coded(offset(chip, memory, where, gap, beside, low_e, high_e), 0, 1))
            h = _inside(int32(int32(reached >> int32(1)) + int32(step < int32(0))), limit)
            write(chip, memory, where, row, k, h)
            best = max(best, _coded(h, code, 2))
            if traced and h >= int32(0):
                source = (opened if reached & int32(1) else gap), beside
                fits = fits and pushed(chip, memory, where, source, row, k, code, buffer, first, capacity, shared)
            gap, ended = int32(gap + int32(gap_ring)), int32(ended + int32(gap_ring))
            row = int32(row + int32(gap_ring))
            step = int32(step + int32(2))
        h, operation = _inside(int32(best >> int32(2)), limit), best & int32(3)
        if s == int32(0):
            h = int32(0)
        if h >= int32(0):
            if traced and s > int32(0):
                source_row = replaced
                if operation != int32(REPLACED):
                    source_row = here[1] if operation == int32(INSERTED) else int32(here[1] + int32(gap_ring))
                fits = fits and pushed(
                    chip, memory, where, (source_row, k), here[0], k, int32(REPLACED), buffer, first, capacity, shared
                )
            v = int32(h - k)
            h = int32(h + matches_on(pattern, int32(pattern_at + v), text, int32(text_at + h), int32(limit - h)))
        write(chip, memory, where, here[0], k, h)
        return fits

    return next_cells


def make_sources(triple, heuristic, before):
    """The device function that tells of a score the ``sources`` of make_next. before: see affine_wfa_ranges."""
    x, o, e = triple
    ring, gap_ring = rings(triple, heuristic)

    @inlined
    def sources(shared, s, slot, gap_slot, m, n):
        low_x, high_x = before(shared, s, slot, x, m, n)
        low_o, high_o = before(shared, s, slot, o + e, m, n)
        low_e, high_e = before(shared, s, slot, e, m, n)
        return (
            back(slot, int32(x), int32(ring)), back(slot, int32(o + e), int32(ring)),
            int32(int32(ring) + back(gap_slot, int32(e), int32(gap_ring))),
            low_x, low_o, low_e, high_x, high_o, high_e,
            int32(int32(ring) + back(gap_slot, int32(gap_ring - 1), int32(gap_ring))),
        )  # fmt: skip

    return sources


@cache
def make_kernel(triple, wide, traced, heuristic=None, registers=None):
    """The kernel for penalties without a common divisor. wide: with diagonals in global memory; traced: with CIGARs.
    heuristic: None, a StaticBand or a WavefrontReduction, whose numbers are constants of the kernel. registers: a
    thread's most, or None.

    Its first arguments are those of banded.make_kernel, but for the steps. unit: what scores are multiples of. central,
    reach: see above; equal where not wide. capacity: BT-blocks of a BT-buffer. part: int32 of a block's memory. memory:
    int32[POOL + blocks * part], element 0 cleared; words: the same as uint32. Dynamic shared memory: chip_bytes().
    """
    ring, gap_ring = rings(triple, heuristic)
    every = rows(triple, heuristic)
    read, write = make_access(wide)
    reduced = isinstance(heuristic, WavefrontReduction)
    next_cells = make_next(triple, read, write, traced, heuristic)
    here_at, before = make_ranges(triple, ring, heuristic)
    sources_of = make_sources(triple, heuristic, before)
    shared_size = shared_words(ring, heuristic)
    empty, put, reduce = make_reduction(ring, heuristic, read) if reduced else (None, None, None)

    def affine_wfa(
        pattern, text, pairs, shape, place, queues, queue, after, scores, runs_at, counts, runs, unit, central_,
        reach_, capacity, part, memory, words,
    ):  # fmt: skip
        chip = cuda.shared.array(0, int32)
        shared = cuda.shared.array(shared_size, int32)
        thread, threads = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
        central, reach = int32(central_), int32(reach_)
        own = int64(POOL) + int64(cuda.blockIdx.x) * part
        where = central, int32(2 * central + 1), reach, int32(2 * reach + 1), own
        first = own + part - int64(2) * capacity  # the BT-buffer
        waiting = waiting_pairs(queues, queue, pairs)
        at = take(memory, shared, thread)
        while at < waiting:
            i, mine = pair_at(queues, queue, at, scores)
            if mine:  # the same for all threads of the block
                m, n = lengths_of(shape, i)
                pattern_at, text_at = int32(place[0, i]), int32(place[1, i])
                if traced and thread == 0:  # the first cell, which is central, has no operations
                    chip[int32(every * (2 * central + 1) + central)] = int32(0)
                    chip[int32(2 * every * (2 * central + 1) + central)] = int32(0)
                final, s, slot, gap_slot = n - m, int32(-1), int32(-1), int32(-1)
                failed, reached = reach < int32(0), False
                if reduced:
                    empty(shared, thread, threads)
                while not reached and not failed:
                    s += int32(1)
                    slot = slot + int32(1) if slot < int32(ring - 1) else int32(0)
                    gap_slot = gap_slot + int32(1) if gap_slot < int32(gap_ring - 1) else int32(0)
                    lo, hi = here_at(shared, s, slot, m, n)
                    failed = max(int32(-lo), hi) > reach
                    if not failed:
                        sources = sources_of(shared, s, slot, gap_slot, m, n)
                        here = slot, int32(int32(ring) + gap_slot)
                        k, over = int32(lo + thread), int32(0)
                        while k <= hi:
                            room = next_cells(
                                chip, memory, where, sources, here, s, k, m, n, pattern, pattern_at, text, text_at,
                                words, first, capacity, shared,
                            )  # fmt: skip
                            over |= int32(0) if room else int32(1)
                            k = int32(k + threads)
                        if reduced:
                            put(shared, slot, lo, hi, final, thread)
                        if traced:
                            failed = cuda.syncthreads_or(over) != 0
                        else:
                            cuda.syncthreads()
                        reached = lo <= final <= hi and read(chip, memory, where, slot, final) >= n
                        reached = reached and not failed
                        if reduced and not reached and not failed:
                            reduce(chip, memory, where, shared, slot, lo, hi, m, n, thread, threads)
                if thread == 0:
                    scores[i] = s * int32(unit) if reached else int32(NO_SCORE)
                    if not reached:
                        send_on(queues, after, i)
                    elif traced:
                        block = read(chip, memory, where, slot + int32(every), final)
                        previous = read(chip, memory, where, slot + int32(2 * every), final)
                        start, count = leave_chain(block, previous, m, n, queues, runs, words, first)
                        runs_at[i] = uint32(start)
                        counts[i] = uint32(count)
            at = take(memory, shared, thread)

    suffix = [*map(str, triple), *["wide"] * wide, *["traced"] * traced, *[str(heuristic)] * (heuristic is not None)]
    suffix += [f"{registers}_registers"] * (registers is not None)
    return named(affine_wfa, "_".join(["", *suffix]), registers)


def chip_bytes(triple, central, traced, heuristic=None):
    """Shared memory of a block for so many diagonals on each side of diagonal 0."""
    return 4 * cell_words(traced) * rows(triple, heuristic) * (2 * central + 1)


def cell_words(traced):
    """int32 of a cell."""
    return 3 if traced else 1
