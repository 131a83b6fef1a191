"""The way back of gap-affine alignment in strips on a GPU: one thread per pair.

The forward kernel (affine_strips) has left the state before each chunk and the edges between strips. The way back goes
through two or three chunks a strip, and each is computed again, now with the codes of its cells, in shared memory. All
threads of a warp compute a chunk at the same time, then each goes back through its own until it leaves it.

Operations: per chunk 32 * 85 and 300. A pair of 10,000 letters: 313 * 3 chunks, 2.8e6 operations one after the other.
"""

from functools import cache

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.cigar import DELETION, INSERTION, MATCH
from wfa_kernels.cuda.affine_chunk import make_chunk
from wfa_kernels.cuda.affine_strips import BLOCK, CHUNK, leftmost, make_functions, reversed_letters, strip_words
from wfa_kernels.cuda.affine_trace import step_back
from wfa_kernels.cuda.banded import put_before, put_rest
from wfa_kernels.cuda.compaction import reserve
from wfa_kernels.cuda.device import SIDE_BY_SIDE, inlined, named
from wfa_kernels.cuda.packing import letters_from, matches_back
from wfa_kernels.cuda.queues import lengths_of, pair_at, waiting_pairs

_CODES = 4 * CHUNK * BLOCK  # Numba takes array sizes by name only
#: Words of where a pair's way back is between two windows: v, h, the gap that it is in, the open run, where the next
#: run goes, and where the first one ended.
STATE = 6


@inlined
def _code(low, high, row):
    return int32((low >> uint32(row)) & uint32(1)) | int32(((high >> uint32(row)) & uint32(1)) << uint32(1))


@inlined
def _step(codes, thread, row, column, gap):
    """(operation taken from a cell outside or inside a gap, 0 where a gap begins here; the gap that one is in then)."""
    at = uint32((column + row) & int32(31)) * uint32(4 * BLOCK) + uint32(thread)
    left = _code(codes[at], codes[at + uint32(BLOCK)], row)
    above = _code(codes[at + uint32(2 * BLOCK)], codes[at + uint32(3 * BLOCK)], row)
    return step_back(left, above, gap)


@inlined
def _place(v, h):
    """(strip, row of it, chunk) of the last cell of prefixes of v and h letters."""
    strip, row = (v - int32(1)) >> int32(5), (v - int32(1)) & int32(31)
    return strip, row, (h - int32(1) + row) >> int32(5)


def _make_again(penalties, windowed):
    """Device function: the codes of a chunk, four words a step, BLOCK apart.

    windowed: the strips from ``begin`` on are there, and at ``source`` the one before them as it is kept.
    """
    shared_by = make_functions(penalties, True)
    edge_above, per_chunk, state_at = shared_by.edge_above, shared_by.per_chunk, shared_by.state_at
    per_chunk_kept, more = make_functions(penalties, False).per_chunk, int(windowed)
    chunk = make_chunk(shared_by.cell.triple, True)
    run, load_state = chunk.run, chunk.load_state

    @inlined
    def again(pattern, pattern_at, text, text_at, m, n, strip, c, reach, words, base, codes, thread, begin, source):
        t0, t1 = uint32(0), uint32(0)
        if c > int32(0):
            t0, t1 = reversed_letters(text, text_at + int32(CHUNK) * (c - int32(1)))
        chunks, before = int32(int32(2) * reach + int32(2)), uint64(uint32(c - leftmost(strip, m, n, reach)))
        size = uint64(uint32(strip_words(chunks, per_chunk))) + uint64(more)
        here = base + uint64(uint32(strip - begin)) * size + before * uint64(per_chunk)
        above, per_chunk_above = base + uint64(uint32(max(strip - int32(1) - begin, int32(0)))) * size, per_chunk
        if windowed and strip == begin:
            above, per_chunk_above = source, per_chunk_kept
        done = int32(words[above + uint64(uint32(chunks)) * uint64(per_chunk_above)])
        edge = edge_above(words, strip, c, done, above + (before + uint64(2)) * uint64(per_chunk_above))
        letters = letters_from(pattern, pattern_at + int32(CHUNK) * strip)
        own = reversed_letters(text, text_at + int32(CHUNK) * c)
        state = load_state(words, here + uint64(state_at))
        codes_at = uint64(uint32(thread))
        begins = c == int32(0)
        run(
            state, edge, letters, (t0, t1), own, begins, begins, int32(0), uint32(0), False, codes, codes_at,
            uint64(BLOCK),
        )  # fmt: skip

    return again


@cache
def make_backward(penalties):
    """The kernel that leaves the CIGARs of what the forward kernel was certain of: one thread a pair.

    Arguments: those of the forward kernel, without ``after`` and ``threads``; runs_at, counts, runs: see
    banded.make_kernel.
    """
    way_back = _make_way_back(penalties, False)

    def affine_strips_back(
        pattern, text, pairs, shape, place, queues, level, first, count, reach, scores, runs_at, counts, runs, words,
        part, bounds,
    ):  # fmt: skip
        way_back(
            pattern, text, pairs, shape, place, queues, level, first, count, reach, scores, runs_at, counts, runs,
            words, part, bounds, 0, True, 0, 0, 0,
        )  # fmt: skip

    return named(affine_strips_back, "_".join(["", *map(str, penalties)]), carveout=SIDE_BY_SIDE)


