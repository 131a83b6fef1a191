"""Pairs settled by a look along their diagonals, against the judge; and how they join those that are not."""

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import naive
from tests.test_edit_kernels import mutate
from wfa_kernels import Affine, Edit, PairBatch, align
from wfa_kernels.cigar import format_packed
from wfa_kernels.cpu import affine_wfa, clean, edit_wfa, schedule
from wfa_kernels.cpu.backtrace import read_only_arrays, subset
from wfa_kernels.cpu.longest_first import LongestFirst
from wfa_kernels.result import NO_SCORE, OK

COSTS = (Affine(4, 6, 2), Edit(), Affine(1, 0, 3), Affine(3, 0, 1), Affine(1, 40, 1), Affine(30, 2, 2))
#: After the pairs of a batch, so that all of these are looked at.
LAST = (b"ACGT" * 20, b"ACGT" * 20)

each_cost = pytest.mark.parametrize("costs", COSTS, ids=str)


def batch_of(pairs):
    return PairBatch.from_strings(*zip(*pairs, LAST, strict=True))


def settled(pairs, costs):
    scores, _, _ = clean._settle(*read_only_arrays(batch_of(pairs)), 0, len(pairs), *costs.triple, 0, False)
    return scores.tolist()


def check(pairs, costs, rest=affine_wfa):
    """Scores and CIGARs of settled pairs and others in one batch; how many were settled."""
    batch = batch_of(pairs)
    expected = [naive.affine_score(*pair, *costs.triple) for pair in pairs]
    alone = settled(pairs, costs)
    assert all(score in (NO_SCORE, true) for score, true in zip(alone, expected, strict=True))
    scores, status, none, _ = clean.align_range(batch, costs, "score", 0, len(pairs), 2**28, rest)
    assert (scores.tolist(), status.tolist(), none) == (expected, [OK] * len(pairs), None)
    scores, status, cigars, lengths = clean.align_range(batch, costs, "cigar", 0, len(pairs), 2**28, rest)
    assert (scores.tolist(), status.tolist()) == (expected, [OK] * len(pairs))
    cigars = format_packed(cigars, np.concatenate([[0], np.cumsum(lengths)]))
    for pair, cigar, score in zip(pairs, cigars, expected, strict=True):
        assert naive.check_cigar(*pair, cigar, costs.triple) == score
    return len(pairs) - alone.count(NO_SCORE)


@each_cost
def test_all_short_pairs_of_two_letters(costs):
    words = [bytes(word) for length in range(5) for word in product(b"AC", repeat=length)]
    count = check(list(product(words, words)), costs)
    assert 0 < count <= len(words) ** 2


def few_errors(length, edits, gap, seed):
    draw = random.Random(seed)
    pattern = bytes(draw.choices(draw.choice((b"ACGT", b"AC", b"A", b"ACGTN\x00\xff")), k=length))
    text = mutate(pattern, edits, b"ACGT", draw)
    at = draw.randrange(len(text) + 1)
    text = text[:at] + bytes(draw.choices(b"ACGT", k=max(gap, 0))) + text[at - min(gap, 0) :]
    return (pattern, text) if draw.random() < 0.5 else (text, pattern)


some_pair = st.builds(
    few_errors,
    length=st.integers(0, 200) | st.sampled_from((63, 64, 65, 127, 128, 129)),
    edits=st.integers(0, 6),
    gap=st.integers(-4, 4),
    seed=st.integers(0, 2**32),
)


@each_cost
@given(pairs=st.lists(some_pair, min_size=1, max_size=12))
def test_pairs_of_few_errors(costs, pairs):
    check(pairs, costs)


@each_cost
def test_a_large_batch_of_all_kinds(costs):
    pairs = [few_errors(seed % 300, seed % 7, seed % 9 - 4, seed) for seed in range(600)]
    assert 100 < check(pairs, costs) < 600


def test_one_error_at_every_place_is_settled():
    word = bytes(random.Random(2).choices(b"ACGT", k=130))
    changed = [(word, word[:at] + b"N" + word[at + 1 :]) for at in range(130)]
    shorter = [(word, word[:at] + word[at + 1 :]) for at in range(130)]
    for costs, mismatch, gap in ((Affine(4, 6, 2), 4, 8), (Edit(), 1, 1)):
        assert settled(changed, costs) == [mismatch] * 130
        assert settled(shorter, costs) == [gap] * 130
        assert settled([(b, a) for a, b in shorter], costs) == [gap] * 130
        assert check(changed + shorter, costs, affine_wfa) == 260


