"""The race: what it measures, whom it believes, what it survives."""

import json
import re
import time
from types import SimpleNamespace

import numpy as np
import pytest

from tests.peak_memory import needs_peaks
from wfa_kernels import PairBatch
from workflow.race import bundle, conductor, oracle, planning, prepared, provenance, samples
from workflow.race import race as one_race
from workflow.race.cells import Key, round_order
from workflow.race.data_card import data_card


def cell(frame, tool, scope, twin=False):
    """Rows of one tool's own cell, its largest subset."""
    rows = frame[(frame["tool"] == tool) & (frame["scope"] == scope) & (frame["twin"] == twin)]
    return rows[rows["pairs"] == rows["pairs"].max()]


def test_honest_tool_is_timed_verified_and_believed(arena):
    frame, card, lines = arena(["honest"])
    assert any(re.search(r"; all answers right; \d+ s", line) for line in lines)
    assert card["seconds"].keys() == {"opening", "starting workers", "sizes", "exact scores", "rounds on cpu"}
    for phase in ("sizes", "rounds on cpu"):
        parts = dict(card["seconds"][phase])
        in_all = parts.pop("in all")
        assert parts["timed runs"] > 0 and 0 < sum(parts.values()) < in_all + 0.1
    assert "first calls" in card["seconds"]["sizes"] and "hashing" in card["seconds"]["rounds on cpu"]
    (phases,) = card["seconds_of_tools"].values()
    for phase, parts in phases.items():
        assert all(seconds <= card["seconds"][phase][what] for what, seconds in parts.items())
    assert phases["rounds on cpu"]["timed runs"] == card["seconds"]["rounds on cpu"]["timed runs"]
    rows = cell(frame, "honest", "cigar")
    assert len(rows) >= 5 and rows["value_s"].between(0.004, 0.2).all()
    assert (rows["recall_native"] == 1).all() and (rows["coverage"] == 1).all() and (rows["verified"] == 40).all()
    assert rows["round"].tolist() == list(range(1, len(rows) + 1))
    assert card["valid"] and card["twins"]["honest cigar"]["even"]
    assert rows["host"].unique().tolist() == ["testhost"] and rows["metric"].unique().tolist() == ["edit"]


def test_an_experiment_may_take_the_first_pairs_only(arena, tmp_path):
    frame, _, _ = arena(["honest"], scopes=["score"], besides={"most_pairs": 7})
    assert set(frame["pairs_total"]) == {7} and frame["pairs"].max() == 7
    assert set(frame["dataset_hash"]) == {PairBatch.from_arrow(tmp_path / "data" / "small.arrow")[:7].content_hash()}
    for wrong in (0, 1.5, True):
        with pytest.raises(planning.EngineError, match=r"key 'most_pairs' must be a whole number >= 1, not"):
            arena(["honest"], besides={"most_pairs": wrong})


def test_lying_tools_are_caught(arena):
    frame, _, lines = arena(["honest", "liar", "forger", "fickle"])
    assert any("with wrong answers" in line for line in lines) and not any("answers right" in line for line in lines)
    liar = cell(frame, "liar", "score").iloc[0]
    assert liar["recall_native"] == pytest.approx(39 / 40)
    assert json.loads(liar["failing_pairs"])[0][0] == 2 and "exact" in json.loads(liar["failing_pairs"])[0][1]
    assert cell(frame, "forger", "score").iloc[0]["recall_native"] == 1
    assert cell(frame, "forger", "cigar").iloc[0]["recall_native"] == 0
    assert cell(frame, "fickle", "score").iloc[0]["recall_native"] == 0


def test_answers_of_every_shard_are_verified(arena):
    """Each lies about the third of its pairs."""
    frame, _, _ = arena(["honest", "liar"], scopes=["score"], threads=(1, "all"))
    row = cell(frame[frame["threads"] == 2], "liar", "score").iloc[0]
    assert (row["verified"], row["recall_native"]) == (40, pytest.approx(38 / 40))
    first, second = (number for number, _ in json.loads(row["failing_pairs"]))
    assert first == 2 and second > 10


