"""What tables say of their cells in files for machines, and in the details below: as promised, nothing left out."""

from pathlib import Path

import pandas as pd
import pytest

from tests.synthetic import measurement
from tests.tables import cells, drawer, lambda_reads, read_csv
from workflow.scripts import papers

TIDY = [
    "table", "tool", "variant", "threads", "host", "source", "lane", "dataset", "length_bp", "error", "pairs", "scope",
    "metric", "penalties", "input", "quantity", "unit", "value", "ci_low", "ci_high", "rounds", "recall_native",
    "coverage", "status", "commit", "note",
]  # fmt: skip


@pytest.fixture
def make(tmp_path):
    """make(table, rows) draws up a table from collected rows and gives the path without suffix."""
    return drawer(tmp_path)


def test_tidy_columns_and_values(make):
    out = make("thesis_tab1", [measurement(tool="wavebench-wfa", variant="cpu", median_s=0.5, pairs=20_000)])
    rows = read_csv(f"{out}.tidy.csv")
    assert list(rows[0]) == TIDY
    ours = {r["quantity"]: r for r in rows if r["tool"] == "wavebench-wfa" and r["status"] == "ok"}
    time = ours["time_end_to_end"]
    assert (time["value"], time["unit"], time["pairs"], time["rounds"]) == ("0.5", "s", "20000", "8")
    assert (time["ci_low"], time["ci_high"], time["error"], time["length_bp"]) == ("0.498", "0.503", "0.05", "150")
    assert (time["variant"], time["scope"], time["metric"], time["input"]) == ("cpu", "cigar", "edit", "ascii")
    assert float(ours["gcups_end_to_end"]["ci_low"]) < float(ours["gcups_end_to_end"]["value"])
    assert ours["recall_native"]["value"] == "1" and ours["coverage"]["value"] == "1"
    assert {r["source"] for r in rows} == {"paper", "here"}
    assert all(r["status"] for r in rows)
    assert all(r["value"] for r in rows if r["status"] == "ok")


def test_tidy_holds_each_paper_value_once_in_seconds(make):
    rows = [r for r in read_csv(f"{make('thesis_tab8', [])}.tidy.csv") if r["source"] == "paper"]
    times = [r for r in rows if r["quantity"].startswith("time_")]
    assert len(times) == 13 * 9 and len(rows) == 234
    assert {r["unit"] for r in times} == {"s"}
    wfa = [r for r in rows if r["tool"] == "WFA (CPU)" and r["dataset"] == "uniform_150_e2"]
    assert [(r["quantity"], r["value"], r["pairs"]) for r in wfa] == [
        ("time_end_to_end", "20", "100000000"),
        ("recall_affine", "1", "100000000"),
    ]
    adept = [r for r in rows if r["tool"] == "ADEPT (GPU)" and r["dataset"] == "uniform_150_e2"]
    assert [(r["value"], r["status"]) for r in adept] == [("161", "ok"), ("", "n/c: not comparable")]


@pytest.mark.parametrize("table", ["thesis_tab1", "thesis_tab8", "thesis_tab9"])
def test_a_program_reads_a_status_in_every_tidy_row(make, table):
    rows = pd.read_csv(f"{make(table, [])}.tidy.csv")
    assert rows["status"].notna().all()
    wordless = rows[(rows["source"] == "paper") & rows["value"].isna() & (rows["quantity"] == "recall_affine")]
    assert set(wordless["status"]) <= {f"{word}: {meaning}" for word, meaning in papers.WORDS.items()}


def test_tidy_holds_a_gpus_peak_memory(make):
    ours = {"tool": "wavebench-edit", "variant": "fast", "gpu": "Some GPU", "quantity": "time_end_to_end_pinned"}
    peaks = {"peak_pinned_bytes": 2_000_000, "peak_device_bytes": 3_000_000}
    rows = read_csv(f"{make('thesis_tab1', [measurement(**ours, **peaks), measurement()])}.tidy.csv")
    told = {(r["tool"], r["quantity"]): (r["value"], r["unit"]) for r in rows if r["quantity"].startswith("peak_")}
    assert told["wavebench-edit", "peak_pinned"] == ("2000000", "bytes")
    assert told["wavebench-edit", "peak_device"] == ("3000000", "bytes")
    assert {quantity for tool, quantity in told if tool == "edlib"} == {"peak_rss"}


