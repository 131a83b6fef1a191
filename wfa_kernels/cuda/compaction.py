"""Where things lie: exclusive sums on the GPU, and runs of many pairs brought together into one array of CIGARs.

Each block serves THREADS consecutive pairs, one a thread.
"""

from numba import cuda, int32, int64, uint32

from wfa_kernels.cuda.device import simulated

#: Threads of a block, and of the one block that adds up the sums of all blocks. The simulator starts a Python thread
#: for each of them.
THREADS, SCAN_THREADS = (8, 8) if simulated() else (128, 1024)
_PLACES, _SCAN_PLACES = 2 * THREADS, 2 * SCAN_THREADS  # Numba takes array sizes by name only


@cuda.jit(device=True, inline="always")
def _before(shared, value, thread, threads):
    """Sum of the values of the threads before this one in its block (Hillis and Steele); all threads must call it.

    shared: 2 * threads values. Afterwards shared[(the returned half) * threads + t] is the sum up to thread t.
    """
    half = int32(0)
    shared[thread] = value
    cuda.syncthreads()
    step = int32(1)
    while step < threads:
        total = shared[half * threads + thread]
        if thread >= step:
            total += shared[half * threads + thread - step]
        half = int32(1) - half
        shared[half * threads + thread] = total
        cuda.syncthreads()
        step *= int32(2)
    return half


@cuda.jit
def place_pairs(pairs, shape, place, queues):
    """Byte at which each sequence of a batch begins; empties the queues.

    shape: uint32[pairs], m | n << 16, and behind them the places of the first pattern of each block, then of the first
    text. place: uint32[2, ...], written. queues: int32[levels + 2, ...], see banded_bpm.
    """
    sums = cuda.shared.array(_PLACES, uint32)
    thread = int32(cuda.threadIdx.x)
    i = int64(cuda.blockIdx.x) * int64(THREADS) + int64(thread)
    if cuda.blockIdx.x == 0 and thread < queues.shape[0] - 1:
        queues[0, thread] = int32(0)
    both = uint32(0)
    if i < pairs:
        both = shape[i]
    for side in range(2):
        length = (both >> uint32(16 * side)) & uint32(0xFFFF)
        half = _before(sums, length, thread, int32(THREADS))
        if i < pairs:
            start = shape[pairs + side * cuda.gridDim.x + cuda.blockIdx.x]
            place[side, i] = start + sums[half * int32(THREADS) + thread] - length
        cuda.syncthreads()


@cuda.jit
def sum_blocks(pairs, scores, counts, sums):
    """Runs of each block's pairs. scores: int32[pairs], below 0 for a pair without answer. sums: int64[blocks]."""
    shared = cuda.shared.array(1, int32)
    i = int64(cuda.blockIdx.x) * int64(THREADS) + int64(cuda.threadIdx.x)
    if cuda.threadIdx.x == 0:
        shared[0] = int32(0)
    cuda.syncthreads()
    if i < pairs and scores[i] >= int32(0):
        cuda.atomic.add(shared, 0, int32(counts[i]))
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = int64(shared[0])


@cuda.jit
def scan_sums(blocks, sums, filled, slot):
    """Exclusive sums of sums[:blocks] in place, from filled[slot] on, by one block; filled[slot + 1] is the end."""
    shared = cuda.shared.array(_SCAN_PLACES, int64)
    thread = int32(cuda.threadIdx.x)
    carried = filled[slot]
    base = int64(0)
    while base < blocks:
        value = int64(0)
        if base + thread < blocks:
            value = sums[base + thread]
        half = _before(shared, value, thread, int32(SCAN_THREADS))
        if base + thread < blocks:
            sums[base + thread] = carried + shared[half * int32(SCAN_THREADS) + thread] - value
        carried += shared[half * int32(SCAN_THREADS) + int32(SCAN_THREADS - 1)]
        cuda.syncthreads()
        base += int64(SCAN_THREADS)
    if thread == 0:
        filled[slot + 1] = carried


@cuda.jit
def gather_runs(pairs, scores, counts, runs, sums, filled, slot, offsets, cigars):
    """Each pair's runs, last first in ``runs``, first first into cigars; their ends into offsets.

    runs: uint32[most, pairs] flat. sums: int64[blocks] from scan_sums. offsets: int64[pairs], end of each pair's CIGAR
    in the whole result. cigars: uint32[...], this batch's part: it begins at filled[slot].
    """
    shared = cuda.shared.array(_PLACES, int32)
    thread = int32(cuda.threadIdx.x)
    i = int64(cuda.blockIdx.x) * int64(THREADS) + int64(thread)
    count = int32(0)
    if i < pairs and scores[i] >= int32(0):
        count = int32(counts[i])
    half = _before(shared, count, thread, int32(THREADS))
    if i < pairs:
        end = sums[cuda.blockIdx.x] + int64(shared[half * int32(THREADS) + thread])
        offsets[i] = end
        at = end - filled[slot]
        run = i
        while count > int32(0):
            at -= int64(1)
            cigars[at] = runs[run]
            run += int64(pairs)
            count -= int32(1)
