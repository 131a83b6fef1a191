"""``--may-skip``, by which CI takes a skipped test for a failed one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TESTS = """
import pytest

def test_passes():
    pass

@pytest.mark.skipif(True, reason="this host has a GPU")
def test_marked():
    pass

def test_inside():
    pytest.skip("no compiler")

@pytest.mark.xfail(reason="known", strict=True)
def test_fails_as_expected():
    assert False
"""


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ((), "1 passed, 2 skipped, 1 xfailed"),
        (("--may-skip=GPU",), "1 failed, 1 passed, 1 skipped, 1 xfailed"),
        (("--may-skip=GPU|compiler",), "1 passed, 2 skipped, 1 xfailed"),
    ],
)
def test_a_skip_for_another_reason_fails(tmp_path, options, outcome):
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", f"--rootdir={tmp_path}", *options]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    ran = subprocess.run([*command, tmp_path], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert outcome in ran.stdout, ran.stdout + ran.stderr
    assert ("must not be skipped here" in ran.stdout) == outcome.startswith("1 failed")
