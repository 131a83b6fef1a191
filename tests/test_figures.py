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
from workflow.scripts import dp_modes, plotting, traces
from workflow.scripts.figures import ewfa_fig1, thesis_fig1, thesis_fig3, thesis_fig5

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


def words(figure):
    """All text of a figure in one line."""
    told = [text.get_text() for text in figure.findobj(plotting.plt.Text)]
    return " ".join(" ".join(told + [axes.get_title(loc="left") for axes in figure.axes]).split())
