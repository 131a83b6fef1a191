"""What is read from the GPU: ncu's lists are read and added up rightly, and a part that fails leaves the rest."""

import os
import stat
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests import synthetic_profiles
from wfa_kernels import PairBatch, PaperDesign
from workflow import aligners
from workflow.profile import __main__ as command
from workflow.profile import cells, kernels, layout, ncu, record, timeline, watched
from workflow.scripts import profiles

METRIC = {name: metric for name, (metric, _) in ncu.AVERAGES.items()}


def ncu_csv(launches, lacking=()):
    """What ncu prints: [(kernel's name, {metric: value})], the metrics without one n/a. lacking: columns left out."""
    names = [name for name in ncu.METRICS if name not in lacking]
    units = {ncu.TIME: "ns", ncu.BYTES: "byte"}
    lines = ["==PROF== Connected to process 7", ",".join(f'"{name}"' for name in ("ID", "Kernel Name", *names))]
    lines.append(",".join(f'"{unit}"' for unit in ("", "", *(units.get(name, "") for name in names))))
    for number, (kernel, metrics) in enumerate(launches):
        values = [f"{metrics[name]:,}" if name in metrics else "n/a" for name in names]
        lines.append(",".join(f'"{value}"' for value in (number, kernel, *values)))
    return "\n".join([*lines, "==PROF== Disconnected", ""])


def launch(scale=1, **averages):
    """Counters of one launch."""
    counts = {ncu.TIME: 2_000_000, ncu.INSTRUCTIONS: 1_000_000, ncu.BYTES: 2**20, ncu.ISSUED: 1_100_000,
              ncu.CYCLES: 500_000}  # fmt: skip
    return {name: count * scale for name, count in counts.items()} | {METRIC[n]: v for n, v in averages.items()}


def test_launches_are_read_with_their_units_and_without_what_is_no_number():
    text = ncu_csv([("_ZN8edit_wfa_E32B2v1E", launch(sm_busy_percent=88.5)), (ncu.MARK, {})])
    (name, found), (mark, nothing) = ncu.parse(text)
    assert "E32" in name and mark == ncu.MARK and nothing == {}
    assert found[ncu.TIME] == pytest.approx(2e-3) and found[ncu.INSTRUCTIONS] == 1_000_000
    assert found[METRIC["sm_busy_percent"]] == 88.5 and METRIC["active_warps_per_sm"] not in found
    assert ncu.parse("==ERROR== no permission\n") == []


def test_launches_belong_to_the_cell_that_the_mark_began():
    listed = [("before", {}), (ncu.MARK, {}), ("a", {}), ("b", {}), (ncu.MARK, {}), (ncu.MARK, {}), ("c", {})]
    names = [[name for name, _ in of_cell] for of_cell in ncu.by_cell(listed, 4)]
    assert names == [["a", "b"], [], ["c"], []]


def test_counts_are_added_up_and_averages_weighted():
    rates = dict.fromkeys(ncu.AVERAGES, 10.0)
    found = ncu.by_kernel([
        ("x_edit_wfa_E32_y", launch(1, **rates)),
        ("x_edit_wfa_E32_y", launch(3, **dict.fromkeys(ncu.AVERAGES, 30.0))),
        ("edit_wfa_E128", launch(1, **rates)),
        ("pack_letters", launch(9)),
    ])  # fmt: skip
    assert set(found) == {"E32", "E128"} and found["E32"]["launches"] == 2
    assert found["E32"]["kernel_time_s"] == 8e6 and found["E32"]["warp_instructions"] == 4e6  # parse() makes seconds
    assert {found["E32"][name] for name in ncu.AVERAGES} == {25.0}
    assert found["E128"]["global_throughput_gib_s"] == pytest.approx(2**20 / 2e6 / 2**30)


