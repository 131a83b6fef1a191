"""The judge is judged: against every alignment of tiny sequences, and on CIGARs that are wrong in one way each."""

from itertools import groupby, product

import pytest

from tests import naive

TINY = [bytes(letters) for length in range(4) for letters in product(b"AC", repeat=length)]
PENALTIES = [(1, 0, 1), (4, 6, 2), (1, 3, 1), (5, 0, 2), (9, 1, 1)]


def all_alignments(p, t):
    """Every alignment of p and t, as one letter of = X I D per column."""
    if not p and not t:
        yield ""
    if p and t:
        for rest in all_alignments(p[1:], t[1:]):
            yield ("=" if p[0] == t[0] else "X") + rest
    if p:
        for rest in all_alignments(p[1:], t):
            yield "D" + rest
    if t:
        for rest in all_alignments(p, t[1:]):
            yield "I" + rest


def cost(columns, mismatch, gap_open, gap_extend):
    runs = [(op, len(list(run))) for op, run in groupby(columns)]
    per_letter = {"=": 0, "X": mismatch, "I": gap_extend, "D": gap_extend}
    return sum(per_letter[op] * length + (gap_open if op in "ID" else 0) for op, length in runs)


def to_cigar(columns):
    return "".join(f"{len(list(run))}{op}" for op, run in groupby(columns))


@pytest.mark.parametrize("penalties", PENALTIES)
def test_scores_are_the_least_cost_of_all_alignments(penalties):
    for p, t in product(TINY, TINY):
        least = min(cost(columns, *penalties) for columns in all_alignments(p, t))
        assert naive.affine_score(p, t, *penalties) == least, (p, t)
        if penalties == (1, 0, 1):
            assert naive.edit_distance(p, t) == least, (p, t)


def test_longer_pairs_known_by_hand():
    assert naive.edit_distance(b"kitten", b"sitting") == 3
    assert naive.edit_distance(b"GATTACA", b"GAATA") == 3
    assert naive.affine_score(b"GATTACA", b"GATACA", 4, 6, 2) == 8
    assert naive.affine_score(b"AAAAAAAA", b"AAAAACCC", 4, 6, 2) == 12


@pytest.mark.parametrize("penalties", PENALTIES)
def test_check_cigar_scores_every_alignment(penalties):
    for p, t in product(TINY[-8:], TINY):
        for columns in all_alignments(p, t):
            assert naive.check_cigar(p, t, to_cigar(columns), penalties) == cost(columns, *penalties)


@pytest.mark.parametrize(
    ("cigar", "reason"),
    [
        ("4=1X", "letters agree"),
        ("3=1=1=", "not merged"),
        ("5=0X", "length 0"),
        ("0I5=", "length 0"),
        ("4=", "consumes 4 of the pattern's 5"),
        ("4=1D", "consumes 4 of the text's 5"),
        ("4=1I", "consumes 4 of the pattern's 5"),
        ("6=", "more than the pattern's 5"),
        ("5=1D", "more than the pattern's 5"),
        ("5=1I", "more than the text's 5"),
        ("1D5=", "more than the pattern's 5"),
        ("1D1I3=1X", "letters agree"),
        ("1I1D1=1I1D2=", None),
        ("5M", "malformed"),
        ("5", "malformed"),
        ("=5", "malformed"),
        ("5= ", "malformed"),
        ("*", "malformed"),
    ],
)
def test_check_cigar_names_what_is_wrong(cigar, reason):
    if reason is None:
        assert naive.check_cigar(b"ACGTN", b"ACGTN", cigar, (1, 0, 1)) == 4
        return
    with pytest.raises(AssertionError, match=reason):
        naive.check_cigar(b"ACGTN", b"ACGTN", cigar, (1, 0, 1))


def test_check_cigar_sees_letters_that_differ():
    with pytest.raises(AssertionError, match="letters differ"):
        naive.check_cigar(b"ACGT", b"ACCT", "4=", (1, 0, 1))
    with pytest.raises(AssertionError, match="letters differ"):
        naive.check_cigar(b"a", b"A", "1=", (1, 0, 1))
    assert naive.check_cigar(b"ACGT", b"ACCT", "2=1X1=", (4, 6, 2)) == 4
    assert naive.check_cigar(b"ACGT", b"AT", "1=2D1=", (4, 6, 2)) == 10
    assert naive.check_cigar(b"", b"", "", (4, 6, 2)) == 0
