"""A batch in groups of pairs with like bands: plans them, runs them, proves their scores."""

import numpy as np
from numba import njit

from wfa_kernels.cigar import DELETION, INSERTION, MATCH
from wfa_kernels.cpu.backtrace import append_run, reverse_runs, splits, with_room
from wfa_kernels.cpu.bit_groups import border_steps, double_steps, lowest_diagonal, proof_limit
from wfa_kernels.cpu.bit_plan import (
    SEEN,
    counts,
    diagonals_for,
    final_gap_cost,
    foretold,
    lane_for,
    observe,
    wavefronts_are_faster,
    words_for,
)
from wfa_kernels.cpu.bit_run import (
    BEFORE,
    KNOWN,
    LANE_COLUMNS,
    LIMIT,
    ROW,
    RUNS_AT,
    WALK,
    M,
    N,
    foreseen,
    group_layout,
    load_group,
    memory_units,
    run_group,
    score_of,
    trace_group,
)
from wfa_kernels.cpu.bit_trace import FILLED, INSIDE, H, V
from wfa_kernels.cpu.helper import helper

#: Columns of the table of pairs: what has become of it, its score, a guess of it (0: none), the diagonals that would
#: prove what is foretold, its CIGAR's place.
STATE, SCORE, GUESS, DIAGONALS, FIRST_RUN, LAST_RUN = range(6)
PAIR_COLUMNS = 6
#: What has become of a pair; LEFT: others shall align it.
PENDING, DONE, LEFT = range(3)
#: Pairs that are planned together: the first ones of a batch tell what the others cost.
_FIRST_PLAN, _PLAN = 32, 2048
_NO_KEY = 2**62
#: Results of a group: no function for it yet, its number is added; go on; plan anew.
_MISSING, _GO_ON, _PLAN_ANEW = -1000, 0, 1


@helper
def function_number(lane, words):
    """Row of the table of functions: by bits of a lane, and whether one word makes the band."""
    return lane // 32 * 2 + (words > 1)


@njit(nogil=True, cache=True)
def align_pairs(sequences, start, pairs, costs, codes, vector, functions, modelled, traced, budget, estimate, runs):
    """Align the pending pairs.

    sequences: (pattern, pattern_offsets, text, text_offsets). pairs: int64[k, PAIR_COLUMNS] of pairs start to
    start + k. costs: (mismatch, gap_open, gap_extend, binary digits of a step's cost, time of a step in ns,
    vectors of codes of a word and double step).
    functions: addresses of bit_lanes.advance for shapes, int64[6, border, traced], 0: not yet there. modelled: leave
    pairs to wavefronts where those are faster. estimate: of bit_plan. runs: CIGARs, uint32[...].
    Returns (which row of functions is missing or -1 when all is done, runs, how many are filled in).
    """
    memory = np.empty(0, np.uint16)
    filled = len(runs) if traced else 0
    while True:
        order = _plan(sequences, start, pairs, costs, estimate)
        if len(order) == 0:
            return -1, runs[:filled]
        first = 0
        while first < len(order):
            outcome, count, memory, runs, filled = _group(
                sequences, start, pairs, order[first:], costs, codes, vector, functions, modelled, traced, budget,
                estimate, memory, runs, filled,
            )  # fmt: skip
            if outcome < _GO_ON:
                return outcome - _MISSING, runs[:filled]
            first += count
            if outcome == _PLAN_ANEW:
                break


@njit(inline="always")
def _lengths(sequences, row):
    _, pattern_offsets, _, text_offsets = sequences
    return pattern_offsets[row + 1] - pattern_offsets[row], text_offsets[row + 1] - text_offsets[row]


@helper
def _guess(m, n, noted, costs, estimate):
    return noted if noted else foretold(estimate, m, n, costs[1], costs[2])