def test_files_and_details_tell_the_memory_of_a_gpus_times(make):
    ours = {"tool": "wavebench-edit", "variant": "fast", "gpu": "Some GPU"}
    pinned = measurement(quantity="time_end_to_end_pinned", median_s=0.02, rounds=8, **ours)
    pageable = measurement(quantity="time_end_to_end_pageable", median_s=0.03, rounds=7, **ours)
    out = make("thesis_tab1", [pinned, pageable, measurement()])
    told = {row["quantity"] for row in cells(out, source="here", status="ok")}
    assert told == {"time_end_to_end_pinned", "time_end_to_end"}
    assert {row["quantity"] for row in cells(out, source="paper")} == {""}
    head, *rows = [line.strip("| ").split(" | ") for line in Path(f"{out}.md").read_text().splitlines()
                   if line.startswith(("| Block |", "| Full alignment, "))]  # fmt: skip
    shown = [dict(zip(head, row, strict=True)) for row in rows]
    assert {(row["Memory"], row["Time of n pairs"], row["Rounds"]) for row in shown} == {
        ("page-locked", "0.0200 s", "8"), ("pageable", "0.0300 s", "7"), ("–", "0.500 s", "8")
    }  # fmt: skip
    assert Path(f"{out}.html").read_text().count("<td>pageable</td>") == 1
    (alone,) = cells(make("thesis_tab1", [pageable]), source="here", status="ok")
    assert alone["quantity"] == "time_end_to_end_pageable"


def test_details_tell_what_was_measured_of_a_cell(make):
    own = {"experiment": "thesis_tab8", "tool": "ksw2", "recall_native": 0.75, "recall_affine": 0.5, "coverage": 0.995}
    out = make("thesis_tab8", [measurement(**own, ci_low_s=0.4, ci_high_s=0.7), measurement(experiment="thesis_tab8")])
    head, *rows = [line.strip("| ").split(" | ") for line in Path(f"{out}.md").read_text().splitlines()
                   if line.startswith("| Block |") or "| uniform_150_e5 |" in line]  # fmt: skip
    of = {row[1]: dict(zip(head, row, strict=True)) for row in rows}
    told, whole = of["ksw2"], of["edlib"]
    assert (told["95 % interval"], told["n of N pairs"]) == ("0.4000 – 0.7000 s", "20000 of 100000000")
    recalls = [told[name] for name in ("Recall native", "Recall affine", "Coverage")]
    assert recalls == ["75 %", "50 %", "99.5 %"] and whole["Recall affine"] == "–"
    assert (told["Marks"], whole["Marks"]) == ("recall 75 %, coverage 99.5 %", "–")
    assert (told["GCUPS end to end"], whole["GCUPS end to end"]) == ("–", "0.900")


def test_files_for_machines_tell_the_doubts_and_recalls_of_a_measurement(make):
    doubtful = {"stale": True, "race_valid": False, "refused": '{"over_limit": 100}', "coverage": 0.995}
    affine = {"experiment": "thesis_tab8", "tool": "ksw2", "recall_native": 1.0}
    rows = [measurement(**affine, **doubtful, recall_affine=0.5), measurement(**affine, dataset="uniform_1000_e5")]
    out = make("thesis_tab8", rows)
    of = {row["dataset"]: row for row in cells(out, tool="ksw2", source="here", scope="cigar", status="ok")}
    names = ("stale", "race_valid", "refused", "recall_affine")
    assert [of["uniform_150_e5"][name] for name in names] == ["true", "false", '{"over_limit": 100}', "0.5"]
    assert [of["uniform_1000_e5"][name] for name in names] == ["false", "true", "{}", ""]
    tidy = [row for row in read_csv(f"{out}.tidy.csv") if row["quantity"] == "recall_affine" and row["tool"] == "ksw2"]
    assert [row["value"] for row in tidy if row["source"] == "here"] == ["0.5"]
    (edlib,) = cells(out, source="paper", row="Edlib (edit distance)", dataset="uniform_150_e5", scope="cigar")
    assert edlib["recall_affine"] == "0.696"


def test_a_papers_value_stands_once_in_files_for_machines_where_two_data_sets_share_its_column(make, tmp_path):
    stand_in = measurement(experiment="thesis_tab9", dataset="nanopore", dataset_model="nanopore")
    out = make("thesis_tab9", [stand_in], real_data=lambda_reads(tmp_path), unmapped="no mappy")
    wfa = cells(out, source="paper", row="WFA (WFA2-lib)")
    assert len({row["dataset"] for row in cells(out, source="here")} & {"nanopore", "real_lambda"}) == 2
    assert [row["time_s"] for row in wfa if row["dataset"] == "nanopore"] == ["17350"]
