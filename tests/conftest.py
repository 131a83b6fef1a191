"""What all tests share: the hypothesis profiles, the arena, ``--real-data DIR``, and ``--may-skip REGEX``."""

import os
import re
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from workflow.race import kernel_cache

kernel_cache.use()

# No deadline: the first example of a test compiles its kernel. The quick profile draws the same examples every time,
# so that a failure is a change of the code; HYPOTHESIS_PROFILE=thorough looks further.
_COMMON = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=100, derandomize=True, **_COMMON)
settings.register_profile("thorough", max_examples=2000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_addoption(parser):
    parser.addoption("--real-data", metavar="DIR", help="directory of real reads and references to test on")
    parser.addoption("--may-skip", metavar="REGEX", help="a test that is skipped for any other reason has failed")


def pytest_configure(config):
    given = config.getoption("--real-data")
    if given is not None and not Path(given).is_dir():
        raise pytest.UsageError(f"--real-data {given}: no such directory")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail what is skipped for no reason of ``--may-skip``: where all is installed, a skipped test hides a fault."""
    report = yield
    allowed = item.config.getoption("--may-skip")
    if allowed is not None and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2]
        if not re.search(allowed, reason):
            report.outcome, report.longrepr = "failed", f"must not be skipped here ({reason})"
    return report


@pytest.fixture
def arena(tmp_path, monkeypatch):
    """See tests.arena."""
    from tests.arena import Arena  # of the engine, which tests of other things need not load

    return Arena(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def no_figure_is_left():
    """matplotlib keeps what is drawn until it is closed; most tests do not load it."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(scope="session")
def real_data_dir(pytestconfig):
    """Directory given by ``--real-data``, as an absolute Path; the test is left out without one."""
    given = pytestconfig.getoption("--real-data")
    if given is None:
        pytest.skip("needs real reads: give --real-data DIR")
    return Path(given).resolve()