def test_uneven_twin_is_raced_again_and_marked(arena):
    frame, card, lines = arena(["honest"], twin="uneven", scopes=["score"])
    assert not card["valid"] and card["rerun"]
    assert frame["round"].max() == card["rounds"]["cpu"] >= 10, "the first try's times are dropped"
    assert card["twins"]["uneven score"]["ratio"] > 2
    assert any("double rounds" in line for line in lines)


@pytest.mark.slow
def test_a_second_try_does_not_pass_the_time_of_a_step(arena, monkeypatch):
    uneven = {"ratio": 1.5, "low": 1.4, "high": 1.6, "even": False}
    monkeypatch.setattr(one_race.statistics, "twin_verdict", lambda *times: uneven)
    monkeypatch.setattr(one_race.Race, "_settled", lambda race, keys: True)
    monkeypatch.setattr(one_race, "STEP_SECONDS", 0.001)
    frame, card, lines = arena(["honest"], scopes=["score"])
    assert not card["valid"] and not card["rerun"] and card["rounds"] == {"cpu": 5}
    assert any("no time is left to race once more" in line for line in lines)
    assert (frame["round"] > 0).all() and frame["value_s"].notna().all()
    monkeypatch.setattr(one_race, "STEP_SECONDS", 450)
    monkeypatch.setattr(one_race.Race, "rounds_left", lambda race: 7)
    _, card, _ = arena(["honest", "score-only"], scopes=["score"])
    assert card["rerun"] and card["rounds"] == {"cpu": 7}, "double rounds are 10, of which 7 fit"


@pytest.mark.slow
def test_a_tool_that_does_not_start_is_waited_for_once(arena, tmp_path, monkeypatch):
    monkeypatch.setattr(conductor, "PATIENCE_S", 8)
    frame, _, _ = arena(["honest", "stuck"], threads=(1, "all"))
    rows = frame[frame["tool"] == "stuck"]
    assert len(rows) == 4 and (rows["status"] == "timeout").all()
    assert len(set((tmp_path / "stuck").read_text().split())) == 1


def test_a_tool_that_hangs_in_its_first_call_has_the_lanes_time(arena):
    frame, _, _ = arena(["honest", "stuck"], scopes=["score"], timeout=3)
    (row,) = cell(frame, "stuck", "score").to_dict("records")
    assert row["status"] == "timeout" and "within 3 s" in row["reason"]


def test_each_block_and_all_cores_have_a_twin(arena):
    tools = ["honest", "absent-on-gpu", "on-gpu:b", "on-gpu"]
    frame, card, _ = arena(tools, threads=(1, "all"))
    assert set(card["twins"]) == {
        "honest score", "honest cigar", "honest cigar, 2 threads", "on-gpu:b score", "on-gpu:b cigar",
    }  # fmt: skip
    assert (frame["status"].isin(["ok", "not_installed"])).all()
    assert (frame.loc[frame["twin"], "recall_native"] == 1).all()
    columns = ["tool", "variant", "scope", "threads", "pairs"]
    own, twins = ({*frame.loc[frame["twin"] == twin, columns].itertuples(index=False)} for twin in (False, True))
    assert len(twins) == 5 and twins <= own


def test_a_gpu_tools_twin_shares_its_process(arena, tmp_path):
    """Its letters are page-locked once."""
    arena(["honest", "on-gpu", "on-gpu:b"])
    runs = [line.split() for line in (tmp_path / "threads").read_text().splitlines()]
    processes = {tool: {process for name, process, *_ in runs if name == tool} for tool in ("honest", "on-gpu")}
    assert len(processes["honest"]) == 2 and len(processes["on-gpu"]) == 2  # twins; variants


