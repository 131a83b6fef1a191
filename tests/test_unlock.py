"""A lock that a killed Snakemake left is removed, that of a running one is not."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from workflow.scripts import unlock

PYTHON = ["/some/.venv/bin/python", "-m"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a lock."""
    (tmp_path / ".snakemake/locks").mkdir(parents=True)
    (tmp_path / ".snakemake/locks/0.output.lock").touch()
    monkeypatch.setattr(unlock, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def commands(monkeypatch):
    """The commands that were to be run, with their folders; each ends with exit code 1."""
    asked = []

    def run(command, cwd):
        asked.append((command, cwd))
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(unlock.subprocess, "run", run)
    return asked


def running(monkeypatch, *processes):
    """These (command line, working folder) are all processes there are, numbered from 1."""
    told = [{"pid": i, "cmdline": line, "cwd": cwd} for i, (line, cwd) in enumerate(processes, 1)]
    monkeypatch.setattr(unlock.psutil, "process_iter", lambda _fields: [SimpleNamespace(info=info) for info in told])


def test_a_run_of_this_folder_holds_its_lock(folder, monkeypatch):
    here = str(folder)
    running(
        monkeypatch,
        ([*PYTHON, "snakemake", "--cores", "2"], here),
        (["/some/.venv/bin/python", "/some/.venv/bin/snakemake"], here),
        ([*PYTHON, "snakemake"], f"{here}/../{folder.name}"),
        ([*PYTHON, "snakemake"], f"{here}/results"),
        ([*PYTHON, "snakemake"], None),
        (None, here),
        ([*PYTHON, "pytest"], here),
        (["grep", "-r", "-n", "-i", "snakemake"], here),
    )
    assert unlock.holders(folder) == [1, 2, 3]


def test_the_lock_of_a_running_run_is_kept_and_the_process_told(folder, monkeypatch, commands, capsys):
    running(monkeypatch, (["bash"], str(folder)), ([*PYTHON, "snakemake"], str(folder)))
    assert unlock.main() == 2 and not commands
    assert capsys.readouterr().err == "error: another run works in this folder (process 2); wait until it ends\n"


def test_a_stale_lock_is_removed_by_snakemake_and_its_exit_code_told(folder, monkeypatch, commands):
    running(monkeypatch, (["bash"], str(folder)))
    assert unlock.main() == 1
    assert commands == [([sys.executable, "-m", "snakemake", "--unlock", "--quiet"], folder)]


def test_without_a_lock_nothing_is_done(folder, monkeypatch, commands):
    (folder / ".snakemake/locks/0.output.lock").unlink()
    running(monkeypatch, ([*PYTHON, "snakemake"], str(folder)))
    assert unlock.main() == 0 and not commands
