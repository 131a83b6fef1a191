"""The race: what it measures, whom it believes, what it survives."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import yaml

from wfa_kernels import Affine, AlignmentResult, Edit, PairBatch, align, pack_strings
from workflow.race import bundle, engine, oracle, samples, statistics
from workflow.race.__main__ import main
from workflow.race.cells import subset_sizes
from workflow.race.lock import host_lock
from workflow.race.verify import INVALID, cigar_costs, output_hash, verify

ROOT = Path(__file__).resolve().parents[1]


def random_pairs(n, length, seed=1):
    """n pairs of about the given length with a few edits."""
    rng = np.random.default_rng(seed)
    patterns, texts = [], []
    for _ in range(n):
        pattern = rng.choice(list(b"ACGT"), length).astype(np.uint8)
        text = pattern.copy()
        text[rng.integers(0, length, 3)] = ord("A")
        patterns.append(pattern.tobytes())
        texts.append(np.delete(text, rng.integers(0, length)).tobytes())
    return PairBatch.from_strings(patterns, texts, {"model": "uniform", "length_bp": str(length), "error": "0.05"})


@pytest.fixture
def arena(tmp_path, monkeypatch):
    """A folder with a data set, and a function that races the given fake tools on it."""
    monkeypatch.setenv("WAVEBENCH_ALIGNERS", str(ROOT / "tests" / "tools"))
    monkeypatch.setenv("FAKE_TOOLS_FOLDER", str(tmp_path))
    monkeypatch.setenv("WAVEBENCH_LOCK", str(tmp_path / "lock"))
    (tmp_path / "data").mkdir()
    random_pairs(40, 60).to_arrow(tmp_path / "data" / "small.arrow")

    def race(tools, twin="honest", penalties="edit", scopes=("score", "cigar"), threads=(1,), timeout=20, **run):
        (tmp_path / "experiment.yaml").write_text(yaml.safe_dump({
            "id": "fake", "penalties": penalties, "scopes": list(scopes), "threads": list(threads),
            "datasets": ["small"], "tools": list(tools), "twin": twin,
        }))  # fmt: skip
        (tmp_path / "lane.yaml").write_text(yaml.safe_dump({
            "name": "test", "rounds": {"min": 5, "max": 6}, "round_seconds": 0.05, "race_seconds": 5,
            "timeout_seconds": timeout,
        }))  # fmt: skip
        lines = []
        engine.run(
            tmp_path / "experiment.yaml", tmp_path / "lane.yaml", tmp_path / "data", tmp_path / "out",
            tmp_path / "store", host="testhost", say=lines.append, **run,
        )  # fmt: skip
        table, card = samples.read(tmp_path / "out" / "small.parquet")
        return table.to_pandas(), card, lines

    race.folder = tmp_path
    return race


def cell(frame, tool, scope, twin=False):
    """Rows of one tool's own cell, its largest subset."""
    rows = frame[(frame["tool"] == tool) & (frame["scope"] == scope) & (frame["twin"] == twin)]
    return rows[rows["pairs"] == rows["pairs"].max()]


def test_honest_tool_is_timed_verified_and_believed(arena):
    frame, card, _ = arena(["honest"])
    rows = cell(frame, "honest", "cigar")
    assert len(rows) >= 5 and rows["value_s"].between(0.004, 0.2).all()
    assert (rows["recall_native"] == 1).all() and (rows["coverage"] == 1).all() and (rows["verified"] == 40).all()
    assert rows["round"].tolist() == list(range(1, len(rows) + 1))
    assert card["valid"] and card["twins"]["honest cigar"]["even"]
    assert rows["host"].unique().tolist() == ["testhost"] and rows["metric"].unique().tolist() == ["edit"]


def test_lying_tools_are_caught(arena):
    frame, _, _ = arena(["honest", "liar", "forger", "fickle"])
    liar = cell(frame, "liar", "score").iloc[0]
    assert liar["recall_native"] == pytest.approx(39 / 40)
    assert json.loads(liar["failing_pairs"])[0][0] == 2 and "exact" in json.loads(liar["failing_pairs"])[0][1]
    assert cell(frame, "forger", "score").iloc[0]["recall_native"] == 1
    assert cell(frame, "forger", "cigar").iloc[0]["recall_native"] == 0
    assert cell(frame, "fickle", "score").iloc[0]["recall_native"] == 0


def test_uneven_twin_is_raced_again_and_marked(arena):
    _, card, lines = arena(["honest"], twin="uneven", scopes=["score"])
    assert not card["valid"] and card["rerun"]
    assert card["twins"]["uneven score"]["ratio"] == pytest.approx(1.5, rel=0.2)
    assert any("double rounds" in line for line in lines)


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