def test_tools_that_share_a_process_run_in_one(arena, tmp_path):
    frame, _, _ = arena(["honest", "lodger", "sublodger"])
    runs = [line.split() for line in (tmp_path / "threads").read_text().splitlines()]
    processes = {tool: {process for name, process, *_ in runs if name == tool} for tool in ("lodger", "sublodger")}
    assert processes["lodger"] == processes["sublodger"] and len(processes["lodger"]) == 1
    assert (frame["status"] == "ok").all() and (frame["recall_native"] == 1).all()


def test_tools_go_on_where_another_one_ends_their_process(arena):
    frame, _, _ = arena(["honest", "lodger", "vandal", "sublodger"], scopes=["score"])
    by_tool = frame.groupby("tool")
    assert set(by_tool.get_group("vandal")["status"]) == {"crashed"}
    for tool in ("lodger", "sublodger"):
        rows = by_tool.get_group(tool)
        assert (rows["status"] == "ok").all() and (rows["recall_native"] == 1).all() and rows["round"].max() >= 5


def test_the_same_letters_told_of_otherwise_are_another_race(arena):
    """Of mapped reads whose technology or files were corrected: samples keep what they are of."""
    path = arena.folder / "data/small.arrow"
    pairs = PairBatch.from_arrow(path)
    for model, source in (("nanopore", "a.fq"), ("pacbio_clr", "a.fq"), ("pacbio_clr", "b.fq")):
        told = {"model": model, "source": source}
        PairBatch(pairs.pattern, pairs.pattern_offsets, pairs.text, pairs.text_offsets, told).to_arrow(path)
        for again in (False, True):
            frame, card, lines = arena(["honest"], scopes=["score"])
            assert set(frame["dataset_model"]) == {model} and card["data"]["source"] == source
            assert any("taken from the store" in line for line in lines) == again


def test_a_data_set_that_does_not_fit_the_memory_is_told(arena, monkeypatch):
    def told(**asked):
        _, _, lines = arena(["honest"], scopes=["score"], race_seconds=1, **asked)
        return [line for line in lines if "of memory" in line]

    assert told() == []
    monkeypatch.setattr(one_race, "data_bytes", lambda pairs: 7 << 50)
    (line,) = told(timeout=19)  # another plan: the first race is not taken from the store
    assert line.startswith(f"  by estimate {7 << 20} GiB of memory are needed for this data set, and here are ")


def test_long_phases_are_told_when_they_end(arena, monkeypatch):
    monkeypatch.setattr(conductor, "LONG_S", 0)
    _, _, lines = arena(["honest", "on-gpu"], scopes=["score"], race_seconds=1)
    told = [re.sub(r"\d+ s$", "", line) for line in lines[1:] if re.fullmatch(r"  [a-z ]+: \d+ s", line)]
    expected = ("starting workers", "sizes", "exact scores", "rounds on cpu", "rounds on cuda")
    assert told[:5] == [f"  {name}: " for name in expected]


def test_one_cell_at_a_time_holds_answers(arena, tmp_path):
    arena(["honest", "hoarder"])
    assert set((tmp_path / "full").read_text().split()) == {"1"}


@pytest.mark.slow
def test_a_gpu_tools_uneven_twin_invalidates_the_race(arena):
    _, card, _ = arena(["honest", "uneven-on-gpu"], scopes=["score"])
    assert not card["valid"] and {name: twin["even"] for name, twin in card["twins"].items()} == {
        "honest score": True, "uneven-on-gpu score": False,
    }  # fmt: skip


