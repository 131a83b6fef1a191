"""The engine's processes: two runs at once, one that is killed, and what they leave behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from wfa_kernels import Edit
from workflow.aligners import Job
from workflow.race.team import Worker

ROOT = Path(__file__).resolve().parents[1]
#: Of a lane whose races do not end.
ENDLESS = {"race_seconds": 600, "rounds": {"min": 100_000, "max": 100_000}}


def start(folder, out="out"):
    """A process of its own that races an arena's experiment."""
    places = {"experiment": "experiment.yaml", "lane": "lane.yaml", "data": "data", "out": out, "store": "store"}
    command = [sys.executable, "-m", "workflow.race", "run", *(f"--{k}={folder / v}" for k, v in places.items())]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, env=environment, text=True)


def test_two_runs_of_the_engine_never_overlap(arena, tmp_path):
    arena.write(["honest"], scopes=["score"], **ENDLESS)
    first, second = start(tmp_path, "first"), None
    try:
        assert "data set 1 of 1: small" in first.stderr.readline()
        arena.write(["honest"], scopes=["score"])
        second = start(tmp_path, "second")
        said = second.stderr.readline()
        assert said.startswith(f"waiting: another race runs on this host: process {first.pid} since")
        assert not workers_of(second.pid) and first.poll() is None
        first.kill()
        assert "data set 1 of 1: small" in second.stderr.readline()
        assert second.wait(timeout=120) == 0 and (tmp_path / "second" / "small.parquet").exists()
    finally:
        for process in filter(None, (first, second)):
            process.kill()
            process.communicate()


def test_a_race_leaves_no_files_of_a_tool_that_dies(arena, tmp_path):
    arena(["honest", "crasher"], scopes=["score"])
    left = [Path(name) for name in (tmp_path / "left").read_text().split()]
    assert left and not [path for path in left if path.exists() or path.parent.exists()]


def test_what_a_killed_tool_has_started_ends_with_it(arena, tmp_path):
    frame, _, _ = arena(["honest", "parent"], scopes=["score"])
    assert set(frame[frame["tool"] == "parent"]["status"]) == {"out_of_memory"}
    children = [int(pid) for pid in (tmp_path / "children").read_text().split()]
    assert children and not [pid for pid in children if runs(pid)]


def test_shards_that_are_cleared_hold_nothing_and_go_on(arena, tmp_path):
    path, job = tmp_path / "data" / "small.arrow", Job("score", Edit())
    worker = Worker(processes=4)
    try:
        worker.ask(60, "warm_up", "honest", [job], path)
        worker.ask(60, "open", path)
        answers = []
        for _ in range(2):
            worker.ask(60, "prepare", "cell", "honest", job, 40, 4)
            worker.ask(60, "run", "cell", 4)
            answers.append(worker.ask(60, "outcome", "cell"))
            shards = set(psutil.Process(worker.process.pid).children())
            worker.ask(60, "clear")
            assert len(shards) == 3 and not [shard for shard in shards if shard.is_running()]
            assert worker.ask(60, "outcome", "cell") == "", "no shard has it"
    finally:
        worker.stop()
    assert answers[0] == answers[1] and len(answers[0]) == 4 * 32


@pytest.mark.slow
@pytest.mark.parametrize("killed_by", [signal.SIGKILL, signal.SIGTERM])
def test_killed_race_leaves_no_samples_and_its_workers_die(arena, tmp_path, monkeypatch, killed_by):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    arena.write(["honest"], scopes=["score"], **ENDLESS)
    process = start(tmp_path)
    deadline = time.monotonic() + 60
    while len(workers_of(process.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    workers = workers_of(process.pid)
    assert workers, "the race started no worker"
    process.send_signal(killed_by)
    assert process.wait(timeout=60) == (143 if killed_by == signal.SIGTERM else -killed_by)
    assert killed_by != signal.SIGTERM or not list((tmp_path / "tmp").glob("wavebench-*"))
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
