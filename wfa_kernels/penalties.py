"""Penalties: what an alignment costs. All are costs >= 0; a match costs nothing.

A gap of n letters costs ``gap_open + n * gap_extend`` (thesis section 2.2.5).
"""

from dataclasses import dataclass
from numbers import Integral

#: Scores are int32; a batch whose worst cost is above this is refused before work.
MAX_SCORE = 2**31 - 1


class PenaltyError(ValueError):
    """A penalty that is not an integer in its allowed range."""


@dataclass(frozen=True)
class Edit:
    """Edit (Levenshtein) distance: mismatch, insertion and deletion cost 1 each (thesis Eq. 1)."""

    def __str__(self):
        return "edit"

    @property
    def triple(self):
        """(mismatch, gap_open, gap_extend) of the affine penalties that give the same optimum."""
        return 1, 0, 1


@dataclass(frozen=True)
class Affine:
    """Gap-affine costs (thesis Eq. 2).

    Raises PenaltyError unless mismatch >= 1, gap_open >= 0, gap_extend >= 1, all integers of at most MAX_SCORE.
    """

    mismatch: int
    gap_open: int
    gap_extend: int

    def __post_init__(self):
        for name, least in (("mismatch", 1), ("gap_open", 0), ("gap_extend", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or not least <= value <= MAX_SCORE:
                raise PenaltyError(f"{name} must be an integer >= {least} and <= {MAX_SCORE}, not {value!r}")
            object.__setattr__(self, name, int(value))

    def __str__(self):
        return f"affine({self.mismatch},{self.gap_open},{self.gap_extend})"

    @property
    def triple(self):
        """(mismatch, gap_open, gap_extend)."""
        return self.mismatch, self.gap_open, self.gap_extend


def worst_cost(penalties, pattern_length, text_length):
    """Largest cost an optimal global alignment can have, as a Python int (no overflow)."""
    mismatch, gap_open, gap_extend = penalties.triple
    shorter = min(pattern_length, text_length)
    difference = abs(pattern_length - text_length)
    gap = gap_open + difference * gap_extend if difference else 0
    replace = shorter * mismatch + gap
    all_gaps = sum(gap_open + n * gap_extend for n in (pattern_length, text_length) if n)
    return min(replace, all_gaps)
