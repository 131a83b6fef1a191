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
with a higher one, and one whose lengths differ by B or more, goes to the queue of the next band; a pair with other
letters than ACGT goes to the last queue, which is the host's.

Memory layout. Vectors live in registers. For CIGARs each column leaves two bits a cell in ``columns``, the step that
leads there (0 '=', 1 'X', 2 'I', 3 'D'), as one uint64 for each 32 diagonals: word w of column j of thread g at
(j * words + w) * threads + g, so that a warp writes 256 bytes at once. The way back reads the columns again, from the
last to the first, the threads of a block in step. Its runs land in ``runs``, last run first: run r of pair i at
r * pairs + i.

Operations, per column and 32 diagonals: about 20 (compare 6, recurrence 9, step 4); the way back about 30 a column.
Bytes: 8 written and 8 read a column and 32 diagonals. On an H200 (16.4 T operations/s, 4.2 TB/s) 10M pairs of 150
letters need 5 ms for either; the wire needs 54 ms.
"""

from functools import cache

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cuda.compaction import THREADS
from wfa_kernels.cuda.packing import LETTERS, MAX_LENGTH, ascii_planes, funnel

#: Diagonals of the bands, in the order in which a pair tries them.
BANDS = (32, 64, 128, 256)
#: Blocks of a launch: 8 for each of the 132 processors of an H100 or H200, as many as their registers hold.
_BLOCKS = 1056


@cuda.jit(device=True, inline="always")
def _from_bit(first):
    """Word with the bits from ``first`` (clamped to 0 .. 32) on."""
    return uint32(uint64(0xFFFFFFFF) << uint64(min(max(first, int32(0)), int32(32))))


def make_forward(band, planes, traced):
    """Device function that computes one pair within a band of ``band`` diagonals; see make_kernel."""
    words = band // 32
    words_1, words_2 = words + 1, words + 2  # Numba takes array sizes by name only

    @cuda.jit(device=True, inline="always")
    def forward(pattern, pattern_at, m, text, text_at, n, a, columns, column, threads):
        """(score, odd): the score within the band, and nonzero for letters other than ACGT. Leaves the columns."""
        b = int32(band - 1) - a
        plus, minus = cuda.local.array(words, uint32), cuda.local.array(words, uint32)
        equal, flat = cuda.local.array(words, uint32), cuda.local.array(words_1, uint32)
        raw_0, raw_1 = cuda.local.array(words_2, uint32), cuda.local.array(words_2, uint32)
        line_0, line_1 = cuda.local.array(words_1, uint32), cuda.local.array(words_1, uint32)
        odd = uint32(0)
        flat[words] = uint32(0)
        # Bit 0 of column j is pattern letter j - b: the letters are read in words, and lines shifted to begin there.
        chunk = -((b + int32(31)) >> int32(5))
        shift = uint32(-b) & uint32(31)
        for w in range(words):
            plus[w] = _from_bit(b - int32(32 * w))
            minus[w] = uint32(0)
        for w in range(words + 2):
            raw_0[w], raw_1[w], bad = planes(pattern, pattern_at, (chunk + int32(w)) * int32(LETTERS), m)
            odd |= bad
        lowest = a + n
        start = int32(0)
        while start < n:
            text_0, text_1, bad = planes(text, text_at, start, n)
            odd |= bad
            for w in range(words + 1):
                line_0[w] = funnel(raw_0[w], raw_0[w + 1], shift)
                line_1[w] = funnel(raw_1[w], raw_1[w + 1], shift)
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
                        equal[w] &= _from_bit(hidden - int32(32 * w))
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
                        down = (plus[w] << uint32(1)) | before
                        before = plus[w] >> uint32(31)
                        high = ~equal[w] & (down | across)
                        low = ~equal[w] & (down | ~across)
                        columns[column + int64(w) * threads] = (uint64(high) << uint64(32)) | uint64(low)
                column += int64(words) * threads
                j += int32(1)
            start += int32(LETTERS)
            for w in range(words + 1):
                raw_0[w], raw_1[w] = raw_0[w + 1], raw_1[w + 1]
            chunk += int32(1)
            raw_0[words + 1], raw_1[words + 1], bad = planes(
                pattern, pattern_at, (chunk + int32(words + 1)) * int32(LETTERS), m
            )
            odd |= bad
        # From the lowest row of the band up to row m, which is diagonal n - m.
        final = b - (n - m)
        for w in range(words):
            below = _from_bit(final - int32(32 * w))
            if w == words - 1:
                below &= uint32(0x7FFFFFFF)
            lowest += int32(cuda.popc(minus[w] & below)) - int32(cuda.popc(plus[w] & below))
        return lowest, odd

    return forward


@cuda.jit(device=True, inline="always")
def _flush(runs, at, operation, length):
    """Write a run where there is one; whether there is."""
    if length > uint32(0):
        runs[at] = (length << uint32(4)) | operation
        return True
    return False


def make_backward(band):
    """Device function that reads the columns of one pair from the last to the first; see make_kernel."""
    words = band // 32

    @cuda.jit(device=True, inline="always")
    def backward(longest, final, m, n, columns, column, threads, runs, run, pairs):
        """Number of runs of the pair's CIGAR, written last first; 0 for n < 0, a thread that only keeps step."""
        bit, row = final, m
        operation, length, count = uint32(MATCH), uint32(0), uint32(0)
        j = longest
        while j > int32(0):
            if j <= n:
                step = uint32(3)
                if row == int32(0):
                    step = uint32(2)
                while step == uint32(3):
                    codes = columns[column + (int64(j - int32(1)) * int64(words) + int64(bit >> int32(5))) * threads]
                    codes >>= uint64(bit & int32(31))
                    step = uint32(codes & uint64(1)) | (uint32(codes >> uint64(31)) & uint32(2))
                    if step == uint32(3):
                        row -= int32(1)
                        bit -= int32(1)
                        if operation != uint32(DELETION):
                            if _flush(runs, run, operation, length):
                                run += pairs
                                count += uint32(1)
                            operation, length = uint32(DELETION), uint32(0)
                        length += uint32(1)
                        if row == int32(0):
                            step = uint32(2)
                taken = uint32(MATCH)
                if step == uint32(1):
                    taken = uint32(MISMATCH)
                if step == uint32(2):
                    taken = uint32(INSERTION)
                    bit += int32(1)
                else:
                    row -= int32(1)
                if taken != operation:
                    if _flush(runs, run, operation, length):
                        run += pairs
                        count += uint32(1)
                    operation, length = taken, uint32(0)
                length += uint32(1)
            j -= int32(1)
        if n >= int32(0):
            if row > int32(0) and operation != uint32(DELETION):
                if _flush(runs, run, operation, length):
                    run += pairs
                    count += uint32(1)
                operation, length = uint32(DELETION), uint32(0)
            length += uint32(row)
            if _flush(runs, run, operation, length):
                count += uint32(1)
        return count

    return backward


