"""Which of the project's files a script runs: Snakemake watches them, so that an edit reruns what depends on it."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("workflow", "wfa_kernels", "simulators")


def closure(*scripts):
    """The scripts and every project module they import, directly or not, as sorted paths relative to the root.

    Imports are read from the source, those inside functions too; nothing is run.
    """
    found, waiting = set(), [str(script) for script in scripts]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += imports(name)
    return sorted(found)


@cache
def imports(script):
    """Project modules that one file imports, as paths relative to the root.

    The packages above a module are left out, and a name that a package only passes on counts as its own module's:
    what takes PairBatch from wfa_kernels depends on wfa_kernels/pairs.py, not on the kernels.
    """
    found = set()
    for node in ast.walk(_parsed(script)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.update(_file(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found.update(_file(f"{node.module}.{alias.name}") or _passed_on(node.module, alias.name))
    return sorted(found)


@cache
def _parsed(script):
    return ast.parse((ROOT / script).read_text(encoding="utf-8"))


def _file(module):
    """[path] of one of the project's modules or packages; [] for another name."""
    if module.split(".")[0] not in PACKAGES:
        return []
    path = Path(*module.split("."))
    return [str(file) for file in (path.with_suffix(".py"), path / "__init__.py") if (ROOT / file).is_file()]


def _passed_on(module, name):
    """[path] of the module that defines the name which a package's __init__ imports, else the package's own."""
    own = _file(module)
    if own and own[0].endswith("__init__.py"):
        for node in _parsed(own[0]).body:
            if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
                return _file(f"{node.module}.{name}") or _file(node.module)
    return own
