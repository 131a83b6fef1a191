"""Edit distance by the wavefront algorithm in global memory, one thread block per pair: for what is beyond E128.

Recurrence: that of edit_wfa. Its vectors hold one operation an edit for every diagonal, so a block keeps O(E^2) of them
in shared memory; here every cell of every wavefront leaves one byte in global memory, the operation that leads there,
and the way back follows them from the final cell.

Memory layout. Each block of the grid has a part of ``offsets``, two wavefronts of 2E + 5 int32, and of ``operations``,
uint8[(E + 1)^2]: cell (e, k) at e * e + e + k. Blocks take pair after pair. A first launch has enough blocks to fill
the GPU, and so a small E; a second one has as few as the longest pair asks for.

Limits: E, the square root of a block's memory. What is over it, the host does.
"""

from functools import cache
from math import isqrt

import numpy as np
from numba import cuda, int32, int64, uint32

from wfa_kernels.cigar import MATCH
from wfa_kernels.cuda import device, memory
from wfa_kernels.cuda.banded import put_run, write_run
from wfa_kernels.cuda.compaction import send_on
from wfa_kernels.cuda.device import inlined
from wfa_kernels.cuda.edit_wfa import REPLACED, UNREACHED, compute_next, put_operation
from wfa_kernels.cuda.memory import GpuMemoryError
from wfa_kernels.cuda.packing import MAX_LENGTH, matches_on
from wfa_kernels.cuda.queues import lengths_of, pair_at, waiting_pairs
from wfa_kernels.result import NO_SCORE

#: Blocks of the first launch, two for each of 132 processors, and threads of a block.
BLOCKS, BLOCK_THREADS = (2, 4) if device.simulated() else (264, 256)
#: Device memory of both arrays, at most and at least.
_MOST_BYTES, _LEAST_BYTES = 4 << 30, 1 << 16
_BORDER = 2


@inlined
def _write_border(offsets, centre, e):
    """What the next wavefront reads beyond both ends of this one is unreached."""
    for outer in range(1, _BORDER + 1):
        offsets[centre - int64(e) - outer] = int32(UNREACHED)
        offsets[centre + int64(e) + outer] = int32(UNREACHED)


@inlined
def _way_back(pattern, pattern_at, text, text_at, m, n, score, room, operations, cells, runs, start):
    """Write the runs of a pair from ``start`` on; where they end.

    The operations come last first: they wait at the end of the pair's room, which the runs do not reach in time.
    """
    waiting = start + int64(room) - int64(score)
    k, e = n - m, score
    while e > int32(0):
        operation = int32(operations[cells + int64(e) * int64(e) + int64(e + k)])
        runs[waiting + int64(e) - int64(1)] = uint32(operation)
        k -= int32(REPLACED) - operation
        e -= int32(1)
    at, run, h, k = start, uint32(0), int32(0), int32(0)
    while e <= score:
        matches = matches_on(pattern, pattern_at + h - k, text, text_at + h, min(m + k, n) - h)
        at, run = put_run(runs, at, run, uint32(MATCH), matches, False)
        h += matches
        if e < score:
            operation = int32(runs[waiting + int64(e)])
            at, run, h, k = put_operation(runs, at, run, operation, h, k)
        e += int32(1)
    return write_run(runs, at, run, False)


