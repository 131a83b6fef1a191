"""The way back of gap-affine alignment in strips on a GPU: one thread or a few per pair, up to a warp.

The forward kernel (affine_strips) has left the state before each chunk and the edges between strips. The way back goes
through two or three chunks a strip, and each is computed again, now with the codes of its cells, in shared memory.

Schedule. By turns: all threads of a pair compute a chunk each, then all of them go back through these until they leave
them. Any chunk can be computed before it is known whether the way goes there, so the threads take those that a diagonal
from where the way is would meet: up to CHUNKS_OF_A_STRIP of its strip, and as many of each strip above for which there
are threads. Where the way goes elsewhere a turn ends early.

Operations: per chunk 32 * 85 and 300, per error a few dozen, and the letters that match. A pair of 10,000 letters: 313
strips of 3 chunks, 2.8e6 operations one after the other by one thread, and 0.12e6 by 32.
"""

from functools import cache

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.cigar import DELETION, INSERTION, MATCH
from wfa_kernels.cuda.affine_chunk import make_chunk
from wfa_kernels.cuda.affine_strips import BLOCK, CHUNK, leftmost, make_functions, reversed_letters, strip_words
from wfa_kernels.cuda.affine_trace import step_back
from wfa_kernels.cuda.banded import put_before, put_rest
from wfa_kernels.cuda.compaction import reserve
from wfa_kernels.cuda.device import SIDE_BY_SIDE, inlined, named, simulated
from wfa_kernels.cuda.packing import letters_from, matches_back
from wfa_kernels.cuda.queues import lengths_of, pair_at, waiting_pairs

_CODES = 4 * CHUNK * BLOCK  # Numba takes array sizes by name only
#: Chunks of a strip that are computed at a time, where a pair has so many threads: a way along a diagonal goes through
#: two or three. And columns by which one may come further right into the next strip than along the diagonal.
CHUNKS_OF_A_STRIP, _DRIFT = 2 if simulated() else 4, 4
#: Words of where a pair's way back is between two windows: v, h, the gap that it is in, the open run, where the next
#: run goes, where the first one ended, and what fills up instructions.VECTOR.
STATE = 8


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


@inlined
def _rightmost(v, h, above):
    """The rightmost chunk that is computed of the strip ``above`` strips over that of the last cell of such prefixes.

    Along its diagonal the way comes into the next strip, at its last row, ``row`` + 1 columns further left, and then
    into each strip 32 columns further left.
    """
    _, row, chunk = _place(v, h)
    if above > int32(0):
        chunk = (h - int32(1) + int32(30) - row + int32(_DRIFT)) >> int32(5)
        chunk = int32(chunk - above + int32(1))
    return chunk


