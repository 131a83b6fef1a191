"""Gap-affine alignment of long pairs in bit planes within a wide band on a GPU: several threads per pair.

Recurrence: that of affine_bits. Strip s is 32 rows (see affine_chunk), and has the chunks, 32 columns each, from
s - A + d to s + A + d + 1 at most, d = (n - m) // 64: a staircase in which each row has the diagonals from -32 (A - d)
to 32 (A + d) at least (the last row has one more, which is not handed down).

Exactness. Cells outside have made-up costs: e more for each diagonal further left than the cell above the first one of
a strip, or further right than the last one handed down, as if gaps went on there that are open. So costs never fall
along a diagonal, here as anywhere, without which the cells' small numbers (affine_cell) would grow past their digits.
The made-up costs may be too low. But a path over such cells goes to them and back in gaps of e a letter at least, opens
one to come back, and opened one on its way to where it leaves, but if that is diagonal 0: so it costs ``limit`` or more
(see affine_bits), and a score below that is certain. Of the staircase only those chunks are computed through which a
path below the limit may go, as the costs so far tell; f = n - m is the final diagonal:
- A path that comes down into strip s left of column j, where that is on a diagonal left of f, has cost H[32 s, j'] at
  some j' < j, and still needs a gap of f - j' + 32 s letters of the text. H[32 s, j] <= H[32 s, j'] + o + e (j - j'),
  so it costs H[32 s, j] + e (f - j + 32 s) or more. If that reaches the limit, the strip begins at column j.
- A path that goes right of column j in a row up to i = 32 (s + 1), where that is on a diagonal right of f, crosses the
  column at some row i' <= i, and costs H[i, j] + e (j - i - f) or more for the same reason. If that reaches the limit,
  the strip ends behind column j.
Costs grow on the way, so the band narrows, at the end to a few chunks. (To prune by a lower bound of what is left:
Hadlock 1988.) A path over cells with made-up costs crosses the diagonals of those corners too, and each diagonal
further takes e, and e again on the way back. H at the lower corners of chunks is known from those of the strip above
and sums of u - v over a strip's rows, at its right end from sums of v along its last row; that of a strip's first
chunk, beside made-up costs, is not made use of.

What is left of a pair costs more than the gap back, so a bound by its seeds (affine_seeds) is added: for the rows from
32 (s + 1) on in the first case, for the columns from j + 32 on in the second. Not for those from 32 s or j on, since a
path may leave the band further on: it crosses the diagonal that begins where the strip begins, or where the strip above
ends, within 32 rows or columns, and costs never fall along a diagonal. The bound falls along the text, by 3 seeds of 2
e at most for every 32 letters. Where strips begin at the same column one after the other, or end two chunks one behind
the other, all that is left out is 32 diagonals further away than by the strip above, 64 e to and fro: more than the
bounds of one or two blocks of letters. So a strip may begin where the one above does, and ends two chunks behind it at
most. (One chunk behind: along the same diagonal, for which the bound of the strip above need not hold for ever.)

All of this holds for any limit below that of the staircase, and a lower one needs fewer chunks. So pairs are first
tried under a limit by the batches before (affine_rates), and again without where they are not below it.

Schedule. The threads of a pair take its strips in turn, a chunk a turn. What a chunk hands down is complete a chunk
later: a thread waits while the strip above is not two chunks ahead of where it is. All turns of a block end at a
barrier. With T threads, 3 T chunks a strip keep all of them busy. A block is a warp, of one or more pairs, or for few
pairs with wide bands four warps, of one: as many chunks at a time on one processor, where else a scheduler has a single
warp, which waits for its own results, or none.

Memory layout. A record of each chunk is kept in ``words`` (uint32), behind the pair's bounds: its edge and H at its
lower left corner. For scores those of the last T + 1 strips, in turn. For CIGARs those of all, with the state before
each chunk, and of each strip its last chunk, so that a second kernel (affine_strips_back) computes those chunks again
that the way back goes through; or, where these have no room, those of a window of strips (strips_windows). Records are
whole vectors of four words, and lie at multiples of that: the threads of a warp are a strip apart, so each instruction
that stores or loads asks the cache for 32 of its sectors, whether it moves one word or four.

Operations, for penalties 2, 3, 1, per chunk of 1024 cells: 32 * (55 gates, 12 moves of edges, 6 of letters and their
comparison, 5 for the score and the loop), 78 a step, and up to 460 around it. 100K pairs of 10,000 letters at 10 % (A =
48): 37 chunks in each of 313 strips: 3.4e12, 0.21 s of an H200 (16.4 T/s). Bytes for CIGARs: 80 a chunk, 0.9 MB a pair,
0.09 TB in all, 22 ms.
"""

