"""Thesis Fig 4: the trace of a block is that of the kernel, and the figure shows it."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise

import pytest
import yaml
from click.testing import CliRunner
from matplotlib.collections import PathCollection
from matplotlib.patches import Rectangle
from PIL import Image

from tests.naive import edit_distance
from tests.test_figures import ROOT, check_text
from workflow.report import render
from workflow.scripts import block_trace, plotting, sources, traces
from workflow.scripts.figures import thesis_fig4


@pytest.fixture(scope="module")
def block():
    return block_trace.trace(thesis_fig4.PATTERN, thesis_fig4.TEXT)


@pytest.fixture
def figure(block, monkeypatch):
    monkeypatch.setattr(block_trace, "trace", lambda pattern, text: block)
    figure = thesis_fig4.draw()
    yield figure
    plotting.plt.close(figure)


def test_every_diagonal_of_every_score_is_worked_on_once_by_its_thread(block):
    assert block.distance == edit_distance(thesis_fig4.PATTERN, thesis_fig4.TEXT) == 6
    whole = [(score, k) for score in range(7) for k in range(-score, score + 1)]
    assert sorted((work.score, work.k) for work in block.work) == whole
    assert all(work.thread == (work.k + work.score) % block.threads for work in block.work)
    assert all(work.turn == (work.k + work.score) // block.threads for work in block.work)


def test_threads_take_several_diagonals_and_wait_for_each_other(block):
    assert block.threads == 4 == len(thesis_fig4.THREAD_STYLE)
    assert {work.thread for work in block.work} == set(range(4)) and max(work.turn for work in block.work) == 3
    assert all(later.score >= earlier.score for earlier, later in pairwise(block.work))


def test_the_kernel_works_on_the_diagonals_of_the_reference(block):
    steps = traces.trace(thesis_fig4.PATTERN, thesis_fig4.TEXT)
    assert {(work.score, work.k) for work in block.work} >= set(steps)


def test_diagonals_outside_the_matrix_are_nobodys():
    block = block_trace.trace(b"A", b"CCC")
    assert block.distance == 3
    assert {work.k for work in block.work} == {-1, 0, 1, 2, 3}
    assert all(work.thread == (work.k + work.score) % block.threads for work in block.work)


def test_the_figure_marks_every_piece_of_work(block, figure):
    (axes,) = figure.axes
    marks = [mark for mark in axes.get_children() if isinstance(mark, PathCollection)]
    shown = {(int(x), int(y), thread) for thread, mark in enumerate(marks) for x, y in mark.get_offsets()}
    assert shown == {(work.score, work.k, work.thread) for work in block.work}
    assert len({tuple(mark.get_facecolor()[0]) for mark in marks}) == block.threads
    numbers = {(round(text.get_position()[0]), round(text.get_position()[1])): text.get_text() for text in axes.texts}
    assert numbers == {(work.score, work.k): str(work.thread) for work in block.work}
    frames = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert len(frames) == len({(work.score, work.turn) for work in block.work})
    check_text(figure)


def test_the_figure_names_its_pair(figure):
    told = " ".join(text.get_text() for text in figure.findobj(plotting.plt.Text))
    assert thesis_fig4.PATTERN.decode() in told and thesis_fig4.TEXT.decode() in told


def test_it_is_the_same_bytes_whichever_thread_comes_first(block, monkeypatch, tmp_path):
    for name, work in (("a", block.work), ("b", block.work[::-1])):
        monkeypatch.setattr(block_trace, "trace", lambda *_, work=work: replace(block, work=work))
        plotting.save(thesis_fig4.draw(), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_the_command_writes_it_at_column_width(tmp_path):
    run = CliRunner().invoke(thesis_fig4.main, [f"--out={tmp_path / 'f'}"])
    assert run.exit_code == 0, run.output
    with Image.open(tmp_path / "f.png") as picture:
        assert picture.width == round(plotting.ONE_COLUMN * 300)
    assert ElementTree.parse(tmp_path / "f.svg").getroot().tag.endswith("svg")


def test_it_is_drawn_again_when_the_kernel_changes():
    found = sources.closure("workflow/scripts/figures/thesis_fig4.py")
    assert "wfa_kernels/cuda/edit_wfa.py" in found
    assert not [path for path in found if path.startswith(("wfa_kernels/cpu", "wfa_kernels/api"))]


def test_the_report_knows_it_by_the_journals_name(tmp_path):
    drawings = [tmp_path / f"{name}.svg" for name in ("thesis_fig4", "ewfa_fig1")]
    for drawing in drawings:
        drawing.write_text("<svg/>")
    aliases = yaml.safe_load((ROOT / "config/aliases.yaml").read_text())
    of = {alias: name for paper in render.papers([], drawings, aliases) for alias, name in paper["aliases"]}
    assert of == {"ewfa_fig2": "thesis_fig4"}
    assert "thesis_fig4" in yaml.safe_load((ROOT / "config/config.yaml").read_text())["figures"]