@helper
def _plan(sequences, start, pairs, costs, estimate):
    """Some pending pairs in the order of their bands and lengths."""
    most = _PLAN if estimate[SEEN] else _FIRST_PLAN
    order, keys = np.empty(most, np.int64), np.empty(most, np.int64)
    count, shortest, longest = 0, _NO_KEY, 0
    for i in range(len(pairs)):
        if pairs[i, STATE] == PENDING:
            m, n = _lengths(sequences, start + i)
            guess = _guess(m, n, pairs[i, GUESS], costs, estimate)
            pairs[i, DIAGONALS] = diagonals_for(m, n, guess, costs[1], costs[2])
            steps = double_steps(m, n)
            order[count], keys[count] = i, (words_for(pairs[i, DIAGONALS], 16) << 32) + steps
            shortest, longest = min(shortest, steps), max(longest, steps)
            count += 1
            if count == most:
                break
    if longest - shortest <= shortest >> 3:  # lengths nearly equal: what matters is bands, and letters in order
        for at in range(count):
            keys[at] >>= 32
    _sort(order, keys, count)
    return order[:count]


@helper
def _sort(order, keys, count):
    """Sort by keys (Shell 1959, with Knuth's gaps: NumPy's sort takes seconds to compile)."""
    gap = 1
    while 3 * gap + 1 < count:
        gap = 3 * gap + 1
    while gap:
        for at in range(gap, count):
            key, row = keys[at], order[at]
            to = at
            while to >= gap and keys[to - gap] > key:
                keys[to], order[to] = keys[to - gap], order[to - gap]
                to -= gap
            keys[to], order[to] = key, row
        gap //= 3


