"""One group of pairs in a band: its memory, the calls of the vector kernels, early ends, and the way back.

Memory of a group, uint16 numbers from a 64-byte boundary on: what bit_groups describes; codes of ``block`` double
steps; where those are not all, the state before each block.

A group is (words of a band, bits of a lane, bits of a vector, planes, vectors of codes of a word and double step). Its
pairs are rows of a table ``lanes``.
"""

import numpy as np

from wfa_kernels.cpu.backtrace import copy_run
from wfa_kernels.cpu.bit_groups import (
    LETTERS,
    UNIT,
    double_steps,
    fill_planes,
    letter_vectors,
    lowest_diagonal,
    put_pair,
    put_pattern,
    put_text,
    read_lane,
    state_vectors,
)
from wfa_kernels.cpu.bit_letters import call_address
from wfa_kernels.cpu.bit_plan import final_gap_cost
from wfa_kernels.cpu.bit_trace import walk_back
from wfa_kernels.cpu.helper import helper
from wfa_kernels.cpu.intrinsics import address_of, prefetch

#: Columns of lanes: the pair; its lengths; score below which it is proven; score before the first double step; whether
#: its letters are known; then a walk's, see bit_trace.
ROW, M, N, LIMIT, BEFORE, KNOWN, RUNS_AT, WALK = range(8)
LANE_COLUMNS = WALK + 4
#: Numbers of a layout: where text, pattern, codes and kept states begin, all that is taken, double steps of a block.
TEXT_AT, PATTERN_AT, CODES_AT, KEPT_AT, UNITS, BLOCK = range(6)
#: Codes up to this many bytes stay in the second-level cache and are kept at once.
_CODES_AT_ONCE = 2**22
#: Pairs of a group after which one is brought near, and letters of it: where there are more, the processor goes on.
_AHEAD, _BROUGHT = 3, 512
#: Double steps after which it is asked whether a group's scores can still be proven: an eighth of all, at least this.
_LEAST_WATCH = 64
#: Where more than half of the pairs would end this far over their limit, the rest is not worth computing.
_HOPELESS = 1.2


@helper
def group_layout(group, steps, traced):
    """int64[6], see above."""
    words, _, vector, planes, code_vectors = group
    width = vector // UNIT
    layout = np.empty(6, np.int64)
    letters = letter_vectors(steps, words, group[1]) * width
    layout[TEXT_AT] = state_vectors(words, planes) * width
    layout[PATTERN_AT] = layout[TEXT_AT] + letters
    layout[CODES_AT] = layout[PATTERN_AT] + letters
    codes, state = words * code_vectors * width, layout[TEXT_AT]
    block = max(steps, 1)
    if traced and 2 * codes * steps > _CODES_AT_ONCE:
        block = min(block, max(1, int(np.sqrt(steps * state / codes))))
    blocks = (steps + block - 1) // block
    layout[BLOCK] = block
    layout[KEPT_AT] = layout[CODES_AT] + (codes * block if traced else 0)
    layout[UNITS] = layout[KEPT_AT] + (state * blocks if traced and blocks > 1 else 0)
    return layout


@helper
def memory_units(layout):
    """Length of the uint16 array of a group: wherever it begins, with LETTERS bytes to spare."""
    return layout[UNITS] + 32 + LETTERS // 2


@helper
def aligned(memory):
    """First number of memory that begins a vector."""
    return (-(address_of(memory) >> 1)) & 31


@helper
def _bring(address, end):
    """Prefetch the first letters of a sequence: in the order of bands the processor does not foresee the next pair."""
    for line in range(address, min(end, address + _BROUGHT), 64):
        prefetch(line)


