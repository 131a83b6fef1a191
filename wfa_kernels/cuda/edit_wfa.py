"""Edit distance by the wavefront algorithm (WFA) as eWFA-GPU does it: one thread block per pair (thesis chapter 3).

Recurrence (thesis Eq. 4; Algorithms 3 to 5): W[e, k] is the furthest offset h on diagonal k = h - v that e edits reach.
    d       = min(max(W[e-1, k+1], W[e-1, k] + 1, W[e-1, k-1] + 1), n, m + k)
    W[e, k] = d + length of the common prefix of pattern[d-k:] and text[d:]
The distance is the first e with W[e, n-m] = n. cpu/edit_wfa.py says why clamping is exact.

As in the paper: threads take the diagonals of a wavefront (Fig. 4); letters are packed to 2 bits by the block and
compared 16 at a time (3.2.2); the operation rides on the two low bits of the offsets when their maximum is taken, and
is appended to the backtrace vector of its diagonal, 2 bits an edit (3.2.1); there are three kernels, E32, E64 and E128,
for so many errors (3.2.3). A second kernel, one thread per pair, turns the vector of the final diagonal into runs: it
extends again between the operations (Algorithm 6).

Memory layout. Shared memory of a block, structures of arrays: two wavefronts of 2E + 3 int32 offsets, two of vectors of
E/32 uint64 words (word w of diagonal d at w * (2E + 3) + d), and the packed letters of pattern and text. Global memory:
the vector of each pair, word w of pair i at w * pairs + i. An outer diagonal on each side stays unreached.

Limits: E errors; a sequence whose packed letters do not fit the shared memory beside the wavefronts goes to the host.
"""

from functools import cache

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cuda.compaction import THREADS
from wfa_kernels.cuda.device import simulated
from wfa_kernels.cuda.packing import MAX_LENGTH, ascii_packed, funnel

#: Errors that the kernels can do, and their threads of a block (thesis Table 4).
LIMITS = (32, 64, 128)
BLOCK_THREADS = (4, 4, 4) if simulated() else (32, 64, 128)
#: Shared memory of a block that every GPU offers.
SHARED_BYTES = 48 * 1024
_UNREACHED = -(2**28)
#: Operations on the two low bits of an offset; of equal offsets the highest wins.
_INSERTED, _REPLACED, _DELETED = 1, 2, 3
_PACKED = 16
#: Blocks for a queue: its length is known on the GPU only. 16 for each of 132 processors.
_QUEUE_BLOCKS = 2112


@cuda.jit(device=True, inline="always")
def _follow(packed, text_at, m, n, k, h):
    """Offset where the matches from offset h on diagonal k end (the operator extend)."""
    going = True
    while going:
        v = uint32(h - k)
        word, place = v >> uint32(4), text_at + (uint32(h) >> uint32(4))
        left = funnel(packed[word], packed[word + uint32(1)], (v & uint32(15)) << uint32(1))
        right = funnel(packed[place], packed[place + uint32(1)], (uint32(h) & uint32(15)) << uint32(1))
        most = min(m + k, n) - h
        run = min(most, int32(_PACKED))
        if left != right:
            run = min(run, int32(cuda.ffs(left ^ right) - 1) >> int32(1))
        h += run
        going = run == int32(_PACKED)
    return h


