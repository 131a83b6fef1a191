"""Parts of the engine by themselves: keys, subsets, order, prepared cells, command line."""

import errno
import re
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tests.synthetic_pairs import random_pairs
from workflow.aligners import Adapter
from workflow.race import canary, engine, host, planning, provenance, team
from workflow.race.__main__ import main
from workflow.race.cells import Key, Record, reference_keys, round_order, subset_sizes
from workflow.race.prepared import SHARED, Prepared, held_bytes, shared_bytes
from workflow.race.stopwatch import Stopwatch
from workflow.race.worker import OUT_OF_MEMORY

ROOT = Path(__file__).resolve().parents[1]


def test_a_stopwatch_tells_phases_and_their_parts():
    ended = []
    watch = Stopwatch(iter([0, 1, 3, 4, 4.5, 10, 20, 25, 30]).__next__, lambda *phase: ended.append(phase))
    with watch.phase("sizes"):
        for tool in ("edlib", None):
            with watch.of("running", tool):
                pass
    with watch.of("running"):
        pass  # in no phase
    assert watch.card() == {"sizes": {"running": 2.5, "in all": 10}}
    assert watch.tools_card() == {"edlib": {"sizes": {"running": 2}}}
    assert watch.total() == 10 and watch.total("running") == 2.5 and watch.total("hashing") == 0
    with watch.phase("sizes"):
        pass
    assert ended == [("sizes", 10), ("sizes", 5)]


def test_subset_sizes_end_with_all():
    assert subset_sizes(1) == [1] and subset_sizes(100) == [1, 2, 7, 25, 100]


@pytest.mark.parametrize("text", ["abc", "0", "-1", "nan"])
def test_a_time_limit_is_a_number_of_seconds(text, capsys):
    paths = [f"--{name}=none" for name in ("experiment", "lane", "data", "out")]
    with pytest.raises(SystemExit, match="2"):
        main(["run", *paths, f"--time-limit={text}"])
    assert f"must be a number of seconds > 0, not {text}" in capsys.readouterr().err


def test_a_canary_drifts_by_the_medians_of_its_last_and_first_third():
    samples = [1.0, 2.0, 4.0, 3.0, 9.0, 9.0, 2.0, 2.5, 8.0]
    assert canary.card(samples) == {"median_s": 3.0, "drift": 0.25, "samples": 9}
    assert canary.card([2.0, 3.0])["drift"] == 0.5


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        (-signal.SIGKILL, "out_of_memory", "its process was killed, as the system does when memory runs out"),
        (-signal.SIGSEGV, "crashed", "its process ended by signal SIGSEGV"),
        (3, "crashed", "its process ended with exit code 3"),
    ],
)
def test_a_process_that_ends_says_why(code, status, reason):
    assert team._cause(code) == (status, reason)


@pytest.mark.parametrize(("device", "processes", "bytes_"), [("cpu", 1, "700"), ("cpu", 4, "175"), ("cuda", 1, "0")])
def test_the_processes_of_a_tool_share_its_part_of_the_memory(monkeypatch, device, processes, bytes_):
    started = []
    monkeypatch.setattr(team.psutil, "virtual_memory", lambda: SimpleNamespace(total=1000))
    monkeypatch.setattr(team.subprocess, "Popen", lambda command, **_: started.append(command))
    worker = team.Worker(device, processes)
    worker.pipe.close()
    worker.scratch.cleanup()
    assert started[0][-3:] == [bytes_, str(processes), "1"]


@pytest.mark.parametrize(("said", "status"), [(OUT_OF_MEMORY, "out_of_memory"), ("ValueError: bad", "crashed")])
def test_a_tool_that_fails_for_memory_is_told_from_one_that_crashes(said, status):
    worker = object.__new__(team.Worker)
    worker.pipe = SimpleNamespace(send=lambda asked: None, poll=lambda s: True, recv=lambda: ("failed", said))
    worker.stop = lambda: 0
    with pytest.raises(team.WorkerFailed) as failure:
        worker.ask(1, "run")
    assert (failure.value.status, failure.value.reason) == (status, said)


