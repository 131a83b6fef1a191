"""Both gap-affine designs under all small penalties: their kernels as plain Python against the judge."""

import random
from itertools import product
from math import gcd

import pytest

from tests import affine_in_python, naive, past_bands
from wfa_kernels.affine_cell import make_cell
from wfa_kernels.cuda.affine_forward import cells_of
from wfa_kernels.result import NO_SCORE

#: Mismatch, gap_open, gap_extend: what has a common divisor has the circuit of what it is a multiple of.
GRID = [triple for triple in product(range(1, 7), range(9), range(1, 5)) if gcd(*triple) == 1]
#: For these z has more digits in the circuit of cells inside the matrix than in the other.
UNALIKE = [(3, 4, 4), (3, 5, 4), (3, 6, 2), (3, 6, 4), (3, 7, 2), (3, 7, 3)]
#: Letters in gaps, or by which lengths differ, that the narrowest band is sure to hold.
SURE = 62
#: The bands of affine_design.
ALL_BANDS = pytest.mark.parametrize(
    "diagonals", [64, *(pytest.param(wider, marks=pytest.mark.slow) for wider in (128, 192, 384))]
)


def pairs_for(triple):
    """A pair with all kinds of errors, one with gaps of several lengths, and an unrelated one of other lengths."""
    draw = random.Random(str(triple))

    def letters(least, most):
        return bytes(draw.choices(b"ACGT", k=draw.randint(least, most)))

    parts = [letters(5, 16) for _ in range(4)]
    noisy = b"".join(draw.choice((part, part[1:], part[:3] + letters(2, 2) + part[3:])) for part in parts)
    gaps = parts[0] + letters(1, 20) + parts[1] + parts[3]
    return [(b"".join(parts), noisy), (b"".join(parts), gaps), (letters(20, 40), letters(5, 30))]


def check(triple, pairs, kernel, traced, scores, cigars):
    """Of one kernel: right where it is certain, and certain where it has to be."""
    for i, (pattern, text) in enumerate(pairs):
        expected = naive.affine_score(pattern, text, *triple)
        if scores[i] == NO_SCORE:
            dear = expected >= 2 * triple[1] + SURE * triple[2] or abs(len(text) - len(pattern)) > SURE
            assert kernel == "band" and dear, (triple, kernel, pattern, text)
            continue
        assert scores[i] == expected, (triple, kernel, traced, pattern, text)
        if traced:
            assert naive.check_cigar(pattern, text, cigars[i], triple) == expected, (triple, kernel, pattern, text)


def check_all(triples):
    asked = [(triple, pairs_for(triple)) for triple in triples]
    for (triple, pairs), told in zip(asked, affine_in_python.answers(asked), strict=True):
        assert len(told) == 8, "bands, strips and both wavefronts, with CIGARs and without"
        for answer in told:
            check(triple, pairs, *answer)


def test_some_penalties_of_all_kinds():
    """No cost of opening, a mismatch dearer than a gap on each side, a dear opening, wide numbers."""
    check_all([(5, 0, 2), (6, 1, 1), (1, 8, 1), (5, 7, 4)])


@ALL_BANDS
def test_what_is_just_past_a_band_is_not_certain(diagonals):
    out = diagonals // 2
    pairs = past_bands.pairs_around(range(out - 2, out + 4)) + past_bands.pairs_around(range(out, out + 3), less=3)
    asked = [((1, 0, 1), pairs), ((1, 2, 1), pairs)]
    for (triple, _), told in zip(asked, affine_in_python.answers(asked, diagonals), strict=True):
        for kernel, traced, scores, cigars in told:
            check(triple, pairs, kernel, traced, scores, cigars)
            assert kernel != "band" or len(pairs) / 3 < scores.count(NO_SCORE) < len(pairs), "some, not all"


@ALL_BANDS
def test_lengths_that_take_the_whole_band(diagonals):
    """Text as much longer than the pattern, and as much shorter, as the band has room for, or a little less, or more.

    Where the first letters are equal the cheapest path begins with a match, on diagonal 0.
    """
    longer = range(diagonals - 4, diagonals + 3)
    pairs = [(b"A" + b"C" * same, b"A" + b"C" * same + b"G" * more) for same in (0, 3) for more in longer]
    pairs += [(text, pattern) for pattern, text in pairs]
    asked = [((2, 3, 1), pairs), ((1, 0, 1), pairs)]
    for (triple, _), told in zip(asked, affine_in_python.answers(asked, diagonals), strict=True):
        for kernel, traced, scores, cigars in told:
            check(triple, pairs, kernel, traced, scores, cigars)
            assert kernel != "band" or 0 < scores.count(NO_SCORE) < len(pairs), "some, not all"


@pytest.mark.slow
@pytest.mark.parametrize("mismatch", range(1, 7))
def test_all_small_penalties(mismatch):
    check_all([triple for triple in GRID if triple[0] == mismatch])


@pytest.mark.parametrize("triple", UNALIKE)
def test_both_circuits_of_a_band_have_as_many_digits_of_z(triple):
    assert len({cell.step_bits for cell in (make_cell(*triple), make_cell(*triple, inside=True))}) == 2
    both = {cell.step_bits for cell in cells_of(triple)}
    assert both == {max(triple[0], 2 * triple[2]).bit_length()}