@cache
def make_kernel(limit, traced):
    """The kernel for up to ``limit`` errors; traced: it leaves the vectors, uint64[limit / 32, pairs] flat.

    Its other arguments are those of banded_bpm.make_kernel. Dynamic shared memory: packed_bytes(m, n) bytes.
    """
    words = limit // 32
    width = 2 * limit + 3
    offsets_size, vectors_size = 2 * width, 2 * words * width if traced else 1

    @cuda.jit
    def edit_wfa(pattern, text, pairs, shape, place, queues, queue, after, scores, vectors_out):
        offsets = cuda.shared.array(offsets_size, int32)
        vectors = cuda.shared.array(vectors_size, uint64)
        flags = cuda.shared.array(1, int32)
        packed = cuda.shared.array(0, uint32)
        thread, threads = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
        centre = int32(limit + 1)
        waiting = int64(pairs)
        if queue >= 0:
            waiting = int64(queues[0, queue])
        at = int64(cuda.blockIdx.x)
        while at < waiting:
            i = int32(at)
            if queue >= 0:
                i = queues[queue + 1, at]
            m, n = int32(shape[i] & uint32(0xFFFF)), int32(shape[i] >> uint32(16))
            text_at = uint32((m + int32(_PACKED - 1)) // int32(_PACKED) + int32(1))
            if thread == 0:
                flags[0] = int32(0)
            for d in range(thread, 2 * width, threads):
                offsets[d] = int32(_UNREACHED)
            cuda.syncthreads()
            for w in range(thread, text_at, threads):
                packed[w], odd = ascii_packed(pattern, place[0, i], int32(w) * int32(_PACKED), m)
                if odd != uint32(0):
                    flags[0] = int32(1)
            for w in range(thread, (n + _PACKED - 1) // _PACKED + 1, threads):
                packed[text_at + uint32(w)], odd = ascii_packed(text, place[1, i], int32(w) * int32(_PACKED), n)
                if odd != uint32(0):
                    flags[0] = int32(1)
            cuda.syncthreads()
            if thread == 0:
                offsets[centre] = _follow(packed, text_at, m, n, int32(0), int32(0))
                if traced:
                    for w in range(words):
                        vectors[w * width + centre] = uint64(0)
            cuda.syncthreads()
            final = n - m
            e, new, old = int32(0), int32(0), int32(width)
            reached = final == int32(0) and offsets[centre] >= n
            while not reached and e < int32(limit):
                e += int32(1)
                new, old = old, new
                k = thread - e
                while k <= e:
                    here = centre + k
                    best = (offsets[old + here - int32(1)] + int32(1)) << int32(2) | int32(_INSERTED)
                    best = max(best, (offsets[old + here] + int32(1)) << int32(2) | int32(_REPLACED))
                    best = max(best, offsets[old + here + int32(1)] << int32(2) | int32(_DELETED))
                    operation = best & int32(3)
                    h = min(best >> int32(2), min(n, m + k))
                    if k < -m or k > n or h < int32(0):
                        h = int32(_UNREACHED)
                    else:
                        h = _follow(packed, text_at, m, n, k, h)
                    offsets[new + here] = h
                    if traced:
                        source = here + operation - int32(_REPLACED)
                        for w in range(words):
                            vector = vectors[words * old + w * width + source]
                            if w == (e - int32(1)) >> int32(5):
                                vector |= uint64(operation) << uint64(2 * ((e - int32(1)) & int32(31)))
                            vectors[words * new + w * width + here] = vector
                    k += threads
                cuda.syncthreads()
                reached = abs(final) <= e and offsets[new + centre + final] >= n
            if reached and flags[0] == int32(0):
                if traced:
                    for w in range(thread, words, threads):
                        vectors_out[int64(w) * pairs + i] = vectors[words * new + w * width + centre + final]
                if thread == 0:
                    scores[i] = e
            elif thread == 0:
                goes_to = after
                if flags[0] != int32(0):
                    goes_to = queues.shape[0] - 2
                queues[goes_to + 1, cuda.atomic.add(queues, (0, goes_to), 1)] = i
                scores[i] = int32(-1)
            at += int64(cuda.gridDim.x)
            cuda.syncthreads()

    return edit_wfa


@cuda.jit(device=True, inline="always")
def _put(runs, i, pairs, count, operation, length):
    """Add a run, which continues the last one if it is of the same operation; the number of runs."""
    if length > int32(0):
        last = (int64(count) - int64(1)) * int64(pairs) + int64(i)
        if count > int32(0) and (runs[last] & uint32(15)) == uint32(operation):
            runs[last] += uint32(length) << uint32(4)
        else:
            runs[last + int64(pairs)] = uint32(length) << uint32(4) | uint32(operation)
            count += int32(1)
    return count


@cuda.jit
def vectors_to_runs(pattern, text, pairs, shape, place, scores, vectors, counts, runs):
    """CIGAR runs of every pair with a score from its backtrace vector, last run first (thesis Algorithm 6)."""
    i = int64(cuda.blockIdx.x) * int64(cuda.blockDim.x) + int64(cuda.threadIdx.x)
    if i >= pairs or scores[i] < int32(0):
        return
    m, n = int32(shape[i] & uint32(0xFFFF)), int32(shape[i] >> uint32(16))
    k, h, count, e = int32(0), int32(0), int32(0), int32(0)
    while e <= scores[i]:
        begin, run = h, int32(_PACKED)
        while run == int32(_PACKED):
            run = min(min(m + k, n) - h, int32(_PACKED))
            left, _ = ascii_packed(pattern, place[0, i], h - k, m)
            right, _ = ascii_packed(text, place[1, i], h, n)
            if left != right:
                run = min(run, int32(cuda.ffs(left ^ right) - 1) >> int32(1))
            h += run
        count = _put(runs, i, pairs, count, MATCH, h - begin)
        if e < scores[i]:
            vector = vectors[int64(e >> int32(5)) * int64(pairs) + i]
            operation = int32((vector >> uint64(2 * (e & int32(31)))) & uint64(3))
            taken = int32(MISMATCH)
            if operation == int32(_INSERTED):
                taken = int32(INSERTION)
            if operation == int32(_DELETED):
                taken = int32(DELETION)
            if operation != int32(_DELETED):
                h += int32(1)
            k += int32(_REPLACED) - operation
            count = _put(runs, i, pairs, count, taken, int32(1))
        e += int32(1)
    counts[i] = uint32(count)
    first, last = i, i + (int64(count) - int64(1)) * int64(pairs)
    while first < last:
        runs[first], runs[last] = runs[last], runs[first]
        first += int64(pairs)
        last -= int64(pairs)


def static_shared_bytes(limit, traced):
    """Shared memory of a block for wavefronts and vectors."""
    width = 2 * limit + 3
    return 2 * width * 4 + (2 * width * 8 * (limit // 32) if traced else 8) + 16


def packed_bytes(longest):
    """Shared memory of a block for the packed letters of two sequences of up to so many letters."""
    return 2 * 4 * (-(-longest // _PACKED) + 1)


class EditWfa:
    """The papers' design (see stream.Stream): kernels E32, E64, E128, a thread block a pair.

    block_threads: threads of a block of each kernel; one number for all, or None for the papers' 32, 64, 128.
    """

    LEVELS = len(LIMITS)
    MOST_RUNS = 2 * LIMITS[-1] + 1

    def __init__(self, block_threads=None):
        self.block_threads = BLOCK_THREADS if block_threads is None else (block_threads,) * len(LIMITS)

    def scratch_words(self, pairs, longest):
        """The vectors of all pairs of a batch."""
        return pairs * (LIMITS[-1] // 32)

    def longest(self, scratch_words):
        """Letters of the longest sequences that fit the shared memory beside the wavefronts of every kernel."""
        left = SHARED_BYTES - static_shared_bytes(LIMITS[-1], scratch_words is not None)
        return min(MAX_LENGTH, (left // 8 - 1) * _PACKED)

    def launch(self, level, queue, after, batch, traced, scratch, runs, stream):
        """Launch a kernel, a block for each pair (for the pairs that others left, as many as run at once)."""
        slot, count = batch.slot, batch.pairs
        blocks = count if queue < 0 else min(count, _QUEUE_BLOCKS)
        kernel = make_kernel(LIMITS[level], traced)
        kernel[blocks, self.block_threads[level], stream, packed_bytes(batch.longest)](
            slot.pattern, slot.text, count, slot.shape, slot.place, slot.queues, queue, after, slot.scores, scratch
        )

    def finish(self, batch, scratch, runs, stream):
        """Launch what turns the vectors of all pairs into runs."""
        slot = batch.slot
        vectors_to_runs[batch.blocks, THREADS, stream](
            slot.pattern, slot.text, batch.pairs, slot.shape, slot.place, slot.scores, scratch, slot.counts, runs
        )