def test_sums_of_fewer_pairs_are_scaled_and_averages_are_not():
    found = ncu.summary([launch(sm_busy_percent=50.0)])
    tenfold = ncu.scaled(found, 10)
    assert tenfold["warp_instructions"] == 10 * found["warp_instructions"] > 0
    assert tenfold["kernel_time_s"] == 10 * found["kernel_time_s"] > 0
    kept = set(found) - {"warp_instructions", "kernel_time_s"}
    assert {key: tenfold[key] for key in kept} == {key: found[key] for key in kept}
    assert ncu.scaled({**found, "warp_instructions": None}, 10)["warp_instructions"] is None


def test_a_missing_metric_is_missing_alone():
    whole, part = launch(sm_busy_percent=50.0), launch(sm_busy_percent=60.0)
    del part[ncu.BYTES]
    found = ncu.summary([whole, part])
    assert found["global_throughput_gib_s"] is None and found["active_warps_per_sm"] is None
    assert found["sm_busy_percent"] == 55.0 and found["kernel_time_s"] == 4e6
    idle = launch(0)  # a launch without work has no averages, and no weight
    assert ncu.summary([whole, idle])["sm_busy_percent"] == 50.0


@pytest.fixture
def fake_ncu(tmp_path):
    """fake_ncu(body) is the path of a program that runs the body in place of ncu; LOG and METRICS are variables."""

    def make(body):
        path = tmp_path / "ncu"
        read = "LOG = sys.argv[sys.argv.index('--log-file') + 1]\nMETRICS = sys.argv[sys.argv.index('--metrics') + 1]\n"
        path.write_text(f"#!{sys.executable}\nimport sys, time\n{read}{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


def test_what_ncu_finds_is_handed_on(fake_ncu):
    path = fake_ncu(f"open(LOG, 'w').write({ncu_csv([(ncu.MARK, {}), ('edit_wfa_E64', launch())])!r})")
    launches, reason = ncu.profile(path, ["child"], 60)
    assert [name for name, _ in launches] == [ncu.MARK, "edit_wfa_E64"] and reason == ""


def test_an_unknown_metric_is_asked_for_only_once(fake_ncu):
    text = ncu_csv([("edit_wfa_E64", launch())], lacking=[ncu.BYTES])
    body = f"if {ncu.BYTES!r} in METRICS: sys.exit('==ERROR== Failed to find metric {ncu.BYTES}')\n"
    launches, reason = ncu.profile(fake_ncu(f"{body}open(LOG, 'w').write({text!r})"), [], 60)
    assert reason == "" and ncu.BYTES not in launches[0][1] and launches[0][1][ncu.INSTRUCTIONS] == 1_000_000


def test_a_failing_ncu_says_why(fake_ncu):
    path = fake_ncu("print('==PROF== hello\\n==ERROR== ERR_NVGPUCTRPERM no permission'); sys.exit(1)")
    assert ncu.profile(path, [], 60) == ([], "ncu: ERR_NVGPUCTRPERM no permission")
    assert ncu.profile("/nowhere/ncu", [], 60) == ([], "ncu: cannot be run (No such file or directory)")


def test_a_slow_ncu_is_ended_with_its_child(fake_ncu, tmp_path):
    child = "import os, subprocess; process = subprocess.Popen(['sleep', '60'])\n"
    child += f"open({str(tmp_path / 'pid')!r}, 'w').write(str(process.pid)); time.sleep(60)"
    assert ncu.profile(fake_ncu(child), [], 1)[1] == "ncu: took more than 1 s"
    status = Path("/proc", (tmp_path / "pid").read_text(), "stat")
    for _ in range(100):
        if not status.exists() or status.read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("the child is still running")


def test_the_pairs_that_each_kernel_answers():
    scores = np.array([0, 32, 33, 64, 65, 128, 20, 21])
    assert kernels.answered(scores) == {"E32": 0.5, "E64": 0.25, "E128": 0.25}
    assert kernels.answered(scores, "E64") == {"E64": 0.75, "E128": 0.25}


def test_the_cells_are_those_of_the_thesis():
    of = {table: [cell for cell in cells.CELLS if cell.table == table] for table in ("thesis_tab4", "thesis_tab5")}
    names = [cell.dataset.name for cell in of["thesis_tab4"]]
    assert names == ["uniform_1000_e2", "uniform_1000_e5", "uniform_1000_e10"]
    assert {cell.design() for cell in of["thesis_tab4"]} == {PaperDesign()}
    assert {cell.dataset.name for cell in of["thesis_tab5"]} == {"uniform_150_e5"}
    designs = [PaperDesign(block_threads=32, first_kernel=kernel) for kernel in ("E32", "E64", "E128")]
    assert [cell.design() for cell in of["thesis_tab5"]] == designs


def test_data_that_is_there_is_taken_and_the_rest_simulated(tmp_path):
    small = cells.Dataset(20, 0.1)
    path = cells.ensure_data(small, str(tmp_path / "new"), 30)
    assert path.endswith("new/uniform_20_e10.arrow") and len(PairBatch.from_arrow(path)) == 30
    before = os.stat(path).st_mtime_ns
    assert cells.ensure_data(small, str(tmp_path / "new"), 20) == path and os.stat(path).st_mtime_ns == before
    with pytest.raises(cells.ProfileError, match="holds 30 pairs, --pairs asks for 31"):
        cells.ensure_data(small, str(tmp_path / "new"), 31)


class FakeTimings(dict):
    """Of a call."""

    def spans(self):
        return [("time_h2d", np.int64(0), 0.0, 1e-3), ("time_kernel", 0, 1e-3, 2e-3)]


@pytest.fixture
def fake_gpu(monkeypatch, tmp_path):
    """A library whose GPU answers at once; no ncu. The small data set stands for all."""

    class Result:
        scores = np.full(30, 20)
        timings = FakeTimings(time_kernel=0.5, time_h2d=0.1)

    def facts(longest, design, scope):
        assert longest >= 20 and scope == "cigar"
        return [synthetic_profiles.facts(kernel, 32) for kernel in cells.KERNEL_LIMITS]

    tried = cells.Cell("thesis_tab4", cells.Dataset(20, 0.1))
    monkeypatch.setattr(kernels, "gpu_kernel_facts", facts)
    monkeypatch.setattr(cells, "pin_pairs", lambda pairs: pairs)
    monkeypatch.setattr(command, "gpu_problem", lambda: None)
    monkeypatch.setattr(ncu, "find", lambda: None)
    monkeypatch.setattr(kernels, "CELLS", [tried])
    monkeypatch.setattr(timeline, "SHORT", tried.dataset)
    for module in (kernels, timeline):
        monkeypatch.setattr(module, "align", lambda *_, **__: Result())
        monkeypatch.setattr(module, "release_gpu_memory", lambda: None)
    monkeypatch.setenv("WAVEBENCH_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr(record, "host_card", lambda host: {"id": host, "gpus": [{"name": "Some GPU"}]})


@pytest.mark.parametrize("kind", ["kernels", "timeline"])
def test_the_command_writes_what_the_tables_and_the_figure_read(fake_gpu, tmp_path, kind):
    out = tmp_path / f"new/{kind}.json"
    asked = [kind, "--data", str(tmp_path), "--pairs", "30", "--out", str(out), "--host", "h-1c"]
    assert command.main(asked) == 0
    found = profiles.read(out, kind)
    assert (found["host"], found["host_card"]["id"]) == ("h-1c", "h-1c") and found["commit"]
    tools = ["wavebench-edit:paper"] if kind == "kernels" else ["wavebench-edit:fast", "wavebench-edit:paper"]
    adapters = aligners.load()
    assert found["tool_source_hashes"] == {tool: adapters[tool].source_hash() for tool in tools}
    if kind == "timeline":
        assert [design["design"] for design in found["designs"]] == ["fast", "paper"]
        span = {"part": "time_h2d", "batch": 0, "begin_s": 0.0, "end_s": 1e-3}
        assert found["designs"][0]["spans"][0] == span and found["designs"][0]["seconds"] >= 0
        return
    (cell,) = found["cells"]
    assert found["ncu"] == {"version": None, "reason": "ncu (Nsight Compute) is not installed"}
    assert cell["answered"] == {"E32": 1.0, "E64": 0.0, "E128": 0.0} and cell["pairs"] == 30
    assert cell["timings_s"]["time_kernel"] == [0.5] * kernels.CALLS and cell["compiler"]["E64"]["max_errors"] == 64


def test_every_kind_names_the_tools_whose_kernels_it_watches():
    assert set(watched.TOOLS) == set(layout.KINDS)
    assert all(len(watched.source_hashes(kind)) == len(watched.TOOLS[kind]) for kind in layout.KINDS)


def test_facts_that_fail_leave_the_rest(fake_gpu, monkeypatch, tmp_path):
    def failing(*_, **__):
        raise RuntimeError("no driver")

    monkeypatch.setattr(kernels, "gpu_kernel_facts", failing)
    (cell,) = kernels.measure(str(tmp_path), 30, print)["cells"]
    assert cell["compiler"] == {} and cell["compiler_reason"] == "the compiler's facts failed: no driver"
    assert cell["timings_s"]["time_h2d"] == [0.1] * kernels.CALLS


@pytest.mark.parametrize("kind", ["kernels", "timeline", "once"])
def test_without_a_gpu_it_is_one_message_and_exit_code_2(monkeypatch, capsys, kind):
    monkeypatch.setattr(command, "gpu_problem", lambda: "no NVIDIA GPU or driver found")
    assert command.main([kind, *(["--out", "x.json"] if kind != "once" else [])]) == 2
    assert capsys.readouterr().err == f"error: {kind}: needs an NVIDIA GPU: no NVIDIA GPU or driver found\n"


@pytest.mark.parametrize("text", ["1.5", "inf", "nan", "0"])
def test_a_bad_count_is_refused(capsys, text):
    with pytest.raises(SystemExit, match="2"):
        command.main(["kernels", "--out", "x.json", "--pairs", text])
    assert f"argument --pairs: '{text}' is not a number of pairs such as 1000 or 1e6" in capsys.readouterr().err


@pytest.mark.gpu
def test_the_kernels_of_a_gpu(tmp_path):
    out = tmp_path / "kernels.json"
    assert command.main(["kernels", "--data", str(tmp_path), "--pairs", "20000", "--out", str(out)]) == 0
    found = profiles.read(out, "kernels")
    for cell, kernel in zip(found["cells"], list(cells.KERNEL_LIMITS) * 2, strict=True):
        assert cell["answered"][kernel] > 0.9 and min(cell["timings_s"]["time_kernel"]) > 0
        shared = [facts["shared_bytes"] for facts in cell["compiler"].values()]
        assert shared == sorted(shared) and cell["compiler"][kernel]["local_bytes"] >= 0
        if not found["ncu"]["reason"]:
            assert None not in cell["ncu"][kernel].values()
            assert cell["ncu"][kernel]["active_threads_per_warp"] <= 32


@pytest.mark.gpu
def test_the_timeline_of_a_gpu(tmp_path):
    out = tmp_path / "timeline.json"
    assert command.main(["timeline", "--data", str(tmp_path), "--pairs", "1000000", "--out", str(out)]) == 0
    for design in profiles.read(out, "timeline")["designs"]:
        spans = design["spans"]
        assert {span["part"] for span in spans} == {"time_h2d", "time_pack", "time_kernel", "time_d2h"}
        assert all(0 <= span["begin_s"] <= span["end_s"] <= 2 * design["seconds"] for span in spans)
        letters_in, kernels = ([s for s in spans if s["part"] == part] for part in ("time_h2d", "time_kernel"))
        assert any(a["begin_s"] < b["end_s"] and b["begin_s"] < a["end_s"] for a in letters_in for b in kernels)
