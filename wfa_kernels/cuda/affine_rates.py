"""What a pair is likely to cost, by the batches before: a rate is a cost for 65536 letters of both its sequences.

A pair is first tried under a limit of TOLERANCE and its letters' part of a rate. Too low a rate leaves pairs that must
be tried again, too high a one computes chunks in vain: kernels count their pairs by the least of RATES that they are
below, and the rate is taken with which such pairs take the least work.
"""

import math

import numpy as np
from numba import float32, int32, int64

from wfa_kernels.cuda.device import inlined

#: Cost that no rate accounts for, so that a few errors in a short pair do not make up one.
TOLERANCE = 64
LETTER_BITS = 16  # a rate is for 65536 letters
_LOWEST_BITS, _HIGHEST_BITS, _STEPS = 4, 24, 32
#: Rates that are told apart, in steps of 2.2 %: from that of a pair of 25,000 letters whose cost TOLERANCE all but
#: accounts for. The last one stands for all that are higher, and gives no limit.
RATES = tuple(
    math.ceil(2 ** (_LOWEST_BITS + step / _STEPS)) for step in range(1, (_HIGHEST_BITS - _LOWEST_BITS) * _STEPS + 1)
)
_LAST_RATE = len(RATES) - 1
_NO_LIMIT = 2**30
#: Work on a pair over its limit, as a multiple of that on a pair whose limit is its own rate: it takes several tries.
_TRIES = 4
#: What is left of a batch takes so many times as long as the batch, be it few pairs.
_FEW_LEFT = 2
#: Part of the pairs that may be left at the most: a try in vain takes a long pair's time, however low its limit.
_MOST_LEFT = 0.25


@inlined
def limit_by(rate, letters):
    """Cost below which pairs of so many letters are, most likely; no limit for rate 0."""
    likely = int64(TOLERANCE) + ((int64(letters) * int64(rate)) >> int64(LETTER_BITS))
    return int32(min(likely, int64(_NO_LIMIT))) if rate > int32(0) else int32(_NO_LIMIT)


@inlined
def place_in_rates(score, letters):
    """Of the least of RATES by which such a pair is below its limit; rounding may give a neighbour."""
    more = float32(score + int32(1) - int32(TOLERANCE)) * float32(1 << (LETTER_BITS - _LOWEST_BITS))
    times = max(more / float32(max(letters, int32(1))), float32(1))
    return min(int32(math.log2(times) * float32(_STEPS)), int32(_LAST_RATE))


def likely_cost(letters, rate):
    """The limit of limit_by, on the host, for a rate above 0."""
    return TOLERANCE + (letters * rate >> LETTER_BITS)


def best_rate(pairs, batches):
    """Of RATES, with which pairs like those so far take the least work; 0 where that is none.

    pairs: int64[len(RATES)], of so many batches, by their own rate. Work on a pair grows as its limit does.
    """
    left, their_rates = (np.sum(of_each) - np.cumsum(of_each) for of_each in (pairs, pairs * RATES))
    batches_with_any = np.minimum(1, left / batches)
    work = np.multiply(RATES, pairs.sum()) * (1 + _FEW_LEFT * batches_with_any) + _TRIES * their_rates
    best = int(np.argmin(np.where(left > _MOST_LEFT * pairs.sum(), np.inf, work)))
    return RATES[best] if best < _LAST_RATE else 0
