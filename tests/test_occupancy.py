"""How busy a GPU was: stamps are written and added up rightly, and the figure shows what is in the file."""

from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from tests import cuda_simulator, synthetic_profiles
from tests.test_figures import check_text
from workflow.profile import __main__ as command
from workflow.profile import busy, cells, occupancy
from workflow.report import render
from workflow.scripts import plotting, profiles
from workflow.scripts.figures import gpu_occupancy


def test_what_went_on_in_each_bin():
    # 0..2 and 1..5: one, two, one, one, one, and nothing in the last bin
    edges = [0, 1, 2, 3, 4, 5, 6]
    assert busy.mean_at_work([0, 1], [2, 5], edges) == pytest.approx([1, 2, 1, 1, 1, 0])
    assert busy.mean_at_work([0, 1], [2, 5], edges, [0.5, 0.25]) == pytest.approx([0.5, 0.75, 0.25, 0.25, 0.25, 0])
    assert busy.mean_at_work([0.5, 0.75], [0.75, 2.5], [0, 1, 2, 4]) == pytest.approx([0.5, 1, 0.25])
    assert busy.mean_at_work([], [], [0, 1, 2]) == pytest.approx([0, 0])


def test_intervals_of_a_place_become_one():
    begins, ends = busy.merged([4, 0, 1, 0, 6], [5, 3, 2, 9, 8], [7, 7, 7, 2, 7])
    assert sorted(zip(begins.tolist(), ends.tolist(), strict=True)) == [(0, 3), (0, 9), (4, 5), (6, 8)]
    begins, ends = busy.merged([0, 3, 2], [2, 4, 3], [1, 1, 1])  # one begins where another ends
    assert (begins.tolist(), ends.tolist()) == ([0], [4])
    assert [len(values) for values in busy.merged([], [], [])] == [0, 0]


def stamps(**changes):
    """Two kernels on four processors: four warps of the one from 1 to 3 ms, one of the other from 3 to 9 ms; the GPU
    has room for four and for eight."""
    begin, end = np.array([1, 1, 1, 1, 3]), np.array([3, 3, 3, 3, 9])
    values = {
        "kernels": ("many", "few"), "at_once": np.array([4, 8]), "kernel": np.array([0, 0, 0, 0, 1]),
        "begin": 10**18 + 10**6 * begin, "end": 10**18 + 10**6 * end, "processor": np.array([0, 1, 2, 3, 3]),
        "processors": 4, "unstamped": 0,
    }  # fmt: skip
    return SimpleNamespace(**values | changes)


SPANS = [("time_h2d", 0, 0.0, 1e-3), ("time_pack", 0, 1e-3, 2e-3), ("time_d2h", 0, 9e-3, 10e-3)]


def test_stamps_become_what_was_at_work(monkeypatch):
    monkeypatch.setattr(occupancy, "BINS", 10)
    found = occupancy.how(stamps(), SPANS, [(0, 7, 2e-3, 9e-3)])
    assert found["bin_s"] == pytest.approx(1e-3)
    many, few = found["kernels"]
    assert (many["name"], many["warps"], many["at_once"]) == ("many", 4, 4)
    assert many["warps_at_work"] == [0, 4, 4, 0, 0, 0, 0, 0, 0, 0]
    assert few["warps_at_work"] == [0, 0, 0, 1, 1, 1, 1, 1, 1, 0]
    assert found["processors_at_work"] == [0, 4, 4, 1, 1, 1, 1, 1, 1, 0]
    assert found["load"] == [0, 1, 1, *[0.125] * 6, 0]
    assert found["kernels_s"] == pytest.approx([1e-3, 9e-3])
    assert found["mean_load"] == pytest.approx((2 + 6 / 8) / 8)
    assert found["mean_processors"] == pytest.approx((2 + 6 / 4) / 8)
    assert found["batches"] == [{"batch": 0, "pairs": 7, "begin_s": 2e-3, "end_s": 9e-3}]


@pytest.mark.parametrize("changes", [{"unstamped": 3}, {"begin": np.empty(0, np.int64)}])
def test_stamps_that_are_missing_are_an_error(changes):
    with pytest.raises(cells.ProfileError, match="left a stamp.*give fewer --pairs"):
        occupancy.how(stamps(**changes), SPANS, [])