def _make_again(penalties, windowed):
    """Device function: the codes of a chunk, four words a step, BLOCK apart.

    windowed: the strips from ``begin`` on are there, and at ``source`` the one before them as it is kept.
    """
    shared_by = make_functions(penalties, True)
    edge_above, per_chunk, state_at = shared_by.edge_above, shared_by.per_chunk, shared_by.state_at
    per_chunk_kept = make_functions(penalties, False).per_chunk
    chunk = make_chunk(shared_by.cell.triple, True)
    run, load_state = chunk.run, chunk.load_state

    @inlined
    def again(pattern, pattern_at, text, text_at, m, n, strip, c, reach, words, base, codes, thread, begin, source):
        t0, t1 = uint32(0), uint32(0)
        if c > int32(0):
            t0, t1 = reversed_letters(text, text_at + int32(CHUNK) * (c - int32(1)))
        chunks, before = int32(int32(2) * reach + int32(2)), uint64(uint32(c - leftmost(strip, m, n, reach)))
        size = uint64(uint32(strip_words(chunks, per_chunk)))
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
    """The kernel that leaves the CIGARs of what the forward kernel was certain of: a group of threads a pair.

    Arguments: those of the forward kernel, without ``after`` and ``rate``; threads: of a group, a power of 2 up to
    BLOCK; runs_at, counts, runs: see banded.make_kernel.
    """
    way_back = _make_way_back(penalties, False)

    def affine_strips_back(
        pattern, text, pairs, shape, place, queues, level, first, count, threads, reach, scores, runs_at, counts, runs,
        words, part, bounds,
    ):  # fmt: skip
        way_back(
            pattern, text, pairs, shape, place, queues, level, first, count, threads, reach, scores, runs_at, counts,
            runs, words, part, bounds, 0, True, 0, 0, 0,
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
        pattern, text, pairs, shape, place, queues, level, first, count, threads, reach, scores, runs_at, counts, runs,
        words, part, bounds, begin, starts, source, rest, so_far,
    ):  # fmt: skip
        way_back(
            pattern, text, pairs, shape, place, queues, level, first, count, threads, reach, scores, runs_at, counts,
            runs, words, part, bounds, begin, starts, source, rest, so_far,
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
        pattern, text, pairs, shape, place, queues, level, first, count, threads, reach, scores, runs_at, counts, runs,
        words, part, bounds, begin, starts, source, rest, so_far,
    ):  # fmt: skip
        codes = cuda.shared.array(_CODES, uint32)
        shared = cuda.shared.array(2, int32)
        starts_at = cuda.shared.array(BLOCK, int32)
        thread, threads, reach, begin = int32(cuda.threadIdx.x), int32(threads), int32(reach), int32(begin)
        lane, group = thread % threads, thread // threads
        own = int32(thread - lane)  # the group's first thread
        index = int64(cuda.blockIdx.x) * int64(int32(BLOCK) // threads) + int64(group)
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
            starts_at[thread] = reserve(queues, room if lane == int32(0) else int32(0), shared, thread)
            cuda.syncthreads()
            stop = int64(starts_at[own]) + int64(room)
            end = stop
            matches = matches_back(pattern, pattern_at + v, text, text_at + h, min(v, h))
            end, run = put_before(runs, end, run, uint32(MATCH), matches)
            v, h = v - matches, h - matches
        elif sure:
            v, h = int32(words[here]), int32(words[here + uint64(1)])
            gap, run = words[here + uint64(2)], words[here + uint64(3)]
            end, stop = int64(words[here + uint64(4)]), int64(words[here + uint64(5)])
        of_a_strip = min(threads, int32(CHUNKS_OF_A_STRIP))
        strips, above = int32(threads // of_a_strip), int32(lane // of_a_strip)
        last, chunks = int32((n + int32(31)) >> int32(5)), int32(int32(2) * reach + int32(2))
        inside = v > int32(0) and h > int32(0) and (v - int32(1)) >> int32(5) >= begin
        while cuda.syncthreads_or(int32(inside)) != 0:
            from_v, from_h = v, h
            from_strip, row, _ = _place(v, h)
            strip, c = int32(from_strip - above), int32(_rightmost(v, h, above) - lane % of_a_strip)
            place_in_strip = int32(c - leftmost(strip, m, n, reach))
            if inside and strip >= begin and int32(0) <= c <= last and int32(0) <= place_in_strip < chunks:
                compute_again(
                    pattern, pattern_at, text, text_at, m, n, strip, c, reach, words, base + uint64(rest), codes,
                    thread, begin, base + uint64(source),
                )  # fmt: skip
            cuda.syncthreads()
            within, by = inside, own
            while within:
                taken, gap = _step(codes, by, row, h - int32(1), gap)
                if taken != uint32(0):
                    end, run = put_before(runs, end, run, taken, int32(1))
                    v -= int32(taken != uint32(INSERTION))
                    h -= int32(taken != uint32(DELETION))
                if gap == uint32(0):
                    matches = matches_back(pattern, pattern_at + v, text, text_at + h, min(v, h))
                    end, run = put_before(runs, end, run, uint32(MATCH), matches)
                    v, h = v - matches, h - matches
                strip, row, c = _place(v, h)
                inside = v > int32(0) and h > int32(0) and strip >= begin
                up = int32(from_strip - strip)
                left = int32(_rightmost(from_v, from_h, up) - c)
                within = inside and up < strips and int32(0) <= left < of_a_strip
                by = int32(own + up * of_a_strip + left)
        if sure and begin == int32(0):
            end = put_rest(runs, end, run, v, h)
            runs_at[i] = uint32(end)
            counts[i] = uint32(stop - end)
        elif sure:
            words[here], words[here + uint64(1)] = uint32(v), uint32(h)
            words[here + uint64(2)], words[here + uint64(3)] = gap, run
            words[here + uint64(4)], words[here + uint64(5)] = uint32(end), uint32(stop)

    return way_back
