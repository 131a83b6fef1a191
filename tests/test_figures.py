"""Figures: what they show is computed, agrees with the papers, and is legible."""

import importlib
import xml.etree.ElementTree as ElementTree
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner
from matplotlib.colors import to_rgb
from PIL import Image

from tests.naive import edit_distance
from tests.synthetic import race_rows
from workflow.race import samples
from workflow.race.provenance import PROCEDURE
from workflow.scripts import dp_modes, papers, plotting, ratios, traces
from workflow.scripts.figures import ewfa_fig1, thesis_fig1, thesis_fig3, thesis_fig5, thesis_fig10

ROOT = Path(__file__).resolve().parents[1]
COMPUTED = ("thesis_fig1", "thesis_fig2", "thesis_fig3", "thesis_fig5", "thesis_fig9", "ewfa_fig1")


def test_a_figure_that_cannot_be_written_is_one_message(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "x.png").mkdir()
    for out, told in (("file/x", "file/x.svg"), ("x", "x.png")):
        run = CliRunner().invoke(thesis_fig1.main, [f"--out={tmp_path / out}"])
        assert run.exit_code == 2 and f"Error: {tmp_path / told}: cannot be written (" in run.output


@pytest.mark.parametrize("name", COMPUTED)
def test_a_computed_figure_is_written_at_column_width(name, tmp_path):
    module = importlib.import_module(f"workflow.scripts.figures.{name}")
    run = CliRunner().invoke(module.main, [f"--out={tmp_path / name}"])
    assert run.exit_code == 0, run.output
    with Image.open(tmp_path / f"{name}.png") as picture:
        assert picture.width == round(plotting.ONE_COLUMN * 300)
        assert picture.info["dpi"] == pytest.approx((300, 300), abs=1)
    assert ElementTree.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")


@pytest.mark.parametrize("name", COMPUTED)
def test_text_is_legible_and_within_the_picture(name):
    check_text(importlib.import_module(f"workflow.scripts.figures.{name}").draw())


def check_text(figure):
    """No text under 7 points, and nothing beyond the edges of the picture."""
    figure.canvas.draw()
    sizes = [text.get_fontsize() for text in figure.findobj(plotting.plt.Text) if text.get_text().strip()]
    assert min(sizes) >= 7
    drawn = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert min(drawn.x0, drawn.y0) >= -0.02 and drawn.x1 <= width + 0.02 and drawn.y1 <= height + 0.02, drawn
    plotting.plt.close(figure)


