"""thesis Tab 6: the literature's GCUPS as printed, and the best of ours with the data set that gave it."""

from pathlib import Path

import pytest

from tests.synthetic import measurement
from tests.tables import ROOT, draw_up, read_csv
from workflow.scripts.table_output import TIDY_COLUMNS
from workflow.scripts.tables import thesis_tab6

CELLS = 10_000 * 1000 * 1000.0
GPU = {"tool": "wavebench-edit", "variant": "fast", "host": "h200-16c", "source": "recorded", "gpu": "NVIDIA H200"}


@pytest.fixture
def make(tmp_path):
    """make(row, ...) draws up the table from collected rows and gives the path without suffix."""

    def make(*rows):
        options = {
            "paper": ROOT / "config/papers/thesis_tab6.csv",
            "config": ROOT / "config/experiments/thesis_tab1.yaml",
            "lane": ROOT / "config/lanes/kick.yaml",
        }
        return draw_up("thesis_tab6", tmp_path, list(rows), options)

    return make


def race(dataset, seconds, **changes):
    """A measured cell of 10,000 pairs of 1000 letters."""
    interval = {"median_s": seconds, "ci_low_s": seconds * 0.9, "ci_high_s": seconds * 1.1}
    sized = {"dataset": dataset, "race_id": dataset, "pairs": 10_000, "pairs_total": 10_000, "cells": CELLS}
    return measurement(**{**GPU, **sized, **interval, "quantity": "time_end_to_end_pinned", **changes})


def rates(out, **wanted):
    """{quantity: row} of the rows with these values."""
    rows = [r for r in read_csv(f"{out}.csv") if all(r[key] == value for key, value in wanted.items())]
    return {row["quantity"]: row for row in rows}


def fast(out, scope="cigar"):
    return rates(out, host="h200-16c", tool="wavebench-edit", variant="fast", scope=scope)


def test_the_literature_stands_as_printed(make):
    out = make()
    rows = [r for r in read_csv(f"{out}.csv") if r["source"] == "paper"]
    assert len(rows) == 18 and set(thesis_tab6.LITERATURE) == {r["tool"] for r in rows}
    told = {r["tool"]: r for r in rows}
    assert [told[row]["gcups"] for row in ("Ours", "[59]", "[42]", "[47]")] == ["22075", "2800", "1000", "1895"]
    assert (told["[40]"]["gcups"], told["[40]"]["status"]) == ("", "missing: lost in the source's text")
    assert {r["quantity"] for r in rows} == {"gcups_reported"}
    text = Path(f"{out}.md").read_text()
    assert "| GPU | eWFA-GPU | thesis | 2022 | Tesla V100 | not told | 22075 † |" in text
    assert "† GASAL2, [44]: not 'as reported': equals 10M x 300 x 300 / 4.365 s" in text


def test_the_best_data_set_is_named_for_each_of_the_two_rates(make):
    out = make(
        race("uniform_1000_e2", 0.01),
        race("uniform_1000_e2", 0.005, quantity="time_kernel"),
        race("uniform_1000_e5", 0.02),
        race("uniform_1000_e5", 0.001, quantity="time_kernel"),
    )
    whole, kernel = fast(out)["gcups_end_to_end"], fast(out)["gcups_kernel"]
    assert float(whole["gcups"]) == pytest.approx(CELLS / 0.01 / 1e9) and whole["dataset"] == "uniform_1000_e2"
    assert float(kernel["gcups"]) == pytest.approx(CELLS / 0.001 / 1e9) and kernel["dataset"] == "uniform_1000_e5"
    assert float(whole["ci_low"]) == pytest.approx(CELLS / 0.011 / 1e9) and whole["device_model"] == "NVIDIA H200"
    text = Path(f"{out}.md").read_text()
    assert "| 1000 · 1000 nt e = 2 %, 10K pairs | 10000 · 1000 nt e = 5 %, 10K pairs |" in text


def test_wrong_refusing_or_pageable_runs_are_no_peak(make):
    out = make(
        race("uniform_1000_e2", 0.001, recall_native=0.9),
        race("uniform_150_e2", 0.001, coverage=0.995),
        race("uniform_1000_e5", 0.02),
        race("uniform_1000_e5", 0.002, quantity="time_end_to_end_pageable"),
    )
    assert fast(out)["gcups_end_to_end"]["dataset"] == "uniform_1000_e5"
    assert float(fast(out)["gcups_end_to_end"]["gcups"]) == pytest.approx(CELLS / 0.02 / 1e9)
    assert fast(out)["gcups_kernel"]["status"] == "no kernel time of all pairs"
    assert fast(make(race("uniform_1000_e2", 0.001, recall_native=0.9)))["gcups_end_to_end"]["status"]


