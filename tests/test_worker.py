"""A worker by itself: first calls, what is timed, shards, and the compiled kernels that it finds."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.synthetic_pairs import random_pairs
from wfa_kernels import Affine, Edit, PairBatch
from workflow.aligners import Adapter, Job
from workflow.race import kernel_cache, worker

ROOT = Path(__file__).resolve().parents[1]


def test_jit_time_is_that_of_the_first_run_alone(tmp_path, monkeypatch):
    clock = [0.0]

    class Slow(Adapter):
        def prepare(self, pairs, job):
            clock[0] += 100

        def run(self):
            clock[0] += 3

    def start(tool, threads):
        clock[0] += 1000
        return Slow()

    random_pairs(20, 30).to_arrow(tmp_path / "small.arrow")
    monkeypatch.setattr(worker, "fresh_adapter", start)
    monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    # What other tests compile meanwhile comes into the same cache.
    monkeypatch.setattr(worker, "kernel_cache", SimpleNamespace(kept=set))
    jobs = [Job("score", Edit()), Job("cigar", Edit())]
    assert worker.Team(1, 1).warm_up("slow", jobs, tmp_path / "small.arrow") == {
        "score": (3, False), "cigar": (3, False),
    }  # fmt: skip


def test_a_first_call_takes_pairs_of_the_data_set_that_is_open(tmp_path, monkeypatch):
    """What tools of one process share of it is not brought anew."""
    taken = []

    class Noting(Adapter):
        def prepare(self, pairs, job):
            taken.append(pairs)

        def run(self):
            pass

    random_pairs(20, 30).to_arrow(tmp_path / "small.arrow")
    monkeypatch.setattr(worker, "fresh_adapter", lambda tool, threads: Noting())
    monkeypatch.setattr(worker.Shard, "release", lambda shard: None)
    team = worker.Team(1, 1)
    for tool in ("first", "second"):
        team.warm_up(tool, [Job("score", Edit())], tmp_path / "small.arrow")
        if tool == "first":
            team.open(tmp_path / "small.arrow")
    assert [len(pairs) for pairs in taken] == [8, 8] and team.own.tools == {"first", "second"}
    assert all(np.shares_memory(pairs.pattern, team.own.pairs.pattern) for pairs in taken)


@pytest.mark.parametrize("shards", [1, 2])
def test_what_the_last_run_left_is_freed_before_a_run_begins(tmp_path, monkeypatch, shards):
    done = []

    class Noting(Adapter):
        def prepare(self, pairs, job):
            pass

        def forget(self):
            done.append("freed")

        def run(self):
            done.append("ran")

    random_pairs(20, 30).to_arrow(tmp_path / "small.arrow")
    monkeypatch.setattr(worker, "fresh_adapter", lambda tool, threads: Noting())
    monkeypatch.setattr(worker.time, "monotonic", lambda: done.append("clock") or 0.0)
    team = worker.Team(1, 1)
    team.open(tmp_path / "small.arrow")
    team.prepare("cell", "noting", Job("score", Edit()), 20, shards)
    team.run("cell", shards, barrier_s=0)
    assert [what for what in done if what != "clock"] == ["freed", "ran"] and done[0] == "freed"


def test_a_run_of_several_shards_ends_with_the_slowest(monkeypatch):
    team = worker.Team(3, 1)
    monkeypatch.setattr(worker.time, "monotonic", lambda: 10.0)
    monkeypatch.setattr(team, "everyone", lambda method, *_: [(11, 12), None, (11, 14)] if method == "run" else [])
    assert team.run("cell", 3, barrier_s=1) == 3


def test_a_run_that_each_shards_own_clock_told_as_0_is_one_of_0(monkeypatch):
    team, spans = worker.Team(2, 1), [(10.25, 10.25), (10.5, 10.5)]
    monkeypatch.setattr(worker.time, "monotonic", lambda: 10.0)
    monkeypatch.setattr(team, "everyone", lambda method, *_: spans if method == "run" else [])
    assert team.run("cell", 2, barrier_s=0) == 0
    spans[0] = (10.25, 10.75)
    assert team.run("cell", 2, barrier_s=0) == 0.75


def test_a_shard_begins_at_the_common_start_and_no_sooner(monkeypatch):
    shard, clock, began = worker.Shard(1, 0), iter(range(100)), []
    monkeypatch.setattr(worker.time, "monotonic", lambda: next(clock))
    shard.cells["cell"] = 0, SimpleNamespace(run=lambda: began.append(next(clock)))
    shard.run("cell", 5)
    assert began == [6]


def test_the_peak_of_a_team_is_of_all_its_processes(monkeypatch):
    team = worker.Team(2, 1)
    for peaks, told in (([5, 7], 12), ([5, None], None)):
        monkeypatch.setattr(team, "everyone", lambda method, reset, peaks=peaks: peaks)
        assert team.peak_rss_bytes(False) == told


def test_a_shard_that_runs_out_of_memory_is_told_from_one_that_fails(monkeypatch):
    team = worker.Team(2, 1)
    monkeypatch.setattr(team.own, "release", lambda: None)
    for answer, error in ((worker.OUT_OF_MEMORY, MemoryError), ("ValueError: bad", RuntimeError)):
        team.forked = {1: SimpleNamespace(send=lambda asked: None, recv=lambda answer=answer: ("failed", answer))}
        with pytest.raises(error):
            team.everyone("release")


@pytest.mark.parametrize("affine", [True, False])
def test_a_shard_is_judged_by_its_own_pairs_and_by_what_its_tool_claims(tmp_path, monkeypatch, affine):
    for name in ("native", "affine"):
        np.save(tmp_path / f"{name}.npy", np.arange(10) + 100 * (name == "affine"))
    asked, penalties = [], Affine(4, 6, 2)
    monkeypatch.setattr(worker.verification, "verify", lambda *told: asked.append(told))
    shard, pairs = worker.Shard(1, 1), random_pairs(10, 20)[3:5]
    adapter = SimpleNamespace(outputs=lambda: "answers", objective=lambda job: Edit(), exact=False)
    shard.cells["cell"] = 3, SimpleNamespace(adapter=adapter, job=Job("cigar", penalties), pairs=pairs)
    shard.verify("cell", tmp_path / "native.npy", tmp_path / "affine.npy" if affine else None)
    of, answers, objective, native, experiments, exact_affine, first, exact, _ = asked[0]
    assert (of, answers, objective, first, exact) == (pairs, "answers", Edit(), 3, False)
    assert native.tolist() == [3, 4] and experiments == (penalties if affine else None)
    assert exact_affine is None if not affine else exact_affine.tolist() == [103, 104]


@pytest.mark.parametrize("own", [None, 7.0])
def test_a_tools_own_timer_goes_before_the_clock(monkeypatch, own):
    class Timed(Adapter):
        def prepare(self, pairs, job):
            pass

        def run(self):
            pass

        def own_seconds(self):
            return own

    monkeypatch.setattr(worker.time, "monotonic", iter([10.0, 12.0]).__next__)
    begin, end = worker.Cell(Timed(), None, None).run()
    assert end - begin == (own or 2)


def test_a_data_set_is_mapped_once_for_all_shards_of_a_first_call(tmp_path, monkeypatch):
    """Each mapping looks at all its offsets: of many pairs that takes a second, and memory."""

    class Noting(Adapter):
        def prepare(self, pairs, job):
            self.pairs = pairs

        def run(self):
            pass

    def mapped(path):
        with open(tmp_path / "mapped", "a") as file:
            file.write(f"{path.name} ")
        return PairBatch.from_arrow(path)

    few, more = tmp_path / "few.arrow", tmp_path / "more.arrow"
    random_pairs(20, 30).to_arrow(few)
    random_pairs(40, 30).to_arrow(more)
    monkeypatch.setattr(worker, "fresh_adapter", lambda tool, threads: Noting())
    monkeypatch.setattr(worker.Shard, "release", lambda shard: None)
    monkeypatch.setattr(worker, "PairBatch", SimpleNamespace(from_arrow=mapped))
    team = worker.Team(3, 1)
    try:
        team.warm_up("noting", [Job("score", Edit())], few)
        team.open(few)
        assert (tmp_path / "mapped").read_text() == "few.arrow "
        team.prepare("cell", "noting", Job("score", Edit()), 20, 3)
        team.open(more)
        assert (tmp_path / "mapped").read_text() == "few.arrow " + 3 * "more.arrow "
        assert team.own.cells == {} and len(team.own.pairs) == 40
    finally:
        for process in team.forked:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


@pytest.mark.parametrize("shards", [1, 3])
def test_shards_are_contiguous_parts_of_all_pairs(shards):
    pairs = random_pairs(50, 40)[7:47]
    bounds = worker.shard_bounds(pairs, shards)
    assert bounds[0][0] == 0 and bounds[-1][1] == 40 and len(bounds) == shards
    assert all(before[1] == after[0] for before, after in zip(bounds[:-1], bounds[1:], strict=True))
    cells = [pairs[a:b].cells for a, b in bounds]
    assert max(cells) - min(cells) <= 2 * 50 * 50 * 1.2


@pytest.mark.parametrize(("lengths", "shards", "sizes"), [
    ([100] * 16, 16, [1] * 16), ([100, 100], 2, [1, 1]), ([100, 500], 2, [1, 1]), ([500, 100], 2, [1, 1]),
    ([100] * 3, 5, [1, 1, 1, 0, 0]), ([], 3, [0, 0, 0]), ([900] + [100] * 9, 3, [1, 1, 8]),
    ([100] * 9 + [900], 2, [9, 1]), ([10, 10, 10, 10, 20], 2, [4, 1]),
])  # fmt: skip
def test_shards_have_as_many_cells_and_a_pair_each_where_there_are_enough(lengths, shards, sizes):
    texts = [b"A" * length for length in lengths]
    bounds = worker.shard_bounds(PairBatch.from_strings(texts, texts), shards)
    assert [stop - start for start, stop in bounds] == sizes and bounds[0][0] == 0 and bounds[-1][1] == len(texts)
    assert all(before[1] == after[0] for before, after in zip(bounds[:-1], bounds[1:], strict=True))


def test_shards_of_very_many_pairs_begin_at_some_of_their_places(monkeypatch):
    monkeypatch.setattr(worker, "_MOST_PLACES", 8)
    bounds = worker.shard_bounds(random_pairs(1000, 20), 4)
    assert bounds == [(0, 250), (250, 500), (500, 750), (750, 1000)]


def test_compiled_kernels_are_kept_for_one_state_of_the_sources(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "ROOT", tmp_path)
    digests = {kernel_cache._digest()}
    for folder in ("wfa_kernels/cpu", "simulators", "workflow/race"):
        (tmp_path / folder).mkdir(parents=True)
        for text in ("one", "two"):
            (tmp_path / folder / "kernel.py").write_text(text)
            digests.add(kernel_cache._digest())
    assert len(digests) == 7


def test_a_first_call_tells_whether_it_compiled(tmp_path):
    random_pairs(20, 30).to_arrow(tmp_path / "small.arrow")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/compiling.py").write_text(
        "from numba import njit\nfrom workflow.aligners import Adapter\n\n\n"
        "@njit(cache=True)\ndef kernel(n):\n    return n + 1\n\n\n"
        "class Compiling(Adapter):\n    tool = 'compiling'\n\n"
        "    def prepare(self, pairs, job):\n        self.n = len(pairs)\n\n"
        "    def run(self):\n        kernel(self.n)\n\n\n"
        "def adapters():\n    return [Compiling()]\n"
    )
    script = (
        "import sys; from wfa_kernels import Edit; from workflow.aligners import Job\n"
        "from workflow.race import worker\n"
        "jobs = [Job('score', Edit()), Job('cigar', Edit())]\n"
        "took = worker.Team(1, 1).warm_up('compiling', jobs, sys.argv[1])\n"
        "print([compiled for _, compiled in took.values()])\n"
    )
    folders = {"WAVEBENCH_ALIGNERS": str(tmp_path / "tools"), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", script, str(tmp_path / "small.arrow")]
    for told in ("[True, False]\n", "[False, False]\n"):
        done = subprocess.run(command, cwd=ROOT, env=os.environ | folders, capture_output=True, text=True, check=True)
        assert done.stdout == told
