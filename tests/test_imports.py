"""Who may import whom: the imports of every file, read from its source."""

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = ("wfa_kernels", "workflow", "simulators", "tests", "notebooks")
STDLIB = sys.stdlib_module_names


def files(folder):
    return sorted((ROOT / folder).rglob("*.py"))


def modules(path):
    """Full names of everything a file imports, those inside functions too; ``from a import b`` gives a.b and a."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def tops(path):
    """Top-level packages that a file imports, the standard library left out."""
    return {name.split(".")[0] for name in modules(path)} - STDLIB


def breaches(folder, allowed, skip=()):
    """{file: packages beyond the allowed ones}."""
    found = {path.relative_to(ROOT).as_posix(): tops(path) - allowed for path in files(folder) if path.name not in skip}
    return {path: names for path, names in found.items() if names}


def test_library_stands_alone():
    core = {"numpy", "numba", "pyarrow", "wfa_kernels"}
    # What Numba and numba-cuda themselves stand on: instructions that they have no name for, the driver's copies.
    below = {"llvmlite": ("cpu", "cuda"), "cuda": ("cuda",)}
    assert not breaches("wfa_kernels", core | set(below), skip=("__main__.py",))
    for package, rooms in below.items():
        assert not [path for path in files("wfa_kernels") if package in tops(path) and path.parent.name not in rooms]
    assert tops(ROOT / "wfa_kernels/__main__.py") <= core | {"click", "tqdm"}


@pytest.mark.parametrize("room", ["reference", "cpu", "cuda"])
def test_rooms_do_not_import_each_other(room):
    others = {"reference", "cpu", "cuda"} - {room}
    for path in files(f"wfa_kernels/{room}"):
        for name in modules(path):
            parts = name.split(".")
            assert not (parts[0] == "wfa_kernels" and len(parts) > 1 and parts[1] in others), f"{path}: {name}"
            assert name not in ("wfa_kernels.api", "wfa_kernels.align"), f"{path}: {name}"


def test_simulators_need_only_the_pairs():
    allowed = ("wfa_kernels.pairs", "wfa_kernels.formats")
    for path in files("simulators"):
        for name in modules(path):
            top = name.split(".")[0]
            assert top not in ("workflow", "tests", "notebooks"), f"{path}: {name}"
            assert top != "wfa_kernels" or name.startswith(allowed), f"{path}: {name}"


def test_adapters_use_public_names_only():
    public = {"wfa_kernels"} | {f"wfa_kernels.{name}" for name in _all_of("wfa_kernels")}
    vocabulary = ("wfa_kernels.cigar", "wfa_kernels.result", "wfa_kernels.penalties", "wfa_kernels.pairs")
    for path in files("workflow/aligners"):
        for name in modules(path):
            assert name.split(".")[0] not in ("simulators", "tests", "notebooks"), f"{path}: {name}"
            assert not name.startswith(("workflow.race", "workflow.scripts", "workflow.report")), f"{path}: {name}"
            if name.startswith("wfa_kernels"):
                assert name in public or name.startswith(vocabulary), f"{path}: {name}"


def test_engine_runs_on_a_bare_host():
    allowed = {"numpy", "numba", "pyarrow", "yaml", "psutil", "wfa_kernels", "workflow"}
    assert not breaches("workflow/race", allowed)
    for path in files("workflow/race"):
        for name in modules(path):
            assert not name.startswith(("workflow.scripts", "workflow.report")), f"{path}: {name}"
            assert not (name.startswith("workflow.aligners.") and name.split(".")[2] in _adapters()), f"{path}: {name}"


def test_the_engine_and_every_adapter_load_without_the_workflows_packages():
    absent = ("snakemake", "jsonschema", "pandas", "click", "tqdm", "jinja2", "matplotlib", "edlib", "rapidfuzz")
    code = f"import sys; sys.modules.update(dict.fromkeys({absent}))\n"
    code += "import workflow.race.__main__, workflow.race.worker\n"
    code += "from workflow import aligners; assert aligners.load()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_tables_and_figures_never_measure():
    for folder in ("workflow/scripts/tables", "workflow/scripts/figures", "workflow/report"):
        for path in files(folder):
            for name in modules(path):
                assert not name.startswith(("workflow.race.engine", "workflow.race.conductor")), f"{path}: {name}"
                assert name.split(".")[0] not in ("tests", "notebooks"), f"{path}: {name}"


def test_nobody_imports_tests_or_notebooks():
    for folder in ("wfa_kernels", "simulators", "workflow"):
        for path in files(folder):
            assert not tops(path) & {"tests", "notebooks"}, path


def test_judge_imports_nothing_of_ours():
    assert not tops(ROOT / "tests/naive.py") & set(OURS)


def test_import_compiles_nothing_and_needs_no_gpu():
    code = """
import numba.core.dispatcher as dispatcher
def refuse(self, *arguments, **named):
    raise AssertionError("import compiled something")
dispatcher.Dispatcher.compile = refuse
import sys, wfa_kernels
assert "numba.cuda.cudadrv.driver" not in sys.modules, "the CUDA driver was touched"
assert not [name for name in sys.modules if name.split(".")[0] in ("workflow", "simulators", "click", "tqdm")]
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_library_builds_a_wheel_of_its_own(tmp_path):
    for name in ("wfa_kernels", "pyproject.toml", "README.md", "LICENSE"):
        (tmp_path / name).symlink_to(ROOT / name)
    command = ["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q", "-w", "dist", "."]
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").glob("wfa_kernels-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"wfa_kernels/api.py", "wfa_kernels/cpu/edit_wfa.py", "wfa_kernels/reference/edit_wfa.py"} <= set(names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"wfa_kernels"}


def _all_of(package):
    for node in ast.parse((ROOT / package / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return ast.literal_eval(node.value)
    raise AssertionError(f"{package} has no __all__")


def _adapters():
    return {path.stem for path in files("workflow/aligners") if not path.stem.startswith("_")}