#: The command's measuring in the simulator, with a clock that counts and made-up events.
IN_THE_SIMULATOR = """
import itertools, json, sys
from types import SimpleNamespace
from wfa_kernels import Affine, AlignError, PairBatch, align, pin_pairs, watch_gpu_warps
from wfa_kernels.cuda import kept_streams, launching, spans, stamps
from workflow.profile import occupancy

try:
    with watch_gpu_warps():
        raise SystemExit("nothing was there to watch")
except AlignError as error:
    assert "call align() on a GPU before" in str(error), error
ticks = itertools.count(10**18, 1000)
stamps.make_clock = lambda: lambda: next(ticks)
patterns = [("GATTACA" * 9)[i : 20 + 3 * i] for i in range(9)]
texts = [pattern[:7] + "C" + pattern[9:] for pattern in patterns]
batch = PairBatch.from_strings(patterns, texts)
occupancy.WARM_UP_CALLS = occupancy.CALLS = 1
occupancy.LONG_TAILED = SimpleNamespace(name="tiny", error=0.1, simulate=lambda count: batch[:count])
spans.Timings.spans = lambda self: [("time_h2d", 0, 0.0, 1e-6), ("time_pack", 0, 1e-6, 2e-6)]
spans.Timings.kernels = lambda self: [(0, 9, 2e-6, 3e-6)]
found = occupancy.measure(sys.argv[1], 9, lambda line: None)

batch = pin_pairs(batch)  # as measure() has it: the GPU packs the letters
plain = align(batch, Affine(2, 3, 1), scope="cigar", device="cuda")
with watch_gpu_warps(most_warps=4) as watch:
    watched = align(batch, Affine(2, 3, 1), scope="cigar", device="cuda")
    assert watched.scores.tolist() == plain.scores.tolist() and watched.cigar_strings() == plain.cigar_strings()
    found["short"] = len(watch.read().begin), watch.read().unstamped
    watch.clear()
    assert len(watch.read().begin) == watch.read().unstamped == 0
assert all(isinstance(slot.launch, launching.Launcher) for slot in kept_streams.slots())
print(json.dumps(found))
"""


def test_there_is_room_for_twice_the_stamps_that_a_gpu_has_left():
    assert occupancy.room(100_000) > 2 * 4_200_691  # of so many CLR-like pairs on an H200


@pytest.mark.slow
def test_a_call_in_the_simulator_leaves_a_stamp_of_every_warp(tmp_path):
    found = cuda_simulator.answer_of("-c", IN_THE_SIMULATOR, tmp_path)
    warps = {kernel["name"]: kernel["warps"] for kernel in found["kernels"]}
    assert {"pack_letters", "place_pairs", "sum_blocks", "scan_sums", "gather_runs"} < set(warps)
    assert any(name.startswith("banded_affine_2_3_1") for name in warps)
    assert warps["place_pairs"] == 2  # 9 pairs in blocks of 8 threads
    assert all(max(kernel["warps_at_work"]) > 0 for kernel in found["kernels"])
    assert 0 < found["mean_load"] <= 1 and 0 < found["mean_processors"] <= 1
    assert (found["pairs"], found["rescued"], found["lengths_bp"]["longest"]) == (9, 0, 36)
    assert found["batches"] == [{"batch": 0, "pairs": 9, "begin_s": 2e-6, "end_s": 3e-6}]
    stamped, unstamped = found["short"]
    assert 0 < stamped <= 4 and unstamped > 0 and stamped + unstamped == sum(warps.values())


def shown(*contents, here="here-2c"):
    """The figure of these occupancies."""
    found = [profiles.Profile("here" if c["host"] == here else "recorded", c) for c in contents]
    return gpu_occupancy.draw(found, here)


def words(figure):
    """Every text of a figure."""
    return " ".join(text.get_text() for text in figure.findobj(plotting.plt.Text))


def test_the_figure_shows_warps_load_pairs_left_and_batches():
    figure = shown(synthetic_profiles.occupancy())
    warps, left, batches = figure.axes
    assert len(warps.patches) == 2
    layers = {patch.get_label(): patch.get_data() for patch in warps.patches}
    assert layers["scores of long pairs"].values.tolist() == [20] * 8 + [3.25] * 2  # upon the way back
    assert layers["way back of long pairs"].values.tolist() == [0] * 8 + [3.25] * 2
    lines = {patch.get_label(): patch.get_data().values.tolist() for patch in left.patches}
    assert lines == {"SMs at work": [100] * 8 + [25] * 2, "load": [100] * 8 + [25] * 2}
    (pairs_left,) = left.lines
    assert pairs_left.get_xdata().tolist() == pytest.approx([0, 6, 10])
    assert pairs_left.get_ydata().tolist() == pytest.approx([100, 25, 0])
    bars = [(bar.get_x(), bar.get_width()) for bar in batches.patches]
    assert bars == [pytest.approx((0, 6)), pytest.approx((4, 6))]
    told = words(figure)
    assert (
        "400 pairs like PacBio CLR, 100 to 24,988 nt" in told and "(ms)" in told and "room for long pairs: 20" in told
    )
    assert "mean load 85 %, below half for 2 of 10 ms,\nthe last 2 of them at the end; SMs at work" in told
    assert "12.3 ms by the host's clock; 11.9 without" in told
    assert "recorded: h200-16c" in told and "Not profiled on here-2c" in told and "left to the CPU" not in told
    check_text(figure)