@helper
def load_group(memory, group, layout, steps, sequences, lanes, codes):
    """Set up the state and letters of a group; lanes: int64[count, LANE_COLUMNS] with ROW, M, N, LIMIT filled in.

    Addresses, not arrays, go to what is called for each pair (see intrinsics). The last LETTERS bytes of memory are
    for letters that stand at an end of the batch.
    """
    words, lane, vector, _, _ = group
    at = aligned(memory)
    pattern, pattern_offsets, text, text_offsets = sequences
    fill_planes(memory, at, words, vector, codes)
    last = _last_position(steps)
    base = address_of(memory)
    spare = base + 2 * len(memory) - LETTERS
    patterns, texts = address_of(pattern), address_of(text)
    for z in range(len(lanes)):
        lane_at = z * (lane // UNIT)
        row, m, n = lanes[z, ROW], lanes[z, M], lanes[z, N]
        a = lowest_diagonal(m, n, 2 * lane * words)
        put_pair(memory, at, lane_at, (words, lane, vector), m, n, codes)
        text_at = base + 2 * (at + lane_at + layout[TEXT_AT])
        pattern_at = base + 2 * (at + lane_at + layout[PATTERN_AT])
        if z + _AHEAD < len(lanes):
            coming = lanes[z + _AHEAD, ROW]
            _bring(patterns + pattern_offsets[coming], patterns + pattern_offsets[coming + 1])
            _bring(texts + text_offsets[coming], texts + text_offsets[coming + 1])
        start, stop = text_offsets[row], text_offsets[row + 1]
        known = put_text(text_at, lane, vector, texts, len(text), start, stop, a >> 1, spare)
        start, stop = pattern_offsets[row], pattern_offsets[row + 1]
        shift = last + ((a + 1) >> 1)
        known &= put_pattern(pattern_at, lane, vector, patterns, len(pattern), start, stop, shift, spare)
        lanes[z, KNOWN] = known


@helper
def _last_position(steps):
    """Bit position of the pattern's letters from which bit_lanes counts."""
    return (steps + LETTERS - 1) // LETTERS * LETTERS


@helper
def compute(memory, group, layout, functions, steps, border, first, last, traced):
    """Double steps first to last - 1. functions: addresses, int64[border, traced]. Codes begin at those of a block."""
    words, lane, vector, _, code_vectors = group
    width = vector // UNIT
    base = address_of(memory) + 2 * aligned(memory)
    pattern = base + 2 * (layout[PATTERN_AT] + 2 * width * (_last_position(steps) // lane))
    begin = first // layout[BLOCK] * layout[BLOCK]
    codes = base + 2 * (layout[CODES_AT] - begin * words * code_vectors * width)
    for at_border in (1, 0):
        stop = min(last, border) if at_border else last
        if first < stop:
            arguments = (base, base + 2 * layout[TEXT_AT], pattern, words, first, stop, codes)
            call_address(functions[at_border, traced], arguments)
            first = stop


@helper
def run_group(memory, group, layout, functions, steps, border, traced, watched, lanes, costs):
    """Compute a group. Returns the double steps done: less than ``steps`` where it was given up as hopeless."""
    at, state = aligned(memory), layout[TEXT_AT]
    many = traced and layout[BLOCK] < steps
    chunk = layout[BLOCK] if many else max(_LEAST_WATCH, (steps + 7) // 8) if watched else steps
    for first in range(0, steps, chunk):
        if watched and first and _hopeless(memory, group, steps, first, lanes, costs):
            return first
        if many:
            kept = at + layout[KEPT_AT] + first // chunk * state
            copy_run(memory, at, memory, kept, state)
        compute(memory, group, layout, functions, steps, border, first, min(first + chunk, steps), traced and not many)
    return steps


@helper
def score_of(memory, group, lanes, z):
    """Score of a lane so far."""
    _, lane, vector, _, _ = group
    return lanes[z, BEFORE] + read_lane(memory, aligned(memory) + (vector + z * lane) // UNIT, lane)


@helper
def foreseen(score, gap, done, steps):
    """The score at the end, if it goes on like this."""
    return gap + max(score - gap, 0) * steps // done


@helper
def _hopeless(memory, group, steps, done, lanes, costs):
    failing = 0
    for z in range(len(lanes)):
        m, n, limit = lanes[z, M], lanes[z, N], lanes[z, LIMIT]
        own = double_steps(m, n)
        if own > done:
            gap = final_gap_cost(m, n, costs[1], costs[2])
            failing += foreseen(score_of(memory, group, lanes, z), gap, done, own) > _HOPELESS * limit
    return 2 * failing > len(lanes)


@helper
def trace_group(memory, group, layout, functions, steps, border, sequences, lanes, runs):
    """Walk back in all lanes whose walk has letters left."""
    words, lane, vector, _, code_vectors = group
    at, state = aligned(memory), layout[TEXT_AT]
    pattern, pattern_offsets, text, text_offsets = sequences
    block = layout[BLOCK]
    for first in range((steps - 1) // block * block, -1, -block):
        if block < steps:
            kept = at + layout[KEPT_AT] + first // block * state
            copy_run(memory, kept, memory, at, state)
            compute(memory, group, layout, functions, steps, border, first, min(first + block, steps), 1)
        for z in range(len(lanes)):
            row = lanes[z, ROW]
            walk_back(
                memory,
                at + layout[CODES_AT] + z * (lane // UNIT),
                (words, lane, vector // UNIT, code_vectors),
                first,
                lowest_diagonal(lanes[z, M], lanes[z, N], 2 * lane * words),
                (pattern, pattern_offsets[row], text, text_offsets[row]),
                lanes[z, WALK:],
                runs,
                lanes[z, RUNS_AT],
            )