@cache
def make_kernel(band, planes, traced):
    """The kernel of one band. band: diagonals, a multiple of 32. planes: reads 32 letters (see packing).
    traced: whether it leaves CIGAR runs.

    Arguments of the kernel:
    pattern, text: uint32[...], the letters. shape: uint32[pairs], m | n << 16. place: uint32[2, ...], where each
    pattern and text begins. pairs: their number (the arrays may be longer). queues: int32[levels + 2, ...], the pairs
    waiting for each band: in row 0 the numbers of them, in row 1 + level the pairs; the last is the host's. level: this
    band's; below 0 it takes all pairs. after: level of those it can not certify. scores: int32[pairs] (-1 where not
    certain) and counts: uint32[pairs], the runs of each pair. columns: uint64[longest text * words * threads of the
    grid]. runs: uint32[2 * band + 1, pairs], flat.
    """
    forward = make_forward(band, planes, traced)
    backward = make_backward(band)

    @cuda.jit
    def banded_bpm(pattern, text, pairs, shape, place, queues, level, after, scores, counts, columns, runs):
        threads = int64(cuda.gridDim.x) * int64(THREADS)
        thread = int64(cuda.blockIdx.x) * int64(THREADS) + int64(cuda.threadIdx.x)
        last = queues.shape[0] - 2
        waiting = pairs
        if level >= 0:
            waiting = queues[0, level]
        longest = cuda.shared.array(1, int32)
        base = int64(cuda.blockIdx.x) * int64(THREADS)
        while base < int64(waiting):
            if traced:
                cuda.syncthreads()
                if cuda.threadIdx.x == 0:
                    longest[0] = int32(0)
                cuda.syncthreads()
            at = base + int64(cuda.threadIdx.x)
            n, m, final, i = int32(-1), int32(0), int32(0), int32(0)
            if at < int64(waiting):
                i = int32(at)
                if level >= 0:
                    i = queues[level + 1, at]
                m = int32(shape[i] & uint32(0xFFFF))
                n = int32(shape[i] >> uint32(16))
                goes_to = after
                certain = False
                if abs(n - m) < int32(band):
                    a = (int32(band - 1) - (n - m)) >> int32(1)
                    final = int32(band - 1) - a - (n - m)
                    score, odd = forward(pattern, place[0, i], m, text, place[1, i], n, a, columns, thread, threads)
                    sure = min(int32(2) * a + int32(1) + (n - m), int32(2) * (int32(band - 1) - a) + int32(1) - (n - m))
                    certain = score <= sure and odd == uint32(0)
                    if odd != uint32(0):
                        goes_to = last
                if certain:
                    scores[i] = score
                    if traced:
                        cuda.atomic.max(longest, 0, n)
                else:
                    queues[goes_to + 1, cuda.atomic.add(queues, (0, goes_to), 1)] = i
                    scores[i] = int32(-1)
                    n = int32(-1)
            if traced:
                cuda.syncthreads()
                count = backward(longest[0], final, m, n, columns, thread, threads, runs, int64(i), int64(pairs))
                if n >= int32(0):
                    counts[i] = count
            base += threads

    return banded_bpm


