"""Which band a pair gets, how wide the lanes are, and what the costs of errors seen so far foretell.

A score is proven when it is below bit_groups.proof_limit, which grows with the band. So a pair's score is guessed: by
what an antidiagonal has cost in the pairs before it, or by the score in a band that was too narrow (which some path
has, so that the optimum is at most that). Nothing here changes a result; a guess that fails costs a second attempt.
"""

import numpy as np

from wfa_kernels.cpu.bit_groups import double_steps, proof_limit
from wfa_kernels.cpu.helper import helper

#: Errors of a letter that are foretold before any pair is seen.
_FIRST_GUESS = 0.05
#: Standard deviations above what is foretold that the band of a pair has room for: one pair in 15 is tried again.
_MARGIN = 1.5
#: Pairs that the estimate remembers.
_MEMORY = 64.0
#: A step costs more where several words make a band (their planes are loaded and stored), and again past the L1 cache.
_SEVERAL_WORDS, _PAST_L1, _WORDS_OF_L1 = 1.15, 1.3, 32
#: Nanoseconds of affine_wfa (AMD EPYC, AVX-512): for a score's square, a score, a letter, a pair (above all
#: what one more call costs: few pairs are handed over at a time).
_WAVEFRONT = (1.2, 12.0, 0.5, 50_000.0)
#: Index into an estimate.
SEEN, RATE, VARIANCE = range(3)


@helper
def fresh_estimate(mismatch, gap_open, gap_extend, rate):
    """float64[3]: pairs seen, cost of a double step, variance of a pair's cost around it per double step.

    rate: the cost, where it is known, else below 0.
    """
    cost = (mismatch + 2 * (gap_open + gap_extend)) / 3
    rate = _FIRST_GUESS * cost if rate < 0 else rate
    return np.array([0.0, rate, rate * cost / 4])


@helper
def observe(estimate, score, gap_cost, steps):
    """Take a pair into account: ``score`` after so many double steps, of which gap_cost is due to unlike lengths."""
    seen = min(estimate[SEEN] + 1, _MEMORY)
    cost = max(score - gap_cost, 0)
    estimate[RATE] += (cost / steps - estimate[RATE]) / seen
    off = cost - estimate[RATE] * steps
    estimate[VARIANCE] += (off * off / steps - estimate[VARIANCE]) / max(seen, 4)
    estimate[SEEN] = seen


@helper
def final_gap_cost(m, n, gap_open, gap_extend):
    return gap_open + gap_extend * abs(n - m) if n != m else 0


@helper
def foretold(estimate, m, n, gap_open, gap_extend):
    """A score that the pair is likely to stay below."""
    steps = double_steps(m, n)
    spread = _MARGIN * np.sqrt(estimate[VARIANCE] * steps)
    return final_gap_cost(m, n, gap_open, gap_extend) + np.int64(estimate[RATE] * steps + spread) + 1


@helper
def diagonals_for(m, n, score, gap_open, gap_extend):
    """Least even number of diagonals that a band needs to prove a score; any wider band does, too."""
    affordable = (score - 2 * gap_open) // gap_extend  # letters of two gaps
    band = max(2, abs(n - m), min(affordable, m + n)) & ~1
    while proof_limit(m, n, band, gap_open, gap_extend) <= score:
        band += 2
    return band


@helper
def words_for(diagonals, lane):
    """Words of ``lane`` bits that a band of so many diagonals takes."""
    shift = 5 + (lane >> 5)  # of twice 16, 32 or 64
    return (diagonals + (1 << shift) - 1) >> shift


@helper
def counts(lane, m, n, digits):
    """Whether the double steps of a pair, and its score, can be counted in a lane; digits: of a step's cost."""
    return digits < lane - 1 and double_steps(m, n) < 1 << min(lane - 1 - digits, 62)


@helper
def lane_for(m, n, diagonals, pairs, vector, digits):
    """(lane, words) that take the least time for each of ``pairs`` pairs like this one; digits: of a step's cost."""
    best, best_lane, best_words = np.inf, 0, 0
    for lane in (16, 32, 64):
        if not counts(lane, m, n, digits):
            continue
        words = words_for(diagonals, lane)
        cost = step_cost(words) / min(pairs, vector // lane)
        if cost < best:
            best, best_lane, best_words = cost, lane, words
    return best_lane, best_words


@helper
def step_cost(words):
    """Relative time of a double step."""
    if words == 1:
        return 1.0
    return words * (_SEVERAL_WORDS if words <= _WORDS_OF_L1 else _PAST_L1)


@helper
def wavefronts_are_faster(m, n, score, words, pairs, step_ns, traced):
    """Whether affine_wfa takes less time for a pair than its share of a group, as measured (see _WAVEFRONT)."""
    per_cell, per_score, per_letter, per_pair = _WAVEFRONT
    wavefronts = per_cell * score * score + per_score * score + per_letter * (m + n) + per_pair
    own = step_ns * double_steps(m, n) * step_cost(words) / pairs
    return wavefronts < (2 if traced else 1) * own
