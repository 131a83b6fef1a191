"""The host's lock: one race at a time, whoever asks for it, and what a race that waits is told."""

import fcntl
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from workflow.race import lock as host_locks
from workflow.race.lock import LOCK_VARIABLE, LockError, host_lock

ROOT = Path(__file__).resolve().parents[1]


def test_two_races_never_overlap(tmp_path):
    lock = tmp_path / "lock"
    script = (
        "import sys, time; from workflow.race.lock import host_lock\n"
        "with host_lock(sys.argv[1], poll_s=0.02):\n"
        "    print('in', time.monotonic(), flush=True); time.sleep(0.3); print('out', time.monotonic(), flush=True)\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(lock)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    spans = sorted([float(line.split()[1]) for line in p.communicate()[0].splitlines()] for p in processes)
    assert len(spans) == 3 and all(a[1] <= b[0] for a, b in zip(spans[:-1], spans[1:], strict=True))


def test_a_waiting_race_names_the_holder_and_since_when(tmp_path):
    script = "import sys; from workflow.race.lock import host_lock\nwith host_lock(sys.argv[1]): pass\n"
    command = [sys.executable, "-c", script, str(tmp_path / "lock")]
    with host_lock(tmp_path / "lock"):
        waiting = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        said = waiting.stderr.readline()
    assert re.fullmatch(
        rf"waiting: another race runs on this host: process {os.getpid()} since 20\d\d-\d\d-\d\d \d\d:.*, in .*\n", said
    )
    assert waiting.wait(timeout=60) == 0


def test_lock_dies_with_its_process(tmp_path):
    lock = tmp_path / "lock"
    script = (
        "import sys, time; from workflow.race.lock import host_lock\n"
        "with host_lock(sys.argv[1]): print('in', flush=True); time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", script, str(lock)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "in\n"
    holder.kill()
    holder.wait()
    begin = time.monotonic()
    with host_lock(lock, poll_s=0.02):
        assert time.monotonic() - begin < 5


def test_a_lock_file_that_cannot_be_is_one_error(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "none" / "lock", tmp_path / "file" / "lock"):
        with pytest.raises(LockError, match=f"^WAVEBENCH_LOCK: {path}: cannot be opened"), host_lock(path):
            pass


class Patience:
    """Stands for the module time: lets the holder go at the second sleep."""

    def __init__(self, let_go):
        self.left, self.let_go = 2, let_go

    def sleep(self, _seconds):
        self.left -= 1
        if not self.left:
            self.let_go()


@pytest.mark.parametrize(("content", "holder"), [("", "unknown"), ("process 1 since then\n", "process 1 since then")])
def test_a_race_that_waits_says_so_once(tmp_path, monkeypatch, capsys, content, holder):
    (tmp_path / "lock").write_text(content)
    held = os.open(tmp_path / "lock", os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    patience = Patience(lambda: os.close(held))
    monkeypatch.setattr(host_locks, "time", patience)
    with host_lock(tmp_path / "lock"):
        assert patience.left == 0
    assert capsys.readouterr().err == f"waiting: another race runs on this host: {holder}\n"


def test_the_lock_lies_where_the_variable_says(tmp_path, monkeypatch):
    monkeypatch.setenv(LOCK_VARIABLE, str(tmp_path / "lock"))
    with host_lock():
        assert (tmp_path / "lock").read_text().startswith(f"process {os.getpid()} ")


def test_of_the_holder_before_nothing_is_left_in_the_file(tmp_path):
    (tmp_path / "lock").write_text("x" * 1000)
    with host_lock(tmp_path / "lock"):
        assert re.fullmatch(rf"process {os.getpid()} since .*, in {os.getcwd()}\n", (tmp_path / "lock").read_text())


def test_every_user_may_take_a_lock_that_one_has_made(tmp_path):
    before = os.umask(0o077)
    try:
        with host_lock(tmp_path / "lock"):
            assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o666
    finally:
        os.umask(before)


def test_a_lock_that_may_only_be_read_holds_as_well(tmp_path, monkeypatch):
    """Of another user, with rights of their own: root, who may write all, is refused here by hand."""
    (tmp_path / "lock").write_text("another's")
    opened = os.open

    def refusing(path, flags, *mode):
        if flags != os.O_RDONLY:
            raise PermissionError(13, "Permission denied", path)
        return opened(path, flags, *mode)

    monkeypatch.setattr(host_locks.os, "open", refusing)
    with host_lock(tmp_path / "lock"):
        other = opened(tmp_path / "lock", os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)
    assert (tmp_path / "lock").read_text() == "another's"
