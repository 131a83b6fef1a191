"""How much a process grows by one call of align(), measured by the system, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
needs_peaks = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the system tells no peak of memory"
)
_SCRIPT = """
import sys
import numpy as np
from wfa_kernels import Affine, Edit, PairBatch, align

def kib(key):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(key))

def run(pairs):
    limit = int(sys.argv[2]) * 2**20
    call = {"device": "cpu", "threads": int(sys.argv[3]), "memory_limit": limit, "algorithm": sys.argv[4]}
    return align(pairs, eval(sys.argv[1]), "cigar", **call).status

def unrelated(lengths):
    return PairBatch.from_strings(*[[bytes(draw.choice(letters, n)) for n in lengths] for _ in "12"])

draw = np.random.default_rng(1)
letters = np.frombuffer(b"ACGT", np.uint8)
pairs = unrelated([int(length) for length in sys.argv[5:]])
for few in (4, 400):  # whatever kernel is picked is loaded
    run(unrelated([few] * 8))
open("/proc/self/clear_refs", "w").write("5")
before = kib("VmRSS")
status = set(run(pairs).tolist())
print((kib("VmHWM") - before) // 1024, *status)
"""


def measure(penalties, limit_mib, threads, lengths, algorithm="auto"):
    """(MiB grown at most, statuses) of CIGARs of unrelated pairs of these lengths, within that memory limit.

    What loading the kernels takes is not counted.
    """
    arguments = [repr(penalties), str(limit_mib), str(threads), algorithm, *map(str, lengths)]
    done = subprocess.run([sys.executable, "-c", _SCRIPT, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    grown, *statuses = map(int, done.stdout.split())
    return grown, statuses