def test_the_tail_is_that_of_the_curve_not_of_a_moment():
    """A kernel of microseconds at the end does not hide that most of the GPU had been idle."""
    moment = synthetic_profiles.occupancy(load=[1.0] * 4 + [0.6] + [0.2] * 5)
    assert gpu_occupancy.tail_ms(moment) == pytest.approx(5)
    assert gpu_occupancy.tail_ms(moment | {"load": [0.4] * 10, "kernels_s": [0.001, 0.01]}) == pytest.approx(9)
    assert gpu_occupancy.tail_ms(moment | {"load": [0.4] * 9 + [0.5], "kernels_s": [0.001, 0.0095]}) == 0


def test_what_idles_in_mid_call_is_told_too():
    moment = synthetic_profiles.occupancy(load=[1.0] * 2 + [0.3] * 3 + [0.5] + [0.49] * 2 + [0.9] * 2)
    assert gpu_occupancy.idle_ms(moment) == pytest.approx(5) and gpu_occupancy.tail_ms(moment) == 0
    assert gpu_occupancy.idle_ms(moment | {"kernels_s": [0.0025, 0.0075]}) == pytest.approx(4)


def test_the_figure_of_two_hosts_and_of_pairs_left_to_the_cpu():
    figure = shown(synthetic_profiles.occupancy(rescued=2), synthetic_profiles.occupancy(host="here-2c"))
    told = words(figure)
    assert len(figure.axes) == 6 and "2 left to the CPU" in told and "this host: here-2c" in told
    assert "Not profiled" not in told
    check_text(figure)


def test_without_a_profile_the_figure_says_so():
    empty = shown()
    assert "no host has an occupancy yet" in words(empty) and "needs an NVIDIA GPU" in words(empty)
    check_text(empty)


def test_the_figures_command_writes_it_at_column_width(tmp_path):
    path = synthetic_profiles.write(tmp_path / "recorded/h/profile/occupancy.json", synthetic_profiles.occupancy())
    assert profiles.files("occupancy", "here-2c", False, tmp_path) == [path]
    run = CliRunner().invoke(gpu_occupancy.main, [path, "--host=here-2c", f"--out={tmp_path / 'f'}"])
    assert run.exit_code == 0, run.output
    with Image.open(tmp_path / "f.png") as picture:
        assert picture.width == round(plotting.ONE_COLUMN * 300)


def test_the_report_has_a_section_for_it(tmp_path):
    (tmp_path / "gpu_occupancy.svg").write_text("<svg/>")
    (section,) = render.papers([], [tmp_path / "gpu_occupancy.svg"], {})
    (figure,) = section["figures"]
    assert section["id"] == "gpu" and figure["name"] == "GPU occupancy" and figure["caption"].startswith("How busy")


def test_without_a_gpu_it_is_one_message_and_exit_code_2(monkeypatch, capsys):
    monkeypatch.setattr(command, "gpu_problem", lambda: "no NVIDIA GPU or driver found")
    assert command.main(["occupancy", "--out", "x.json"]) == 2
    assert capsys.readouterr().err == "error: occupancy: needs an NVIDIA GPU: no NVIDIA GPU or driver found\n"


@pytest.mark.gpu
def test_the_occupancy_of_a_gpu(tmp_path):
    out = tmp_path / "occupancy.json"
    assert command.main(["occupancy", "--data", str(tmp_path), "--out", str(out)]) == 0
    found = profiles.read(out, "occupancy")
    # On an H200 0.92 and 0.68; 0.29 and 0.03 when every batch lasted as long as its longest pair
    assert 0.5 < found["mean_processors"] <= 1 and 0.2 < found["mean_load"] <= 1
    assert sum(batch["pairs"] for batch in found["batches"]) >= 100_000
    first, last = found["kernels_s"]
    for batch in found["batches"]:  # both clocks tell the same
        assert first - 1e-3 < batch["begin_s"] < batch["end_s"] < last + 1e-3
    for kernel in found["kernels"]:
        assert max(kernel["warps_at_work"]) <= 1.001 * kernel["at_once"]