def test_what_ends_with_the_batch_is_settled_as_elsewhere():
    """By the other kernel its gap might lie elsewhere, and where letters end depends on the threads."""
    runs = [(b"CG" * 9 + b"A" * count + b"TC" * 20, b"CG" * 9 + b"A" * 9 + b"TC" * 20) for count in (8, 9, 10)]
    for pair in (*runs, (b"ACGT" * 40, b"ACGT" * 39 + b"ACGA"), (b"", b"ACGT"), (b"A", b"A")):
        batches = batch_of([pair])[:1], PairBatch.from_strings([pair[0]], [pair[1]])
        found = [clean._settle(*read_only_arrays(one), 0, 1, *Affine(4, 6, 2).triple, 1000, True) for one in batches]
        for one, other in zip(*found, strict=True):
            assert one.tolist() == other.tolist()
        assert found[0][0][0] != NO_SCORE


def test_what_ends_with_the_batch_is_left_to_the_other_kernel_where_a_copy_has_no_room():
    batch = PairBatch.from_strings([b"ACGT", b"ACGT" * 16], [b"ACGA", b"ACGT" * 16])
    for budget, last in ((255, NO_SCORE), (256, 0)):
        scores, _, _ = clean._settle(*read_only_arrays(batch), 0, 2, *Edit().triple, budget, False)
        assert scores.tolist() == [1, last]
    assert clean.align_range(batch, Edit(), "score", 0, 2, 2**20, edit_wfa)[0].tolist() == [1, 0]
    assert clean.align_range(batch, Edit(), "score", 1, 2, 2**20, edit_wfa)[0].tolist() == [0]


def test_the_pairs_of_a_range_that_are_left_are_those_of_that_range():
    pairs, costs = [few_errors(60 + seed, 9 * (seed % 2), 0, seed) for seed in range(20)], Affine(4, 6, 2)
    expected = [naive.affine_score(*pair, *costs.triple) for pair in pairs]
    alone = settled(pairs, costs)[7:15]
    assert 0 < alone.count(NO_SCORE) < 8
    for scope in ("score", "cigar"):
        scores, status, runs, lengths = clean.align_range(batch_of(pairs), costs, scope, 7, 15, 2**28, affine_wfa)
        assert (scores.tolist(), status.tolist()) == (expected[7:15], [OK] * 8)
    cigars = format_packed(runs, np.concatenate([[0], np.cumsum(lengths)]))
    assert [naive.check_cigar(*p, c, costs.triple) for p, c in zip(pairs[7:15], cigars, strict=True)] == expected[7:15]


def test_share_of_a_batch():
    word = bytes(random.Random(3).choices(b"ACGT", k=100))
    assert clean.share(batch_of([(word, word)] * 100), Edit()) == 1
    assert clean.share(batch_of([(word, word[::-1])] * 100), Edit()) == 0
    assert clean.share(PairBatch.from_strings([], []), Edit()) == 0


@pytest.mark.parametrize(("errors", "ordered"), [(0.0002, False), (0.02, True)])
def test_only_what_goes_side_by_side_waits_for_the_longest(monkeypatch, errors, ordered):
    """Where nearly all pairs are settled by the look, wavefronts do the rest: no order of length is of use."""
    draw, asked = random.Random(8), []
    words = [bytes(draw.choices(b"ACGT", k=draw.randrange(200, 3000))) for _ in range(200)]
    pairs = [(word, mutate(word, int(errors * len(word)), b"ACGT", draw)) for word in words]
    monkeypatch.setattr(schedule, "LongestFirst", lambda batch: asked.append(len(batch)) or LongestFirst(batch))
    monkeypatch.setattr(schedule, "_QUICK_BASES", 20_000)
    costs = Affine(4, 6, 2)
    found = align(PairBatch.from_strings(*zip(*pairs, strict=True)), costs, device="cpu", threads=2)
    alone = align(PairBatch.from_strings(*zip(*pairs, strict=True)), costs, device="cpu", algorithm="wfa")
    assert found.scores.tolist() == alone.scores.tolist()
    assert asked == [len(pairs)] * ordered


def test_a_subset_is_what_take_gives():
    batch = batch_of([few_errors(seed, 2, 0, seed) for seed in range(40)])[3:30]
    rows = np.array([0, 2, 3, 17, 26])
    some, same = subset(batch, rows), batch.take(rows)
    assert (some.patterns(), some.texts()) == (same.patterns(), same.texts())
