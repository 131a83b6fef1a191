"""Pairs of very different lengths: longest first on the GPU, answers in the caller's order."""

import numpy as np
import pytest

from tests import cuda_simulator, naive
from tests.synthetic_pairs import random_pairs
from wfa_kernels import Affine, PairBatch, align
from wfa_kernels.cuda import by_length
from wfa_kernels.result import OK, OUT_OF_MEMORY, UNSUPPORTED, AlignmentResult


class Pool:
    """Ordinary memory in place of page-locked."""

    def take(self, count, dtype):
        return np.empty(count, dtype)


def same_length(*lengths):
    return PairBatch.from_strings(["A" * length for length in lengths], ["C" * length for length in lengths])


def put(ordered, start, stop):
    """The sequences of a LongestFirst's pairs start .. stop, from their copies."""
    sides = ordered.pattern_offsets, ordered.text_offsets
    bounds = [(int(offsets[start]), int(offsets[stop])) for offsets in sides]
    targets = [np.zeros(last - first, np.uint8) for first, last in bounds]
    for function, *arguments in ordered.copies(start, stop, targets):
        function(*arguments)
    copied = ((flat, offsets[start : stop + 1] - offsets[start]) for flat, offsets in zip(targets, sides, strict=True))
    batch = PairBatch(*(array for side in copied for array in side))
    return [*zip(batch.patterns(), batch.texts(), strict=True)]


def test_pairs_and_answers_there_and_back(monkeypatch):
    monkeypatch.setattr(by_length, "_BYTES_AT_A_TIME", 7)
    whole = PairBatch.from_strings(["GATT", "", "ACGTACGT", "T"] * 3, ["GATTA", "C", "ACGT", ""] * 3)[1:11]
    strings = [*zip(whole.patterns(), whole.texts(), strict=True)]
    rows = np.argsort(-(whole.pattern_lengths + whole.text_lengths), kind="stable")
    ordered = by_length.LongestFirst(whole, rows)
    wanted = [strings[row] for row in rows]
    assert put(ordered, 0, 10) == wanted and put(ordered, 3, 8) == wanted[3:8] and put(ordered, 9, 9) == []
    assert ordered.take(np.array([2, 5])).texts() == [wanted[2][1], wanted[5][1]]
    assert ordered.pattern_lengths.tolist() == [len(pattern) for pattern, _ in wanted]
    assert ordered.text_lengths.tolist() == [len(text) for _, text in wanted]
    for scope in ("score", "cigar"):
        there, here = (align(pairs, Affine(2, 3, 1), scope, device="cpu") for pairs in (whole.take(rows), whole))
        back = by_length.restored(there, rows, Pool())
        assert (back.scores == here.scores).all() and (back.status == here.status).all()
        assert scope == "score" or back.cigar_strings() == here.cigar_strings()


def test_all_that_is_told_of_a_pair_comes_back_to_its_place():
    rows, statuses = np.array([2, 0, 3, 1]), np.array([OK, OUT_OF_MEMORY, OK, UNSUPPORTED], np.uint8)
    there = AlignmentResult(10 * rows, statuses[rows], timings={"time_kernel": 5}, rescued=3)
    back = by_length.restored(there, rows, Pool())
    assert back.scores.tolist() == [0, 10, 20, 30] and back.status.tolist() == statuses.tolist()
    assert (back.timings, back.rescued) == (there.timings, 3)


def test_an_order_for_pairs_of_very_different_lengths_only():
    assert by_length.longest_first(same_length(600, 9000, 5000, 9000)[1:]) is None, "about equal"
    assert by_length.longest_first(same_length(150, 150, 150, 400)) is None, "short: the wire is the limit"
    assert by_length.longest_first(same_length(600, 9000, 600, 5000, 700)).rows.tolist() == [1, 3, 4, 0, 2]
    assert by_length.longest_first(same_length(10, 200_000, 65_535, 65_536, 7)).rows.tolist() == [1, 2, 3, 0, 4]
    assert by_length.longest_first(same_length()) is None


def test_lengths_of_short_pairs_are_not_looked_at(monkeypatch):
    """Of 10M that takes 4 ms, a tenth of a call."""
    monkeypatch.setattr(by_length, "_most_letters", lambda *sides: pytest.fail("looked for the longest"))
    assert by_length.longest_first(same_length(150, 150, 150, 400)) is None


@pytest.mark.slow
@pytest.mark.parametrize(("source", "penalties"), [("pageable", (2, 3, 1)), ("pinned", (4, 6, 2))])
@pytest.mark.parametrize("scope", ["cigar", "score"])
def test_the_gpu_answers_in_the_order_of_the_batch(source, scope, penalties):
    batch = random_pairs(10, 40, seed=5)
    pairs = [*zip(batch.patterns(), batch.texts(), strict=True), (b"NNA", b"NA"), (b"", b"ACG"), (b"A" * 60, b"T" * 3)]
    answer = cuda_simulator.align(
        *zip(*pairs, strict=True), scope, "fast", source, 110, penalties=penalties, by_length=True
    )
    assert answer["rescued"] == [10] and len(answer["batches"]) > 2 and not any(answer["status"])
    for row, (pattern, text) in enumerate(pairs):
        expected = 1010 if row == 10 else naive.affine_score(pattern, text, *penalties)
        assert answer["scores"][row] == expected
        if scope == "cigar" and row != 10:
            assert naive.check_cigar(pattern, text, answer["cigars"][row], penalties) == expected
