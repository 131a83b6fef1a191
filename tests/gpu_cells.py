"""Many pairs for the tests on a GPU: every score against the CPU, every CIGAR walked by a judge of its own."""

import numpy as np
from numba import njit, prange

from simulators import simulate
from wfa_kernels import Affine, PairBatch, align, pack_pairs, pin_pairs, register_pairs
from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH

#: About so many letters have the pairs whose scores two kinds of kernels on the CPU must agree on.
_LETTERS_BY_WAVEFRONTS = 10_000_000
BRING = {"pageable": lambda pairs: pairs, "pinned": pin_pairs, "packed": pack_pairs, "registered": register_pairs}


def uniform(pairs, length, error, seed=11):
    """Uniform random pairs."""
    return simulate("uniform", pairs=pairs, seed=seed, length=length, error=error)


def ragged(pairs, longest, seed):
    """Pairs of all lengths up to the longest, with up to 20 % errors; every 64th with a letter other than ACGT: N, a
    lower one or another byte, in the pattern or in the text."""
    parts = [
        uniform(max(1, pairs // 8), max(1, longest * part // 8), error, seed + part)
        for part, error in zip(range(1, 9), (0.01, 0.2, 0.02, 0.1, 0, 0.05, 0.15, 0.03), strict=True)
    ]
    batch = joined(parts)
    order = np.random.default_rng(seed).permutation(len(batch))
    batch = batch.take(order)
    pattern, text = batch.pattern.copy(), batch.text.copy()
    for flat, offsets, first, letter in (
        (pattern, batch.pattern_offsets, 0, b"N"), (pattern, batch.pattern_offsets, 128, b"a"),
        (text, batch.text_offsets, 64, b"N"), (text, batch.text_offsets, 192, b"\xff"),
    ):  # fmt: skip
        starts = offsets[first:-1:256]
        flat[starts[starts < len(flat)]] = ord(letter)
    return PairBatch(pattern, batch.pattern_offsets, text, batch.text_offsets)


def joined(parts):
    """The pairs of several batches in one."""
    sides = []
    for side in ("pattern", "text"):
        offsets = [getattr(part, f"{side}_offsets") for part in parts]
        ends = np.cumsum([0] + [o[-1] for o in offsets])
        flat = np.concatenate([getattr(part, side)[: o[-1]] for part, o in zip(parts, offsets, strict=True)])
        sides += [flat, np.concatenate([[0], *(o[1:] + end for o, end in zip(offsets, ends[:-1], strict=True))])]
    return PairBatch(*sides)


def strange(pairs):
    """Number of pairs with a letter other than A, C, G and T."""
    found = np.zeros(len(pairs), bool)
    for flat, offsets in ((pairs.pattern, pairs.pattern_offsets), (pairs.text, pairs.text_offsets)):
        places = np.flatnonzero(~np.isin(flat, np.frombuffer(b"ACGT", np.uint8)))
        found[np.searchsorted(offsets, places, side="right") - 1] = True
    return np.count_nonzero(found)


def check(pairs, penalties, sources=("pageable", "pinned", "packed"), design="fast", heuristic=None,
          device_memory=None, little_room=False):  # fmt: skip
    """Assert that the GPU answers every pair as the CPU does, with a CIGAR of that cost, from every kind of memory.

    little_room: the design has too little for the CIGARs of some pairs, which are the CPU's then; else only those with
    letters that have no code are.
    """
    expected = scores_on_the_cpu(pairs, penalties, heuristic)
    triple = penalties.triple if isinstance(penalties, Affine) else (1, 0, 1)
    for source in sources:
        given = BRING[source](pairs)
        for scope in ("score", "cigar"):
            result = align(
                given, penalties, scope=scope, device="cuda", design=design, heuristic=heuristic,
                device_memory=device_memory,
            )  # fmt: skip
            assert not result.status.any(), (source, scope)
            more = result.rescued - strange(pairs)
            assert more > 0 if little_room and scope == "cigar" else more == 0, f"{source}, {scope}: {more} more"
            np.testing.assert_array_equal(result.scores, expected, f"{source}, {scope}")
        costs = costs_of(pairs, result.cigars, result.cigar_offsets, triple)
        wrong = np.flatnonzero(costs != expected)
        assert not len(wrong), f"{source}: {len(wrong)} CIGARs do not fit, the first of pair {wrong[0]}"


def scores_on_the_cpu(pairs, penalties, heuristic=None):
    """int32[n], of what the CPU picks; of some of the pairs wavefronts agree, which share no circuit with a GPU's."""
    scores = align(pairs, penalties, device="cpu", heuristic=heuristic).scores
    if heuristic is None:
        letters = len(pairs.pattern) + len(pairs.text)
        some = np.arange(0, len(pairs), 1 + letters // _LETTERS_BY_WAVEFRONTS)
        wavefronts = align(pairs.take(some), penalties, device="cpu", algorithm="wfa").scores
        np.testing.assert_array_equal(scores[some], wavefronts, "wavefronts on the CPU")
    return scores


def costs_of(pairs, cigars, offsets, triple):
    """What each CIGAR of a PairBatch costs, see AlignmentResult; below 0 where it does not fit its pair."""
    sides = pairs.pattern, pairs.pattern_offsets, pairs.text, pairs.text_offsets
    return _costs(*sides, cigars, offsets, np.array(triple))


@njit(parallel=True)
def _costs(pattern, pattern_offsets, text, text_offsets, cigars, offsets, triple):
    costs = np.empty(len(offsets) - 1, np.int64)
    for i in prange(len(costs)):
        v, h, cost, before = pattern_offsets[i], text_offsets[i], 0, 0
        for element in cigars[offsets[i] : offsets[i + 1]]:
            length, operation = np.int64(element >> 4), np.int64(element & 15)
            if operation == before or length == 0:
                cost = -(2**40)
            before = operation
            if operation in (MATCH, MISMATCH):
                if v + length > pattern_offsets[i + 1] or h + length > text_offsets[i + 1]:
                    cost, length = -(2**40), 0
                for q in range(length):
                    if (pattern[v + q] == text[h + q]) != (operation == MATCH):
                        cost = -(2**40)
                cost += triple[0] * length * (operation == MISMATCH)
                v, h = v + length, h + length
            elif operation in (INSERTION, DELETION):
                cost += triple[1] + triple[2] * length
                v += length * (operation == DELETION)
                h += length * (operation == INSERTION)
            else:
                cost = -(2**40)
        costs[i] = cost if v == pattern_offsets[i + 1] and h == text_offsets[i + 1] and cost >= 0 else -1
    return costs