@cache
def make_kernel(traced):
    """The kernel; traced: with CIGAR runs. Its first arguments are those of banded_bpm.make_kernel; limit: errors that
    a block has memory for; offsets: int32[blocks * 2 * (2 * limit + 5)]; operations: uint8[blocks * (limit + 1)^2]."""

    def edit_wfa_global(
        pattern, text, pairs, shape, place, queues, queue, after, scores, runs_at, counts, runs, limit, offsets,
        operations,
    ):  # fmt: skip
        thread, threads = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
        width = int64(2) * int64(limit) + int64(2 * _BORDER + 1)
        new = int64(cuda.blockIdx.x) * int64(2) * width + int64(limit) + int64(_BORDER)
        old = new + width
        cells = int64(cuda.blockIdx.x) * (int64(limit) + int64(1)) * (int64(limit) + int64(1))
        waiting = waiting_pairs(queues, queue, pairs)
        at = int64(cuda.blockIdx.x)
        while at < waiting:
            i, mine = pair_at(queues, queue, at, scores)
            if mine:  # the same for all threads of the block
                m, n = lengths_of(shape, i)
                pattern_at, text_at = int32(place[0, i]), int32(place[1, i])
                if thread == 0:
                    offsets[new] = matches_on(pattern, pattern_at, text, text_at, min(m, n))
                    _write_border(offsets, new, int32(0))
                cuda.syncthreads()
                final, e = n - m, int32(0)
                reached = final == int32(0) and offsets[new] >= n
                while not reached and e < int32(limit):
                    e += int32(1)
                    new, old = old, new
                    row = cells + int64(e) * int64(e) + int64(e)
                    k = thread - e
                    while k <= e:
                        h, operation = compute_next(offsets, old, int64(k), m, n, k)
                        if h >= int32(0):
                            h += matches_on(pattern, pattern_at + h - k, text, text_at + h, min(m + k, n) - h)
                        offsets[new + int64(k)] = h
                        if traced:
                            operations[row + int64(k)] = operation
                        k += threads
                    if thread == 0:
                        _write_border(offsets, new, e)
                    cuda.syncthreads()
                    reached = abs(final) <= e and offsets[new + int64(final)] >= n
                if thread == 0:
                    scores[i] = e if reached else int32(NO_SCORE)
                    if not reached:
                        send_on(queues, after, i)
                    elif traced:
                        room = min(int32(2) * e + int32(1), m + n)
                        start = int64(cuda.atomic.add(queues, (0, queues.shape[0] - 1), room))
                        stop = _way_back(
                            pattern, pattern_at, text, text_at, m, n, e, room, operations, cells, runs, start
                        )
                        runs_at[i] = uint32(start)
                        counts[i] = uint32(stop - start)
                cuda.syncthreads()
            at += int64(cuda.gridDim.x)

    return device.named(edit_wfa_global, "_traced" if traced else "")


class GlobalWfa:
    """The last kernels of the papers' design (see design.Design); they take device memory when first launched.

    most_bytes: of device memory, of which they take what there is: pairs for which that is too little are left over.
    """

    NAMES = ("global", "global, fewer blocks")

    def __init__(self, most_bytes):
        self.bytes = min(_MOST_BYTES, most_bytes)
        self.offsets, self.operations = _arrays(0, True)
        self._taken = False

    def launch(self, level, queue, after, batch, traced):
        """Launch the kernel with many blocks, or with as many as have memory for the batch's longest pair."""
        if not self._taken:
            self._take(traced)
        blocks = BLOCKS if level == 0 else self._blocks(batch.longest, traced)
        limit = min(batch.longest, self._limit(blocks, traced))
        batch.slot.launch(
            make_kernel(traced), min(blocks, batch.pairs), BLOCK_THREADS, *batch.input, queue, after, *batch.output,
            limit, self.offsets, self.operations,
        )  # fmt: skip

    def _blocks(self, limit, traced):
        most = self.operations.size // (limit + 1) ** 2 if traced else self.offsets.size // _offsets_of_block(limit)
        return max(1, min(BLOCKS, most))

    def _limit(self, blocks, traced):
        """Errors that each of so many blocks has memory for."""
        if traced:
            return max(0, isqrt(self.operations.size // blocks) - 1)
        return max(0, (self.offsets.size // blocks - _offsets_of_block(0)) // 4)

    def _take(self, traced):
        """Larger arrays, of half as many bytes as often as these are not there."""
        self._taken = True
        while self.bytes >= _LEAST_BYTES:
            try:
                self.offsets, self.operations = _arrays(self.bytes, traced)
                return
            except GpuMemoryError:
                self.bytes //= 2


def _arrays(bytes_, traced):
    offsets, operations = _shares(bytes_, traced)
    return memory.device_array(offsets, np.int32), memory.device_array(operations, np.uint8)


def _shares(bytes_, traced):
    """(offsets, operations): elements of the two arrays.

    With CIGARs the offsets are as many as BLOCKS need for the errors whose operations there is room for: fewer blocks,
    for more errors each, need no more of them.
    """
    least = BLOCKS * _offsets_of_block(0)
    if not traced:
        return max(least, min(bytes_ // 4, BLOCKS * _offsets_of_block(MAX_LENGTH))), 1
    offsets = max(least, BLOCKS * _offsets_of_block(isqrt(bytes_ // BLOCKS) + 1))
    return offsets, max(BLOCKS, bytes_ - 4 * offsets)


def _offsets_of_block(limit):
    return 2 * (2 * limit + 2 * _BORDER + 1)
