"""Verification: what counts as a right answer, and the exact scores it is judged by."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.synthetic_pairs import random_pairs
from wfa_kernels import Affine, AlignmentResult, Edit, PairBatch, align, pack_strings
from wfa_kernels.cigar import INSERTION, MATCH
from wfa_kernels.result import NO_SCORE
from workflow.race import oracle
from workflow.race import verify as verification
from workflow.race.verify import INVALID, Verdict, cigar_costs, output_hash, verify


@pytest.mark.parametrize(
    ("cigar", "cost"),
    [("2=1X1I1=", 1 + 2), ("2=1X1=1I", INVALID), ("2=1X1I", INVALID), ("3=1I1=", INVALID), ("2=1X1I1=1D", INVALID)],
)
def test_cigar_costs(cigar, cost):
    pairs = PairBatch.from_strings(["ACGT"], ["ACTCT"])
    packed, offsets = pack_strings([cigar])
    result = AlignmentResult(np.zeros(1, np.int32), np.zeros(1, np.uint8), packed, offsets)
    assert cigar_costs(pairs, result, (1, 1, 1)).tolist() == [cost]


@pytest.mark.parametrize(
    ("cigar", "cost"),
    [("2=2X", INVALID), ("2=2D3I", 3 + 4), ("1I1X1I1D1X1=", 2 + 1 + 2 + 2 + 1)],
    ids=["text left over", "gaps of two kinds", "gaps apart"],
)
def test_every_gap_of_a_cigar_is_opened_and_the_text_consumed(cigar, cost):
    pairs = PairBatch.from_strings(["ACGT"], ["ACTCT"])
    result = AlignmentResult(np.zeros(1, np.int32), np.zeros(1, np.uint8), *pack_strings([cigar]))
    assert cigar_costs(pairs, result, (1, 1, 1)).tolist() == [cost]


def test_a_cigar_with_an_empty_run_is_none():
    pairs = PairBatch.from_strings(["AC"], ["AC"])
    cigars = np.array([2 << 4 | MATCH, INSERTION], np.uint32)
    result = AlignmentResult(np.zeros(1, np.int32), np.zeros(1, np.uint8), cigars, np.array([0, 2]))
    assert cigar_costs(pairs, result, (1, 0, 1)).tolist() == [INVALID]


def test_a_cigar_of_another_objective_is_scored_again_under_the_experiments_penalties():
    pairs = PairBatch.from_strings(["ACGT"] * 2, ["ACTCT"] * 2)
    result = AlignmentResult(np.full(2, 2, np.int32), np.zeros(2, np.uint8), *pack_strings(["2=1X1I1="] * 2))
    exact = np.full(2, 2, np.int32)
    verdict = verify(pairs, result, Edit(), exact, Affine(4, 6, 2), np.array([12, 11], np.int32))
    assert (verdict.recall_native, verdict.affine_judged, verdict.recall_affine) == (1, 2, 0.5)


def test_a_right_score_with_a_wrong_cigar_is_not_right():
    pairs = PairBatch.from_strings(["ACGT"] * 2, ["ACTCT"] * 2)
    result = AlignmentResult(np.full(2, 2, np.int32), np.zeros(2, np.uint8), *pack_strings(["2=1X1I1=", "2=2D3I"]))
    verdict = verify(pairs, result, Edit(), np.full(2, 2, np.int32))
    assert verdict.recall_native == 0.5 and verdict.failing == [[1, "its CIGAR costs 5, its score is 2"]]


def test_counts_of_shards_are_added():
    joined = Verdict(refused={"unsupported": 1}).add(Verdict(refused={"unsupported": 2, "over_limit": 1}))
    assert joined.refused == {"unsupported": 3, "over_limit": 1}


def test_of_as_many_right_answers_more_wrong_ones_are_worth_less():
    assert Verdict(native_right=1, failing=[[0, "why"]]).worth < Verdict(native_right=1).worth


def test_wrong_answers_are_worth_less_than_refused_ones():
    wrong = Verdict(pairs=10, answered=10, judged=10, native_right=9, failing=[[3, "why"]])
    refused = Verdict(pairs=10, answered=5, judged=5, native_right=5, refused={"out_of_memory": 5})
    worse = Verdict(pairs=10, answered=8, judged=8, native_right=6, failing=[[3, "why"]] * 2)
    silent = Verdict(pairs=10, refused={"out_of_memory": 10})
    missed = Verdict(pairs=10, answered=10, judged=10, native_right=9)  # of a heuristic
    right = Verdict(pairs=10, answered=10, judged=10, native_right=10)
    ranked = [worse, wrong, missed, silent, refused, right]
    assert all(one.worth < better.worth for one, better in pairwise(ranked))


def test_split_gap_is_one_gap():
    pairs = PairBatch.from_strings(["AA"], ["AACC"])
    packed, offsets = pack_strings(["2=1I1I"])
    result = AlignmentResult(np.zeros(1, np.int32), np.zeros(1, np.uint8), packed, offsets)
    assert cigar_costs(pairs, result, (4, 6, 2)).tolist() == [10]


def test_verdict_judges_answered_pairs_only():
    pairs = random_pairs(10, 30)
    exact = align(pairs, Edit(), device="cpu").scores
    status = np.zeros(10, np.uint8)
    status[:4] = 2
    scores = np.where(status == 0, exact, -1).astype(np.int32)
    scores[9] += 1
    verdict = verify(pairs, AlignmentResult(scores, status), Edit(), exact, first=100)
    assert (verdict.coverage, verdict.recall_native, verdict.recall_affine) == (0.6, 5 / 6, None)
    assert verdict.failing[0][0] == 109 and verdict.refused == {"out_of_memory": 4}


@pytest.mark.parametrize("score", [NO_SCORE, -7, 7])
@pytest.mark.parametrize("exact", [True, False])
def test_a_cigar_that_does_not_fit_is_wrong_whatever_score_stands_beside_it(score, exact):
    pairs = PairBatch.from_strings(["ACGT"] * 2, ["ACGA"] * 2)
    result = AlignmentResult(np.full(2, score, np.int32), np.zeros(2, np.uint8), *pack_strings(["4=", "9="]))
    verdict = verify(pairs, result, Edit(), np.full(2, NO_SCORE, np.int32), exact=exact)
    assert (verdict.judged, verdict.native_right) == (2, 0)
    assert verdict.failing == [[i, "its CIGAR does not fit the sequences"] for i in range(2)]


def test_of_a_refused_pair_no_cigar_is_judged():
    pairs, none = PairBatch.from_strings(["", "A"], ["", "A"]), pack_strings(["", ""])
    refused = AlignmentResult(np.full(2, NO_SCORE, np.int32), np.full(2, 2, np.uint8), *none)
    verdict = verify(pairs, refused, Edit(), np.zeros(2, np.int32), Affine(4, 6, 2), np.zeros(2, np.int32))
    assert (verdict.judged, verdict.affine_judged, verdict.failing) == (0, 0, [])


def test_of_a_heuristic_a_cost_above_the_optimum_is_no_failure():
    """But one below it is, and one that its CIGAR does not cost."""
    pairs = PairBatch.from_strings(["ACGT"] * 4, ["ACTCT"] * 4)
    packed, offsets = pack_strings(["2=1X1I1=", "2=2D3I", "2=1X1I1=", "2=1X1I1="])
    result = AlignmentResult(np.array([2, 5, 1, 3], np.int32), np.zeros(4, np.uint8), packed, offsets)
    exact = np.full(4, 2, np.int32)
    verdict = verify(pairs, result, Edit(), exact, exact=False)
    assert verdict.failing == [[2, "score 1, exact 2"], [3, "its CIGAR costs 2, its score is 3"]]
    assert verdict.recall_native == 0.25
    alone = AlignmentResult(result.scores, result.status)
    assert [row for row, _ in verify(pairs, alone, Edit(), exact, exact=False).failing] == [2]
    assert [row for row, _ in verify(pairs, alone, Edit(), exact).failing] == [1, 2, 3]


def test_a_cigar_is_checked_where_no_exact_score_is_known():
    pairs = PairBatch.from_strings(["ACGT"] * 4, ["ACGT", "ACGT", "ACTCT", "ACTCT"])
    packed, offsets = pack_strings(["4=", "3=1X", "2=1X1I1=", "2=1X1I1="])
    scores = np.array([0, 1, 3, 2], np.int32)
    result = AlignmentResult(scores, np.zeros(4, np.uint8), packed, offsets)
    unknown = np.full(4, NO_SCORE, np.int32)
    verdict = verify(pairs, result, Edit(), unknown, Affine(4, 6, 2), unknown)
    assert verdict.failing == [
        [1, "its CIGAR does not fit the sequences"], [2, "its CIGAR costs 2, its score is 3"],
    ]  # fmt: skip
    assert (verdict.answered, verdict.coverage, verdict.judged, verdict.recall_native) == (4, 1, 2, 0.0)
    assert (verdict.affine_judged, verdict.recall_affine) == (1, 0.0)
    mixed = verify(pairs, result, Edit(), np.array([0, NO_SCORE, 2, 2], np.int32))
    assert (mixed.judged, mixed.native_right) == (4, 2) and mixed.failing[1] == [2, "score 3, exact 2"]
    assert mixed.worth > verdict.worth


def test_pairs_without_an_exact_score_are_not_judged_again(tmp_path, monkeypatch):
    pairs = random_pairs(20, 40)
    path, _ = oracle.exact_scores(pairs, Edit(), tmp_path, "key")
    scores = np.load(path)
    scores[:18] = NO_SCORE
    np.save(path, scores)
    monkeypatch.setattr(oracle, "SAMPLE_CELLS", 5 * 40 * 39)
    assert oracle.judge_again(pairs, Edit(), path, list(range(20))) == 2
    assert oracle.judge_again(pairs, Edit(), path, [0, 1]) == 0


def test_output_hash_sees_every_part(monkeypatch):
    monkeypatch.setattr(verification, "_CHUNK_BYTES", 8)
    result = align(random_pairs(5, 30), Edit(), "cigar", device="cpu")
    seen = {output_hash(result, threads) for threads in (1, 3)}
    assert len(seen) == 1
    for name in ("scores", "status", "cigars", "cigar_offsets"):
        changed = getattr(result, name).copy()
        changed[-1] ^= 1
        seen.add(output_hash(replace(result, **{name: changed})))
    assert len(seen) == 5


@pytest.mark.parametrize("penalties", [Edit(), Affine(4, 6, 2), Affine(3, 0, 1)])
def test_oracle_agrees_with_itself_and_refuses_a_wrong_one(tmp_path, penalties):
    pairs = random_pairs(30, 50)
    path, confirmed = oracle.exact_scores(pairs, penalties, tmp_path, "key")
    scores = np.load(path)
    assert oracle.confirm(pairs, penalties, scores) == confirmed == 30
    assert oracle.exact_scores(pairs, penalties, tmp_path, "key") == (path, 30), "kept scores lost their count"
    scores[7] += 1
    with pytest.raises(oracle.OracleError, match="pair 7"):
        oracle.confirm(pairs, penalties, scores)


def test_exact_scores_are_kept_by_penalties_and_number_of_pairs(tmp_path):
    pairs = random_pairs(20, 30)
    asked = [(pairs, Edit()), (pairs, Affine(4, 6, 2)), (pairs[:7], Edit())]
    for _ in range(2):
        for some, penalties in asked:
            found = np.load(oracle.exact_scores(some, penalties, tmp_path, "key")[0])
            assert found.tolist() == align(some, penalties, device="cpu").scores.tolist()


def test_exact_scores_of_other_kernels_are_not_taken(tmp_path, monkeypatch):
    (tmp_path / "cpu").mkdir()
    monkeypatch.setattr(oracle.wfa_kernels, "__file__", str(tmp_path / "__init__.py"))
    digests = set()
    for text in ("faulty", "mended"):
        (tmp_path / "cpu" / "bpm.py").write_text(text)
        digests.add(oracle._sources.__wrapped__())
    monkeypatch.setattr(oracle, "__file__", str(tmp_path / "oracle.txt"))
    (tmp_path / "oracle.txt").write_text("an oracle that computes otherwise")
    digests.add(oracle._sources.__wrapped__())
    assert len(digests) == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_judges_in_chunks_as_it_would_at_once(monkeypatch, threads):
    pairs = random_pairs(30, 40)
    result = align(pairs, Affine(4, 6, 2), "cigar", device="cpu")
    exact = result.scores.copy()
    result.scores[[0, 6, 7, 29]] += 1
    result.status[11] = 2
    whole = verify(pairs, result, Affine(4, 6, 2), exact, Affine(4, 6, 2), exact, first=100)
    sizes = []
    monkeypatch.setattr(verification, "CHUNK_PAIRS", 7)
    monkeypatch.setattr(
        verification, "cigar_costs", lambda p, r, triple: sizes.append((len(p), len(r))) or cigar_costs(p, r, triple)
    )
    parts = verify(pairs, result, Affine(4, 6, 2), exact, Affine(4, 6, 2), exact, first=100, threads=threads)
    assert parts == whole and max(sizes) == (7, 7)
    assert len(sizes) == 5, "under the same penalties CIGARs are scored once"
    assert [number for number, _ in parts.failing] == [100, 106, 107, 129]
    assert (parts.pairs, parts.judged, parts.native_right, parts.affine_right) == (30, 29, 25, 29)


@pytest.mark.parametrize("threads", [1, 3])
def test_of_very_many_failing_pairs_the_first_are_listed(monkeypatch, threads):
    pairs = random_pairs(30, 40)
    result = align(pairs, Edit(), device="cpu")
    exact = result.scores + 1
    monkeypatch.setattr(verification, "CHUNK_PAIRS", 4)
    monkeypatch.setattr(verification, "MOST_LISTED", 10)
    verdict = verify(pairs, result, Edit(), exact, threads=threads)
    assert (verdict.judged, verdict.native_right) == (30, 0) and [i for i, _ in verdict.failing] == list(range(10))
    assert len(verdict.add(verify(pairs, result, Edit(), exact, first=30)).failing) == 10, "of shards together, too"


def test_exact_scores_take_so_long_and_go_on_another_time(tmp_path, monkeypatch):
    pairs = random_pairs(30, 40)
    monkeypatch.setattr(oracle, "CHUNK_BASES", 7 * 80)
    whole = align(pairs, Edit(), device="cpu").scores
    known = 0
    for _ in range(12):
        path, confirmed = oracle.exact_scores(pairs, Edit(), tmp_path, "key", seconds=0)
        scores = np.load(path)
        assert (scores[:confirmed] == whole[:confirmed]).all() and (scores[confirmed:] == NO_SCORE).all()
        assert confirmed > known or confirmed == known == 30
        known = confirmed
    assert known == 30
    assert (np.load(oracle.exact_scores(pairs, Edit(), tmp_path, "other")[0]) == whole).all(), "no limit"


@pytest.mark.parametrize(
    ("penalties", "plain", "told"),
    [
        (Affine(4, 6, 2), "wfa", r"affine\(4,6,2\) costs \d+ by the wavefront kernel"),
        (Edit(), "bpm", r"edit costs \d+ by the bit-parallel kernel"),
    ],
)
def test_of_many_pairs_the_plain_kernel_confirms_some(tmp_path, monkeypatch, penalties, plain, told):
    pairs, used, replaced = random_pairs(200, 40), [], {}

    def watched(some, penalties, algorithm, **asked):
        result = align(some, penalties, algorithm=algorithm, **asked)
        if algorithm == "auto":
            result.scores[list(replaced)] = list(replaced.values())
        used.append((algorithm, len(some)))
        return result

    monkeypatch.setattr(oracle, "align", watched)
    monkeypatch.setattr(oracle, "PLAIN_SECONDS", -1)
    scores = np.load(oracle.exact_scores(pairs, penalties, tmp_path, "right")[0])
    assert (scores == align(pairs, penalties, device="cpu", algorithm=plain).scores).all()
    assert used == [("auto", 200), (plain, 13)]
    replaced[32] = NO_SCORE
    assert np.load(oracle.exact_scores(pairs, penalties, tmp_path, "unanswered")[0])[32] == NO_SCORE
    replaced[32] = scores[32] + 1
    with pytest.raises(oracle.OracleError, match=f"pair 32: {told}, not"):
        oracle.exact_scores(pairs, penalties, tmp_path, "wrong")


def test_the_plain_kernel_confirms_pairs_of_every_chunk(tmp_path, monkeypatch):
    pairs, wrong = random_pairs(64, 40), 48

    def faulty(some, penalties, algorithm, **asked):
        result = align(some, penalties, algorithm=algorithm, **asked)
        if algorithm == "auto" and some.pair(0) == pairs.pair(32):
            result.scores[wrong - 32] += 1
        return result

    monkeypatch.setattr(oracle, "align", faulty)
    monkeypatch.setattr(oracle, "PLAIN_SECONDS", -1)
    monkeypatch.setattr(oracle, "CHUNK_BASES", int(pairs.pattern_offsets[32] + pairs.text_offsets[32]))
    with pytest.raises(oracle.OracleError, match=r"pair 48: edit costs \d+ by the bit-parallel kernel, not"):
        oracle.exact_scores(pairs, Edit(), tmp_path, "wrong")


def test_failing_pairs_are_judged_again_before_a_tool_is_blamed(tmp_path):
    pairs = random_pairs(130, 40)
    path, _ = oracle.exact_scores(pairs, Edit(), tmp_path, "key")
    assert oracle.judge_again(pairs, Edit(), path, list(range(130))) == oracle.FAILING_PAIRS
    scores = np.load(path)
    scores[9] += 1
    np.save(path, scores)
    assert oracle.judge_again(pairs, Edit(), path, [3, 8]) == 2
    with pytest.raises(oracle.OracleError, match=r"pair 9: edit costs \d+ by plain .*kept in .*key-"):
        oracle.judge_again(pairs, Edit(), path, [3, 9])


def test_the_second_opinion_is_on_pairs_spread_over_the_batch_and_on_one_at_least(monkeypatch):
    pairs, compared = random_pairs(200, 20), []
    scores = align(pairs, Edit(), device="cpu").scores
    monkeypatch.setattr(oracle, "SAMPLE_CELLS", 1)
    assert oracle.confirm(pairs, Edit(), scores) == 1
    monkeypatch.setattr(oracle, "SAMPLE_PAIRS", 20)
    monkeypatch.setattr(oracle, "_compare", lambda *told: compared.extend(told[-1].tolist()))
    oracle.confirm(pairs, Edit(), scores)
    assert len(set(compared)) == 20 and min(compared) < 50 and max(compared) > 150


def test_judging_again_stays_within_its_budget_of_cells(tmp_path, monkeypatch):
    pairs = random_pairs(20, 40)
    path, _ = oracle.exact_scores(pairs, Edit(), tmp_path, "key")
    monkeypatch.setattr(oracle, "SAMPLE_CELLS", 5 * 40 * 39)
    assert oracle.judge_again(pairs, Edit(), path, list(range(20))) == 5
