"""The conductor's side of a worker: start it, ask it with a time limit, know how it died."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from multiprocessing.connection import Connection

import psutil

from workflow.race.worker import OUT_OF_MEMORY

#: Part of the machine's memory one tool may take, over all its processes.
MEMORY_SHARE = 0.7
#: Libraries may not start threads of their own behind a single-thread cell's back; a pool gets the number it is told.
_THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class WorkerFailed(Exception):
    """A worker that gave no answer. status: "timeout", "crashed" or "out_of_memory"; reason: text for the tables."""

    def __init__(self, status, reason):
        super().__init__(f"{status}: {reason}")
        self.status, self.reason = status, reason


class Worker:
    """The process of a tool, or of those that share one. ask() raises WorkerFailed, and the process is then gone.

    processes: it and those it will fork. threads: of each of them, 1 but for a library's own thread pool.
    """

    def __init__(self, device="cpu", processes=1, threads=1):
        ours, theirs = socket.socketpair()
        memory = int(psutil.virtual_memory().total * MEMORY_SHARE / processes) if device == "cpu" else 0
        # What the tool's programs read and write: a process that is killed cannot remove its files.
        self.scratch = tempfile.TemporaryDirectory(prefix="wavebench-", ignore_cleanup_errors=True)
        limits = dict.fromkeys(_THREAD_COUNTS, str(threads))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "workflow.race.worker", *map(str, (theirs.fileno(), memory, processes, threads))],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=2,  # the answers go over the socket
            env={**os.environ, **limits, "TMPDIR": self.scratch.name}, start_new_session=True,
        )  # fmt: skip
        theirs.close()
        self.opened = None  # path of the data set it holds
        self.warm = set()  # tools that have made their first call
        self.pipe = Connection(ours.detach())

    @property
    def alive(self):
        """Whether it can be asked."""
        return not self.pipe.closed

    def ask(self, timeout_s, method, *arguments):
        """Answer of the worker's method; raises WorkerFailed after timeout_s or when it fails."""
        try:
            self.pipe.send((method, arguments))
            if not self.pipe.poll(timeout_s):
                self.stop()
                raise WorkerFailed("timeout", f"no answer within {timeout_s:g} s")
            kind, value = self.pipe.recv()
        except (EOFError, ConnectionError, OSError):
            code = self.stop()
            raise WorkerFailed(*_cause(code)) from None
        if kind == "failed":
            self.stop()
            raise WorkerFailed("out_of_memory" if value == OUT_OF_MEMORY else "crashed", value)
        return value

    def stop(self):
        """End the process and remove its files; its exit code, or minus the signal that had ended it."""
        code = self._end()
        self.scratch.cleanup()
        return code

    def _end(self):
        self.pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=0.5)
        # Its whole group, of one that has ended too: what an external program has started would run on beside every
        # later sample.
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.wait()


def _cause(code):
    if code == -signal.SIGKILL:
        return "out_of_memory", "its process was killed, as the system does when memory runs out"
    if code < 0:
        return "crashed", f"its process ended by signal {signal.Signals(-code).name}"
    return "crashed", f"its process ended with exit code {code}"
