"""Heuristics: what an aligner leaves out to be sooner, and with it, perhaps, the cheapest alignment.

Never on by default. Both always find an alignment, end to end, and its score is what it costs, which may be above the
optimum. What they leave out is said in terms of diagonals k = h - v of a pair of m and n letters alone, so that every
kernel, on whatever device, finds the same score.
"""

from dataclasses import dataclass
from numbers import Integral

from wfa_kernels.penalties import MAX_SCORE, Edit

#: No pair has so many diagonals.
_MOST = 2**30


class HeuristicError(ValueError):
    """A heuristic that there is not, or a value out of its range: the message says what is allowed."""


@dataclass(frozen=True)
class StaticBand:
    """Only alignments that stay within ``width`` diagonals of those between the first, 0, and the last, n - m.

    The score is that of the cheapest of them. width: 0 to 2**30, the same for all pairs. Wide enough, it is exact.
    Raises HeuristicError. Source: Ukkonen 1985, without the test that no path outside can be cheaper; WFA2-lib has a
    band around diagonal 0 only.
    """

    width: int

    def __post_init__(self):
        _check_range(self, width=0)

    def __str__(self):
        return f"band_{self.width}"

    def diagonals(self, m, n):
        """The lowest and the highest diagonal for m letters of pattern and n of text."""
        return max(-m, min(0, n - m) - self.width), min(n, max(0, n - m) + self.width)


@dataclass(frozen=True)
class WavefrontReduction:
    """Diagonals on the outside of a wavefront that have fallen behind are dropped (wf-adaptive).

    After the wavefront of a score is extended, a cell of M at v, h is max(m - v, n - h) letters from the end. If its
    reached cells span ``min_length`` diagonals or more, the outermost ones are dropped, of I and D too, as long as they
    are more than ``max_distance`` letters further from the end than the nearest cell; none between the wavefront and
    the last diagonal, n - m, is. Cells are those inside the matrix. No gap opens in a cell of M that is one of I (of D)
    as well: to go on with that one costs less, but may have been dropped, and the CIGAR could not tell the two gaps.
    min_length: 1 to 2**30, max_distance: 0 to 2**30; by default WFA2-lib's. Raises HeuristicError. Source: Marco-Sola
    et al. 2021, "heuristic wavefront reduction"; WFA2-lib, wavefront_heuristic_set_wfadaptive, each score.
    """

    min_length: int = 10
    max_distance: int = 50

    def __post_init__(self):
        _check_range(self, min_length=1, max_distance=0)

    def __str__(self):
        return f"reduction_{self.min_length}_{self.max_distance}"


def check(heuristic, pairs, penalties, algorithm, fast_gpu):
    """Raise HeuristicError where a heuristic is none, or is not to be had.

    pairs: PairBatch. algorithm: as asked of the CPU. fast_gpu: whether the GPU's fast design is asked.
    """
    if not isinstance(heuristic, StaticBand | WavefrontReduction):
        raise HeuristicError(
            f"unknown heuristic {heuristic!r}; allowed: None, StaticBand(...), WavefrontReduction(...)"
        )
    if isinstance(penalties, Edit):
        raise HeuristicError("a heuristic is for gap-affine penalties; Affine(1, 0, 1) is edit distance")
    if fast_gpu:
        raise HeuristicError("design 'fast' has no heuristics; on a GPU design 'paper' has")
    if algorithm not in ("auto", "wfa"):
        raise HeuristicError(f"algorithm {algorithm!r} has no heuristics; allowed: auto, wfa")
    longest = int(max(pairs.pattern_lengths.max(initial=0), pairs.text_lengths.max(initial=0)))
    mismatch, gap_open, gap_extend = penalties.triple
    cost = longest * max(mismatch, gap_open + gap_extend)  # for so much there is a letter less to the end
    if cost > MAX_SCORE:
        raise HeuristicError(
            f"a pair of {longest} bp can cost up to {cost} under {penalties} with a heuristic, past the int32 score "
            f"limit of {MAX_SCORE}; divide the penalties by a common factor or split the pair"
        )


def _check_range(heuristic, **least_values):
    for name, least in least_values.items():
        value = getattr(heuristic, name)
        if isinstance(value, bool) or not isinstance(value, Integral) or not least <= value <= _MOST:
            raise HeuristicError(f"{name} must be an integer from {least} to {_MOST}, not {value!r}")
        object.__setattr__(heuristic, name, int(value))