def test_a_tool_that_chokes_on_many_pairs_runs_the_few_that_it_can(arena):
    frame, _, lines = arena(["honest", "choker"], scopes=["score"], timeout=1)
    row = cell(frame, "choker", "score").iloc[0]
    assert (row["status"], row["pairs"]) == ("ok", 3) and any("choker" in line and "timeout" in line for line in lines)


def test_refused_pairs_lower_coverage_not_recall(arena):
    frame, _, _ = arena(["honest", "refuser"])
    row = cell(frame, "refuser", "cigar").iloc[0]
    assert row["coverage"] == 0.5 and row["recall_native"] == 1
    assert json.loads(row["refused"]) == {"unsupported": 20}


def test_affine_race_rescored_and_shards(arena):
    frame, _, _ = arena(["honest"], penalties=[4, 6, 2], threads=(1, 2))
    rows = frame[(frame["scope"] == "cigar") & ~frame["twin"]]
    assert sorted(rows["threads"].unique().tolist()) == [1, 2]
    assert (rows["recall_affine"] == 1).all() and (rows["penalties"] == "4,6,2").all()


def test_a_slow_tool_runs_few_pairs_but_one_for_every_shard(arena):
    frame, _, _ = arena(["honest", "plodder"], threads=(1, 2), scopes=["score"])
    pairs = frame[frame["tool"] == "plodder"].groupby("threads")["pairs"].max()
    assert pairs.to_dict() == {1: 1, 2: 3}
    ours = frame[(frame["tool"] == "honest") & ~frame["twin"]]
    assert {1, 40} <= set(ours[ours["threads"] == 1]["pairs"]) and {3, 40} <= set(ours[ours["threads"] == 2]["pairs"])


def test_unchanged_race_comes_from_the_store(arena):
    first, _, _ = arena(["honest"], scopes=["score"])
    again, _, lines = arena(["honest"], scopes=["score"])
    assert any("store" in line for line in lines) and first.equals(again)
    other, _, lines = arena(["honest", "liar"], scopes=["score"])
    assert not any("store" in line for line in lines) and len(other) > len(first)


