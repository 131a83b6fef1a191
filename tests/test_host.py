"""What the host card tells of a machine, its processor and its GPUs, which are asked in processes of their own."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from workflow.race import gpu_attributes, gpu_probe, host
from workflow.race.__main__ import main
from workflow.scripts import plan

ROOT = Path(__file__).resolve().parents[1]
NAMES = {"h2d_pinned", "d2h_pinned", "h2d_pageable", "d2h_pageable"}


H200 = {"sms": 132, "compute_capability": "9.0"}


@pytest.fixture(autouse=True)
def fresh():
    gpu_attributes.of_this_host.cache_clear()
    yield
    gpu_attributes.of_this_host.cache_clear()


def test_a_hosts_id_is_of_its_processor_cores_and_gpus(monkeypatch):
    monkeypatch.delenv(host.HOST_VARIABLE, raising=False)
    monkeypatch.setattr(host, "cpu_name", lambda: "Intel(R) Xeon(R) Gold 6240 CPU @ 2.60GHz")
    monkeypatch.setattr(host, "usable_cores", lambda: 4)
    found = []
    monkeypatch.setattr(host, "gpus", lambda: found)
    for cards, prefix in ((0, ""), (1, "nvidia-h200-"), (2, "2x-nvidia-h200-")):
        found[:] = [{"name": "NVIDIA H200"}] * cards
        assert host.host_id() == f"{prefix}intel-xeon-gold-6240-4c"
    found.clear()
    monkeypatch.setattr(host, "cpu_name", lambda: "AMD EPYC 7763 64-Core Processor")
    assert host.host_id() == "amd-epyc-7763-64-core-4c"
    monkeypatch.setattr(host, "cpu_name", lambda: "a" * 100)
    assert host.host_id() == "a" * 57 + "-4c", "a long name does not take the cores away"


def test_a_named_host_has_a_letter_or_digit(monkeypatch, capsys):
    monkeypatch.setenv(host.HOST_VARIABLE, "Node Type/7 ")
    assert host.host_id() == "node-type-7"
    monkeypatch.setenv(host.HOST_VARIABLE, "cpu-node@lab")
    assert host.host_id() == "cpu-node-lab", "what is left out of a processor's name stays in a host's"
    monkeypatch.setenv(host.HOST_VARIABLE, "///")
    message = "error: WAVEBENCH_HOST must hold a letter or digit of the host's name, not '///'\n"
    for command, arguments in ((main, ["host"]), (plan.main, [])):
        assert command(arguments) == 2
        assert capsys.readouterr().err == message
    monkeypatch.setenv(host.HOST_VARIABLE, "n" * 60)
    assert host.host_id() == "n" * 60
    monkeypatch.setenv(host.HOST_VARIABLE, "n" * 61)
    assert main(["host"]) == 2
    assert "WAVEBENCH_HOST is 61 letters long, 60 at most are allowed" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["-h", ".hidden", "a/b", "a b", ""])
def test_a_host_of_the_command_line_is_a_name(given):
    with pytest.raises(host.HostError, match=f"^--host '{given}': must be a name of letters, digits"):
        host.chosen_id(given)
    assert host.chosen_id("H200_x-2.b") == "H200_x-2.b"


def test_a_processors_name_is_its_model_name_or_else_the_systems_word(monkeypatch):
    told = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some CPU: v2\nmodel name\t: Other\n"
    monkeypatch.setattr(host, "open", lambda path: {"/proc/cpuinfo": io.StringIO(told)}[path], raising=False)
    monkeypatch.setattr(host.platform, "processor", lambda: "")
    monkeypatch.setattr(host.platform, "machine", lambda: "aarch64")
    assert host.cpu_name() == "Some CPU: v2"
    told = "processor\t: 0\nBogoMIPS\t: 243.75\n"
    assert host.cpu_name() == "aarch64", "Linux on ARM tells no name there"


def test_cores_that_the_process_may_not_use_do_not_count(monkeypatch):
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda _process: {3, 5, 6}, raising=False)
    monkeypatch.setattr(host.os, "cpu_count", lambda: 64)
    assert host.usable_cores() == 3


def nvidia_smi(folder, monkeypatch, script):
    """Put a program of this name first on the PATH."""
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_what_is_asked_of_the_gpus_stands_under_its_name(tmp_path, monkeypatch):
    """The stand-in answers with the names of the fields that it is asked for, and tells units unless told not to."""
    nvidia_smi(tmp_path, monkeypatch, 'test "${2%,nounits}" = "$2" || echo "${1#--query-gpu=}"; echo; echo "Other, 1"')
    asked = {"name": "name", "driver": "driver_version", "memory_mib": "memory.total", "clock_mhz": "clocks.max.sm"}
    assert host.gpus() == [asked, {"name": "Other", "driver": "1"}]


def test_what_a_failing_nvidia_smi_prints_is_no_gpu(tmp_path, monkeypatch):
    nvidia_smi(tmp_path, monkeypatch, 'echo "NVIDIA-SMI has failed"; exit 9')
    assert host.gpus() == []


def test_a_card_tells_memory_in_gib_and_the_clock_in_mhz(monkeypatch):
    monkeypatch.setattr(host, "gpus", list)
    monkeypatch.setattr(host.psutil, "virtual_memory", lambda: SimpleNamespace(total=12 * 2**30))
    monkeypatch.setattr(host.psutil, "cpu_freq", lambda: SimpleNamespace(current=2100.4, max=3900.0))
    card = host.host_card("named")
    assert (card["id"], card["memory_gib"], card["clock_mhz"]) == ("named", 12.0, 2100)
    monkeypatch.setattr(host.psutil, "cpu_freq", lambda: None)
    assert host.host_card()["clock_mhz"] is None


def test_a_probe_that_prints_no_json_has_found_nothing():
    assert gpu_probe.ask("this") is None


def test_machines_of_one_kind_are_told_apart_and_not_named(monkeypatch, tmp_path):
    serials, codes = [], []
    monkeypatch.setattr(host.shutil, "which", lambda name: name)

    def run(query, **_):
        assert query[0] == "nvidia-smi" and query[1] == "--query-gpu=uuid"
        return subprocess.CompletedProcess(query, 0, "".join(f"{serial}\n" for serial in serials), "")

    monkeypatch.setattr(host.subprocess, "run", run)
    for serials[:] in (["GPU-1"], ["GPU-2"], ["GPU-1", "GPU-2"], ["GPU-1"]):
        codes.append(host.machine_code())
    assert codes[0] == codes[3] and len(set(codes)) == 3 and all(re.fullmatch("[0-9a-f]{8}", code) for code in codes)
    serials.clear()
    monkeypatch.setattr(host, "_MACHINE_ID", tmp_path / "machine-id")
    assert host.machine_code() is None
    for told in ("", "a1\n", "b2\n"):
        (tmp_path / "machine-id").write_text(told)
        codes.append(host.machine_code())
    assert codes[4] is None and len(set(codes)) == 6
    monkeypatch.setattr(host, "gpus", list)
    assert host.host_card()["machine"] == codes[-1]


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
    monkeypatch.setattr(gpu_probe, "ask", lambda module: pytest.fail("asked without a GPU"))
    card = host.host_card()
    assert card["pcie_gb_s"] is None and card["gpu_attributes"] is None


def test_a_card_of_a_host_with_a_gpu_holds_what_does_not_change_and_what_does_anew(monkeypatch):
    calls = []

    def run(command, **_):
        calls.append(command[-1])
        found = H200 if "attributes" in command[-1] else dict.fromkeys(NAMES, 55.5321)
        return subprocess.CompletedProcess(command, 0, json.dumps(found), "")

    monkeypatch.setattr(host, "gpus", lambda: [{"name": "Some GPU"}])
    monkeypatch.setattr(gpu_probe.subprocess, "run", run)
    for _ in range(2):
        card = host.host_card()
        assert card["pcie_gb_s"] == dict.fromkeys(NAMES, 55.5) and card["gpu_attributes"] == H200
    assert sorted(calls) == ["workflow.race.bandwidth"] * 2 + ["workflow.race.gpu_attributes"]


def test_what_fails_is_left_out(monkeypatch):
    def run(command, **_):
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(host, "gpus", lambda: [{"name": "Some GPU"}])
    monkeypatch.setattr(gpu_probe.subprocess, "run", run)
    card = host.host_card()
    assert card["pcie_gb_s"] is None and card["gpu_attributes"] is None


def test_an_attribute_that_the_driver_does_not_know_is_left_out():
    class Gpu:
        compute_capability = (9, 0)
        MULTIPROCESSOR_COUNT = 132

        @property
        def CLOCK_RATE(self):
            raise RuntimeError("CUDA_ERROR_INVALID_VALUE")

    assert gpu_attributes.read(Gpu()) == H200


def test_numba_cuda_knows_every_attribute():
    driver = pytest.importorskip("cuda.bindings.driver")
    for name in gpu_attributes.ATTRIBUTES.values():
        assert hasattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
