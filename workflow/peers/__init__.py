"""The peers' C libraries behind one shared library of ours: where it lies, and whether it is this checkout's.

``make peers`` (``python -m workflow.peers.build``) makes it; workflow/aligners/_native.py calls it.
"""

import functools
import hashlib
import json
import platform
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).parent
FOLDER = ROOT / "build/peers"
LIBRARY = FOLDER / "libpeers.so"
#: What was built: {"key", "compiler", "parts": {part: {"version"} or {"reason"}}}.
RECORD = FOLDER / "built.json"
#: Touched when nothing failed: what make goes by. What failed is tried again at the next make.
COMPLETE = FOLDER / "complete"
LOCKS = ("requirements.lock", "requirements-native.lock")
#: Distributions whose source holds the libraries.
PACKAGES = {"wfa2lib": "pywfa", "edlib": "edlib", "ksw2": "mappy"}


class NotBuilt(Exception):
    """The part of the library is not there; the text is the reason shown in the tables."""


def locked(package):
    """The lines of a lock that pin a package, with the hashes of all its files: what pip takes as a requirement."""
    for lock in LOCKS:
        found = re.search(rf"^{package}==(?:.*\\\n)*.*", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE)
        if found:
            return found.group(0) + "\n"
    raise LookupError(f"no lock pins {package}")


@functools.cache
def key():
    """Hex digest of all that the library is made of and for: our sources, the locked packages, this processor."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.glob("*.*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    digest.update("".join(locked(package) for package in PACKAGES.values()).encode())
    digest.update(_processor().encode())
    return digest.hexdigest()[:16]


def _processor():
    """What -march=native depends on: the processor's model and instruction sets."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    told = dict.fromkeys(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part")))
    return f"{platform.machine()} {' '.join(told)}"


def record():
    """What the last build wrote, as a dict; {} before the first."""
    try:
        return json.loads(RECORD.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def version(part):
    """Version of the sources of one part and their compiler. Raises NotBuilt."""
    built = record()
    if not built:
        raise NotBuilt("not built: run make peers (it needs a C and C++ compiler)")
    if built["key"] != key():
        raise NotBuilt("not built from these sources for this processor: run make peers")
    told = built["parts"][part]
    if "reason" in told:
        raise NotBuilt(told["reason"])
    return f"{told['version']}, {built['compiler']}"