from functools import cache
from types import SimpleNamespace

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.affine_cell import make_cell
from wfa_kernels.cuda.affine_chunk import make_chunk
from wfa_kernels.cuda.affine_rates import limit_by, place_in_rates
from wfa_kernels.cuda.affine_seeds import price_of_a_seed
from wfa_kernels.cuda.banded import letters_outside
from wfa_kernels.cuda.bits import bits_from
from wfa_kernels.cuda.compaction import send_on
from wfa_kernels.cuda.device import FEW_SIDE_BY_SIDE, SIDE_BY_SIDE, inlined, is_hopper, named, simulated
from wfa_kernels.cuda.packing import letters_from
from wfa_kernels.cuda.queues import lengths_of, pair_at, waiting_pairs
from wfa_kernels.result import NO_SCORE

#: Rows of a strip and columns of a chunk.
CHUNK = 32
#: Threads of a block, one warp, and of one that is all for one pair, a warp for each scheduler of a processor.
BLOCK, WIDE_BLOCK = (4, 8) if simulated() else (32, 128)
#: Of a thread on Hopper, so that a processor holds 20 blocks, where cells have no more planes than that: for 20 of them
#: ptxas spills 36 bytes, for 36 of them 328. For other GPUs' code so few are not enough.
HOPPER_REGISTERS, _MOST_PLANES = 96, 18
_FAR = 2**30
#: In place of a cost. What counts as low may be below 0 too, but not so far.
_UNKNOWN, _BEYOND = -1, -_FAR
#: Words behind a strip's records: the number of its last chunk, in windows that of its first one, and what fills up
#: instructions.VECTOR.
ENDS = 4
#: In place of the strip before which a window ends: it has all that there are.
ALL = _FAR
#: A place on chip tells of strips WIDE_BLOCK + 1 apart at most, so their number's last digits tell them apart; the bits
#: below hold chunks of up to 2**25 letters. -1, before the first, is none of them.
_STRIPS_TOLD, _CHUNK_BITS = 1023, 21


def cell_planes(penalties):
    """Words that u, v, p and q of a cell take together."""
    cell = make_cell(*penalties)
    return 2 * (cell.delta_bits + cell.gap_bits)


@inlined
def reversed_letters(planes, at):
    """Two planes of 32 letters, the last one first."""
    low, high = letters_from(planes, at)
    return cuda.brev(low), cuda.brev(high)


@inlined
def leftmost(strip, m, n, reach):
    """The chunk with which the staircase begins in a strip; below 0 it is not of the matrix."""
    return int32(strip - int32(reach) + (int32(n - m) >> int32(6)))


@inlined
def strip_words(chunks, per_chunk):
    """Words that are kept of a strip: the records of its chunks, and its ENDS."""
    return int32(chunks * int32(per_chunk) + int32(ENDS))


@inlined
def _crossing(strip, chunk, final):
    """Row of the strip, before or behind it too, where diagonal ``final`` is in the chunk's first two steps."""
    return int32(int32(16) * int32(chunk - strip) - (int32(final) >> int32(1)))


@inlined
def _rows(strip, m, final):
    """Word with the rows of a strip where diagonal ``final`` is in the matrix, of m letters of the pattern."""
    first, stop = int32(-final - int32(CHUNK) * strip), int32(m - int32(CHUNK) * strip)
    return bits_from(first) & ~bits_from(stop)


@inlined
def _told(strip, chunk, ended):
    """One word for how far a strip is: its number (its last digits), its last chunk, whether it ends there."""
    return int32((strip & int32(_STRIPS_TOLD)) << int32(_CHUNK_BITS) | (chunk << int32(1)) | int32(ended))