@pytest.mark.slow
def test_what_gives_no_time_has_a_row_with_its_reason(arena):
    frame, card, _ = arena(["honest", "sleeper", "crasher", "hog", "absent", "score-only"], timeout=1)
    status = {
        tool: cell(frame, tool, "cigar").iloc[0] for tool in ("sleeper", "crasher", "hog", "absent", "score-only")
    }
    assert {tool: row["status"] for tool, row in status.items()} == {
        "sleeper": "timeout", "crasher": "crashed", "hog": "out_of_memory", "absent": "not_installed",
        "score-only": "unsupported",
    }  # fmt: skip
    assert "exit code 7" in status["crasher"]["reason"] and status["score-only"]["reason"] == "computes scores only"
    assert all(np.isnan(row["value_s"]) for row in status.values())
    assert cell(frame, "score-only", "score").iloc[0]["status"] == "ok"
    assert cell(frame, "honest", "cigar").iloc[0]["status"] == "ok" and card["valid"]


def test_a_races_card_tells_what_it_ran_on(arena, tmp_path):
    _, card, _ = arena(["honest"], scopes=["score"])
    pairs = PairBatch.from_arrow(tmp_path / "data" / "small.arrow")
    assert card["data"] == data_card(pairs)
    assert (card["data"]["pairs"], card["data"]["text_max_bp"]) == (40, int(pairs.text_lengths.max()))


def test_a_race_without_answers_calls_none_right(arena):
    _, _, lines = arena(["absent"], twin="absent", scopes=["score"])
    assert any("0 of 1 cells timed; no rounds; no answers; " in line for line in lines)


def test_answers_without_an_exact_score_are_not_called_right(arena, monkeypatch):
    monkeypatch.setattr(oracle, "CHUNK_BASES", 1)
    monkeypatch.setattr(one_race, "EXACT_SECONDS", 0)
    _, _, lines = arena(["honest"], scopes=["score"])
    assert any("with answers that were not verified; " in line for line in lines)


@pytest.mark.slow
def test_a_tool_that_chokes_on_many_pairs_runs_the_few_that_it_can(arena):
    frame, _, lines = arena(["honest", "choker"], scopes=["score"], timeout=4)
    row = cell(frame, "choker", "score").iloc[0]
    assert (row["status"], row["pairs"]) == ("ok", 3) and any("choker" in line and "timeout" in line for line in lines)
    assert row["reason"].startswith("on 10 pairs: timeout"), "of those it failed on the fewest"
    assert (cell(frame, "honest", "score")["reason"] == "").all()


@needs_peaks
@pytest.mark.parametrize("twin", ["honest", "uneven"])
def test_what_a_run_takes_is_told_from_what_its_process_held(arena, twin):
    frame, card, _ = arena(["honest", "glutton"], twin=twin, scopes=["score"])
    assert card["rerun"] == (twin == "uneven")
    grown = {tool: of_tool["peak_rss_bytes"].iloc[0] - of_tool["base_rss_bytes"].iloc[0]
             for tool, of_tool in frame[~frame["twin"]].groupby("tool")}  # fmt: skip
    assert 0 <= grown["honest"] < 16e6 and 60e6 < grown["glutton"] < 80e6
    assert frame["base_rss_bytes"].min() > 16e6


def test_refused_pairs_lower_coverage_not_recall(arena):
    frame, _, _ = arena(["honest", "refuser"])
    row = cell(frame, "refuser", "cigar").iloc[0]
    assert row["coverage"] == 0.5 and row["recall_native"] == 1
    assert json.loads(row["refused"]) == {"unsupported": 20}


def test_pairs_that_another_device_answered_are_counted(arena):
    frame, _, _ = arena(["honest", "on-gpu", "rescued"], scopes=["score"])
    counted = frame.groupby("tool")["rescued"]
    assert counted.get_group("rescued").tolist() == [5] * sum(frame["tool"] == "rescued"), "the most of all rounds"
    assert counted.get_group("honest").isna().all() and counted.get_group("on-gpu").isna().all()
    assert (frame["coverage"] == 1).all()


def test_affine_race_rescored_and_shards(arena):
    frame, _, _ = arena(["honest"], penalties=[4, 6, 2], threads=(1, "all"))
    rows = frame[(frame["scope"] == "cigar") & ~frame["twin"]]
    assert sorted(rows["threads"].unique().tolist()) == [1, 2]
    assert (rows["recall_affine"] == 1).all() and (rows["penalties"] == "4,6,2").all()