@helper
def _group(
    sequences, start, pairs, order, costs, codes, vector, functions, modelled, traced, budget, estimate, memory, runs,
    filled,
):  # fmt: skip
    """Align the first pairs of an order: (outcome, how many, memory, runs, filled)."""
    m, n = _lengths(sequences, start + order[0])
    lane, words = lane_for(m, n, pairs[order[0], DIAGONALS], len(order), vector, costs[3])
    lanes, words = _gathered(sequences, start, pairs, order, costs, lane, words, vector // lane)
    count = len(lanes)
    guess = _guess(m, n, pairs[order[0], GUESS], costs, estimate)
    if modelled and wavefronts_are_faster(m, n, guess, words, count, costs[4], traced):
        pairs[order[0], STATE] = LEFT
        return _GO_ON, 1, memory, runs, filled
    group = (words, lane, vector, codes.shape[1], costs[5])
    steps, border, watched = _steps(pairs, start, lanes, group, estimate)
    layout = group_layout(group, steps, traced)
    if 2 * memory_units(layout) > budget:
        pairs[order[0], STATE] = LEFT
        return _GO_ON, 1, memory, runs, filled
    number = function_number(lane, words)
    if functions[number, 0, traced] == 0:
        return _MISSING + number, 0, memory, runs, filled
    if memory_units(layout) > len(memory):
        memory = np.empty(memory_units(layout), np.uint16)
    load_group(memory, group, layout, steps, sequences, lanes, codes)
    called = functions[number]
    done = run_group(memory, group, layout, called, steps, border, traced, watched, lanes, costs)
    failed = _judge(memory, group, pairs, start, lanes, done, steps, costs, estimate)
    if traced and done == steps and failed < count:
        runs, filled = _with_walks(pairs, start, lanes, costs, runs, filled)
        trace_group(memory, group, layout, called, steps, border, sequences, lanes, runs)
        _finish(pairs, start, lanes, runs)
    return _PLAN_ANEW if 2 * failed > count else _GO_ON, count, memory, runs, filled


@helper
def _gathered(sequences, start, pairs, order, costs, lane, words, most):
    """(the table of lanes, words): pairs that follow in the order, as long as their bands are like the first one's and
    they can be counted in such a lane: bands are alike of a long clean pair and of a short one of unlike lengths."""
    lanes = np.zeros((min(most, len(order)), LANE_COLUMNS), np.int64)
    widest = words + words // 4
    for z in range(len(lanes)):
        i = order[z]
        own = words_for(pairs[i, DIAGONALS], lane)
        m, n = _lengths(sequences, start + i)
        if own > widest or not counts(lane, m, n, costs[3]):
            lanes = lanes[:z]
            break
        words = max(words, own)
        lanes[z, ROW], lanes[z, M], lanes[z, N] = start + i, m, n
    for z in range(len(lanes)):
        m, n = lanes[z, M], lanes[z, N]
        lanes[z, LIMIT] = proof_limit(m, n, 2 * lane * words, costs[1], costs[2])
        odd = lowest_diagonal(m, n, 2 * lane * words) & 1
        lanes[z, BEFORE] = costs[1] + costs[2] * odd if n != m else 0
    return lanes, words


@helper
def _steps(pairs, start, lanes, group, estimate):
    """(double steps, those at the border, whether to watch the scores) of a group."""
    steps, border = 0, 0
    watched = estimate[SEEN] < _FIRST_PLAN
    for z in range(len(lanes)):
        m, n = lanes[z, M], lanes[z, N]
        steps = max(steps, double_steps(m, n))
        border = max(border, border_steps(m, n, 2 * group[1] * group[0]))
    return steps, border, watched or steps > 512


@helper
def _judge(memory, group, pairs, start, lanes, done, steps, costs, estimate):
    """Note the proven scores and what the others tell; how many are not proven."""
    failed = 0
    for z in range(len(lanes)):
        i, m, n, limit = lanes[z, ROW] - start, lanes[z, M], lanes[z, N], lanes[z, LIMIT]
        if not lanes[z, KNOWN]:
            pairs[i, STATE] = LEFT
            continue
        score = score_of(memory, group, lanes, z)
        own, gap = double_steps(m, n), final_gap_cost(m, n, costs[1], costs[2])
        observe(estimate, score, gap, max(1, min(done, own)))
        if done == steps and score < limit:
            pairs[i, STATE], pairs[i, SCORE] = DONE, score
            continue
        failed += 1
        guess = 1 + (score if done >= own else foreseen(score, gap, done, own) * 9 // 8)
        pairs[i, GUESS] = guess if guess < limit else min(guess, 2 * limit)
    return failed


@helper
def _with_walks(pairs, start, lanes, costs, runs, filled):
    """Begin the walks of the lanes that are proven, each with room for its runs: (runs, filled)."""
    cheapest = min(costs[0], costs[1] + costs[2])
    for z in range(len(lanes)):
        i = lanes[z, ROW] - start
        if pairs[i, STATE] != DONE:
            continue
        more = 2 * (pairs[i, SCORE] // cheapest) + 2 + splits(lanes[z, M] + lanes[z, N])
        runs = with_room(runs, filled, more)
        lanes[z, RUNS_AT] = filled
        walk = lanes[z, WALK:]
        walk[V], walk[H], walk[INSIDE], walk[FILLED] = lanes[z, M], lanes[z, N], MATCH, filled
        filled += more
    return runs, filled


@helper
def _finish(pairs, start, lanes, runs):
    for z in range(len(lanes)):
        i = lanes[z, ROW] - start
        if pairs[i, STATE] == DONE:
            pairs[i, FIRST_RUN], pairs[i, LAST_RUN] = lanes[z, RUNS_AT], lanes[z, WALK + FILLED]
            reverse_runs(runs, pairs[i, FIRST_RUN], pairs[i, LAST_RUN])


@njit(nogil=True, cache=True)
def without_letters(sequences, start, pairs, costs, traced):
    """Settle the pairs that have an empty sequence. Returns the runs."""
    runs = np.empty(16 if traced else 0, np.uint32)
    filled = 0
    for i in range(len(pairs)):
        m, n = _lengths(sequences, start + i)
        if m and n:
            continue
        pairs[i, STATE], pairs[i, SCORE] = DONE, final_gap_cost(m, n, costs[1], costs[2])
        pairs[i, FIRST_RUN] = filled
        if traced:
            runs = with_room(runs, filled, 2 + splits(m + n))
            filled = append_run(runs, filled, filled, DELETION if m else INSERTION, m + n)
        pairs[i, LAST_RUN] = filled
    return runs[:filled]
