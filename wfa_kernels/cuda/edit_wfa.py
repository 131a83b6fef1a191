"""Edit distance by the wavefront algorithm (WFA) as eWFA-GPU does it: one thread block per pair (thesis chapter 3).

Recurrence (thesis Eq. 4; Algorithms 3 to 5): W[e, k] is the furthest offset h on diagonal k = h - v that e edits reach.
    d       = min(max(W[e-1, k+1], W[e-1, k] + 1, W[e-1, k-1] + 1), n, m + k)
    W[e, k] = d + length of the common prefix of pattern[d-k:] and text[d:]
The distance is the first e with W[e, n-m] = n. cpu/edit_wfa.py says why clamping is exact.

As in the paper: threads take the diagonals of a wavefront (Fig. 4); letters are packed to 2 bits and compared a word at
a time (3.2.2; here 32 letters, as bit planes); the operation rides on the two low bits of the offsets when their
maximum is taken, and is appended to the backtrace vector of its diagonal, 2 bits an edit (3.2.1); there are three
kernels, E32, E64 and E128, for so many errors (3.2.3). A second kernel, one thread per pair, turns the vector of the
final diagonal into runs: it extends again between the operations (Algorithm 6).

Memory layout. Shared memory of a block, structures of arrays: two wavefronts of 2E + 3 int32 offsets, two of vectors of
E/32 uint64 words (word w of diagonal d at w * (2E + 3) + d), and the packed letters of pattern and text. Global memory:
the vector of each pair, word w of pair i at w * pairs + i. An outer diagonal on each side stays unreached.

Limits: E errors; a sequence whose packed letters do not fit the shared memory beside the wavefronts goes to the host.
"""

from functools import cache

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cuda.banded import put_run, write_run
from wfa_kernels.cuda.compaction import THREADS, reserve, send_on
from wfa_kernels.cuda.design import Design
from wfa_kernels.cuda.device import inlined, named, simulated
from wfa_kernels.cuda.packing import LETTERS, MAX_LENGTH, letters_from, matches_on
from wfa_kernels.cuda.queues import lengths_of, pair_at, waiting_pairs
from wfa_kernels.designs import PAPER_KERNELS
from wfa_kernels.result import NO_SCORE

#: Errors that the kernels can do, and their threads of a block (thesis Table 4).
LIMITS = tuple(int(name[1:]) for name in PAPER_KERNELS)
BLOCK_THREADS = (4, 4, 4) if simulated() else (32, 64, 128)
#: Shared memory of a block that every GPU offers.
SHARED_BYTES = 48 * 1024
UNREACHED = -(2**28)
#: Operations on the two low bits of an offset; of equal offsets the highest wins.
INSERTED, REPLACED, DELETED = 1, 2, 3
#: Blocks for a queue: its length is known on the GPU only. 16 for each of 132 processors.
_QUEUE_BLOCKS = 2112


@inlined
def compute_next(offsets, old, here, m, n, k):
    """(offset before it is extended, or UNREACHED; operation) of diagonal k, at ``here``, from the old wavefront."""
    best = (offsets[old + here - int32(1)] + int32(1)) << int32(2) | int32(INSERTED)
    best = max(best, (offsets[old + here] + int32(1)) << int32(2) | int32(REPLACED))
    best = max(best, offsets[old + here + int32(1)] << int32(2) | int32(DELETED))
    h = min(best >> int32(2), min(n, m + k))
    if k < -m or k > n or h < int32(0):
        h = int32(UNREACHED)
    return h, best & int32(3)


@inlined
def _append(vectors, words, width, new, old, here, operation, e):
    """Backtrace vector of a diagonal: that of the diagonal it came from, and its own operation as number e - 1."""
    source = here + operation - int32(REPLACED)
    for w in range(words):
        vector = vectors[words * old + w * width + source]
        if w == (e - int32(1)) >> int32(5):
            vector |= uint64(operation) << uint64(2 * ((e - int32(1)) & int32(31)))
        vectors[words * new + w * width + here] = vector


