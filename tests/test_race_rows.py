"""The rows of a race file: what its columns tell of a cell, of its data set and of the run."""

from types import SimpleNamespace

import pytest

from wfa_kernels import Affine, Edit, PairBatch
from workflow.race import engine
from workflow.race.cells import Key, Record
from workflow.race.data_card import data_card
from workflow.race.verify import Verdict

PAIRS = PairBatch.from_strings(
    ["A" * 2, "A" * 3, "A" * 4], ["C" * 5, "C" * 7, "C" * 11], {"model": "uniform", "length_bp": "9", "error": "0.05"}
)


def conductor(penalties=None, **told):
    """As much of a conductor as rows are made of. told: of its one tool."""
    told = {"tool": "some", "variant": "", "exact": True, "input": "ascii", "quantity": "time_end_to_end"} | told
    adapter = SimpleNamespace(**told, source_hash=lambda: "of its files")
    plan = SimpleNamespace(experiment="fake", lane="test", penalties=penalties or Edit())
    return SimpleNamespace(adapters={"some": adapter}, versions={"some": "1.2"}, plan=plan)


def rows(records, **told):
    return engine._rows(conductor(**told), records, PAIRS, {})


@pytest.mark.parametrize(("n", "cells"), [(1, 2 * 5), (2, 2 * 5 + 3 * 7), (3, 2 * 5 + 3 * 7 + 4 * 11)])
def test_cells_are_of_the_measured_pairs(n, cells):
    (row,) = rows({Key("some", "cigar", 1, n): Record(times=[1.0])})
    assert (row["pairs"], row["cells"]) == (n, cells)


def test_a_row_tells_what_its_tool_is_and_claims():
    told = {"exact": False, "input": "packed2", "quantity": "time_end_to_end_packed", "variant": "band"}
    (row,) = rows({Key("some", "cigar", 2, 3): Record(times=[1.0])}, **told)
    assert {name: row[name] for name in told} == told
    assert (row["tool"], row["threads"], row["scope"], row["twin"]) == ("some", 2, "cigar", False)
    assert (row["tool_version"], row["tool_source_hash"]) == ("1.2", "of its files")


def test_a_row_tells_the_verdict_on_its_answers():
    verdict = Verdict(pairs=10, answered=9, judged=8, native_right=6, affine_judged=4, affine_right=1)
    (row,) = rows({Key("some", "cigar", 1, 3): Record(times=[1.0], verdict=verdict)})
    told = [row[name] for name in ("verified", "coverage", "recall_native", "recall_affine")]
    assert told == [8, 0.9, 0.75, 0.25]


def test_a_row_tells_what_its_runs_were_seen_to_take():
    seen = {"output_hash": "of answers", "jit_s": 0.5, "jit_compiled": True, "base_rss_bytes": 1, "peak_rss_bytes": 2}
    beyond = {"peak_memory": {"peak_device_bytes": 3}, "counts": {"rescued": 4}}
    (row,) = rows({Key("some", "cigar", 1, 3): Record(times=[1.0], **seen, **beyond)})
    assert {name: row[name] for name in seen} == seen
    assert (row["peak_device_bytes"], row["rescued"]) == (3, 4)


def test_a_cell_that_failed_in_a_later_round_has_no_time():
    (row,) = rows({Key("some", "cigar", 1, 3): Record(times=[1.0, 2.0], status="timeout", reason="why")})
    assert [row[name] for name in ("status", "reason", "round", "value_s")] == ["timeout", "why", 0, None]


def test_further_times_of_a_run_have_rows_of_their_own():
    record = Record(times=[3.0, 4.0], further={"time_kernel": [1.0, 2.0]}, verdict=Verdict(failing=[[0, "why"]]))
    found = rows({Key("some", "cigar", 1, 3): record})
    assert [(row["quantity"], row["round"], row["value_s"]) for row in found] == [
        ("time_end_to_end", 1, 3.0), ("time_end_to_end", 2, 4.0), ("time_kernel", 1, 1.0), ("time_kernel", 2, 2.0),
    ]  # fmt: skip
    assert [row["failing_pairs"] for row in found] == ['[[0, "why"]]', None, None, None]


def test_a_tool_and_its_twin_share_the_worse_verdict_on_both():
    right, wrong = (Verdict(answered=9, judged=9, native_right=n, failing=[[4, "why"]] * (9 - n)) for n in (9, 8))
    keys = [Key("some", "cigar", 1, 3, twin=twin) for twin in (False, True)]
    for verdicts in ((right, wrong), (wrong, right), (wrong, wrong)):
        records = {key: Record(times=[1.0], verdict=one) for key, one in zip(keys, verdicts, strict=True)}
        assert [(row["twin"], row["recall_native"]) for row in rows(records)] == [(False, 8 / 9), (True, 8 / 9)]
    for other in (None, right):
        own = [Record(times=[1.0], verdict=right), Record(times=[1.0], verdict=other)]
        assert [row.get("recall_native") for row in rows(dict(zip(keys, own, strict=True)))] == [1, other and 1]


@pytest.mark.parametrize(("penalties", "metric", "told"), [(Edit(), "edit", ""), (Affine(4, 6, 2), "affine", "4,6,2")])
def test_all_rows_tell_the_data_set_and_the_costs(penalties, metric, told):
    found = engine._context(conductor(penalties), "uniform_9_e5", PAIRS, "of its pairs", "host", "key")
    assert (found["dataset_model"], found["length_bp"], found["error"]) == ("uniform", 9, 0.05)
    assert (found["metric"], found["penalties"], found["pairs_total"]) == (metric, told, 3)
    assert (found["dataset_hash"], found["race_id"]) == ("of its pairs", "key")
    bare = PairBatch.from_strings(["A" * 2, "A" * 5], ["C"] * 2)
    found = engine._context(conductor(penalties), "some", bare, "", "host", "key")
    assert (found["length_bp"], found["error"]) == (4, None), "the mean of the patterns' lengths"


def test_a_data_set_is_told_by_its_lengths_and_cells():
    told = data_card(PAIRS)
    lengths = {side: [told[f"{side}_{what}_bp"] for what in ("min", "mean", "max")] for side in ("pattern", "text")}
    assert lengths == {"pattern": [2, 3, 4], "text": [5, 23 / 3, 11]}
    assert (told["pairs"], told["cells"], told["model"], told["realised"]) == (3, 2 * 5 + 3 * 7 + 4 * 11, "uniform", {})
