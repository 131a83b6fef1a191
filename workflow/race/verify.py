"""Verify a tool's answers: scores against exact ones, CIGARs letter by letter, counts and failing pairs kept."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numba import njit

from wfa_kernels.result import NO_SCORE, OK, AlignmentResult

INVALID = -1
#: Pairs judged at a time: it bounds what verification needs besides the outputs themselves.
CHUNK_PAIRS = 1 << 16
#: Failing pairs that a verdict lists, at most: all of 100M would take 20 GB and minutes, and fit no column of a file.
MOST_LISTED = 1_000_000
#: Bytes hashed at a time.
_CHUNK_BYTES = 1 << 24


@dataclass
class Verdict:
    """Counts over the pairs verified; add() joins those of two chunks or shards."""

    pairs: int = 0
    answered: int = 0
    judged: int = 0  # answered pairs whose exact score is known, or whose CIGAR alone shows that they are wrong
    native_right: int = 0
    affine_judged: int = 0
    affine_right: int = 0
    refused: dict = field(default_factory=dict)
    failing: list = field(default_factory=list)  # [pair number, why], of the first MOST_LISTED

    def add(self, other):
        """This verdict with another's counts added."""
        for name in ("pairs", "answered", "judged", "native_right", "affine_judged", "affine_right"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, count in other.refused.items():
            self.refused[name] = self.refused.get(name, 0) + count
        self.failing.extend(other.failing[: max(0, MOST_LISTED - len(self.failing))])
        return self

    @property
    def worth(self):
        """Sort key of verdicts on the same pairs: worst is one with failing pairs, which no number of refused ones is,
        then one of a lower recall, then one of fewer right answers."""
        recall = 1.0 if self.recall_native is None else self.recall_native
        return not self.failing, recall, self.native_right, -len(self.failing)

    @property
    def recall_native(self):
        """Fraction of the judged pairs that are optimal under the tool's own objective, with a valid CIGAR."""
        return self.native_right / self.judged if self.judged else None

    @property
    def recall_affine(self):
        """Fraction of the judged pairs whose CIGAR is optimal under the experiment's affine penalties."""
        return self.affine_right / self.affine_judged if self.affine_judged else None

    @property
    def coverage(self):
        """Fraction of all pairs that the tool answered."""
        return self.answered / self.pairs if self.pairs else None


def verify(pairs, result, objective, exact_native, affine=None, exact_affine=None, first=0, exact=True, threads=1):
    """Check the answers of one tool on one batch, chunk by chunk, on some threads.

    pairs: PairBatch of n. result: AlignmentResult of n. objective: the penalties the tool optimises.
    exact_native: int32[n] exact scores under them. affine, exact_affine: the experiment's affine penalties and exact
    scores, to re-score CIGARs under, or None. first: number of the first pair, for naming failures. exact: the tool
    claims to be; of one that does not, a cost above the optimum counts in its recall but is no failure.
    A right pair has the exact score and, where there are CIGARs, a valid one that costs just that. A pair without an
    exact score is judged only where its CIGAR does not fit its sequences or its score: it is wrong, whatever is exact.
    """
    verdict = Verdict()

    def judged(start):
        rows = slice(start, start + CHUNK_PAIRS)
        known = None if affine is None else exact_affine[rows]
        part = _rows_of(result, start, rows.stop)
        room = MOST_LISTED - len(verdict.failing)
        return _judge(pairs[rows], part, objective, exact_native[rows], affine, known, first + start, exact, room)

    for part in _mapped(judged, range(0, len(pairs), CHUNK_PAIRS), threads):
        verdict.add(part)
    return verdict


def _mapped(function, items, threads):
    """Yield what the function gives for each item, in their order."""
    if threads == 1 or len(items) == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, items)


def _rows_of(result, start, stop):
    """The answers of some pairs; views, whose CIGAR offsets are into the whole result's CIGARs."""
    offsets = None if result.cigars is None else result.cigar_offsets[start : stop + 1]
    return AlignmentResult(result.scores[start:stop], result.status[start:stop], result.cigars, offsets)


