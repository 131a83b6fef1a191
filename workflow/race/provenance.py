"""Where and when samples were made: commit, time and the keys that say whether a finished race still stands."""

import hashlib
import json
import os
import platform
import re
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import numba

from workflow.aligners import ROOT, WORKING_MEMORY_BYTES
from workflow.race import host

#: Version of the way of measuring: raise it when a change of the engine makes earlier samples no longer comparable.
#: Every race is then run again, and tables mark samples of another one.
PROCEDURE = 5
#: The commit, for a copy of the project without its git folder.
COMMIT_VARIABLE = "WAVEBENCH_COMMIT"


class CommitError(ValueError):
    """What the variable names is no commit; the text says what is allowed."""


def commit():
    """Commit of the checkout, with ``+dirty`` when tracked files differ from it; "unknown" outside git.

    Raises CommitError where WAVEBENCH_COMMIT names something else: samples keep it for ever.
    """
    named = os.environ.get(COMMIT_VARIABLE)
    if named:
        if not re.fullmatch(r"[0-9a-f]{7,40}(\+dirty)?|unknown", named):
            raise CommitError(f"{COMMIT_VARIABLE} must be a commit of 7 to 40 hex digits, or unknown, not {named!r}")
        return named
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return head + ("+dirty" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _git(*arguments):
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    ).stdout.strip()


def now_utc():
    """Time as ISO 8601 to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def conditions():
    """What all races are measured under, {name: number}. A change of any runs every race again and marks older ones."""
    return {"procedure": PROCEDURE, "working_memory_bytes": WORKING_MEMORY_BYTES}


def runtime():
    """Versions of what runs our tools, {name: version}. Of another one every race is run again."""
    told = {"python": platform.python_version(), "numba": numba.__version__}
    for package in ("numpy", "numba-cuda", "cuda-bindings", "nvidia-cuda-nvcc", "nvidia-nvvm"):
        with suppress(PackageNotFoundError):
            told[package] = version(package)
    drivers = sorted({gpu.get("driver", "") for gpu in host.gpus()})
    return told | ({"driver": drivers} if drivers else {})


def race_key(plan, conductor, data, host_id):
    """Digest of all that a race depends on: conditions, plan, data set, host, each tool's version, build and sources.

    data: what tells the pairs and what they are said to be from any other, for json.dumps.

    The commit is not part of it: a commit that touches none of these does not make a race run again.
    """
    tools = {}
    for tool in plan.tools:
        adapter = conductor.adapters[tool]
        told = conductor.versions.get(tool, conductor.missing.get(tool))
        tools[tool] = [told, adapter.build(), adapter.source_hash()]
    asked = {name: str(value) for name, value in vars(plan).items() if value is not None}
    fields = {**asked, "data": data, "host": host_id, "by_tool": tools}
    fields |= {**conditions(), **runtime()}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:24]
