"""compute-sanitizer finds no wrong access, no race and no barrier that threads miss in the GPU's kernels."""

import shutil
import subprocess
import sys

import pytest

from tests import gpu_sanitized

#: What compute-sanitizer says at the end when it has watched and found nothing.
CLEAN = {
    "memcheck": "ERROR SUMMARY: 0 errors",
    "racecheck": "RACECHECK SUMMARY: 0 hazards",
    "synccheck": "ERROR SUMMARY: 0 errors",
}


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("tool", list(CLEAN))
@pytest.mark.parametrize("work", gpu_sanitized.WORKS)
def test_the_kernels_are_clean(work, tool):
    if shutil.which("compute-sanitizer") is None:
        pytest.skip("no compute-sanitizer on PATH: it comes with NVIDIA's CUDA toolkit")
    command = [
        "compute-sanitizer", "--tool", tool, "--report-api-errors", "no", "--error-exitcode", "9",
        sys.executable, "-m", "tests.gpu_sanitized", work,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told[-4000:]
    assert CLEAN[tool] in told, f"{tool} has not run: {told[-4000:]}"
