"""The judge: textbook O(nm) dynamic programming, written to be obviously right. Imports nothing of this project."""

import re

import numpy as np
from numba import njit

_FAR = 2**60


@njit(cache=True)
def _edit_distance(p, t):
    above = np.arange(len(t) + 1)
    for i in range(1, len(p) + 1):
        row = np.empty(len(t) + 1, np.int64)
        row[0] = i
        for j in range(1, len(t) + 1):
            row[j] = min(above[j - 1] + (p[i - 1] != t[j - 1]), row[j - 1] + 1, above[j] + 1)
        above = row
    return above[len(t)]


@njit(cache=True)
def _affine_score(p, t, mismatch, gap_open, gap_extend):
    m, n = len(p), len(t)
    best = np.full((m + 1, n + 1), _FAR)
    insertion = np.full((m + 1, n + 1), _FAR)
    deletion = np.full((m + 1, n + 1), _FAR)
    best[0, 0] = 0
    for i in range(m + 1):
        for j in range(n + 1):
            if j > 0:
                insertion[i, j] = min(best[i, j - 1] + gap_open + gap_extend, insertion[i, j - 1] + gap_extend)
            if i > 0:
                deletion[i, j] = min(best[i - 1, j] + gap_open + gap_extend, deletion[i - 1, j] + gap_extend)
            best[i, j] = min(best[i, j], insertion[i, j], deletion[i, j])
            if i > 0 and j > 0:
                replaced = best[i - 1, j - 1] + (0 if p[i - 1] == t[j - 1] else mismatch)
                best[i, j] = min(best[i, j], replaced)
    return best[m, n]


def edit_distance(p, t):
    """Edit distance of two bytes objects (thesis Eq. 1)."""
    return int(_edit_distance(np.frombuffer(p, np.uint8), np.frombuffer(t, np.uint8)))


def affine_score(p, t, mismatch, gap_open, gap_extend):
    """Least gap-affine cost of two bytes objects (Gotoh; thesis Eq. 2); a gap of n costs gap_open + n * gap_extend."""
    sequences = np.frombuffer(p, np.uint8), np.frombuffer(t, np.uint8)
    return int(_affine_score(*sequences, mismatch, gap_open, gap_extend))


def check_cigar(p, t, cigar, penalties):
    """Cost of a CIGAR string under (mismatch, gap_open, gap_extend); p is consumed by D, t by I, both by = and X.

    Raises AssertionError with the reason when the CIGAR is not a well-formed alignment of all of p and all of t.
    """
    mismatch, gap_open, gap_extend = penalties
    runs = [(int(length), op) for length, op in re.findall(r"(\d+)([=XID])", cigar)]
    assert "".join(f"{length}{op}" for length, op in runs) == cigar, f"malformed CIGAR {cigar!r}"
    v = h = cost = 0
    previous = ""
    for length, op in runs:
        assert length > 0, f"run of length 0 in {cigar!r}"
        assert op != previous, f"adjacent {op} runs are not merged in {cigar!r}"
        previous = op
        consumed_p, consumed_t = p[v : v + length], t[h : h + length]
        if op != "I":
            assert len(consumed_p) == length, f"{cigar!r} consumes more than the pattern's {len(p)} letters"
            v += length
        if op != "D":
            assert len(consumed_t) == length, f"{cigar!r} consumes more than the text's {len(t)} letters"
            h += length
        if op == "=":
            assert consumed_p == consumed_t, f"letters differ under {length}= at pattern {v - length} in {cigar!r}"
        elif op == "X":
            agreeing = [i for i in range(length) if consumed_p[i] == consumed_t[i]]
            assert not agreeing, f"letters agree under {length}X at pattern {v - length + agreeing[0]} in {cigar!r}"
            cost += length * mismatch
        else:
            cost += gap_open + length * gap_extend
    assert v == len(p), f"{cigar!r} consumes {v} of the pattern's {len(p)} letters"
    assert h == len(t), f"{cigar!r} consumes {h} of the text's {len(t)} letters"
    return cost
