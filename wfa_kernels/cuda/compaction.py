"""Where things lie: exclusive sums on the GPU, and runs of many pairs brought together into one array of CIGARs.

Each block serves THREADS consecutive pairs, one a thread.
"""

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.cuda.device import inlined, simulated
from wfa_kernels.cuda.packing import any_odd
from wfa_kernels.result import NO_SCORE

#: Threads of a block: a warp for each quarter of a processor, see device.BESIDE_REGISTERS. The simulator starts a
#: Python thread for each of them.
THREADS = 8 if simulated() else 128
#: Neighbouring sums that a thread adds up of the block that adds up those of all blocks.
_SUMS_A_THREAD = 8
#: Score, while the batch is on the GPU, of a pair with a letter that has no code.
ODD = NO_SCORE - 1
_PLACES = 2 * THREADS  # Numba takes array sizes by name only


@inlined
def sums_before(shared, value, thread, threads):
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


def record_words(bits):
    """Words of 32 bits of a record of THREADS pairs, with so many bits a length; see records."""
    return 2 + THREADS * 2 * bits // 32


@inlined
def _lengths(records, at, thread, bits):
    """(m, n) of a thread's pair; the lengths of its block begin ``at``."""
    if bits == 32:
        at += int64(2) * int64(thread)
        m, n = records[at], records[at + int64(1)]
    elif bits == 16:
        both = records[at + int64(thread)]
        m, n = uint32(both & uint32(0xFFFF)), uint32(both >> uint32(16))
    else:
        both = uint32(records[at + int64(thread >> 1)] >> uint32(int32(16) * (thread & int32(1))))
        m, n = uint32(both & uint32(0xFF)), uint32((both >> uint32(8)) & uint32(0xFF))
    return m, n


@cuda.jit(cache=True)
def place_pairs(
    pairs, bits, words, pattern_before, text_before, records,
    shape, place, queues, scores, pattern_odd, text_odd, flag, batch,
):  # fmt: skip
    """Where each sequence of a batch begins; pairs with letters that have no code are handed to the host.

    records: uint32[blocks * words], words = record_words(bits). pattern_before, text_before: what is to be subtracted
    from the places that they tell. shape: uint64[pairs], m | n << 32, written. place: uint32[2, ...], written. queues:
    int32[levels + 2, ...]: in row 0 the number of pairs that wait for each kernel, for the host, how many CIGAR
    elements are reserved, and the design's LEARNED numbers; in row 1 + level the pairs that wait; the last row is the
    host's. scores: int32[pairs], ODD for the pairs handed to the host, NO_SCORE for the others. pattern_odd, text_odd,
    flag: from packing.pack_letters.
    """
    sums = cuda.shared.array(_PLACES, uint32)
    thread = int32(cuda.threadIdx.x)
    i = int64(cuda.blockIdx.x) * int64(THREADS) + int64(thread)
    m, n, record = uint32(0), uint32(0), int64(cuda.blockIdx.x) * int64(words)
    if i < pairs:
        m, n = _lengths(records, record + int64(2), thread, bits)
        shape[i] = uint64(m) | uint64(n) << uint64(32)
    for side in range(2):
        length = n if side else m
        half = sums_before(sums, length, thread, int32(THREADS))
        if i < pairs:
            before = text_before if side else pattern_before
            start = (int64(records[record + side]) - before) & int64(0xFFFFFFFF)
            place[side, i] = start + int64(sums[half * int32(THREADS) + thread] - length)
        cuda.syncthreads()
    if i < pairs:
        scores[i] = int32(NO_SCORE)
        if flag[0] == batch and (
            any_odd(pattern_odd, place[0, i], int32(m)) or any_odd(text_odd, place[1, i], int32(n))
        ):
            scores[i] = int32(ODD)
            send_on(queues, queues.shape[0] - 2, i)