@inlined
def _progress(told, strip):
    """(last chunk that is done of a strip, whether it ends there); -1 before the first, and no limit for no strip."""
    chunk, ended = int32(-1), False
    if strip < int32(0):
        chunk = int32(_FAR)
    elif told >> int32(_CHUNK_BITS) == strip & int32(_STRIPS_TOLD):
        last = told & int32((1 << _CHUNK_BITS) - 1)
        chunk, ended = int32(last >> int32(1)), (told & int32(1)) != int32(0)
    return chunk, ended


@cache
def make_functions(penalties, traced):
    """What both kernels share, for (mismatch, gap_open, gap_extend): device functions, and places in a chunk's record.

    guided: whether bounds by seeds come before the records. per_chunk: words of a record: the edge, at ``rise_at`` H at
    the lower left corner, and, if traced, from ``state_at`` on the state before the chunk. limit(m, n, reach): scores
    below it are certain. edge_above(words, strip, chunk, done, above): what comes in from above, where the strip above
    is done up to chunk ``done``; above: the record of its next chunk.
    """
    cell = make_cell(*penalties)
    _, gap_open, gap_extend = cell.triple
    chunk = make_chunk(cell.triple, False)
    load_edge, top_edge, no_edge = chunk.load_edge, chunk.top_edge, chunk.no_edge
    rise_at, state_at = len(chunk.edges), chunk.edge_words

    @inlined
    def limit(m, n, reach):
        shift = (n - m) >> int32(6)
        a, b = int32(32) * (reach - shift), int32(32) * (reach + shift)
        certain = int32(int32(2 * gap_open) + int32(gap_extend) * letters_outside(m, n, a, a + b + int32(1)))
        if a == int32(0) or b == int32(0):
            certain = int32(certain - int32(gap_open))
        if a < max(int32(0), m - n) or b < max(int32(0), n - m):
            certain = int32(-1)
        elif a >= m and b >= n:
            certain = int32(_FAR)
        return certain

    @inlined
    def edge_above(words, strip, c, done, above):
        edge = no_edge()
        if strip == int32(0):
            edge = top_edge(c)
        elif done > c:
            edge = load_edge(words, above)
        return edge

    return SimpleNamespace(
        cell=cell, guided=price_of_a_seed(cell.triple) > 0, limit=limit, edge_above=edge_above, rise_at=rise_at,
        state_at=state_at, per_chunk=state_at + (chunk.state_words if traced else 0),
    )  # fmt: skip


def _make_pruning(triple, rise_at):
    """Device functions, for penalties without a common divisor, that tell which chunks a path below a limit needs.

    border(length): H at the matrix' border. corner_above(words, strip, chunk, done, above): H at the upper right corner
    of a chunk, _UNKNOWN where the strip above ends there or a chunk before, _BEYOND where it ended further left; see
    edge_above. leaves(risen, away, bound): whether paths that leave the band cost ``bound`` or more, H being ``risen``
    (below 0: not known) where a column begins that is ``away`` diagonals from the final one.
    """
    _, gap_open, gap_extend = triple

    @inlined
    def border(length):
        return int32(0) if length == int32(0) else int32(int32(gap_open) + int32(gap_extend) * length)

    @inlined
    def corner_above(words, strip, c, done, above):
        risen = int32(_UNKNOWN)
        if strip == int32(0):
            risen = border(int32(int32(CHUNK) * (c + int32(1))))
        elif done > c:
            risen = int32(words[above + uint64(rise_at)])
        elif done < c - int32(1):
            risen = int32(_BEYOND)
        return risen

    @inlined
    def leaves(risen, away, bound):
        return away >= int32(0) and risen >= int32(0) and int32(risen + int32(gap_extend) * away) >= bound

    return SimpleNamespace(border=border, corner_above=corner_above, leaves=leaves)


