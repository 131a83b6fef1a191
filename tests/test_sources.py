"""The files a tool declares as its sources: all that its own kernels may import, and nothing else of the library."""

import ast

import pytest

from workflow import aligners
from workflow.aligners import ROOT, Adapter
from workflow.aligners.wavebench import Wavebench

ADAPTERS = aligners.load()
OWN = sorted(tool for tool, adapter in ADAPTERS.items() if isinstance(adapter, Wavebench))


def imported_of(path, folder):
    """Paths of what a file imports of a folder of the library, however the import is written."""
    stem = folder.replace("/", ".")
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (part.name for part in node.names if part.name.startswith(stem))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(stem):
            yield node.module
            yield from (f"{node.module}.{part.name}" for part in node.names)


@pytest.mark.parametrize("tool", sorted(ADAPTERS))
def test_declared_sources_exist_and_key_the_samples(tool):
    adapter = ADAPTERS[tool]
    assert all((ROOT / name).is_file() for name in adapter.sources)
    assert len(adapter.source_hash()) == 16


def test_an_edit_of_a_source_is_another_tool(monkeypatch, tmp_path):
    monkeypatch.setattr(aligners, "ROOT", tmp_path)
    adapter, hashes = Adapter(), set()
    adapter.sources = ("kernel.py",)
    for text in ("one", "two", "two"):
        (tmp_path / "kernel.py").write_text(text)
        hashes.add(adapter.source_hash())
    assert len(hashes) == 2


@pytest.mark.parametrize("tool", OWN)
def test_sources_of_an_own_kernel_hold_all_that_they_import(tool):
    sources = set(ADAPTERS[tool].sources)
    for path in sources:
        names = {f"{module.replace('.', '/')}.py" for module in imported_of(path, "wfa_kernels/cpu")}
        assert {name for name in names if (ROOT / name).is_file()} <= sources, path


@pytest.mark.parametrize(
    ("algorithm", "stems", "others"),
    [
        ("bpm", {"bpm", "schedule", "backtrace"}, {"affine_wfa", "ond"}),
        ("ond", {"ond", "schedule"}, {"affine_wfa", "bpm"}),
        ("auto", {"edit_groups", "edit_wfa", "ond", "affine_bits", "clean", "left_over"}, {"bpm"}),
        ("wfa", {"edit_groups", "edit_wfa", "affine_wfa"}, {"bpm", "ond", "affine_bits"}),
        ("bits", {"affine_bits", "bit_batch"}, {"bpm", "ond", "edit_groups"}),
    ],
)
def test_an_own_kernel_declares_the_files_it_uses_and_no_others(algorithm, stems, others):
    sources = set(ADAPTERS[f"wavebench-{algorithm}:cpu"].sources)
    assert {"wfa_kernels/api.py", "wfa_kernels/pairs.py"} <= sources
    assert not any(name.startswith("wfa_kernels/cuda/") for name in sources)
    named = {name.removeprefix("wfa_kernels/cpu/").removesuffix(".py") for name in sources}
    assert stems <= named
    assert not others & named