def test_a_commit_is_dirty_where_tracked_files_differ(tmp_path, monkeypatch):
    def git(*arguments):
        names = ["-c", "user.name=n", "-c", "user.email=e"]
        subprocess.run(["git", *names, *arguments], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.delenv(provenance.COMMIT_VARIABLE, raising=False)
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    git("init")
    (tmp_path / "tracked").touch()
    git("add", "tracked")
    git("commit", "-m", "first")
    (tmp_path / "untracked").touch()
    assert re.fullmatch("[0-9a-f]{12}", clean := provenance.commit())
    (tmp_path / "tracked").write_text("changed")
    assert provenance.commit() == f"{clean}+dirty"
    monkeypatch.setattr(provenance, "ROOT", tmp_path / "none")
    assert provenance.commit() == "unknown"


def test_outside_git_the_commit_is_unknown(tmp_path, monkeypatch):
    monkeypatch.delenv(provenance.COMMIT_VARIABLE, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert provenance.commit() == "unknown"


@pytest.mark.parametrize(("digits", "right"), [(6, False), (7, True), (40, True), (41, False)])
def test_a_named_commit_has_7_to_40_digits(monkeypatch, digits, right):
    monkeypatch.setenv(provenance.COMMIT_VARIABLE, "a" * digits)
    if right:
        assert provenance.commit() == "a" * digits
    else:
        with pytest.raises(provenance.CommitError, match="must be a commit of 7 to 40 hex digits"):
            provenance.commit()


def test_the_time_of_a_sample_tells_that_it_is_utc():
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", provenance.now_utc())


def test_a_race_is_keyed_by_all_that_it_depends_on(monkeypatch):
    def key(source="a", version="1", data="d", host="h", build="", **plan):
        adapters = {"tool": SimpleNamespace(source_hash=lambda: source, build=lambda: build)}
        conductor = SimpleNamespace(adapters=adapters, versions={"tool": version}, missing={})
        return provenance.race_key(SimpleNamespace(tools=("tool",), **plan), conductor, data, host)

    first = key(most_pairs=None)
    others = [key(source="b"), key(version="2"), key(data="e"), key(host="i"), key(build="b"), key(most_pairs=3)]
    monkeypatch.setattr(provenance, "runtime", lambda: {"numba": "another"})
    others.append(key())
    monkeypatch.undo()
    assert len({first, *others}) == 1 + len(others) and key() == first


def test_a_tool_that_is_missing_for_another_reason_is_another_race():
    def key(why):
        adapters = {"tool": SimpleNamespace(source_hash=lambda: "a", build=lambda: "")}
        conductor = SimpleNamespace(adapters=adapters, versions={}, missing={"tool": why})
        return provenance.race_key(SimpleNamespace(tools=("tool",)), conductor, "d", "h")

    assert key("not installed") == key("not installed") != key("no GPU")


def test_another_compiler_or_driver_of_the_gpu_is_another_race(monkeypatch):
    assert {"python", "numba", "numpy"} <= set(provenance.runtime())
    monkeypatch.setattr(provenance, "version", lambda package: f"another {package}")
    monkeypatch.setattr(host, "gpus", lambda: [{"driver": "580.1"}, {"driver": "580.1"}])
    told = provenance.runtime()
    compilers = ("numba-cuda", "cuda-bindings", "nvidia-cuda-nvcc", "nvidia-nvvm")
    assert [told[name] for name in compilers] == [f"another {name}" for name in compilers]
    assert told["driver"] == ["580.1"]


def test_a_full_disk_is_one_message(monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "some/file")

    monkeypatch.setattr(engine, "run", full)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    asked = ["--experiment", "e", "--lane", "l", "--data", "d", "--out", "o"]
    assert main(["run", *asked]) == 2
    assert capsys.readouterr().err == "error: some/file: cannot be written (No space left on device)\n"


def test_bundle_refuses_what_is_none(tmp_path, capsys):
    (tmp_path / "bad.zip").write_bytes(b"no zip")
    assert main(["import", str(tmp_path / "bad.zip"), "--recorded", str(tmp_path / "r")]) == 2
    assert "error: bad.zip: not a bundle (the zip file" in capsys.readouterr().err.replace(f"{tmp_path}/", "")
    assert main(["import", str(tmp_path / "nope.zip")]) == 2
    assert "nope.zip: cannot be read (No such file or directory)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("experiment", {"bogus_key": 1}, "experiment.yaml: unknown key 'bogus_key'; allowed are id, penalties,"),
        ("lane", {"extra": {}}, "lane.yaml: unknown key 'extra'; allowed are name, rounds, round_seconds,"),
        ("lane", {"narrow": {"thesis_tab1": {"tools": ["edlib"]}}}, "unknown key 'narrow.thesis_tab1.tools'; allowed"),
    ],
)
def test_a_key_that_the_engine_does_not_know_is_named(tmp_path, file, change, said):
    files = {"experiment": "config/experiments/thesis_tab1.yaml", "lane": "config/lanes/kick.yaml"}
    content = {name: yaml.safe_load((ROOT / path).read_text()) for name, path in files.items()}
    content[file] |= change
    for name, keys in content.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(keys))
    tools = content["experiment"]["tools"]
    with pytest.raises(planning.EngineError) as caught:
        planning.make_plan(tmp_path / "experiment.yaml", tmp_path / "lane.yaml", tools)
    assert said in str(caught.value)


@pytest.mark.parametrize("kind", ["experiment", "lane"])
def test_the_engine_knows_the_keys_of_the_schema(kind):
    schema = yaml.safe_load((ROOT / f"workflow/schemas/{kind}.schema.yaml").read_text())
    known = {"experiment": (planning._EXPERIMENT, planning._EXPERIMENT_MAY, planning._EXPERIMENT_BESIDES)}
    known["lane"] = (planning._LANE, planning._LANE_MAY, planning._LANE_BESIDES)
    assert {key for keys in known[kind] for key in keys} == set(schema["properties"])