def test_a_figure_is_the_same_bytes_twice(tmp_path):
    for name in ("a", "b"):
        plotting.save(thesis_fig5.draw(), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_every_tool_has_its_own_mark():
    assert len(set(plotting.TOOL_STYLE.values())) == len(plotting.TOOL_STYLE)
    assert all(to_rgb(color) for color, _ in plotting.TOOL_STYLE.values())


def test_gap_penalties():
    assert thesis_fig1.affine(10) == thesis_fig1.two_piece(10) == 24
    assert thesis_fig1.two_piece(40) == 64 < thesis_fig1.affine(40)
    assert thesis_fig1.logarithmic(1) == thesis_fig1.LOG_OPEN
    # concave: each further letter costs less than the one before
    steps = [thesis_fig1.logarithmic(n + 1) - thesis_fig1.logarithmic(n) for n in range(1, 40)]
    assert all(later < earlier for earlier, later in zip(steps, steps[1:], strict=False))


def test_fig3_is_what_the_thesis_prints():
    printed = [[0, 1, 2, 3, 4, 5], [1, 0, 1, 2, 3, 4], [2, 1, 0, 1, 2, 3], [3, 2, 1, 1, 1, 2]]
    assert thesis_fig3.distances("GATTA", "GAATA", 3) == printed
    assert thesis_fig3.distances("GATTACA", "GAATA", 7)[-1][-1] == edit_distance(b"GATTACA", b"GAATA")


def test_the_trace_agrees_with_the_papers():
    pattern, text = b"GATTACA", b"GAATA"
    steps = traces.trace(pattern, text)
    end = traces.last(steps, pattern, text)
    assert (end.score, end.k, end.after) == (3, -2, 5)
    # thesis Fig 5 and ewfa Fig 3: one mismatch, then two deletions
    assert end.vector == "XDD" and thesis_fig5.arrows(end.vector) == "←↖↖"
    # ewfa Fig 1: at M(2,4) T2 = P4, so the offset is extended; at M(3,5) T3 differs from P5
    marked = steps[ewfa_fig1.MARKED]
    assert marked.cell(marked.before) == (4, 2) and marked.cell(marked.after) == (5, 3)
    assert [(s.score, s.k) for s in traces.optimal(steps, pattern, text)] == [(0, 0), (1, 0), (2, -1), (3, -2)]


@pytest.mark.parametrize(("pattern", "text"), [(b"ACGT", b"ACGT"), (b"", b"AC"), (b"TTTT", b"A"), (b"ACCA", b"CACAC")])
def test_a_trace_is_a_chain_of_edits(pattern, text):
    steps = traces.trace(pattern, text)
    assert traces.last(steps, pattern, text).score == edit_distance(pattern, text)
    for step in steps.values():
        assert len(step.vector) == step.score
        if step.operation:
            source = steps[step.source]
            assert step.before == source.after + (step.operation != "D")
        v, h = step.cell(step.before)
        assert pattern[v : v + step.after - step.before] == text[h : step.after]


def brute_force(pattern, text, mode):
    """Best score over every alignment of every allowed part, by plain recursion."""

    def best(p, t):
        if not p or not t:
            return dp_modes.GAP * (len(p) + len(t))
        same = dp_modes.MATCH if p[0] == t[0] else dp_modes.MISMATCH
        return max(same + best(p[1:], t[1:]), dp_modes.GAP + best(p[1:], t), dp_modes.GAP + best(p, t[1:]))

    def parts(s):
        return {s[i:j] for i in range(len(s) + 1) for j in range(i, len(s) + 1)}

    patterns = parts(pattern) if mode == "local" else {pattern}
    texts = {text} if mode == "global" else parts(text)
    return max(best(p, t) for p in patterns for t in texts)


@pytest.mark.parametrize("mode", dp_modes.MODES)
def test_modes_against_brute_force(mode):
    words = ["", "A", "AC", "CA", "ACC", "CCA", "ACAC", "CACA"]
    for pattern, text in product(words, words):
        score, path = dp_modes.align(pattern, text, mode)
        assert score == brute_force(pattern, text, mode), (pattern, text)
        cost = 0
        for (v0, h0), (v1, h1) in zip(path, path[1:], strict=False):
            assert (v1 - v0, h1 - h0) in ((1, 1), (1, 0), (0, 1))
            diagonal = (v1 - v0, h1 - h0) == (1, 1)
            same = dp_modes.MATCH if diagonal and pattern[v0] == text[h0] else dp_modes.MISMATCH
            cost += same if diagonal else dp_modes.GAP
        assert cost == score, (pattern, text, path)


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="banded"):
        dp_modes.fill("A", "A", "banded")


@pytest.fixture
def race(tmp_path):
    """race(dataset, seconds, ...) writes a race file and gives its path."""

    def race(dataset, seconds, failed=(), valid=True, procedure=PROCEDURE, **changes):
        settings = {"experiment": "thesis_tab9", "metric": "affine", "penalties": "4,6,2", "race_id": dataset}
        rows = race_rows(dataset, seconds, **settings | {"pairs": 1000, "pairs_total": 1000} | changes)
        for tool, variant, status in failed:
            broken = {"tool": tool, "variant": variant, "status": status, "round": 0, "value_s": None, "pairs": 0}
            rows.append(rows[0] | broken)
        path = tmp_path / f"{dataset}-{len(rows)}.parquet"
        samples.write(path, rows, {"valid": valid, "procedure": procedure})
        return path

    return race


OURS = ("wavebench-wfa", "cpu", 2)


def test_ratios_are_taken_round_by_round(tmp_path):
    rows = []
    for number, slow in enumerate((1.0, 5.0, 1.0, 1.0, 5.0, 1.0), 1):  # a machine that stutters slows both alike
        for tool, variant, seconds in (("wavebench-wfa", "cpu", 1.0), ("edlib", "", 3.0)):
            one = race_rows("nanopore", {(tool, variant, 2): 1}, rounds=1, experiment="thesis_tab9")[0]
            rows.append(one | {"round": number, "value_s": seconds * slow})
    samples.write(tmp_path / "r.parquet", rows, {})
    (race,) = ratios.read([tmp_path / "r.parquet"])
    (speedup,) = ratios.speedups(race, "wavebench-wfa:cpu", "cigar", 2)
    assert (speedup.median, speedup.low, speedup.high, speedup.rounds) == (3.0, 3.0, 3.0, 6)