def _make_turn(penalties, traced):
    """Device function: one chunk of a strip."""
    shared_by = make_functions(penalties, traced)
    state_at = shared_by.state_at
    chunk = make_chunk(shared_by.cell.triple, False)
    run, save_state, save_edge = chunk.run, chunk.save_state, chunk.save_edge
    edge_rise, strip_rise = chunk.edge_rise, chunk.strip_rise

    @inlined
    def turn(state, edge, letters, last, own, strip, c, begun, outside, m, final, words, here, risen, risen_above):
        """(state, score on the final diagonal, H at the lower left corner of the chunk).

        begun: the strip's first chunk. risen: H at the lower left corner of the chunk before. risen_above: H at this
        one's upper right corner, or below 0. Where H is not known it counts as 0, which is low.
        """
        if traced:
            save_state(words, here + uint64(state_at), state)
        state, edge, more = run(
            state, edge, letters, last, own, c == int32(0), outside, _crossing(strip, c, final),
            uint32(_rows(strip, m, final)), (final & int32(1)) != int32(0), words, uint64(0), uint64(0),
        )  # fmt: skip
        if c > begun and risen_above >= int32(0):
            risen = int32(risen_above + strip_rise(state))
        elif c > int32(begun + int32(1)):
            risen = int32(risen + edge_rise(edge))
        else:
            risen = int32(0)
        save_edge(words, here, edge, risen)
        return state, more, risen

    return turn


@cache
def make_forward(penalties, traced, block=BLOCK):
    """The kernel that computes scores: a group of threads a pair, in blocks of so many.

    Arguments: those of banded.make_kernel up to ``after``, then first, count: the pairs of the queue to take; threads:
    of a group; reach: A; rate: of affine_rates.RATES, 0 for none; scores: int32[pairs]; words: uint32[...], of which
    each group has ``part``, with the bounds of affine_seeds first, ``bounds`` for each sequence, 0 for penalties
    without. In row 0 of the queues, behind all else, it counts its pairs by their place in RATES.
    """
    strips = _make_strips(penalties, traced, False, block)

    def affine_strips(
        pattern, text, pairs, shape, place, queues, level, after, first, count, threads, reach, rate, scores,
        words, part, bounds,
    ):  # fmt: skip
        strips(
            pattern, text, pairs, shape, place, queues, level, after, first, count, threads, reach, rate, scores,
            words, part, bounds, 0, ALL, 0, 0, 0, 0,
        )  # fmt: skip

    wide = block > BLOCK
    suffix = "_".join(["", *map(str, penalties)] + ["traced"] * traced + ["wide"] * wide)
    registers = HOPPER_REGISTERS if is_hopper() and cell_planes(penalties) <= _MOST_PLANES else None
    return named(affine_strips, suffix, registers, FEW_SIDE_BY_SIDE if wide else SIDE_BY_SIDE)


@cache
def make_windowed_forward(penalties, traced):
    """The kernel for a window of strips, of pairs whose states have no room all at once; see strips_windows.

    Arguments: those of make_forward's, then begin, stop: the window's strips, up to ALL of them, which settles the
    pairs; those that are not settled have no part in other windows; keep_bits: not traced, every 2 ** keep_bits-th
    strip is kept; source, kept, rest: places among a group's words, behind the bounds, of the strip before the window,
    of those that are kept, of all others. Strips that are kept end with the number of their first chunk.
    """
    strips = _make_strips(penalties, traced, True, BLOCK)

    def affine_strips_window(
        pattern, text, pairs, shape, place, queues, level, after, first, count, threads, reach, rate, scores,
        words, part, bounds, begin, stop, keep_bits, source, kept, rest,
    ):  # fmt: skip
        strips(
            pattern, text, pairs, shape, place, queues, level, after, first, count, threads, reach, rate, scores,
            words, part, bounds, begin, stop, keep_bits, source, kept, rest,
        )  # fmt: skip

    return named(
        affine_strips_window, "_".join(["", *map(str, penalties)] + ["traced"] * traced), carveout=SIDE_BY_SIDE
    )


