"""Where Numba keeps compiled kernels: a folder for each state of the sources.

Numba notices a change of the file that holds a kernel, not of those it imports: after an edit of a shared helper it
would go on running the old code. A folder named by the content of all sources cannot be stale.
"""

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "NUMBA_CACHE_DIR"
_FOLDERS = ("wfa_kernels", "simulators", "workflow/race", "tests")


def use():
    """Point Numba of this process, imported after this call, and of its children to the folder; its path."""
    if VARIABLE not in os.environ:  # else all sources would be read at each call
        os.environ[VARIABLE] = str(ROOT / ".numba" / _digest())
    return os.environ[VARIABLE]


def kept():
    """Paths of the compiled kernels that the folder holds: what a call adds to them, it has compiled."""
    return set(Path(use()).rglob("*.nbc"))


def _digest():
    digest = hashlib.sha256()
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
