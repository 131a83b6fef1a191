"""The host card's bandwidth between host and GPU: measured in a process of its own, absent where there is no GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workflow.race import bandwidth, host

ROOT = Path(__file__).resolve().parents[1]
NAMES = {"h2d_pinned", "d2h_pinned", "h2d_pageable", "d2h_pageable"}


@pytest.fixture(autouse=True)
def fresh():
    bandwidth.of_this_host.cache_clear()
    yield
    bandwidth.of_this_host.cache_clear()


def test_every_copy_is_measured_in_the_simulator():
    code = "from workflow.race import bandwidth; import json; print(json.dumps(bandwidth.measure(1 << 16)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == NAMES and min(found.values()) > 0


def test_a_card_of_a_host_without_a_gpu_has_none(monkeypatch):
    monkeypatch.setattr(host, "gpus", list)
    monkeypatch.setattr(bandwidth, "measure", lambda: pytest.fail("measured without a GPU"))
    assert host.host_card()["pcie_gb_s"] is None


def test_a_card_of_a_host_with_a_gpu_holds_it_once_measured(monkeypatch):
    calls = []

    def run(command, **_):
        calls.append(command)
        return subprocess.CompletedProcess(command, 0, json.dumps(dict.fromkeys(NAMES, 55.5321)), "")

    monkeypatch.setattr(host, "gpus", lambda: [{"name": "Some GPU"}])
    monkeypatch.setattr(bandwidth.subprocess, "run", run)
    for _ in range(2):
        assert host.host_card()["pcie_gb_s"] == dict.fromkeys(NAMES, 55.5)
    assert len(calls) == 1


def test_a_measurement_that_fails_leaves_it_out(monkeypatch):
    def run(command, **_):
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(host, "gpus", lambda: [{"name": "Some GPU"}])
    monkeypatch.setattr(bandwidth.subprocess, "run", run)
    assert host.host_card()["pcie_gb_s"] is None
