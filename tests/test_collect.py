"""Collecting race files: one row a cell, all columns always, one message for a file that cannot be read."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.synthetic import CURRENT, race_rows
from workflow.race import provenance, samples
from workflow.scripts import ratios, stale
from workflow.scripts.collect import collect
from workflow.scripts.stale import current_hashes, is_stale
from workflow.scripts.tables import thesis_tab7
from workflow.scripts.verify_ledger import ledger

ROOT = Path(__file__).resolve().parents[1]
NOW = provenance.conditions() | {"procedure": 3, "seed": 1}
GPU = {"name": "Some GPU", "driver": "1.0"}


def write_race(folder, experiment, dataset="uniform_150_e5", changes=None, **card):
    """A race file of one tool and its twin under folder/lane/host/experiment."""
    seconds = {("edlib", "", 1): 1.0}
    changes = {"experiment": experiment} | (changes or {})
    rows = race_rows(dataset, seconds, **changes) + race_rows(dataset, seconds, **changes, twin=True)
    path = folder / "kick/here" / experiment / f"{dataset}.parquet"
    samples.write(path, rows, {"valid": True, **card})
    return path


def run(module, *arguments):
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_one_experiment_or_all(tmp_path):
    for name in ("thesis_tab1", "thesis_tab8"):
        write_race(tmp_path, name)
    write_race(tmp_path / "recorded", "thesis_tab8", changes={"time_utc": "2026-11-22T00:00:00+00:00"})
    assert set(collect(tmp_path, tmp_path / "none")["experiment"]) == {"thesis_tab1", "thesis_tab8"}
    one = collect(tmp_path, tmp_path / "recorded", "thesis_tab8", host="some-cpu-2c")
    assert set(one["experiment"]) == {"thesis_tab8"}
    assert one["source"].tolist() == ["here"] * 2 + ["recorded"] * 2
    assert one["main"].tolist() == [True, False] * 2
    assert (one["rounds"] == 8).all()


def test_only_the_machine_at_hand_is_here(tmp_path):
    write_race(tmp_path, "thesis_tab1")
    write_race(tmp_path / "recorded", "thesis_tab1")
    own = collect(tmp_path, tmp_path / "none", host="some-cpu-2c")
    assert set(own["source"]) == {"here"}
    for host, source in (("some-cpu-2c", "here"), ("another", "recorded")):
        both = collect(tmp_path, tmp_path / "recorded", host=host)
        assert set(both["source"]) == {source}
        assert len(both) == len(own)  # the same race in both folders counts once


@pytest.mark.parametrize(("valid", "low", "even"), [(True, 0.99, True), (True, 0.8, False), (False, 0.99, False)])
def test_what_twins_and_canary_say_of_a_race_is_collected(tmp_path, valid, low, even):
    twins = {"edlib cigar": {"ratio": 1.0, "low": low, "high": 1.01, "even": valid}}
    write_race(tmp_path, "thesis_tab1", valid=valid, twins=twins, canary={"drift": 0.3})
    found = collect(tmp_path, tmp_path / "none")
    told = [set(found[name]) for name in ("race_valid", "race_even", "canary_drift")]
    assert told == [{valid}, {even}, {0.3}]


def test_a_cell_has_the_median_of_its_rounds_with_its_interval_and_what_its_first_row_tells(tmp_path):
    rows = race_rows("uniform_150_e5", {("edlib", "", 1): 1.0}, rounds=7)
    rows = [row | {"value_s": row["round"] ** 2, "failing_pairs": None} for row in rows]
    rows[0]["failing_pairs"] = '[[3, "why"]]'
    samples.write(tmp_path / "kick/here/thesis_tab1/uniform_150_e5.parquet", rows, {"valid": True})
    (cell,) = collect(tmp_path, tmp_path / "none").to_dict("records")
    assert [cell[name] for name in ("rounds", "ci_low_s", "median_s", "ci_high_s")] == [7, 1, 16, 49]
    assert cell["failing_pairs"] == '[[3, "why"]]'


@pytest.mark.parametrize(("rerun", "told"), [(True, ""), (False, ", no time to race once more")])
def test_uneven_twins_are_named_and_even_ones_are_not(tmp_path, rerun, told):
    twins = {name: {"ratio": 1.08, "low": 1.0, "high": 1.1, "even": name == "b"} for name in "ab"}
    write_race(tmp_path, "thesis_tab1", valid=False, twins=twins, rerun=rerun, procedure=provenance.PROCEDURE, seed=1)
    assert set(collect(tmp_path, tmp_path / "none")["race_note"]) == {f"twins uneven (a: ratio 1.080){told}"}


def test_the_cell_of_most_pairs_is_the_main_one(tmp_path):
    seconds = {("edlib", "", 1): 1.0, ("edlib", "", 2): 1.0}
    rows = [row for n in (250, 1000) for row in race_rows("nanopore", seconds, pairs=n)]
    rows += race_rows("nanopore", {("edlib", "", 4): 1.0}, pairs=250)
    samples.write(tmp_path / "kick/here/thesis_tab9/nanopore.parquet", rows, {"valid": True})
    found = collect(tmp_path, tmp_path / "none")
    main = found[found["main"]]
    assert set(zip(main["threads"], main["pairs"], strict=True)) == {(1, 1000), (2, 1000), (4, 250)}


@pytest.mark.parametrize(("hash_", "stale"), [(CURRENT["edlib", ""], False), ("old", True)])
def test_other_sources_are_stale_in_tables_and_in_ratios_alike(tmp_path, hash_, stale):
    path = write_race(tmp_path, "thesis_tab1", changes={"tool_source_hash": hash_})
    assert set(collect(tmp_path, tmp_path / "none")["stale"]) == {stale}
    assert bool(ratios.read([path])[0].stale) == stale


def test_samples_of_a_tool_that_is_gone_are_stale():
    assert is_stale({"tool": "gone", "variant": "", "tool_source_hash": "any"}, current_hashes())


def test_the_digest_of_the_tools_tells_other_sources(monkeypatch):
    digests = []
    for hashes in ({"a": "1", "b": "2"}, {"b": "2", "a": "1"}, {"a": "1", "b": "3"}, {"a": "1"}):
        monkeypatch.setattr(stale, "current_hashes", lambda hashes=hashes: hashes)
        digests.append(stale.current_digest())
    assert digests[0] == digests[1] and len(set(digests)) == 3


@pytest.mark.parametrize(
    ("card", "told"),
    [
        (NOW, ""),
        ({"procedure": 3, "seed": 1}, ""),  # of the time before cards told the bounds of memory
        ({"procedure": 2, "seed": 1}, "older way of measuring (procedure 2, now 3)"),
        ({"procedure": 2}, "older way of measuring (procedure 2, now 3; the order of its rounds is not recorded)"),
        ({}, "older way of measuring (procedure not recorded, now 3; the order of its rounds is not recorded)"),
        (NOW | {"working_memory_bytes": 5}, "older way of measuring (working memory bytes 5, now 1073741824)"),
    ],
)
def test_races_of_another_procedure_are_marked_in_tables_and_in_ratios_alike(tmp_path, monkeypatch, card, told):
    monkeypatch.setattr(provenance, "PROCEDURE", 3)
    path = write_race(tmp_path, "thesis_tab1", **card)
    found = collect(tmp_path, tmp_path / "none")
    assert set(found["older_way"]) == {bool(told)} and set(found["race_valid"]) == {True}
    assert set(found["race_note"]) == {told}
    assert ratios.read([path])[0].older == bool(told)


@pytest.mark.parametrize(("ran", "told"), [(0.1, ""), (0.0125, "slices of 0.0125 s, not the lane's 0.1 s")])
def test_shortened_slices_are_told(tmp_path, ran, told):
    card = NOW | {"round_seconds": {"cpu": ran, "cuda": 4}, "plan": {"round_seconds": "0.1", "gpu_round_seconds": "4"}}
    write_race(tmp_path, "thesis_tab1", **card)
    (note,) = set(collect(tmp_path, tmp_path / "none")["slices_note"])
    assert told in note and bool(told) == bool(note)


@pytest.mark.parametrize(
    ("lane_s", "told"), [(0.06, ""), (0.1, ""), (2, "slices of 0.1 s, their lane's then, which has 2 s now")]
)
def test_slices_of_a_lane_that_gives_more_since_are_told(tmp_path, monkeypatch, lane_s, told):
    monkeypatch.setattr("workflow.scripts.collect.LANES", tmp_path / "lanes")
    (tmp_path / "lanes").mkdir()
    (tmp_path / "lanes/kick.yaml").write_text(f"name: kick\nround_seconds: {lane_s}\n")
    write_race(tmp_path, "thesis_tab1", **NOW, round_seconds={"cpu": 0.1}, plan={"round_seconds": "0.1"})
    (note,) = set(collect(tmp_path, tmp_path / "none")["slices_note"])
    assert told in note and bool(told) == bool(note)


@pytest.mark.parametrize("later", [0, 1])
def test_recorded_races_of_an_older_procedure_are_marked(monkeypatch, later):
    monkeypatch.setattr(provenance, "PROCEDURE", provenance.PROCEDURE + later)
    found = collect(ROOT / "none", ROOT / "results/recorded", "thesis_tab1")
    cards = {path: samples.read(path)[1] for path in set(found["path"])}
    older = {path for path, card in cards.items() if card.get("procedure") != provenance.PROCEDURE}
    assert cards and (older == set(cards) or not later)
    assert set(found.loc[found["older_way"], "path"]) == older


@pytest.mark.parametrize(
    ("card", "machine", "gpu"),
    [
        ({"host_card": {"machine": "5e1f0a77", "gpus": [GPU, {"name": "B"}]}}, "5e1f0a77", "Some GPU"),
        ({"host_card": {"machine": None, "gpus": []}}, "", ""),
        ({}, "", ""),
    ],
)
def test_the_machine_and_the_gpu_of_the_host(tmp_path, card, machine, gpu):
    write_race(tmp_path, "thesis_tab1", **card)
    found = collect(tmp_path, tmp_path / "none")
    assert set(found["machine"]) == {machine} and set(found["gpu"]) == {gpu}


def test_without_a_race_the_ledger_is_empty():
    told = ledger([])
    assert told.empty and {"tool", "recall_native", "broken"} <= set(told)


def test_a_reason_of_several_lines_is_one(tmp_path):
    write_race(tmp_path, "thesis_tab1", changes={"status": "crashed", "reason": "RuntimeError: a\n  b\n"})
    assert set(collect(tmp_path, tmp_path / "none")["reason"]) == {"RuntimeError: a b"}


@pytest.mark.parametrize(
    ("pairs", "card", "told"),
    [(50_000, {}, 50_000 * 22_500.0), (20_000, {"data": {"cells": 7.0}}, 7.0), (20_000, {}, None)],
)
def test_the_cells_of_a_data_set_are_collected_and_null_where_not_known(tmp_path, pairs, card, told):
    write_race(tmp_path, "thesis_tab1", changes={"pairs": pairs, "cells": pairs * 22_500.0}, **card)
    out = tmp_path / "collected.parquet"
    done = run("workflow.scripts.collect", "--samples", tmp_path, "--recorded", tmp_path / "none", "--out", out)
    assert done.returncode == 0, done.stderr
    assert pq.read_table(out)["data_cells"].to_pylist() == [told] * 2


def test_no_races_have_every_column(tmp_path):
    write_race(tmp_path / "some", "thesis_tab1")
    some = collect(tmp_path / "some", tmp_path / "none")
    out = tmp_path / "collected/empty.parquet"
    done = run("workflow.scripts.collect", "--samples", tmp_path, "--recorded", tmp_path / "none", "--out", out)
    assert done.returncode == 0, done.stderr
    empty = pd.read_parquet(out)
    assert empty.empty
    assert list(empty.columns) == list(some.columns)


@pytest.mark.parametrize("content", [b"not Parquet", b"", None])
def test_a_bad_file_is_one_message_that_names_it(tmp_path, content):
    bad = write_race(tmp_path, "thesis_tab1")
    if content is None:
        pd.DataFrame({"tool": ["edlib"]}).to_parquet(bad)
    else:
        bad.write_bytes(content)
    out = tmp_path / "out"
    for done in (
        run("workflow.scripts.collect", "--samples", tmp_path, "--recorded", tmp_path / "none", "--out", out),
        run("workflow.scripts.verify_ledger", "--races", bad, "--out", out),
    ):
        assert done.returncode == 2
        assert done.stderr.startswith(f"error: {bad}: ")
        assert len(done.stderr.splitlines()) == 1
        assert not out.exists()


def test_a_race_file_without_rows_is_named_by_all_who_read_it(tmp_path):
    path = tmp_path / "kick/here/thesis_tab9/nanopore.parquet"
    samples.write(path, [], {"data": {"model": "nanopore", "pairs": 2}})
    for read in (lambda: collect(tmp_path, tmp_path / "none"), lambda: ratios.read([path]),
                 lambda: ledger([path]), lambda: thesis_tab7.recorded_rows([path])):  # fmt: skip
        with pytest.raises(samples.SamplesError, match=f"^{path}: a race file without rows$"):
            read()


@pytest.mark.parametrize("name", ["folder", "file/out"])
def test_an_output_that_cannot_be_written_is_one_message(tmp_path, name):
    race = write_race(tmp_path, "thesis_tab1")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    out = tmp_path / name
    for done in (
        run("workflow.scripts.collect", "--samples", tmp_path, "--recorded", tmp_path / "none", "--out", out),
        run("workflow.scripts.verify_ledger", "--races", race, "--out", out),
    ):
        assert done.returncode == 2
        assert done.stderr.startswith(f"error: {out}: cannot be written (") and len(done.stderr.splitlines()) == 1


def test_the_ledger_has_a_line_for_each_kind_of_memory_and_none_for_a_further_time_of_a_run(tmp_path):
    def cell(quantity, **changes):
        return race_rows("uniform_150_e5", {("wavebench-edit", "fast", 1): 1.0}, quantity=quantity, **changes)

    failing = '[[7, "score"]]'
    rows = [*cell("time_end_to_end_pinned"), *cell("time_kernel", failing_pairs=None)]
    rows += cell("time_end_to_end_pageable", recall_native=0.5, failing_pairs=failing)
    rows += cell("time_end_to_end_packed", rounds=1, status="crashed", failing_pairs=None, recall_native=None)
    samples.write(tmp_path / "r.parquet", rows, {})
    found = ledger([tmp_path / "r.parquet"])
    assert found["quantity"].str.removeprefix("time_end_to_end_").tolist() == ["pageable", "pinned", "packed"]
    assert found["broken"].tolist() == [True, False, False]
    assert found["failing_pairs"].iloc[0] == failing


def test_the_ledger_has_a_line_for_each_number_of_threads(tmp_path):
    rows = race_rows("uniform_150_e5", {("edlib", "", threads): 1.0 for threads in (1, 4)})
    samples.write(tmp_path / "r.parquet", rows, {})
    assert ledger([tmp_path / "r.parquet"])["threads"].tolist() == [1, 4]


def test_data_sets_of_the_same_content_are_races_of_their_own(tmp_path):
    names = ("uniform_150_e5", "real_alike")
    paths = [write_race(tmp_path, "thesis_tab1", dataset=name) for name in names]
    assert ledger([*paths, paths[0]])["dataset"].tolist() == sorted(names)
    out = tmp_path / "collected.parquet"
    done = run("workflow.scripts.collect", "--samples", tmp_path, "--recorded", tmp_path / "none", "--out", out)
    assert done.stderr == "2 races, 4 cells\n"


def test_the_ledger_holds_each_cell_once_and_blames_no_heuristic_for_missed_optima(tmp_path):
    def cell(**changes):
        return race_rows("uniform_150_e5", {("edlib", "", 1): 1.0}, **changes)

    rows = [*cell(twin=True, recall_native=0.1), *cell(), *cell(pairs=10, recall_native=0.5)]
    rows += cell(scope="score", exact=False, recall_native=0.5)
    rows += cell(scope="score", exact=False, recall_native=0.5, pairs=10, failing_pairs='[[3, "score 1, exact 2"]]')
    samples.write(tmp_path / "r.parquet", rows, {})
    found = ledger([tmp_path / "r.parquet"])
    assert list(zip(found["scope"], found["pairs"], found["recall_native"], found["broken"], strict=True)) == [
        ("cigar", 10, 0.5, True), ("score", 10, 0.5, True), ("cigar", 20_000, 1, False), ("score", 20_000, 0.5, False),
    ]  # fmt: skip


def test_the_ledger_says_how_many_answers_were_verified_and_cells_wrong(tmp_path):
    def cell(threads, **changes):
        return race_rows("uniform_150_e5", {("edlib", "", threads): 1.0}, **changes)

    crashed = cell(4, status="crashed", verified=None, recall_native=None, failing_pairs=None)
    rows = [*cell(1, verified=100), *cell(2, verified=7, recall_native=0.5), *crashed]
    samples.write(tmp_path / "r.parquet", rows, {})
    done = run("workflow.scripts.verify_ledger", "--races", tmp_path / "r.parquet", "--out", tmp_path / "new/out.csv")
    assert (done.returncode, done.stderr) == (0, "3 cells, 107 answers verified, 1 cells with wrong answers\n")
    told = pd.read_csv(tmp_path / "new/out.csv")
    assert list(told.columns) == list(ledger([]).columns) and told["threads"].tolist() == [2, 1, 4]
