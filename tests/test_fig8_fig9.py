"""Thesis Fig 8 and 9: what they show is the kernel's own work and its own blocks."""

import pytest
import yaml
from matplotlib.collections import PathCollection
from matplotlib.patches import Rectangle

from tests.naive import affine_score, check_cigar
from tests.test_figures import ROOT, check_text
from wfa_kernels.reference import affine_bt
from workflow.scripts import bt_trace, pool_trace, sources
from workflow.scripts.figures import thesis_fig8, thesis_fig9


@pytest.fixture(scope="module")
def pool():
    return pool_trace.trace(thesis_fig8.PAIRS, thesis_fig8.PENALTIES)


def test_every_block_takes_a_pair_and_its_threads_all_diagonals(pool):
    assert pool.scores == tuple(affine_score(*pair, *thesis_fig8.PENALTIES) for pair in thesis_fig8.PAIRS)
    _, gap_open, gap_extend = thesis_fig8.PENALTIES
    for block, (pattern, text) in enumerate(thesis_fig8.PAIRS):
        own = [work for work in pool.work if work.block == block]
        assert {work.pair for work in own} == {block}
        reach = [max(0, score - gap_open) // gap_extend for score in range(pool.scores[block] + 1)]
        lows = [-min(len(pattern), far) for far in reach]
        whole = [(s, k) for s, far in enumerate(reach) for k in range(lows[s], min(len(text), far) + 1)]
        assert [(work.score, work.k) for work in own] == whole
        assert all(work.thread == (work.k - lows[work.score]) % pool.threads for work in own)
    assert {work.thread for work in pool.work} == set(range(pool.threads)) and pool.threads == 4


def test_the_kernel_reaches_the_diagonals_of_the_reference(pool):
    for block, pair in enumerate(thesis_fig8.PAIRS):
        wavefronts = affine_bt.trace(*pair, thesis_fig9.PENALTIES).wavefronts["M"]
        told = {(s, k) for s, wavefront in wavefronts.items() for k in wavefront}
        assert {(work.score, work.k) for work in pool.work if work.block == block and work.reached} == told


def test_fig8_marks_every_piece_of_work(pool, monkeypatch):
    monkeypatch.setattr(pool_trace, "trace", lambda *_: pool)
    figure = thesis_fig8.draw()
    for block, axes in enumerate(figure.axes):
        own = [work for work in pool.work if work.block == block]
        marks = [mark for mark in axes.get_children() if isinstance(mark, PathCollection)]
        shown = {(int(x), int(y), thread) for thread, mark in enumerate(marks) for x, y in mark.get_offsets()}
        assert shown == {(work.score, work.k, work.thread) for work in own}
        assert len([patch for patch in axes.patches if isinstance(patch, Rectangle)]) == pool.scores[block] + 1
    check_text(figure)


@pytest.fixture(scope="module")
def found():
    return bt_trace.trace(thesis_fig9.PATTERN, thesis_fig9.TEXT, thesis_fig9.PENALTIES)


def test_the_kernels_cells_and_blocks_are_those_of_the_reference(found):
    reference = affine_bt.trace(thesis_fig9.PATTERN, thesis_fig9.TEXT, thesis_fig9.PENALTIES)
    assert found == reference and len(found.buffer) == 242


def test_the_chain_holds_the_alignment(found):
    blocks = thesis_fig9.chain(found)
    assert [len(told) for _, told in blocks] == [16, 16, 1] and blocks[-1][0] == 0
    told = "".join(told for _, told in blocks)
    pair, triple = (thesis_fig9.PATTERN, thesis_fig9.TEXT), thesis_fig9.PENALTIES.triple
    assert told == affine_bt.operations(found)
    assert check_cigar(*pair, affine_bt.rebuild(*pair, told), triple) == affine_score(*pair, *triple) == found.score


def test_the_cell_comes_from_its_winners(found):
    s, k = thesis_fig9.chosen_cell(found)
    won, matches = thesis_fig9.winners(found, s, k)
    made = {matrix: found.wavefronts[matrix][s][k] for matrix in "MID"}
    for gap, source in zip("ID", won, strict=False):
        assert source.operation == gap and source.reached == made[gap].offset
        assert thesis_fig9.letters(made[gap].block) == thesis_fig9.letters(source.cell.block) + gap
    best = won[2].cell if len(won) == 3 else max(made["I"], made["D"], key=lambda cell: cell.offset)
    assert thesis_fig9.letters(made["M"].block) == thesis_fig9.letters(best.block) + "X"
    reached = max(source.reached for source in won)
    v, h = reached - k, reached
    assert matches > 0 and made["M"].offset == h + matches
    assert thesis_fig9.PATTERN[v : v + matches] == thesis_fig9.TEXT[h : h + matches]


def test_fig9_shows_every_operation_and_is_legible(found, monkeypatch):
    monkeypatch.setattr(bt_trace, "trace", lambda *_: found)
    figure = thesis_fig9.draw()
    told = [text.get_text() for text in figure.axes[1].texts]
    assert "".join(text for text in told if text in ("X", "I", "D")) == affine_bt.operations(found)
    assert f"{len(found.buffer)} blocks" in figure.axes[1].get_title()
    check_text(figure)


@pytest.mark.parametrize("name", ["thesis_fig8", "thesis_fig9"])
def test_they_are_part_of_the_report(name):
    assert name in yaml.safe_load((ROOT / "config/config.yaml").read_text())["figures"]
    assert (ROOT / f"workflow/report/captions/{name}.rst").read_text().strip()
    assert "wfa_kernels/cuda/affine_wfa.py" in sources.closure(f"workflow/scripts/figures/{name}.py")