def test_a_stale_or_invalid_race_is_shown_only_for_want_of_another_and_marked(make):
    stale = race("uniform_1000_e2", 0.012, stale=True)
    invalid = race("uniform_1000_e10", 0.012, race_valid=False)
    older = race("uniform_300_e2", 0.001, older_way=True)
    assert fast(make(stale, invalid, older, race("uniform_1000_e5", 0.02)))["gcups_end_to_end"]["note"] == ""
    out = make(stale)
    assert fast(out)["gcups_end_to_end"]["note"] == "stale" and "**stale**" in Path(f"{out}.md").read_text()


@pytest.mark.parametrize(
    ("doubt", "told"),
    [
        ({"median_s": 0.009}, "short call"),
        ({"verified": 10}, "10 of 10000 answers verified"),
        ({"rescued": 3}, "3 pairs by the CPU"),
        ({"pairs": 1999, "verified": 1999, "median_s": 0.011}, "few pairs"),
    ],
)
def test_a_rate_with_any_mark_stands_behind_one_without(make, doubt, told):
    marked, clean = race("uniform_1000_e2", 0.012, **{"verified": 10_000} | doubt), race("uniform_1000_e5", 0.02)
    out = make(marked, clean)
    whole = fast(out)["gcups_end_to_end"]
    assert (whole["dataset"], whole["note"]) == ("uniform_1000_e5", "")
    assert f"1000 nt e = 2 %, {told})" in Path(f"{out}.md").read_text()
    assert fast(make(marked))["gcups_end_to_end"]["note"] == told


def test_a_higher_rate_that_is_not_shown_for_its_doubts_has_a_note(make):
    stale = [race("uniform_1000_e2", 0.0125, quantity=quantity, stale=True)
             for quantity in ("time_end_to_end_pinned", "time_kernel")]  # fmt: skip
    fresh = [race("uniform_1000_e5", 0.02), race("uniform_1000_e5", 0.001, quantity="time_kernel")]
    told = (
        "Higher, but not shown for their doubts: wavebench, fast design (GPU), full alignment, on h200-16c: "
        "800 end to end (1000 nt e = 2 %, stale).\n"
    )
    assert told in Path(f"{make(*stale, *fresh)}.md").read_text()
    for alone in (stale, fresh):
        assert "Higher" not in Path(f"{make(*alone)}.md").read_text()


def test_a_cpu_tool_has_the_best_of_its_threads_and_no_kernel_rate(make):
    one = {"tool": "wavebench-bpm", "variant": "cpu", "gpu": "", "quantity": "time_end_to_end"}
    out = make(race("uniform_1000_e2", 2.0, **one), race("uniform_1000_e2", 0.5, threads=16, **one))
    found = rates(out, host="h200-16c", tool="wavebench-bpm", scope="cigar")
    assert set(found) == {"gcups_end_to_end"} and found["gcups_end_to_end"]["threads"] == "16"
    assert "20.0 · 1000 nt e = 2 %, 10K pairs, threads 16 (all)" in Path(f"{out}.md").read_text()


def test_peers_are_left_to_table_1_and_what_is_missing_says_why(make):
    out = make(measurement())
    assert {r["tool"] for r in read_csv(f"{out}.csv") if r["source"] == "here"} == {
        "wavebench-auto", "wavebench-wfa", "wavebench-bits", "wavebench-bpm", "wavebench-ond", "wavebench-edit"
    }  # fmt: skip
    rows = rates(out, source="here", tool="wavebench-edit", variant="fast", scope="score")
    assert {row["status"] for row in rows.values()} == {"no GPU: not measured on a host without one"}


def test_ours_without_a_rate_share_a_line_for_each_host_and_reason(make):
    lines = Path(f"{make(race('uniform_1000_e5', 0.02))}.md").read_text().splitlines()
    no_gpu = [line for line in lines if "| this host |" in line and line.startswith("| GPU |")]
    assert len(no_gpu) == 1 and "| distance only, full alignment |" in no_gpu[0]
    assert "| wavebench, eWFA-GPU's design (GPU), wavebench, fast design (GPU) |" in no_gpu[0]
    recorded = [line for line in lines if "h200-16c" in line and line.startswith("| GPU |")]
    assert len(recorded) == 2 and "1000 nt e = 5 %" in recorded[0] and "fast design" in recorded[0]
    assert "eWFA-GPU's design" in recorded[1] and "not recorded" in recorded[1]


def test_the_tidy_file(make):
    rows = read_csv(f"{make(race('uniform_1000_e2', 0.01))}.tidy.csv")
    assert list(rows[0]) == TIDY_COLUMNS and {row["unit"] for row in rows} == {"GCUPS"}
    assert all(bool(row["value"]) == (row["status"] == "ok") for row in rows)
    (ours,) = [r for r in rows if r["source"] == "recorded" and r["status"] == "ok"]
    assert (ours["value"], ours["dataset"], ours["metric"], ours["rounds"]) == ("1000", "uniform_1000_e2", "edit", "8")
