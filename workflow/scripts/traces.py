"""The trace of our reference edit WFA on one pair, wavefront by wavefront: what the figures of the algorithm show."""

from dataclasses import dataclass

from wfa_kernels import Edit
from wfa_kernels.reference import edit_wfa

#: Diagonal that each operation comes from, relative to its own (thesis Eq. 4): deletion, mismatch, insertion.
SOURCE = {"D": +1, "X": 0, "I": -1}


@dataclass(frozen=True)
class Step:
    """One cell of one wavefront.

    operation: "D", "X" or "I", or "" for the first cell. before, after: its offset before and after extend().
    vector: the operations from the first cell to this one, one letter each (the piggybacked backtrace vector).
    """

    score: int
    k: int
    operation: str
    before: int
    after: int
    vector: str

    @property
    def source(self):
        """(score, k) of the cell that it comes from, or None."""
        return (self.score - 1, self.k + SOURCE[self.operation]) if self.operation else None

    def cell(self, offset):
        """(v, h) of an offset on this diagonal."""
        return offset - self.k, offset


def trace(pattern, text):
    """{(score, k): Step} of the alignment of two bytes objects, in the order of computation."""
    steps = {}

    def observe(score, k, operation, before, after):
        source = steps.get((score - 1, k + SOURCE[operation])) if operation else None
        vector = (source.vector if source else "") + operation
        steps[(score, k)] = Step(score, k, operation, before, after, vector)

    edit_wfa.align_pair(pattern, text, Edit(), "score", observe=observe)
    return steps


def last(steps, pattern, text):
    """The Step in which the alignment ends."""
    k = len(text) - len(pattern)
    return next(step for step in steps.values() if step.k == k and step.after == len(text))


def optimal(steps, pattern, text):
    """Steps of the optimal alignment, first to last."""
    step, path = last(steps, pattern, text), []
    while step:
        path.append(step)
        step = steps.get(step.source) if step.source else None
    return path[::-1]
