"""Every notebook runs on the recorded samples, from its first cell to its last, and is committed without outputs."""

from pathlib import Path

import nbformat
import pytest

from workflow.scripts import plotting

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_there_is_a_notebook():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_its_cells_run_and_draw(path, monkeypatch):
    monkeypatch.chdir(ROOT / "notebooks")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    names = {"__name__": "__main__"}
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            assert not cell.outputs and cell.execution_count is None, f"cell {number} holds outputs"
            exec(compile(cell.source, f"{path.name}, cell {number}", "exec"), names)
    drawn = [plotting.plt.figure(number) for number in plotting.plt.get_fignums()]
    assert any(axes.lines for figure in drawn for axes in figure.axes)
    plotting.plt.close("all")