def _judge(pairs, result, objective, exact_native, affine, exact_affine, first, exact, room):
    """The Verdict on a chunk, which lists no more failing pairs than there is room for."""
    answered = result.status == OK
    judged = answered & (exact_native != NO_SCORE)
    right = judged & (result.scores == exact_native)
    costs, unlike = None, False
    if result.cigars is not None:
        costs = cigar_costs(pairs, result, objective.triple)
        unlike = (costs == INVALID) | (costs != result.scores)  # a score can be as negative as INVALID
        right &= ~unlike
        judged |= answered & unlike
    verdict = Verdict(len(pairs), int(answered.sum()), int(judged.sum()), int(right.sum()), refused=result.refused())
    if affine is not None and result.cigars is not None:
        alike = affine.triple == objective.triple
        affine_costs = costs if alike else cigar_costs(pairs, result, affine.triple)
        valid = affine_costs != INVALID
        affine_judged = answered & ((exact_affine != NO_SCORE) | ~valid)
        verdict.affine_judged = int(affine_judged.sum())
        verdict.affine_right = int((affine_judged & valid & (affine_costs == exact_affine)).sum())
    failing = judged & ~right
    if not exact:
        failing &= (result.scores < exact_native) | unlike
    for i in np.flatnonzero(failing)[:room].tolist():
        verdict.failing.append([first + i, _why(i, result, exact_native, costs, exact)])
    return verdict


def _why(i, result, known, costs, exact):
    if known[i] != NO_SCORE and (result.scores[i] < known[i] or (exact and result.scores[i] != known[i])):
        return f"score {int(result.scores[i])}, exact {int(known[i])}"
    if costs[i] == INVALID:
        return "its CIGAR does not fit the sequences"
    return f"its CIGAR costs {int(costs[i])}, its score is {int(result.scores[i])}"


def cigar_costs(pairs, result, triple):
    """Cost int64[n] of each CIGAR under (mismatch, gap_open, gap_extend); INVALID where it does not fit the pair.

    It must consume both sequences whole, ``=`` only equal letters and ``X`` only different ones.
    """
    return _costs(
        pairs.pattern, pairs.pattern_offsets, pairs.text, pairs.text_offsets, result.cigars, result.cigar_offsets,
        *(np.int64(p) for p in triple),
    )  # fmt: skip


@njit(nogil=True, cache=True)
def _costs(pattern, pattern_offsets, text, text_offsets, cigars, cigar_offsets, mismatch, gap_open, gap_extend):
    costs = np.empty(len(pattern_offsets) - 1, np.int64)
    for i in range(len(costs)):
        p = pattern[pattern_offsets[i] : pattern_offsets[i + 1]]
        t = text[text_offsets[i] : text_offsets[i + 1]]
        cigar = cigars[cigar_offsets[i] : cigar_offsets[i + 1]]
        costs[i] = _cost(p, t, cigar, mismatch, gap_open, gap_extend)
    return costs


@njit(nogil=True, cache=True)
def _cost(p, t, cigar, mismatch, gap_open, gap_extend):
    v = h = cost = 0
    previous = 0
    for element in cigar:
        run, operation = np.int64(element >> 4), element & 15
        if run < 1:
            return INVALID
        if operation == 7 or operation == 8:
            if v + run > len(p) or h + run > len(t):
                return INVALID
            for j in range(run):
                if (p[v + j] == t[h + j]) != (operation == 7):
                    return INVALID
            v += run
            h += run
            cost += mismatch * run if operation == 8 else 0
        elif operation == 1 or operation == 2:
            if operation == 1:
                h += run
            else:
                v += run
            # A gap split into two elements is still one gap.
            cost += gap_extend * run + (gap_open if operation != previous else 0)
        else:
            return INVALID
        previous = operation
    return cost if v == len(p) and h == len(t) else INVALID


def output_hash(result, threads=1):
    """Hex digest of a result's scores, status and CIGARs: equal outputs need not be verified twice.

    SHA-256, for which most processors have instructions: 1.8 GB/s a core, BLAKE2b 0.9 (AMD EPYC).
    """
    chunks = []
    for array in (result.scores, result.status, result.cigars, result.cigar_offsets):
        if array is not None:
            flat = np.ascontiguousarray(array).view(np.uint8)
            chunks += [flat[start : start + _CHUNK_BYTES] for start in range(0, len(flat), _CHUNK_BYTES)]
    digests = _mapped(lambda chunk: hashlib.sha256(chunk).digest(), chunks, threads)
    return hashlib.sha256(b"".join(digests)).hexdigest()[:32]
