"""The kernel of every banded matrix, one thread per pair, whatever is computed within the band; and how it is launched.

The band is laid evenly about diagonals 0 and n - m. A pair whose score within the band may not be the optimum, and one
whose lengths differ by the band or more, goes to the queue of the next band.
"""

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.cigar import DELETION, INSERTION
from wfa_kernels.cuda.compaction import THREADS, reserve, send_on
from wfa_kernels.cuda.design import Design
from wfa_kernels.cuda.device import inlined, named
from wfa_kernels.cuda.queues import lengths_of, pair_at, waiting_pairs
from wfa_kernels.result import NO_SCORE

#: Blocks of a launch: 8 for each of the 132 processors of an H100 or H200, as many as their registers hold.
_BLOCKS = 1056
FILLING_PAIRS = _BLOCKS * THREADS


@inlined
def even_band(m, n, band):
    """a: the band of ``band`` diagonals, from -a on, lies evenly about diagonals 0 and n - m."""
    return (int32(band - 1) - (n - m)) >> int32(1)


@inlined
def letters_outside(m, n, a, band):
    """Letters in gaps, at the least, of a path that leaves the band at either side (Ukkonen 1985)."""
    below = int32(2) * a + int32(2) + (n - m)
    above = int32(2) * (int32(band - 1) - a) + int32(2) - (n - m)
    return min(below, above)


@inlined
def write_run(runs, at, run, backward):
    """Write a run, (operation, length) in one word, 0 for none, before or at ``at``; where the next one goes."""
    if run != uint32(0):
        if backward:
            at -= int64(1)
            runs[at] = run
        else:
            runs[at] = run
            at += int64(1)
    return at


@inlined
def put_run(runs, at, run, operation, length, backward):
    """Let ``length`` letters of an operation join the open run, or end it, which is then written; (at, the open run).

    backward: the letters come before those of the run, which is written before ``at``.
    """
    if length > int32(0):
        if run != uint32(0) and run & uint32(15) == operation:
            run += uint32(length) << uint32(4)
        else:
            at = write_run(runs, at, run, backward)
            run = uint32(length) << uint32(4) | operation
    return at, run


@inlined
def put_before(runs, at, run, operation, length):
    """put_run on the way back."""
    return put_run(runs, at, run, operation, length, True)


@inlined
def put_rest(runs, at, run, v, h):
    """Write the gap that is left at the beginning, and the open run; where the pair's runs begin."""
    at, run = put_before(runs, at, run, uint32(DELETION), v)
    at, run = put_before(runs, at, run, uint32(INSERTION), h)
    return write_run(runs, at, run, True)


def make_kernel(name, band, traced, matrix):
    """The kernel of one band of ``band`` diagonals. traced: whether it leaves CIGAR runs. name: of the kernel.

    matrix: namespace of the device functions that compute it: lay(m, n) -> a, where the band reaches down to diagonal
    -a; limit(m, n, a), below which a score within the band is the optimum; forward(pattern, pattern_at, text, text_at,
    m, n, a, limit, steps, at) -> the score within the band (or what is not below the limit), leaving what the way back
    needs in ``steps`` from ``at`` on, words(m, n) uint64, each THREADS behind the one before; most_runs(score) of a
    CIGAR;
    backward(pattern, ..., m, n, a, steps, at, runs, stop) -> where the pair's runs begin, that end before ``stop``.
    And a number: unit, what scores are multiples of.

    Arguments of the kernel:
    pattern, text: uint64[...], planes of packed letters. shape: uint64[pairs], m | n << 32. place: uint32[2, ...],
    where each pattern and text begins. pairs: their number (the arrays may be longer). queues: see place_pairs. level:
    this kernel's; below 0 it takes all pairs. after: level of those it can not certify. scores: int32[pairs], NO_SCORE
    where not certain. runs_at, counts: uint32[pairs], where the runs of each pair begin and how many they are. runs:
    uint32[...]. steps: uint64[...], an equal part for each block, of whole lines of the cache: a warp would write into
    one line more than it fills.
    """

    unit = matrix.unit
    lay, limit_of, words, forward, most_runs, backward = (
        getattr(matrix, name) for name in ("lay", "limit", "words", "forward", "most_runs", "backward")
    )

    def banded(pattern, text, pairs, shape, place, queues, level, after, scores, runs_at, counts, runs, steps):
        shared = cuda.shared.array(2, int32)
        part = int64(steps.shape[0]) // int64(cuda.gridDim.x) & int64(-THREADS)  # THREADS is a power of 2
        step_at = uint64(int64(cuda.blockIdx.x) * part + int64(cuda.threadIdx.x))
        waiting = waiting_pairs(queues, level, pairs)
        base = int64(cuda.blockIdx.x) * int64(THREADS)
        while base < waiting:
            at = base + int64(cuda.threadIdx.x)
            i, m, n, a, score = int32(at), int32(0), int32(0), int32(0), int32(0)
            room, mine, sure = int32(0), False, False
            pattern_at, text_at = uint32(0), uint32(0)
            if at < waiting:
                i, mine = pair_at(queues, level, at, scores)
            if mine:
                m, n = lengths_of(shape, i)
                pattern_at, text_at = place[0, i], place[1, i]
                if abs(n - m) < int32(band) and (not traced or words(m, n) * int64(THREADS) <= part):
                    a = lay(m, n)
                    limit = limit_of(m, n, a)
                    score = forward(pattern, pattern_at, text, text_at, m, n, a, limit, steps, step_at)
                    sure = score < limit
                scores[i] = score * int32(unit) if sure else int32(NO_SCORE)
                if not sure:
                    send_on(queues, after, i)
            if traced:
                if sure:
                    room = min(most_runs(score), m + n)
                start = int64(reserve(queues, room, shared, int32(cuda.threadIdx.x)))
                if sure:
                    stop = start + int64(room)
                    start = backward(pattern, pattern_at, text, text_at, m, n, a, steps, step_at, runs, stop)
                    runs_at[i] = uint32(start)
                    counts[i] = uint32(stop - start)
            base += int64(cuda.gridDim.x) * int64(THREADS)

    return named(banded, name)


class Banded(Design):
    """A design (see design.Design) whose kernels are bands of one matrix. Subclasses have

    BANDS, the diagonals of each; ``kernel(band, traced)``; ``words(band, longest)``, uint64 words of ``steps`` that one
    pair of sequences of up to ``longest`` letters takes; and NAMES.
    """

    def scratch_words(self, pairs, longest, traced):
        """Scratch words with which every kernel runs as many blocks at once as it may on texts of so many letters."""
        if not traced:
            return 1
        return min(_BLOCKS, -(-pairs // THREADS)) * self._block_words(self.BANDS[-1], longest)

    def last_likely_level(self, longest):
        """The first band half as wide as the sequences are long: kernels take seconds to compile."""
        return next((i for i, band in enumerate(self.BANDS) if 2 * band >= longest), len(self.BANDS) - 1)

    def launch(self, level, queue, after, batch, traced):
        """Launch the kernel of a band: no more blocks than there are pairs or scratch memory for."""
        blocks = min(_BLOCKS, batch.blocks)
        if traced:
            blocks = max(1, min(blocks, batch.scratch.size // self._block_words(self.BANDS[level], batch.longest)))
        kernel = self.kernel(self.BANDS[level], traced)
        batch.slot.launch(kernel, blocks, THREADS, *batch.input, queue, after, *batch.output, batch.scratch)

    def _block_words(self, band, longest):
        return THREADS * self.words(band, max(1, longest))