def test_a_slow_tool_runs_few_pairs_but_one_for_every_shard(arena):
    frame, _, _ = arena(["honest", "plodder"], threads=(1, "all"), scopes=["score"])
    pairs = frame[frame["tool"] == "plodder"].groupby("threads")["pairs"].max()
    assert pairs.to_dict() == {1: 1, 2: 2}
    ours = frame[(frame["tool"] == "honest") & ~frame["twin"]]
    assert {1, 40} <= set(ours[ours["threads"] == 1]["pairs"]) and {2, 40} <= set(ours[ours["threads"] == 2]["pairs"])


def test_a_tool_that_compiles_for_a_size_is_not_taken_for_a_slow_one(arena):
    frame, _, _ = arena(["honest", "learner"], scopes=["score"])
    assert set(frame[frame["tool"] == "learner"]["pairs"]) == {40}


@pytest.mark.slow
def test_prepared_cells_of_all_workers_share_one_budget(arena, tmp_path, monkeypatch):
    arena(["honest", "keeper"], twin="keeper")
    most = max(map(int, (tmp_path / "most-held").read_text().split()))
    assert most == 4, "two scopes of a tool and its twin"
    (tmp_path / "most-held").unlink()
    monkeypatch.setattr(prepared, "PREPARED_SHARE", 0)
    frame, _, _ = arena(["keeper"], twin="keeper")
    assert set((tmp_path / "most-held").read_text().split()) == {"1"}
    assert (frame["status"] == "ok").all() and (frame["recall_native"] == 1).all()


def test_what_the_cells_of_a_worker_share_is_freed_for_the_room_of_others(arena, tmp_path, monkeypatch):
    def released(**asked):
        (tmp_path / "released").unlink(missing_ok=True)
        arena(["honest", "sharer"], scopes=["score"], **asked)
        return (tmp_path / "released").read_text().split()

    assert released() == ["0", "0"], "when it opens the data set, and behind its last round"
    monkeypatch.setattr(prepared, "PREPARED_SHARE", 0)
    often = released(timeout=19)  # another plan: the first race is not taken from the store
    assert len(often) > 4 and set(often) == {"0"}, "when none of its cells is left"


@pytest.mark.slow
def test_a_wrong_oracle_is_not_a_tools_fault(arena, tmp_path):
    _, card, _ = arena(["honest"], scopes=["score"])
    assert card["confirmed"] == {"edit": 40}
    (kept,) = (tmp_path / "store" / "exact").glob("*.npy")
    arena(["honest", "liar"], scopes=["score"])  # a tool that is wrong is blamed, and the count is still known
    assert samples.read(tmp_path / "out" / "small.parquet")[1]["confirmed"] == {"edit": 40}
    scores = np.load(kept)
    scores[5] += 1
    np.save(kept, scores)
    with pytest.raises(oracle.OracleError, match="pair 5: edit costs"):
        arena(["honest", "refuser"], scopes=["score"])


@pytest.mark.slow
@pytest.mark.parametrize(("cold_s", "runs"), [(0, 1), (60, 2)])
def test_the_order_of_the_rounds_can_be_recomputed(arena, tmp_path, monkeypatch, cold_s, runs):
    monkeypatch.setattr(one_race, "COLD_S", cold_s)
    frame, card, _ = arena(["honest", "logbook", "logbook:b", "crasher"], twin="logbook")
    ran = frame[frame["pairs"] > 0].drop_duplicates(["tool", "variant", "scope", "threads", "pairs", "twin"])
    cells = [
        Key(f"{r.tool}:{r.variant}" if r.variant else r.tool, r.scope, r.threads, r.pairs, r.twin)
        for r in ran.itertuples()
    ]
    expected = [
        f"{key.tool} {key.scope}"
        for number in range(1, card["rounds"]["cpu"] + 1)
        for key in round_order(card["seed"], number, cells)
        if key.tool.startswith("logbook")
        for _ in range(2 if number == 1 else runs)  # the first time for its memory, before it is timed
    ]
    logged = (tmp_path / "log").read_text().splitlines()
    assert logged[-len(expected) :] == expected and len(expected) >= 6 * 5
    _, again, _ = arena(["logbook", "honest"], twin="logbook")
    assert again["seed"] != card["seed"]