@pytest.mark.slow
def test_killed_race_leaves_no_samples_and_its_workers_die(arena, tmp_path):
    arena(["honest"], scopes=["score"])
    for path in [*(tmp_path / "out").iterdir(), *(tmp_path / "store").glob("*.parquet")]:
        path.unlink()
    lane = yaml.safe_load((tmp_path / "lane.yaml").read_text())
    lane.update(race_seconds=600, rounds={"min": 100_000, "max": 100_000})
    (tmp_path / "lane.yaml").write_text(yaml.safe_dump(lane))
    command = [
        sys.executable, "-m", "workflow.race", "run", "--experiment", str(tmp_path / "experiment.yaml"), "--lane",
        str(tmp_path / "lane.yaml"), "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out"), "--store",
        str(tmp_path / "store"),
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})
    deadline = time.monotonic() + 60
    while len(workers_of(process.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    workers = workers_of(process.pid)
    assert workers, "the race started no worker"
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 20  # one still importing notices when it first reads its socket
    while any(map(runs, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in workers if runs(pid)]
    assert not list((tmp_path / "out").iterdir()) and not list((tmp_path / "store").glob("*.parquet*"))


def runs(pid):
    """Whether a process is there and not merely waiting to be reaped."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def workers_of(pid):
    """Process ids of the workers started by a process."""
    try:
        children = psutil.Process(pid).children(recursive=True)
        return [c.pid for c in children if "workflow.race.worker" in c.cmdline()]
    except psutil.NoSuchProcess:
        return []


def test_two_races_never_overlap(tmp_path):
    lock = tmp_path / "lock"
    script = (
        "import sys, time; from workflow.race.lock import host_lock\n"
        "with host_lock(sys.argv[1], poll_s=0.02):\n"
        "    print('in', time.monotonic(), flush=True); time.sleep(0.3); print('out', time.monotonic(), flush=True)\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(lock)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    spans = sorted([float(line.split()[1]) for line in p.communicate()[0].splitlines()] for p in processes)
    assert len(spans) == 3 and all(a[1] <= b[0] for a, b in zip(spans[:-1], spans[1:], strict=True))


def test_lock_dies_with_its_process(tmp_path):
    lock = tmp_path / "lock"
    script = (
        "import sys, time; from workflow.race.lock import host_lock\n"
        "with host_lock(sys.argv[1]): print('in', flush=True); time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", script, str(lock)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "in\n"
    holder.kill()
    holder.wait()
    begin = time.monotonic()
    with host_lock(lock, poll_s=0.02):
        assert time.monotonic() - begin < 5


def test_a_folder_that_cannot_be_written_fails_at_once(arena, tmp_path):
    (tmp_path / "store").write_text("a file stands here")
    with pytest.raises(engine.EngineError, match="store: cannot be written"):
        arena(["honest"])


def test_subset_sizes_end_with_all():
    assert subset_sizes(1) == [1] and subset_sizes(100) == [1, 2, 7, 25, 100]


@pytest.mark.parametrize(
    ("cigar", "cost"),
    [("2=1X1I1=", 1 + 2), ("2=1X1=1I", INVALID), ("2=1X1I", INVALID), ("3=1I1=", INVALID), ("2=1X1I1=1D", INVALID)],
)
def test_cigar_costs(cigar, cost):
    pairs = PairBatch.from_strings(["ACGT"], ["ACTCT"])
    packed, offsets = pack_strings([cigar])
    result = AlignmentResult(np.zeros(1, np.int32), np.zeros(1, np.uint8), packed, offsets)
    assert cigar_costs(pairs, result, (1, 1, 1)).tolist() == [cost]


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


def test_output_hash_sees_every_part():
    pairs = random_pairs(5, 30)
    result = align(pairs, Edit(), "cigar", device="cpu")
    other = AlignmentResult(result.scores, result.status, result.cigars ^ np.uint32(16), result.cigar_offsets)
    assert output_hash(result) != output_hash(other) and output_hash(result) == output_hash(result)


@pytest.mark.parametrize("penalties", [Edit(), Affine(4, 6, 2), Affine(3, 0, 1)])
def test_oracle_agrees_with_itself_and_refuses_a_wrong_one(tmp_path, penalties):
    pairs = random_pairs(30, 50)
    scores = np.load(oracle.exact_scores(pairs, penalties, tmp_path, "key"))
    assert oracle.confirm(pairs, penalties, scores) == 30
    scores[7] += 1
    with pytest.raises(oracle.OracleError, match="pair 7"):
        oracle.confirm(pairs, penalties, scores)


def test_median_interval_is_of_order_statistics():
    values = [5.0, 1, 4, 2, 3, 6]
    assert statistics.median_interval(values) == (3.5, 1, 6)
    assert statistics.order_statistic_ranks(12) == (2, 9)


def test_interval_covers_the_median_as_often_as_it_says():
    rng = np.random.default_rng(3)
    draws = rng.exponential(size=(4000, 9))
    inside = [low <= np.log(2) <= high for _, low, high in map(statistics.median_interval, draws)]
    assert 0.95 <= np.mean(inside) <= 0.995


def test_twin_verdict():
    rng = np.random.default_rng(5)
    even = statistics.twin_verdict(1 + rng.normal(0, 0.01, 8), 1 + rng.normal(0, 0.01, 8))
    slow = statistics.twin_verdict(1 + rng.normal(0, 0.01, 8), 1.1 + rng.normal(0, 0.01, 8))
    near = statistics.twin_verdict(np.full(8, 1.0), np.full(8, 1.02))
    assert even["even"] and near["even"] and not slow["even"]
    with pytest.raises(ValueError, match="5 rounds"):
        statistics.twin_verdict([1, 1], [1, 1])


def test_bundle_goes_round(arena, tmp_path):
    arena(["honest"], scopes=["score"])
    placed = tmp_path / "samples" / "test" / "testhost" / "fake"
    placed.mkdir(parents=True)
    (tmp_path / "out" / "small.parquet").rename(placed / "small.parquet")
    assert bundle.export(tmp_path / "samples", tmp_path / "b.zip") == 1
    assert bundle.take(tmp_path / "b.zip", tmp_path / "recorded") == 1
    moved = tmp_path / "recorded" / "testhost" / "test" / "fake" / "small.parquet"
    assert moved.read_bytes() == (placed / "small.parquet").read_bytes()


def test_bundle_refuses_what_is_none(tmp_path, capsys):
    (tmp_path / "bad.zip").write_bytes(b"no zip")
    assert main(["import", str(tmp_path / "bad.zip"), "--recorded", str(tmp_path / "r")]) == 2
    assert "bad.zip: not a bundle" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tools": ["nonesuch"]}, "unknown 'nonesuch'"),
        ({"penalties": [0, 6, 2]}, "mismatch must be an integer >= 1"),
        ({"scopes": None}, "'scopes' is missing"),
    ],
)
def test_bad_experiment_is_one_message(arena, tmp_path, capsys, change, message):
    arena(["honest"], scopes=["score"])
    experiment = yaml.safe_load((tmp_path / "experiment.yaml").read_text())
    for key, value in change.items():
        experiment.pop(key) if value is None else experiment.update({key: value})
    (tmp_path / "experiment.yaml").write_text(yaml.safe_dump(experiment))
    code = main([
        "run", "--experiment", str(tmp_path / "experiment.yaml"), "--lane", str(tmp_path / "lane.yaml"), "--data",
        str(tmp_path / "data"), "--out", str(tmp_path / "out"), "--store", str(tmp_path / "store"),
    ])  # fmt: skip
    assert code == 2 and message in capsys.readouterr().err