@inlined
def send_on(queues, level, i):
    """Let a pair wait for another kernel."""
    queues[level + 1, cuda.atomic.add(queues, (0, level), 1)] = i


@inlined
def reserve(queues, wanted, shared, thread):
    """First of ``wanted`` CIGAR elements kept for this thread; all threads of the block must call it.

    shared: int32[2]. One atomic of each block on the GPU's memory: one of each thread would wait for all the others.
    """
    cuda.syncthreads()
    if thread == 0:
        shared[0] = int32(0)
    cuda.syncthreads()
    before = cuda.atomic.add(shared, 0, wanted)
    cuda.syncthreads()
    if thread == 0:
        shared[1] = cuda.atomic.add(queues, (0, queues.shape[0] - 1), shared[0])
    cuda.syncthreads()
    return shared[1] + before


@cuda.jit(cache=True)
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


@cuda.jit(cache=True)
def scan_sums(blocks, sums, spans, before, this):
    """Exclusive sums of sums[:blocks] in place, by one block, from where the span of the batch before ends.

    spans: int64[...], pairs of (first element, end) of the batches under way, in the whole result. before, this: where
    those of the batch before and of this one lie; the latter is written.

    The block is small: one of 1024 threads would wait for a processor that is nearly idle, and with it all batches
    behind.
    """
    shared = cuda.shared.array(_PLACES, int64)
    thread = int32(cuda.threadIdx.x)
    carried = spans[before + 1]
    if thread == 0:
        spans[this] = carried
    base = int32(0)
    while base < blocks:
        first = base + int32(_SUMS_A_THREAD) * thread
        end = min(first + int32(_SUMS_A_THREAD), int32(blocks))
        value = int64(0)
        for at in range(first, end):
            value += sums[at]
        half = sums_before(shared, value, thread, int32(THREADS)) * int32(THREADS)
        before = carried + shared[half + thread] - value
        for at in range(first, end):
            value = sums[at]
            sums[at] = before
            before += value
        carried += shared[half + int32(THREADS - 1)]
        cuda.syncthreads()
        base += int32(_SUMS_A_THREAD * THREADS)
    if thread == 0:
        spans[this + 1] = carried


@cuda.jit(cache=True)
def gather_runs(pairs, scores, counts, runs_at, runs, sums, spans, this, ends, cigars):
    """Bring the runs of all pairs together in the order of the batch.

    runs_at: uint32[pairs], where each pair's runs begin in runs: uint32[...]. sums: int64[blocks] from scan_sums, as is
    spans[this]. ends: uint32[pairs], written: the low 32 bits of where each pair's CIGAR ends in the whole result.
    cigars: uint32[...], written: this batch's part, which begins there at spans[this]. The threads of a block take
    neighbouring elements, whosever pair's they are.
    """
    places = cuda.shared.array(_PLACES, int32)
    sources = cuda.shared.array(THREADS, uint32)
    thread = int32(cuda.threadIdx.x)
    i = int64(cuda.blockIdx.x) * int64(THREADS) + int64(thread)
    count = int32(0)
    if i < pairs and scores[i] >= int32(0):
        count = int32(counts[i])
        sources[thread] = runs_at[i]
    half = sums_before(places, count, thread, int32(THREADS)) * int32(THREADS)
    first = sums[cuda.blockIdx.x]
    if i < pairs:
        ends[i] = uint32(first + int64(places[half + thread]))
    total = places[half + int32(THREADS - 1)]
    element = thread
    while element < total:
        low, high = int32(0), int32(THREADS - 1)
        while low < high:  # the first pair that ends behind the element
            middle = (low + high) >> int32(1)
            if places[half + middle] > element:
                high = middle
            else:
                low = middle + int32(1)
        before = int32(0)
        if low > int32(0):
            before = places[half + low - int32(1)]
        cigars[first - spans[this] + int64(element)] = runs[int64(sources[low]) + int64(element - before)]
        element += int32(THREADS)
