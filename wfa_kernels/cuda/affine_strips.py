"""Gap-affine alignment of long pairs in bit planes within a wide band on a GPU: several threads per pair.

Recurrence and exactness: those of affine_bits. The band is a staircase: strip s (32 rows, see affine_chunk) has the
chunks from s - A + d to s + A + d + 1 (32 columns each), d = (n - m) // 64; so each row has the diagonals from
-32 (A - d) to 32 (A + d) + 1 at least. Cells outside count as dearer than they are, never as cheaper. A band that holds
the whole matrix is exact for every score.

Schedule. The threads of a pair take its strips in turn, a chunk a turn. A strip needs from the strip above what that
computed up to one chunk further, so it is three turns behind: its first chunk is one further too. A thread goes on with
its next strip after max(chunks, 3 * threads) turns. All turns of a block end at a barrier.

Memory layout. What a strip hands down is kept in ``words`` (uint32): the edge of each chunk. For scores that of the
last strips only, in turn. For CIGARs that of all, and the state before each chunk, so that a second kernel, one thread
a pair, computes those chunks again that the way back goes through, two or three a strip, this time with their codes.

Operations, for penalties 2, 3, 1, per chunk of 1024 cells: 32 * (55 gates, 12 moves of edges, 6 of letters and their
comparison, 2 for the loop), 75 a step. 100K pairs of 10,000 letters at 10 % (A = 52: 106 chunks a strip, 313 strips):
8e12, 0.5 s of an H200 (16.4 T/s); the way back 313 * 3 chunks a pair more, 3e11. Bytes for CIGARs: 72 a chunk, 2.4 MB a
pair, 0.24 TB: 60 ms.
"""

from functools import cache
from types import SimpleNamespace

import numpy as np
from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.affine_cell import make_cell
from wfa_kernels.cigar import DELETION, INSERTION, MATCH
from wfa_kernels.cuda.affine_chunk import make_chunk
from wfa_kernels.cuda.affine_trace import step_back
from wfa_kernels.cuda.banded import put_before
from wfa_kernels.cuda.compaction import ODD, reserve, send_on
from wfa_kernels.cuda.device import named, simulated
from wfa_kernels.cuda.packing import letters_from, matches_back
from wfa_kernels.result import NO_SCORE

#: Rows of a strip and columns of a chunk.
CHUNK = 32
#: Threads of a block: one warp.
BLOCK = 4 if simulated() else 32
_CODES = 4 * CHUNK * BLOCK  # Numba takes array sizes by name only
_FAR = 2**30


@cuda.jit(device=True, inline="always")
def _reversed_letters(planes, at):
    low, high = letters_from(planes, at)
    return cuda.brev(low), cuda.brev(high)


@cuda.jit(device=True, inline="always")
def _shift(m, n):
    """d: the chunks by which the band is laid beside diagonal 0, towards n - m."""
    return (n - m) >> int32(6)


@cuda.jit(device=True, inline="always")
def _marker(strip, chunk, final):
    """Bit 32 + r is row r of the strip where diagonal ``final`` crosses it in the chunk's first two steps."""
    row = int32(16) * (chunk - strip) - ((final - (final & int32(1))) >> int32(1))
    if row < int32(-32) or row > int32(31):
        return uint64(0)
    return uint64(1) << uint64(row + int32(32))