def _make_strips(penalties, traced, windowed, block):
    """Device function: what make_forward and make_windowed_forward say. block: threads of one.

    In one piece: with a pair's beginning and a strip's end in functions of their own it takes 115 registers, not 96.
    """
    shared_by = make_functions(penalties, traced)
    per_chunk_kept = make_functions(penalties, False).per_chunk
    limit, edge_above, triple = shared_by.limit, shared_by.edge_above, shared_by.cell.triple
    per_chunk, unit, guided = shared_by.per_chunk, shared_by.cell.divisor, shared_by.guided
    pruning, compute = _make_pruning(triple, shared_by.rise_at), _make_turn(penalties, traced)
    border, corner_above, leaves = pruning.border, pruning.corner_above, pruning.leaves
    chunk = make_chunk(triple, False)
    first_state, later_state = chunk.first_state, chunk.later_state
    both_rings = 2 * block  # of each group its threads and one more; Numba takes array sizes by name only

    @inlined
    def place_of(strip, begin, at, size, kept_size, keep_bits, kept, rest):
        """Where the record of a strip begins, behind the bounds."""
        found = uint64(0)
        if not windowed:
            found = uint64(uint32(at)) * uint64(size)
        elif traced:
            found = uint64(rest) + uint64(uint32(strip - begin)) * uint64(size)
        elif ((strip + int32(1)) & int32((int32(1) << keep_bits) - int32(1))) == int32(0):
            number = int32(((strip + int32(1)) >> keep_bits) - (begin >> keep_bits) - int32(1))
            found = uint64(kept) + uint64(uint32(number)) * uint64(kept_size)
        else:
            found = uint64(rest) + uint64(uint32(at)) * uint64(size)
        return found

    @inlined
    def strips_of_pairs(
        pattern, text, pairs, shape, place, queues, level, after, first, count, threads, reach, rate, scores,
        words, part, bounds, begin, stop, keep_bits, source, kept, rest,
    ):  # fmt: skip
        told = cuda.shared.array(both_rings, int32)
        begun_at = cuda.shared.array(both_rings, int32)
        sums = cuda.shared.array(block, int64)
        thread, threads, reach = int32(cuda.threadIdx.x), int32(threads), int32(reach)
        lane, group = thread % threads, thread // threads
        index = int64(cuda.blockIdx.x) * int64(int32(block) // threads) + int64(group)
        mine, i, place_in_queue = False, int32(0), int64(first) + index
        if index < count and place_in_queue < waiting_pairs(queues, level, pairs):
            i, mine = pair_at(queues, level, place_in_queue, scores)
            if windowed and int32(stop) != int32(ALL):
                mine = mine and scores[i] >= int32(0)
        m, n, bound, strips = int32(0), int32(0), int32(-1), int32(0)
        pattern_at, text_at = int32(0), int32(0)
        if mine:
            m, n = lengths_of(shape, i)
            pattern_at, text_at = int32(place[0, i]), int32(place[1, i])
            bound = limit(m, n, reach)
        # Within the block above it would take 20 registers more.
        bound = int32(min(bound, limit_by(int32(rate), int32(m + n))))
        if bound > int32(0):
            strips = int32((m + int32(31)) >> int32(5))
        told[thread], told[int32(block) + thread], sums[thread] = int32(-1), int32(-1), int64(0)
        final, chunks = int32(n - m), int32(int32(2) * reach + int32(2))
        base = uint64(index * int64(part) + int64(2) * int64(bounds))
        size = uint32(strip_words(chunks, per_chunk))
        kept_size = size
        if windowed:
            begin, keep_bits, strips = int32(begin), int32(keep_bits), min(strips, int32(stop))
            kept_size = uint32(strip_words(chunks, per_chunk_kept))
            cuda.syncthreads()
            if lane == int32(0) and int32(0) < begin < strips:  # the strip before is there as if just done
                last = base + uint64(source) + uint64(kept_size - uint32(ENDS))
                told[int32(group * (threads + int32(1))) + threads] = _told(begin - int32(1), int32(words[last]), True)
                begun_at[int32(group * (threads + int32(1))) + threads] = int32(words[last + uint64(1)])
        else:
            begin, keep_bits = int32(0), int32(0)
        # Without CIGARs the strips of a pair take turns in a few places; the one above is a place before.
        places = int32(_FAR) if traced else int32(threads + int32(1))
        rings = int32(group * (threads + int32(1)))
        state, score, risen = later_state(), int32(0), int32(0)
        r0, r1, t0, t1 = uint32(0), uint32(0), uint32(0), uint32(0)
        strip, ring, at, c, inside = int32(begin + lane), lane, lane, int32(-1), False
        while cuda.syncthreads_or(int32(strip < strips)) != 0:
            news, news_at, ready, above, done = int32(-1), int32(rings + ring), False, uint64(0), int32(-1)
            lowest, row = leftmost(strip, m, n, reach), int32(int32(CHUNK) * strip)
            if strip < strips:
                before = int32(rings + (int32(ring - int32(1)) if ring > int32(0) else threads))
                done, ended = _progress(told[before], int32(strip - int32(1)))
                if c < int32(0) and done >= int32(0):
                    c = max(int32(0), lowest)
                    if strip > int32(0):
                        c = max(c, begun_at[before])
                ready = c >= int32(0) and (ended or done > c)
                at_above, per_chunk_above = int32(at - int32(1) if at > int32(0) else places - int32(1)), per_chunk
                above = base + place_of(strip - int32(1), begin, at_above, size, kept_size, keep_bits, kept, rest)
                if windowed and strip == begin:
                    above, per_chunk_above = base + uint64(source), per_chunk_kept
                above += uint64(uint32(uint32(c - lowest + int32(2)) * uint32(per_chunk_above)))
                if ready and not inside:
                    below = bound
                    if guided:
                        below = int32(below - int32(words[base - uint64(uint32(strip + int32(2)))]))
                    risen = corner_above(words, strip, c, done, above)
                    if leaves(risen, int32(final + row - int32(CHUNK) * (c + int32(1))), below):
                        ready, c = False, int32(c + int32(1))
            # A barrier, else the threads that begin a strip would compute after the others, not with them; and all
            # compute by the same circuit.
            outside = cuda.syncthreads_or(int32(ready and c == int32(0))) != 0
            if ready:
                if not inside:
                    begun_at[rings + ring], inside = c, True
                    r0, r1 = letters_from(pattern, int32(pattern_at + row))
                    state = first_state(strip)
                    if c > int32(0):
                        state = later_state()
                        t0, t1 = reversed_letters(text, int32(text_at + int32(CHUNK) * (c - int32(1))))
                edge = edge_above(words, strip, c, done, above)
                risen_above = corner_above(words, strip, c, done, above)
                w0, w1 = reversed_letters(text, int32(text_at + int32(CHUNK) * c))
                strip_at = base + place_of(strip, begin, at, size, kept_size, keep_bits, kept, rest)
                here = strip_at + uint64(uint32(uint32(c - lowest) * uint32(per_chunk)))
                state, more, risen = compute(
                    state, edge, (r0, r1), (t0, t1), (w0, w1), strip, c, begun_at[rings + ring], outside,
                    m, final, words, here, risen, risen_above,
                )  # fmt: skip
                t0, t1 = w0, w1
                # From the bound on it is not certain, and in a band too narrow for the pair it would go past 32 bits.
                score = int32(min(int32(score + more), bound))
                ends = c >= min(int32(lowest + chunks - int32(1)), int32((n + int32(31)) >> int32(5)))
                below = bound
                if guided:
                    below = int32(below - int32(words[base - uint64(uint32(int32(bounds) + c + int32(2)))]))
                ends = ends or risen_above == int32(_BEYOND)
                ends = ends or leaves(risen, int32(int32(CHUNK) * (c - int32(1)) - row - final), below)
                news = _told(strip, c, ends)
                c = int32(c + int32(1))
                if ends:
                    last = strip_at + uint64(uint32(chunks) * uint32(per_chunk))
                    words[last] = uint32(c - int32(1))
                    if windowed:
                        words[last + uint64(1)] = uint32(begun_at[rings + ring])
                    strip, c, inside = int32(strip + threads), int32(-1), False
                    ring = int32(ring - int32(1)) if ring > int32(0) else threads
                    at = int32(at + threads)
                    if at >= places:
                        at = int32(at - places)
            cuda.syncthreads()  # what this turn wrote is there before others are told of it
            if news >= int32(0):
                told[news_at] = news
        cuda.atomic.add(sums, group, int64(score))
        cuda.syncthreads()
        if mine and lane == int32(0) and (not windowed or int32(stop) == int32(ALL)):
            within = int64(border(abs(final))) + sums[group]
            certain = within < int64(bound)
            total = int32(within)
            scores[i] = total * int32(unit) if certain else int32(NO_SCORE)
            if certain:
                m, n = lengths_of(shape, i)
                cuda.atomic.add(queues, (0, queues.shape[0] + place_in_rates(total, m + n)), 1)
            else:
                send_on(queues, after, i)

    return strips_of_pairs
