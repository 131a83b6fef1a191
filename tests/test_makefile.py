"""The two commands: a mistake is one line that says what is wrong, before anything is set up; the set-up itself."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")


@pytest.fixture
def make_there(tmp_path):
    """make_there(*arguments) runs make on a copy of the Makefile in tmp_path."""
    for name in ("Makefile", "requirements.lock", "requirements-native.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "config/lanes", tmp_path / "config/lanes")
    environment = {
        k: v for k, v in os.environ.items() if k not in ("CORES", "LANE", "PYTHON", "MAKEFLAGS", "MAKELEVEL")
    }

    def make_there(*arguments):
        return subprocess.run(["make", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True)

    return make_there


@pytest.fixture
def make(make_there, tmp_path):
    """make(*arguments), which must set nothing up."""

    def make(*arguments):
        done = make_there(*arguments)
        assert not (tmp_path / ".venv").exists()
        return done

    return make


def python(folder, body):
    """A stand-in for a Python that is not as it should be: a shell script."""
    path = folder / "python-of-the-test"
    path.write_text(f'#!/bin/sh\n{body}\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return f"PYTHON={path}"


@pytest.mark.parametrize("cores", ["bad", "0", "-1", "", "1 2", "2.5", "a'b"])
@pytest.mark.parametrize("target", ["reproduce", "test"])
def test_bad_cores_are_one_line_before_the_set_up(make, cores, target):
    done = make(target, f"CORES={cores}")
    assert done.returncode == 2
    assert re.fullmatch(r"Makefile:\d+: \*\*\* CORES is 'all' or a number >= 1, not '.*'\.  Stop\.\n", done.stderr)


def test_a_bad_lane_is_one_line_before_the_set_up(make):
    done = make("reproduce", "LANE=fast")
    assert done.returncode == 2
    assert re.fullmatch(r"Makefile:\d+: \*\*\* LANE is auto or one of .*kick.*, not 'fast'\.  Stop\.\n", done.stderr)


def test_a_name_in_small_letters_would_set_nothing(make):
    done = make("reproduce", "lane=cpu")
    assert done.returncode == 2
    assert re.fullmatch(r"Makefile:\d+: \*\*\* write it in capitals: lane=cpu sets nothing\.  Stop\.\n", done.stderr)


@pytest.mark.parametrize("arguments", [("CORES=all",), ("CORES=8", "LANE=kick"), ("LANE=auto",)])
def test_right_arguments_are_taken(make, arguments):
    done = make("-n", "reproduce", *arguments)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo 3.10; exit 0", "is Python 3.10, not 3.11, 3.12 or 3.13"),
        ("echo 'no encodings' >&2; exit 1", "does not run (no encodings)"),
        ('case "$*" in *"import venv"*) exit 1 ;; esac', "lacks the modules venv and ensurepip"),
    ],
)
def test_a_python_that_will_not_do_is_one_line(make, tmp_path, body, said):
    done = make("setup", python(tmp_path, body))
    assert done.returncode == 2
    first, *rest = done.stderr.splitlines()
    assert first.startswith("error: '") and said in first
    assert all(line.startswith("make: ***") for line in rest)


#: Body of a stand-in for ``python -m venv .venv``: a Python there whose pip fails for one of the locks.
VENV = r"""case "$*" in "-m venv .venv")
  mkdir -p .venv/bin
  cat >.venv/bin/python <<'END'
#!/bin/sh
echo "$@" >>asked
case "$*" in *"-r {fails}") echo "no compiler"; exit 1 ;; esac
END
  chmod +x .venv/bin/python
  exit 0 ;;
esac"""


def test_a_set_up_without_a_compiler_is_whole_and_says_what_is_missing(make_there, tmp_path):
    lacks_compiler = python(tmp_path, VENV.format(fails="requirements-native.lock"))
    done = make_there("setup", lacks_compiler)
    assert done.returncode == 0, done.stderr
    assert "note: pywfa and mappy could not be built, their rows will say so (needs a C compiler; " in done.stdout
    assert (tmp_path / ".venv/native.log").read_text() == "no compiler\n"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert ["-r requirements.lock" in line for line in asked] == [True, False] and len(asked) == 2
    assert "nothing to be done" in make_there("setup", lacks_compiler).stdout.lower()


def test_a_set_up_that_fails_otherwise_is_not_taken_for_a_whole_one(make_there, tmp_path):
    done = make_there("setup", python(tmp_path, VENV.format(fails="requirements.lock")))
    assert done.returncode == 2
    assert not list((tmp_path / ".venv").glob(".ready-*")) and "note:" not in done.stdout