@inlined
def _load(packed, first, planes, at, length, thread, threads):
    """Bring a sequence into shared memory, from word ``first`` on and from bit 0 of it."""
    for w in range(thread, (length + int32(LETTERS - 1)) // int32(LETTERS) + 1, threads):
        plane_0, plane_1 = letters_from(planes, int32(at) + int32(w) * int32(LETTERS))
        packed[first + w] = (uint64(plane_1) << uint64(32)) | uint64(plane_0)


@cache
def make_kernel(limit, traced):
    """The kernel for up to ``limit`` errors; traced: it leaves the vectors, uint64[limit / 32, pairs] flat.

    Its other arguments are those of banded_bpm.make_kernel. Dynamic shared memory: packed_bytes(longest) bytes.
    """
    words = limit // 32
    width = 2 * limit + 3
    offsets_size, vectors_size = 2 * width, 2 * words * width if traced else 1

    def edit_wfa_E(pattern, text, pairs, shape, place, queues, queue, after, scores, vectors_out):
        offsets = cuda.shared.array(offsets_size, int32)
        vectors = cuda.shared.array(vectors_size, uint64)
        packed = cuda.shared.array(0, uint64)
        thread, threads = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
        centre = int32(limit + 1)
        waiting = waiting_pairs(queues, queue, pairs)
        at = int64(cuda.blockIdx.x)
        while at < waiting:
            i, mine = pair_at(queues, queue, at, scores)
            if mine:  # the same for all threads of the block
                m, n = lengths_of(shape, i)
                text_word = (m + int32(LETTERS - 1)) // int32(LETTERS) + int32(1)
                text_at = text_word * int32(LETTERS)
                for d in range(thread, 2 * width, threads):
                    offsets[d] = int32(UNREACHED)
                _load(packed, int32(0), pattern, place[0, i], m, thread, threads)
                _load(packed, text_word, text, place[1, i], n, thread, threads)
                cuda.syncthreads()
                if thread == 0:
                    offsets[centre] = matches_on(packed, int32(0), packed, text_at, min(m, n))
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
                        h, operation = compute_next(offsets, old, centre + k, m, n, k)
                        if h >= int32(0):
                            h += matches_on(packed, h - k, packed, text_at + h, min(m + k, n) - h)
                        offsets[new + centre + k] = h
                        if traced:
                            _append(vectors, words, width, new, old, centre + k, operation, e)
                        k += threads
                    cuda.syncthreads()
                    reached = abs(final) <= e and offsets[new + centre + final] >= n
                if reached and traced:
                    for w in range(thread, words, threads):
                        vectors_out[int64(w) * pairs + i] = vectors[words * new + w * width + centre + final]
                if thread == 0:
                    scores[i] = e if reached else int32(NO_SCORE)
                    if not reached:
                        send_on(queues, after, i)
                cuda.syncthreads()
            at += int64(cuda.gridDim.x)

    return named(edit_wfa_E, f"{limit}" + ("_traced" if traced else ""))


@inlined
def put_operation(runs, at, run, operation, h, k):
    """Add one operation of a backtrace to the runs; (at, the open run, offset and diagonal behind it)."""
    taken = uint32(MISMATCH)
    if operation == int32(INSERTED):
        taken = uint32(INSERTION)
    if operation == int32(DELETED):
        taken = uint32(DELETION)
    at, run = put_run(runs, at, run, taken, int32(1), False)
    if operation != int32(DELETED):
        h += int32(1)
    return at, run, h, k + int32(REPLACED) - operation


@cuda.jit(cache=True)
def vectors_to_runs(pattern, text, pairs, shape, place, queues, scores, runs_at, counts, runs, vectors):
    """CIGAR runs of every pair with a score from its backtrace vector (thesis Algorithm 6)."""
    shared = cuda.shared.array(2, int32)
    i = int64(cuda.blockIdx.x) * int64(cuda.blockDim.x) + int64(cuda.threadIdx.x)
    m, n, score, room = int32(0), int32(0), int32(NO_SCORE), int32(0)
    if i < pairs:
        m, n = lengths_of(shape, i)
        score = scores[i]
    mine = score >= int32(0)
    if mine:
        room = min(int32(2) * score + int32(1), m + n)
    start = int64(reserve(queues, room, shared, int32(cuda.threadIdx.x)))
    if mine:
        at, run, h, k, e = start, uint32(0), int32(0), int32(0), int32(0)
        while e <= score:
            matches = matches_on(pattern, int32(place[0, i]) + h - k, text, int32(place[1, i]) + h, min(m + k, n) - h)
            at, run = put_run(runs, at, run, uint32(MATCH), matches, False)
            h += matches
            if e < score:
                vector = vectors[int64(e >> int32(5)) * int64(pairs) + i]
                operation = int32((vector >> uint64(2 * (e & int32(31)))) & uint64(3))
                at, run, h, k = put_operation(runs, at, run, operation, h, k)
            e += int32(1)
        at = write_run(runs, at, run, False)
        runs_at[i] = uint32(start)
        counts[i] = uint32(at - start)


def static_shared_bytes(limit, traced):
    """Shared memory of a block for wavefronts and vectors."""
    width = 2 * limit + 3
    return 2 * width * 4 + (2 * width * 8 * (limit // 32) if traced else 8) + 16


def packed_bytes(longest):
    """Shared memory of a block for the packed letters of two sequences of up to so many letters."""
    return 2 * 8 * (-(-longest // LETTERS) + 1)


class EditWfa(Design):
    """The papers' design (see design.Design): kernels E32, E64, E128, a thread block a pair. choice: a PaperDesign."""

    NAMES = PAPER_KERNELS
    HOST_PACKS, NEEDS_ALL_SCRATCH = False, True

    def __init__(self, choice):
        self.block_threads = BLOCK_THREADS if choice.block_threads is None else (choice.block_threads,) * len(LIMITS)
        self.first_level = PAPER_KERNELS.index(choice.first_kernel)

    def scratch_words(self, pairs, longest, traced):
        """The vectors of all pairs of a batch."""
        return pairs * (LIMITS[-1] // 32) if traced else 1

    def longest(self, scratch_words):
        """Letters of the longest sequences that fit the shared memory beside the wavefronts of every kernel."""
        left = SHARED_BYTES - static_shared_bytes(LIMITS[-1], scratch_words is not None)
        return min(MAX_LENGTH, (left // 16 - 1) * LETTERS)

    def launch(self, level, queue, after, batch, traced):
        """Launch a kernel, a block for each pair (for the pairs that others left, as many as run at once)."""
        blocks = batch.pairs if queue < 0 else min(batch.pairs, _QUEUE_BLOCKS)
        kernel = make_kernel(LIMITS[level], traced)
        batch.slot.launch(
            kernel, blocks, self.block_threads[level], *batch.input, queue, after, batch.slot.scores, batch.scratch,
            shared_bytes=packed_bytes(batch.longest),
        )  # fmt: skip

    def finish(self, batch):
        """Launch what turns the vectors of all pairs into runs."""
        batch.slot.launch(vectors_to_runs, batch.blocks, THREADS, *batch.input, *batch.output, batch.scratch)


def kernel_facts(longest, choice, traced):
    """See api.gpu_kernel_facts. choice: a PaperDesign; traced: with CIGARs."""
    design, facts = EditWfa(choice), []
    letters, numbers, vectors = uint64[::1], int32[::1], uint64[::1]
    signature = (letters, letters, int64, letters, uint32[:, ::1], int32[:, ::1], int64, int64, numbers, vectors)
    for level in range(design.first_level, len(LIMITS)):
        threads, dynamic = design.block_threads[level], packed_bytes(longest)
        compiled = make_kernel(LIMITS[level], traced).compile(signature)
        blocks = cuda.current_context().get_active_blocks_per_multiprocessor(
            compiled._codelibrary.get_cufunc(), threads, dynamic
        )
        facts.append(
            {
                "kernel": PAPER_KERNELS[level],
                "max_errors": LIMITS[level],
                "block_threads": threads,
                "registers": compiled.regs_per_thread,
                "shared_bytes": compiled.shared_mem_per_block + dynamic,
                "local_bytes": compiled.local_mem_per_thread,
                "active_warps_per_sm": blocks * -(-threads // 32),
            }
        )
    return facts