def test_the_order_of_a_round_is_known_from_its_seed():
    cells = [Key(tool, scope, 1, 100) for tool in "abcdef" for scope in ("score", "cigar")]
    assert round_order(7, 3, cells) == round_order(7, 3, cells[::-1]) != round_order(7, 4, cells)
    assert round_order(8, 3, cells) != round_order(7, 3, cells) and sorted(round_order(7, 3, cells)) == sorted(cells)


def test_prepared_cells_stay_within_their_budget():
    held = Prepared(budget_bytes=10)
    assert held.add("a", "x", 4) == [] and held.add("a", "y", 4) == [] and held.add("b", "x", 2) == []
    assert held.use("a", "x") and not held.use("b", "y")
    assert held.add("b", "y", 3) == [("a", "y")], "the one used longest ago goes first"
    assert held.add("c", "z", 99) == [("b", "x"), ("a", "x"), ("b", "y")] and held.use("c", "z")
    held.forget("c")
    assert not held.use("c", "z")


def test_what_the_cells_of_a_worker_share_is_counted_once_and_goes_after_them():
    held = Prepared(budget_bytes=10)
    assert held.add("a", "x", 1, 4) == held.add("a", "y", 1, 4) == held.add("b", "x", 1, 3) == []
    assert held.use("a", "x"), "and with it what it shares"
    assert held.add("c", "z", 2) == [("a", "y"), ("b", "x")], "cells first"
    assert held.add("c", "y", 5) == [("a", "x"), ("c", "z"), ("b", SHARED)], "then what was used longest ago"
    assert held.add("d", "z", 6) == [("c", "y")]
    assert held.add("d", "w", 5, 2) == [("d", "z"), ("a", SHARED)], "though no cell holds it now"
    assert held.add("e", "x", 9, 9) == [("d", "w"), ("d", SHARED)]
    held.forget("e")
    assert held.add("f", "x", 10) == []


def test_held_bytes_grow_with_bases_and_pairs():
    few, more, longer = random_pairs(10, 50), random_pairs(20, 50), random_pairs(10, 500)
    greedy, sparing = Adapter(), Adapter()
    sparing.held_bytes_a_base, sparing.held_bytes_a_pair = 1, 0
    assert 0 == held_bytes(greedy, few, 0) < held_bytes(greedy, few, 10) < held_bytes(greedy, more, 20)
    assert held_bytes(sparing, few, 10) < held_bytes(greedy, few, 10) < held_bytes(greedy, longer, 10)
    assert held_bytes(greedy, more[:10], 10) == held_bytes(greedy, more, 10) == held_bytes(greedy, more[10:], 10)
    assert shared_bytes(greedy, more, 20) == 0
    sparing.shared_bytes_a_base = 1
    assert shared_bytes(sparing, few, 10) == held_bytes(sparing, few, 10) > 0


def test_a_plan_is_what_the_lane_leaves_of_the_experiment(monkeypatch):
    monkeypatch.setattr(planning, "usable_cores", lambda: 1)
    experiment = {"id": "e", "penalties": "edit", "scopes": ["score", "cigar"], "threads": [1, "all"],
                  "datasets": ["d"], "tools": ["a", "b", "c"], "twin": "a"}  # fmt: skip
    lane = {"name": "l", "rounds": {"min": 5, "max": 9}, "round_seconds": 1, "race_seconds": 2, "timeout_seconds": 3}
    plan = planning.plan_of(experiment, lane, "path")
    assert (plan.scopes, plan.threads, plan.tools) == (("score", "cigar"), (1,), ("a", "b", "c"))
    assert (plan.min_rounds, plan.max_rounds, plan.slices_s) == (5, 9, {"cpu": 1, "cuda": 1})
    assert (plan.race_seconds, plan.timeout_seconds) == (2, 3)
    narrow = {"gpu_round_seconds": 4, "narrow": {"e": {"scopes": ["cigar"], "without": ["c"]}}}
    plan = planning.plan_of(experiment, lane | narrow, "path")
    assert (plan.scopes, plan.tools, plan.slices_s) == (("cigar",), ("a", "b"), {"cpu": 1, "cuda": 4})


def test_the_reference_runs_on_the_subsets_of_its_block_at_their_threads():
    plan = SimpleNamespace(twin="ours", scopes=("score", "cigar"), threads=(1, 4))
    cells = [("ours", "score", 1, 64), ("ours", "score", 4, 64), ("ours", "cigar", 1, 16), ("slow", "score", 4, 4),
             ("even", "score", 1, 64), ("on-gpu", "score", 1, 256)]  # fmt: skip
    records = {Key(*cell): Record() for cell in cells}
    records[Key("dead", "score", 1, 1)] = Record(status="timeout")
    assert reference_keys(records, plan, {"ours", "slow", "even", "dead"}) == [Key("ours", "score", 4, 4)]