def test_a_slow_tool_is_compared_on_the_pairs_it_ran(tmp_path):
    seconds = {(1000, "wavebench-wfa", "cpu"): 8.0, (250, "wavebench-wfa", "cpu"): 1.0, (250, "edlib", ""): 4.0}
    rows = []
    for (pairs, tool, variant), s in seconds.items():
        rows += [row | {"value_s": s} for row in race_rows("nanopore", {(tool, variant, 2): 1}, pairs=pairs)]
    samples.write(tmp_path / "r.parquet", rows, {})
    (race,) = ratios.read([tmp_path / "r.parquet"])
    (speedup,) = ratios.speedups(race, "wavebench-wfa:cpu", "cigar", 2)
    assert speedup.median == 4.0


def test_the_largest_valid_race_of_a_host_counts(race):
    small = race("nanopore", {OURS: 1.0, ("edlib", "", 2): 2.0})
    large = race("nanopore", {OURS: 1.0, ("edlib", "", 2): 9.0}, pairs_total=5000, rounds=6)
    broken = race("nanopore", {OURS: 1.0, ("edlib", "", 2): 99.0}, pairs_total=9000, rounds=7, valid=False)
    stale = race("nanopore", {OURS: 1.0, ("edlib", "", 2): 50.0}, pairs_total=8000, rounds=9, tool_source_hash="old")
    older = race("nanopore", {OURS: 1.0, ("edlib", "", 2): 50.0}, pairs_total=8000, rounds=8, procedure=None)
    (kept,) = ratios.shown(ratios.read([small, large, broken, stale, older]))
    assert kept.rows[0]["pairs_total"] == 5000 and not kept.stale


def test_no_ratio_where_the_work_was_not_the_same(race):
    def reason(**changes):
        (one,) = ratios.read([race("nanopore", {OURS: 1.0, ("edlib", "", 2): 2.0}, **changes)])
        (speedup,) = ratios.speedups(one, "wavebench-wfa:cpu", "cigar", 2)
        assert (speedup.median is None) == bool(speedup.reason)
        return speedup.reason

    assert reason(pairs=1) == "fewer pairs than threads" and reason(pairs=2) == ""
    assert reason(coverage=0.985) == "refused 1.5 % of the pairs" and reason(coverage=0.99) == ""


def test_every_doubt_of_a_hosts_races_is_in_its_panels_title(race):
    doubtful = {"tool_source_hash": "old", "procedure": 1, "valid": False}
    read = ratios.read([race("nanopore", {OURS: 1.0, ("edlib", "", 2): 2.0}, **doubtful)])
    figure = thesis_fig10.draw(papers.read(ROOT / "config/papers/thesis_tab9.csv"), read, {})
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[-1].endswith("\nstale; older way of measuring; race invalid") and "stale" not in titles[0]
    check_text(figure)


def test_a_stale_ratio_says_so(race):
    read = ratios.read([race("nanopore", {OURS: 1.0, ("edlib", "", 2): 2.0}, tool_source_hash="old")])
    assert [s.stale for s in ratios.speedups(read[0], "wavebench-wfa:cpu", "cigar", 2)] == [True]
    figure = thesis_fig10.draw(papers.read(ROOT / "config/papers/thesis_tab9.csv"), read, {})
    assert any(axes.get_title(loc="left").endswith("\nstale") for axes in figure.axes)
    assert "Stale, measured with other sources of our kernel or the tool: every data set." in words(figure)
    check_text(figure)


