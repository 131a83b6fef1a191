"""compute-sanitizer finds no wrong access and no race in the GPU's kernels."""

import shutil
import subprocess
import sys

import pytest

from tests import gpu_sanitized


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
@pytest.mark.parametrize("work", gpu_sanitized.WORKS)
def test_the_kernels_are_clean(work, tool):
    if shutil.which("compute-sanitizer") is None:
        pytest.skip("no compute-sanitizer on PATH: it comes with NVIDIA's CUDA toolkit")
    command = [
        "compute-sanitizer", "--tool", tool, "--report-api-errors", "no", "--error-exitcode", "9",
        sys.executable, "-m", "tests.gpu_sanitized", work,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
