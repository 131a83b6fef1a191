"""Pairs whose best path goes far aside and often comes back, while others cost little more: random mutations seldom do.

So a score that is too low or too high anywhere beside the path tells, as does a limit that is one too generous.
"""

import numpy as np

from wfa_kernels import PairBatch

LETTERS = np.frombuffer(b"ACGT", np.uint8)


def batch(count, seed):
    """PairBatch of ``count`` pairs of 1 to about 1500 letters a side."""
    rng = np.random.default_rng(seed)
    pairs = [_pieces(rng) if rng.random() < 0.5 else _there_and_back(rng) for _ in range(count)]
    return PairBatch.from_strings(*zip(*((p.tobytes(), t.tobytes()) for p, t in pairs), strict=True))


def _length(rng):
    """Few letters, or as many as a band has diagonals, and one or two more or less."""
    return int(rng.choice([rng.integers(1, 8), rng.integers(1, 140), 32 * rng.integers(1, 5) + rng.integers(-2, 3)]))


def _letters(rng, length):
    """One letter, a repeat, two letters or all four, at random, or runs."""
    kind = rng.integers(5)
    if kind == 0:
        return np.full(length, rng.choice(LETTERS))
    if kind == 1:
        return np.resize(rng.choice(LETTERS, rng.integers(2, 7)), length)
    if kind == 2:
        return np.repeat(rng.choice(LETTERS, 8), length // 8 + 1)[:length]
    return rng.choice(LETTERS[: 2 * (kind - 2)], length)


def _copied(rng, letters):
    """With no mismatches, few or many."""
    changed = rng.random(len(letters)) < rng.choice([0, 0, 0, 0.02, 0.1, 0.3])
    return np.where(changed, rng.choice(LETTERS, len(letters)), letters)


def _pieces(rng):
    """Letters that are kept, and others of one side only."""
    sides = [LETTERS[:1]], [LETTERS[:1]]
    for _ in range(rng.integers(1, 10)):
        letters, kind = _letters(rng, _length(rng)), rng.integers(4)
        if kind != 0:
            sides[0].append(letters)
        if kind != 1:
            sides[1].append(_copied(rng, letters))
    return tuple(np.concatenate(side) for side in sides)


def _there_and_back(rng):
    """As past_bands.pair, about as far forth as back, with letters before and behind, once or twice."""
    pattern, text = [], []
    for _ in range(rng.integers(1, 3)):
        out, apart = _length(rng), rng.integers(0, 200, 2) * rng.integers(0, 2, 2)
        before, behind = (_letters(rng, length) for length in apart)
        kept = np.repeat(LETTERS[:2], max(1, out + rng.integers(-out, 40)))
        kept = [kept, kept[::2], np.resize(LETTERS[:2], len(kept))][rng.integers(3)]
        forth, back = np.full(out, LETTERS[2]), np.full(max(0, out + rng.integers(-4, 5)), LETTERS[3])
        sides = [before, kept, back, behind], [before, forth, kept, _copied(rng, behind)]
        for whole, side in zip((pattern, text), sides[:: rng.choice([1, -1])], strict=True):
            whole += side
    return np.concatenate(pattern), np.concatenate(text)
