"""Profile models: pattern lengths of a sequencing technology, and errors drawn letter by letter.

Lengths: a beta distribution scaled to [shortest, longest], with a given concentration (alpha + beta), mixed with 1 %
uniform over the same range so that a data set of thousands of pairs shows its extremes too. The beta's mean is chosen
so that the mixture's is exactly the one asked for. A paper's minimum, mean and maximum fix all but the concentration,
which is assumed.

Errors: at each letter of the pattern a mismatch (to a different letter), an insertion before it, or a deletion, with
fixed rates. ``homopolymer`` is the share of insertions and deletions that lie inside a run, at a letter equal to the
one before it; such an insertion repeats the letter. 1/4 of the letters of a random pattern are such, so that 0.25
means no preference.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from simulators.rng import EDITS, GOLDEN, LENGTHS, LETTERS, mix, stream

#: Share of lengths drawn uniformly, see above.
UNIFORM_SHARE = 0.01
_RUN_SHARE = 0.25


@dataclass(frozen=True)
class Profile:
    """One technology. Rates are per letter of the pattern; lengths in bp."""

    id: str
    name: str
    shortest: int
    mean: int
    longest: int
    concentration: float
    mismatch: float
    insertion: float
    deletion: float
    homopolymer: float
    length_source: str
    error_source: str

    @property
    def error(self):
        """Total error rate, a fraction."""
        return self.mismatch + self.insertion + self.deletion


def length_limits(profile):
    """uint64[longest - shortest + 1]: 2**32 times the cumulative distribution of the lengths shortest, ..., longest."""
    middles = (np.arange(profile.longest - profile.shortest + 1) + 0.5) / (profile.longest - profile.shortest + 1)
    lengths = np.arange(profile.shortest, profile.longest + 1)

    def mixture(mean):
        log = (mean * profile.concentration - 1) * np.log(middles)
        log += ((1 - mean) * profile.concentration - 1) * np.log1p(-middles)
        beta = np.exp(log - log.max())
        return (1 - UNIFORM_SHARE) * beta / beta.sum() + UNIFORM_SHARE / len(lengths)

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if mixture(middle) @ lengths < profile.mean else (low, middle)
    limits = np.round(np.cumsum(mixture(low)) * 2.0**32).astype(np.uint64)
    limits[-1] = 2**32
    return limits


def error_limits(profile):
    """uint64[2, 3]: 2**32 times the cumulative rates of mismatch, insertion, deletion, outside and inside a run."""
    rates = np.empty((2, 3))
    rates[:, 0] = profile.mismatch
    indel = np.array([profile.insertion, profile.deletion])
    rates[0, 1:] = indel * (1 - profile.homopolymer) / (1 - _RUN_SHARE)
    rates[1, 1:] = indel * profile.homopolymer / _RUN_SHARE
    return np.round(np.cumsum(rates, axis=1) * 2.0**32).astype(np.uint64)


@njit(cache=True, nogil=True)
def draw_lengths(seed, limits, shortest, lengths):
    """Fill lengths (int64[n]): that of pair i depends on seed and i alone."""
    for pair in range(len(lengths)):
        u = mix(stream(seed, LENGTHS, pair) + GOLDEN) >> np.uint64(32)
        lengths[pair] = shortest + np.searchsorted(limits, u, side="right")


@njit(cache=True, nogil=True)
def edit_range(seed, start, stop, limits, pattern_offsets, pattern, text_offsets, text, text_lengths, write):
    """Make pairs start..stop; with write False only text_lengths[start:stop] is set and no byte is written.

    limits: of error_limits. Returns int64[3]: mismatches, insertions, deletions made. Other arrays as in PairBatch.
    """
    counts = np.zeros(3, np.int64)
    mask2, mask16, three = np.uint64(3), np.uint64(0xFFFF), np.uint64(3)
    s2, s20, s32 = np.uint64(2), np.uint64(20), np.uint64(32)
    for pair in range(start, stop):
        state = stream(seed, EDITS, pair)
        first, length = pattern_offsets[pair], pattern_offsets[pair + 1] - pattern_offsets[pair]
        at, begin, before = text_offsets[pair], text_offsets[pair], np.uint64(4)
        for j in range(length):
            state += GOLDEN
            z = mix(state)
            base = z & mask2
            inside = np.int64(base == before)
            before = base
            if write:
                pattern[first + j] = LETTERS[base]
            u = z >> s32
            if u >= limits[inside, 2]:
                if write:
                    text[at] = LETTERS[base]
                at += 1
            elif u < limits[inside, 0]:
                counts[0] += 1
                if write:
                    text[at] = LETTERS[(base + np.uint64(1) + ((z >> s2) & mask16) % three) & mask2]
                at += 1
            elif u < limits[inside, 1]:
                counts[1] += 1
                if write:
                    text[at] = LETTERS[base if inside else (z >> s20) & mask2]
                    text[at + 1] = LETTERS[base]
                at += 2
            else:
                counts[2] += 1
        text_lengths[pair] = at - begin
    return counts