@cache
def make_windowed_backward(penalties):
    """The kernel for the way back through a window, from the last one of a pair to the first; see strips_windows.

    Arguments: those of make_backward's, then begin: the window's first strip; starts: it is the batch's last window;
    source, rest: see affine_strips.make_windowed_forward; so_far: place among a pair's words of where it is, STATE
    words.
    """
    way_back = _make_way_back(penalties, True)

    def affine_strips_back_window(
        pattern, text, pairs, shape, place, queues, level, first, count, reach, scores, runs_at, counts, runs, words,
        part, bounds, begin, starts, source, rest, so_far,
    ):  # fmt: skip
        way_back(
            pattern, text, pairs, shape, place, queues, level, first, count, reach, scores, runs_at, counts, runs,
            words, part, bounds, begin, starts, source, rest, so_far,
        )  # fmt: skip

    return named(affine_strips_back_window, "_".join(["", *map(str, penalties)]), carveout=SIDE_BY_SIDE)


def _make_way_back(penalties, windowed):
    """Device function: what make_backward and make_windowed_backward say."""
    cell = make_functions(penalties, True).cell
    mismatch, gap_open, gap_extend = cell.triple
    least = min(mismatch, gap_open + gap_extend)  # that a run other than of matches costs
    unit, compute_again = cell.divisor, _make_again(penalties, windowed)

    @inlined
    def way_back(
        pattern, text, pairs, shape, place, queues, level, first, count, reach, scores, runs_at, counts, runs, words,
        part, bounds, begin, starts, source, rest, so_far,
    ):  # fmt: skip
        codes = cuda.shared.array(_CODES, uint32)
        shared = cuda.shared.array(2, int32)
        thread, reach, begin = int32(cuda.threadIdx.x), int32(reach), int32(begin)
        index = int64(cuda.blockIdx.x) * int64(BLOCK) + int64(thread)
        i, m, n, room, sure, at = int32(0), int32(0), int32(0), int32(0), False, int64(first) + index
        if index < count and at < waiting_pairs(queues, level, pairs):
            i, sure = pair_at(queues, level, at, scores)
            sure = sure and scores[i] >= int32(0)
        pattern_at, text_at = int32(0), int32(0)
        if sure:
            m, n = lengths_of(shape, i)
            pattern_at, text_at = int32(place[0, i]), int32(place[1, i])
            room = min(int32(2) * (scores[i] // int32(unit * least)) + int32(1), m + n)
        base = uint64(index * int64(part) + int64(2) * int64(bounds))
        here, v, h, gap, run = base + uint64(so_far), m, n, uint32(0), uint32(0)
        end, stop = int64(0), int64(0)
        if starts:
            stop = int64(reserve(queues, room, shared, thread)) + int64(room)
            end = stop
            matches = matches_back(pattern, pattern_at + v, text, text_at + h, min(v, h))
            end, run = put_before(runs, end, run, uint32(MATCH), matches)
            v, h = v - matches, h - matches
        elif sure:
            v, h = int32(words[here]), int32(words[here + uint64(1)])
            gap, run = words[here + uint64(2)], words[here + uint64(3)]
            end, stop = int64(words[here + uint64(4)]), int64(words[here + uint64(5)])
        while v > int32(0) and h > int32(0) and (v - int32(1)) >> int32(5) >= begin:
            strip, row, c = _place(v, h)
            compute_again(
                pattern, pattern_at, text, text_at, m, n, strip, c, reach, words, base + uint64(rest), codes, thread,
                begin, base + uint64(source),
            )  # fmt: skip
            within = True
            while within:
                taken, gap = _step(codes, thread, row, h - int32(1), gap)
                if taken != uint32(0):
                    end, run = put_before(runs, end, run, taken, int32(1))
                    v -= int32(taken != uint32(INSERTION))
                    h -= int32(taken != uint32(DELETION))
                if gap == uint32(0):
                    matches = matches_back(pattern, pattern_at + v, text, text_at + h, min(v, h))
                    end, run = put_before(runs, end, run, uint32(MATCH), matches)
                    v, h = v - matches, h - matches
                next_strip, row, next_c = _place(v, h)
                within = v > int32(0) and h > int32(0) and next_strip == strip and next_c == c
        if sure and begin == int32(0):
            end = put_rest(runs, end, run, v, h)
            runs_at[i] = uint32(end)
            counts[i] = uint32(stop - end)
        elif sure:
            words[here], words[here + uint64(1)] = uint32(v), uint32(h)
            words[here + uint64(2)], words[here + uint64(3)] = gap, run
            words[here + uint64(4)], words[here + uint64(5)] = uint32(end), uint32(stop)

    return way_back