@cache
def make_functions(penalties, traced):
    """What the kernels share, for (mismatch, gap_open, gap_extend): device functions and numbers of words.

    per_chunk: words kept of a chunk, first its edge, then, at ``state_at``, if traced, the state before it.
    """
    cell = make_cell(*penalties)
    mismatch, gap_open, gap_extend = cell.triple
    chunk = make_chunk(cell.triple, False)
    load_edge, top_edge, no_edge = chunk.load_edge, chunk.top_edge, chunk.no_edge
    least = min(mismatch, gap_open + gap_extend)
    state_at = len(chunk.edges)
    per_chunk = state_at + (len(chunk.planes) if traced else 0)

    @cuda.jit(device=True, inline="always")
    def limit(m, n, reach):
        """Scores below it are certain."""
        a, b = int32(32) * (reach - _shift(m, n)), int32(32) * (reach + _shift(m, n)) + int32(1)
        certain = int32(2 * gap_open) + int32(gap_extend) * min(
            int32(2) * a + int32(2) + (n - m), int32(2) * b + int32(2) - (n - m)
        )
        if a < max(int32(0), m - n) or b < max(int32(0), n - m):
            certain = int32(-1)
        elif a >= m and b >= n:
            certain = int32(_FAR)
        return certain

    @cuda.jit(device=True, inline="always")
    def start(m, n):
        """The cost at the matrix' border on the final diagonal."""
        return int32(0) if m == n else int32(gap_open) + int32(gap_extend) * abs(n - m)

    @cuda.jit(device=True, inline="always")
    def edge_above(words, strip, step, chunks, c, last_chunk, above):
        """What comes in from above. above: where the strip above has its words."""
        edge = no_edge()
        if strip == int32(0):
            edge = top_edge(c)
        elif step + int32(2) < chunks and c < last_chunk:
            edge = load_edge(words, above + uint64(uint32(step + int32(2))) * uint64(per_chunk))
        return edge

    @cuda.jit(device=True, inline="always")
    def most_runs(score):
        return int32(2) * (score // int32(least)) + int32(1)

    return SimpleNamespace(
        cell=cell, limit=limit, start=start, edge_above=edge_above, most_runs=most_runs, per_chunk=per_chunk,
        state_at=state_at,
    )  # fmt: skip


@cache
def make_forward(penalties, traced):
    """The kernel that computes scores: a group of threads a pair.

    Arguments: those of banded.make_kernel up to ``after``, then first, count: the pairs of the queue to take; threads:
    of a group; reach: A; scores: int32[pairs]; words: uint32[...], of which each group has ``part``.
    """
    shared_by = make_functions(penalties, traced)
    limit, start, edge_above = shared_by.limit, shared_by.start, shared_by.edge_above
    per_chunk, state_at, unit = shared_by.per_chunk, shared_by.state_at, shared_by.cell.divisor
    chunk = make_chunk(shared_by.cell.triple, False)
    first_state, later_state, run = chunk.first_state, chunk.later_state, chunk.run
    save_state, save_edge = chunk.save_state, chunk.save_edge

    def affine_strips(
        pattern, text, pairs, shape, place, queues, level, after, first, count, threads, reach, scores, words, part
    ):
        turns = cuda.shared.array(1, int32)
        sums = cuda.shared.array(BLOCK, int32)
        thread = int32(cuda.threadIdx.x)
        lane, group = thread % int32(threads), thread // int32(threads)
        index = int64(cuda.blockIdx.x) * int64(BLOCK // threads) + int64(group)
        waiting = int64(pairs)
        if level >= 0:
            waiting = int64(queues[0, level])
        at = int64(first) + index
        mine = at < waiting and index < count
        i, m, n, bound = int32(at), int32(0), int32(0), int32(-1)
        pattern_at, text_at = int32(0), int32(0)
        if mine:
            if level >= 0:
                i = queues[level + 1, at]
            else:
                mine = scores[i] != int32(ODD)
        if mine:
            m, n = int32(shape[i] & uint32(0xFFFF)), int32(shape[i] >> uint32(16))
            pattern_at, text_at = int32(place[0, i]), int32(place[1, i])
            bound = limit(m, n, int32(reach))
        chunks = int32(2) * int32(reach) + int32(2)
        period = max(chunks, int32(3) * int32(threads))
        strips = int32(0)
        if bound > int32(0):
            strips = (m + int32(31)) >> int32(5)
        if thread == 0:
            turns[0] = int32(0)
        sums[thread] = int32(0)
        cuda.syncthreads()
        if strips > int32(0):
            rounds = (strips - int32(1)) // int32(threads)
            cuda.atomic.max(turns, 0, rounds * period + int32(3) * int32(threads) + chunks)
        cuda.syncthreads()
        last_turn = turns[0]
        d, last_chunk, final = _shift(m, n), (n + int32(31)) >> int32(5), n - m
        base, size = uint64(index * int64(part)), uint64(chunks) * uint64(per_chunk)
        # Without CIGARs the strips of a pair take turns in a few places; the one above is a place before.
        slots = int32(_FAR) if traced else int32(threads) + int32(1)
        state, score, turn = later_state(), int32(0), int32(0)
        r0, r1, t0, t1 = uint32(0), uint32(0), uint32(0), uint32(0)
        strip, slot, step = lane, lane, -int32(3) * lane
        while turn < last_turn:
            c = strip - int32(reach) + d + step
            if step >= int32(0) and step < chunks and strip < strips and c >= int32(0) and c <= last_chunk:
                if step == int32(0) or c == int32(0):
                    r0, r1 = letters_from(pattern, pattern_at + int32(32) * strip)
                    if c == int32(0):
                        state = first_state(strip)
                    else:
                        state = later_state()
                        t0, t1 = _reversed_letters(text, text_at + int32(32) * (c - int32(1)))
                before = slot - int32(1) if slot > int32(0) else slots - int32(1)
                here = base + uint64(uint32(slot)) * size + uint64(uint32(step)) * uint64(per_chunk)
                above = base + uint64(uint32(before)) * size
                edge = edge_above(words, strip, step, chunks, c, last_chunk, above)
                if traced:
                    save_state(words, here + uint64(state_at), state)
                w0, w1 = _reversed_letters(text, text_at + int32(32) * c)
                rows = _bits_from(-final - int32(32) * strip) & ~_bits_from(m - int32(32) * strip)
                state, edge, more = run(
                    state, edge, (r0, r1), (t0, t1), (w0, w1), c, _marker(strip, c, final), uint32(rows),
                    (final & int32(1)) != int32(0), words, uint64(0), uint64(0),
                )  # fmt: skip
                t0, t1 = w0, w1
                score += more
                save_edge(words, here, edge)
            cuda.syncthreads()
            turn += int32(1)
            step += int32(1)
            if step == period:
                step = int32(0)
                strip += int32(threads)
                slot += int32(threads)
                if slot >= slots:
                    slot -= slots
        cuda.atomic.add(sums, group, score)
        cuda.syncthreads()
        if mine and lane == int32(0):
            total = start(m, n) + sums[group]
            certain = total < bound
            scores[i] = total * int32(unit) if certain else int32(NO_SCORE)
            if not certain:
                send_on(queues, after, i)

    return named(affine_strips, "_".join(["", *map(str, penalties)] + ["traced"] * traced))


@cuda.jit(device=True, inline="always")
def _bits_from(first):
    """Word with the bits from ``first`` (clamped to 0 .. 32) on."""
    return uint32(int64(0xFFFFFFFF) << int64(min(max(first, int32(0)), int32(32))))


@cache
def make_backward(penalties):
    """The kernel that leaves the CIGARs of what the forward kernel was certain of: one thread a pair.

    Arguments: those of the forward kernel, without ``after`` and ``threads``; runs_at, counts, runs: see
    banded.make_kernel.
    """
    shared_by = make_functions(penalties, True)
    edge_above, most_runs = shared_by.edge_above, shared_by.most_runs
    per_chunk, state_at, unit = shared_by.per_chunk, shared_by.state_at, shared_by.cell.divisor
    chunk = make_chunk(shared_by.cell.triple, True)
    run, load_state = chunk.run, chunk.load_state

    @cuda.jit(device=True, inline="always")
    def compute_again(pattern, pattern_at, text, text_at, n, strip, step, chunks, c, words, base, codes, thread):
        """The codes of a chunk, four words a step."""
        t0, t1 = uint32(0), uint32(0)
        if c > int32(0):
            t0, t1 = _reversed_letters(text, text_at + int32(32) * (c - int32(1)))
        size = uint64(uint32(chunks)) * uint64(per_chunk)
        here = base + uint64(uint32(strip)) * size + uint64(uint32(step)) * uint64(per_chunk)
        above = base + uint64(uint32(max(strip - int32(1), int32(0)))) * size
        edge = edge_above(words, strip, step, chunks, c, (n + int32(31)) >> int32(5), above)
        letters = letters_from(pattern, pattern_at + int32(32) * strip)
        own = _reversed_letters(text, text_at + int32(32) * c)
        state = load_state(words, here + uint64(state_at))
        codes_at = uint64(uint32(thread))
        run(
            state, edge, letters, (t0, t1), own, c, uint64(0), uint32(0), False, codes, codes_at, uint64(BLOCK)
        )  # fmt: skip

    def affine_strips_back(
        pattern,
        text,
        pairs,
        shape,
        place,
        queues,
        level,
        first,
        count,
        reach,
        scores,
        runs_at,
        counts,
        runs,
        words,
        part,
    ):
        codes = cuda.shared.array(_CODES, uint32)
        shared = cuda.shared.array(2, int32)
        thread = int32(cuda.threadIdx.x)
        index = int64(cuda.blockIdx.x) * int64(BLOCK) + int64(thread)
        waiting = int64(pairs)
        if level >= 0:
            waiting = int64(queues[0, level])
        at = int64(first) + index
        i, m, n, room, sure = int32(at), int32(0), int32(0), int32(0), False
        if at < waiting and index < count:
            if level >= 0:
                i = queues[level + 1, at]
            sure = scores[i] >= int32(0)
        if sure:
            m, n = int32(shape[i] & uint32(0xFFFF)), int32(shape[i] >> uint32(16))
            room = min(most_runs(scores[i] // int32(unit)), m + n)
        stop = int64(reserve(queues, room, shared, thread)) + int64(room)
        end, run_, gap, v, h = stop, uint32(0), uint32(0), m, n
        pattern_at, text_at = int32(0), int32(0)
        if sure:
            pattern_at, text_at = int32(place[0, i]), int32(place[1, i])
        chunks, base = int32(2) * int32(reach) + int32(2), uint64(index * int64(part))
        known_strip, known_chunk = int32(-1), int32(-1)
        while v > int32(0) and h > int32(0):
            if gap == uint32(0):
                matches = matches_back(pattern, pattern_at + v, text, text_at + h, min(v, h))
                end, run_ = put_before(runs, end, run_, uint32(MATCH), matches)
                v -= matches
                h -= matches
            if v > int32(0) and h > int32(0):
                strip, row = (v - int32(1)) >> int32(5), (v - int32(1)) & int32(31)
                t = h - int32(1) + row
                c = t >> int32(5)
                if strip != known_strip or c != known_chunk:
                    step = c - strip + int32(reach) - _shift(m, n)
                    compute_again(
                        pattern, pattern_at, text, text_at, n, strip, step, chunks, c, words, base, codes, thread
                    )
                    known_strip, known_chunk = strip, c
                here = uint32(t & int32(31)) * uint32(4 * BLOCK) + uint32(thread)
                taken, gap = _taken(codes, here, row, gap)
                if taken != uint32(0):
                    end, run_ = put_before(runs, end, run_, taken, int32(1))
                    if taken != uint32(INSERTION):
                        v -= int32(1)
                    if taken != uint32(DELETION):
                        h -= int32(1)
        if sure:
            end, run_ = put_before(runs, end, run_, uint32(DELETION), v)
            end, run_ = put_before(runs, end, run_, uint32(INSERTION), h)
            if run_ != uint32(0):
                end -= int64(1)
                runs[end] = run_
            runs_at[i] = uint32(end)
            counts[i] = uint32(stop - end)

    return named(affine_strips_back, "_".join(["", *map(str, penalties)]))


@cuda.jit(device=True, inline="always")
def _taken(codes, at, row, gap):
    """(operation taken from a cell outside or inside a gap, 0 where a gap begins here; the gap that one is in then)."""
    left = _code(codes[at], codes[at + uint32(BLOCK)], row)
    above = _code(codes[at + uint32(2 * BLOCK)], codes[at + uint32(3 * BLOCK)], row)
    return step_back(left, above, gap)


@cuda.jit(device=True, inline="always")
def _code(low, high, row):
    return int32((low >> uint32(row)) & uint32(1)) | int32(((high >> uint32(row)) & uint32(1)) << uint32(1))


def pair_words(penalties, threads, reach, longest, traced):
    """uint32 words that are kept of a pair of sequences of up to ``longest`` letters."""
    strips = -(-longest // CHUNK)
    kept = strips if traced else min(strips, threads + 1)
    return max(1, kept * (2 * _capped(reach, longest) + 2) * make_functions(penalties, traced).per_chunk)


def _capped(reach, longest):
    """No further than what holds the whole matrix."""
    return min(reach, 3 * longest // (2 * CHUNK) + 2)


def launch(penalties, threads, reach, queue, after, batch, traced, stream):
    """Launch the kernels on a batch, on as many pairs at a time as there is scratch memory for.

    Where there is not enough for one pair, all pairs are handed on: a reach below 0 is none.
    """
    words = batch.scratch.view(np.uint32)
    reach = _capped(reach, batch.longest)
    part = pair_words(penalties, threads, reach, batch.longest, traced)
    group = BLOCK // threads
    room = words.size // part // group * group
    if not room:
        reach, room = -1, batch.pairs
    forward = make_forward(penalties, traced)
    for first in range(0, batch.pairs, room):
        count = min(room, batch.pairs - first)
        forward[-(-count // group), BLOCK, stream](
            *batch.input, queue, after, first, count, threads, reach, batch.slot.scores, words, part
        )
        if traced and reach >= 0:
            make_backward(penalties)[-(-count // BLOCK), BLOCK, stream](
                *batch.input, queue, first, count, reach, *batch.output, words, part
            )