def test_a_thread_pool_is_one_process_with_all_threads(arena, tmp_path):
    frame, _, _ = arena(["honest", "pooled:pool"], scopes=["score"], threads=(1, "all"), cores=3)
    rows = frame[frame["tool"] == "pooled"]
    assert rows["threads"].unique().tolist() == [3] and rows["variant"].unique().tolist() == ["pool"]
    assert (rows["status"] == "ok").all() and (rows["recall_native"] == 1).all()
    told = {tuple(line.split()) for line in (tmp_path / "threads").read_text().splitlines()}
    assert {(tool, threads, environment) for tool, _, threads, environment in told} == {
        ("honest", "1", "1"), ("pooled", "3", "3"),
    }  # fmt: skip
    assert len({process for tool, process, *_ in told if tool == "pooled"}) == 1
    assert len({process for tool, process, *_ in told if tool == "honest"}) == 6, "three shards, and the twin's"


@pytest.mark.slow
def test_the_budget_of_a_race_counts_from_its_start(arena, monkeypatch):
    monkeypatch.setattr(one_race, "ENOUGH", -1)
    ample = one_race.STEP_SECONDS
    _, card, _ = arena(["honest"], scopes=["score"], race_seconds=ample)
    assert card["rounds"] == {"cpu": 6}, "all rounds fit"
    passed, admit = [0], one_race.Race._admit

    def slow_admission(race):
        passed[0] += ample
        return admit(race)

    monkeypatch.setattr(one_race.Race, "_admit", slow_admission)
    monkeypatch.setattr(one_race, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0]))
    _, card, _ = arena(["honest", "score-only"], scopes=["score"], race_seconds=ample)
    assert card["rounds"] == {"cpu": 5}, "no more than the fewest"


def test_unchanged_race_comes_from_the_store(arena):
    first, _, _ = arena(["honest"], scopes=["score"])
    again, _, lines = arena(["honest"], scopes=["score"])
    assert any("store" in line for line in lines) and first.equals(again)
    other, _, lines = arena(["honest", "liar"], scopes=["score"])
    assert not any("store" in line for line in lines) and len(other) > len(first)


@pytest.mark.parametrize("name", ["PROCEDURE", pytest.param("WORKING_MEMORY_BYTES", marks=pytest.mark.slow)])
def test_other_conditions_race_again_and_are_on_the_card(arena, monkeypatch, name):
    arena(["honest"], scopes=["score"])
    monkeypatch.setattr(provenance, name, 12345)
    _, card, lines = arena(["honest"], scopes=["score"])
    assert not any("store" in line for line in lines) and card[name.lower()] == 12345


def test_bundle_goes_round(arena, tmp_path):
    arena(["honest"], scopes=["score"])
    placed = tmp_path / "samples" / "test" / "testhost" / "fake"
    placed.mkdir(parents=True)
    (tmp_path / "out" / "small.parquet").rename(placed / "small.parquet")
    nothing = (tmp_path / "none", tmp_path / "none")
    assert bundle.export(tmp_path / "samples", tmp_path / "b.zip", *nothing) == (1, 0)
    assert bundle.take(tmp_path / "b.zip", tmp_path / "recorded") == (1, 0, 0)
    moved = tmp_path / "recorded" / "testhost" / "test" / "fake" / "small.parquet"
    assert moved.read_bytes() == (placed / "small.parquet").read_bytes()