def test_fig10_shows_hosts_reasons_and_stand_ins(race):
    times = {OURS: 1.0, ("edlib", "", 2): 8.0, ("parasail", "scan", 2): 50.0}
    races = ratios.read([
        race("illumina_150", times, recall_affine=0.9),
        race("nanopore", {OURS: 1.0, ("edlib", "", 2): 3.0}, failed=[("parasail", "scan", "timeout")]),
    ])  # fmt: skip
    figure = thesis_fig10.draw(papers.read(ROOT / "config/papers/thesis_tab9.csv"), races, {})
    told = words(figure)
    assert "some-cpu-2c" in told and "simulated stand-ins" in told and "2 threads each" in told
    assert "No ratio, timeout: Parasail (scan) on Nanopore." in told
    check_text(figure)


def words(figure):
    """All text of a figure in one line."""
    told = [text.get_text() for text in figure.findobj(plotting.plt.Text)]
    return " ".join(" ".join(told + [axes.get_title(loc="left") for axes in figure.axes]).split())


def test_fig10_tells_a_reason_once_for_all_its_tools(race):
    tools = {("parasail", name, 2): 5.0 for name in ("striped", "scan")}
    races = ratios.read([
        race("pacbio_hifi", {OURS: 1.0} | tools, coverage=0.07),
        race("nanopore", {OURS: 1.0, ("edlib", "", 2): 3.0, ("wavebench-bpm", "cpu", 2): 9.0}),
    ])  # fmt: skip
    for row in races[0].rows:
        if row["tool"] == "wavebench-wfa":
            row["coverage"] = 1.0
    figure = thesis_fig10.draw(papers.read(ROOT / "config/papers/thesis_tab9.csv"), races, {})
    told = words(figure)
    assert told.count("refused more than 1 %") == 1
    assert "refused more than 1 % of the pairs: Parasail (striped, scan) on PacBio HiFi." in told
    assert "BPM" not in told  # our other kernels are no peers
    notes = [text.get_text() for text in figure.findobj(plotting.plt.Text) if "•" in text.get_text()]
    assert all(len(line) <= 68 for text in notes for line in text.splitlines())
    check_text(figure)


def test_fig10_has_room_for_every_tool(race):
    times = {(*[*tool.split(":"), ""][:2], 2): 5.0 for tool in thesis_fig10.OURS}
    races = ratios.read([race("illumina_150", {OURS: 1.0} | times)])
    check_text(thesis_fig10.draw(papers.read(ROOT / "config/papers/thesis_tab9.csv"), races, {}))


def test_names_of_one_tool_share_a_bracket():
    assert thesis_fig10.listed(["Parasail (scan)", "Edlib", "Parasail (diag)"]) == "Parasail (scan, diag), Edlib"
    assert thesis_fig10.listed(["WFA2-lib", "WFA2-lib (BiWFA)"]) == "WFA2-lib, WFA2-lib (BiWFA)"


def test_fig10_of_the_thesis_is_computed_from_its_table():
    points = thesis_fig10.thesis_points(papers.read(ROOT / "config/papers/thesis_tab9.csv"))
    assert points[("wfa2-lib:unidirectional", "illumina_250")] == 3  # the prose: 1.5 to 3 times
    assert ("seqan", "moleculo") not in points  # a timeout
    assert points[("parasail:striped", "illumina_250")] == pytest.approx(21240 / 17)


def test_fig10_without_samples_says_so(tmp_path):
    paper = ROOT / "config/papers/thesis_tab9.csv"
    run = CliRunner().invoke(thesis_fig10.main, ["--paper", str(paper), "--out", str(tmp_path / "f")])
    assert run.exit_code == 0, run.output
    assert (tmp_path / "f.svg").exists() and (tmp_path / "f.png").exists()


def test_fig10_names_a_file_it_cannot_read(tmp_path):
    (tmp_path / "x.parquet").write_text("no")
    paper = ROOT / "config/papers/thesis_tab9.csv"
    run = CliRunner().invoke(thesis_fig10.main, [str(tmp_path / "x.parquet"), f"--paper={paper}", "--out=unused"])
    assert run.exit_code == 2 and "x.parquet" in run.output and "Traceback" not in run.output


def test_real_data_sets_are_named():
    real = {"real_a": "nanopore", "real_b": "nanopore"}
    assert list(thesis_fig10.places(["real_b", "illumina_150", "real_a"], real)) == ["illumina_150", "real_a", "real_b"]
    assert thesis_fig10.names_of_real(["real_a", "real_b"], real) == ["Nanopore real 1 = a, Nanopore real 2 = b"]