class BandedBpm:
    """The fast design (see stream.Stream): one kernel a band, one thread a pair."""

    LEVELS = len(BANDS)
    MOST_RUNS = 2 * BANDS[-1] + 1

    def scratch_words(self, pairs, longest):
        """Scratch words with which every kernel runs as many blocks at once as it may on texts of so many letters."""
        return min(_BLOCKS, -(-pairs // THREADS)) * _words_of_block(BANDS[-1], longest)

    def longest(self, scratch_words):
        """Letters of the longest text that one block of any kernel can do; None: no scratch memory is needed."""
        return MAX_LENGTH if scratch_words is None else scratch_words // _words_of_block(BANDS[-1], 1)

    def launch(self, level, queue, after, batch, traced, scratch, runs, stream):
        """Launch the kernel of a band: no more blocks than there are pairs or scratch memory for."""
        blocks = min(_BLOCKS, batch.blocks)
        if traced:
            blocks = min(blocks, scratch.size // _words_of_block(BANDS[level], batch.longest))
        slot, kernel = batch.slot, make_kernel(BANDS[level], ascii_planes, traced)
        kernel[blocks, THREADS, stream](
            slot.pattern, slot.text, batch.pairs, slot.shape, slot.place, slot.queues, queue, after, slot.scores,
            slot.counts, scratch, runs,
        )  # fmt: skip

    def finish(self, batch, scratch, runs, stream):
        """Nothing: the kernels leave runs themselves."""


def _words_of_block(band, longest):
    return THREADS * max(1, longest) * (band // 32)
