"""A worker: one tool, or those that share a process, for a whole experiment, with shard processes forked from it.

The conductor speaks to it over a socket: each request is a tuple (command, arguments), each answer ("ok", value) or
("failed", status, reason). A worker that loses its conductor dies.
"""

import contextlib
import ctypes
import gc
import multiprocessing
import os
import resource
import signal
import sys
import time
import warnings
from multiprocessing.connection import Connection

import numpy as np

from wfa_kernels import PairBatch
from workflow import aligners
from workflow.processes import die_with_parent
from workflow.race import kernel_cache
from workflow.race import verify as verification
from workflow.race.host import usable_cores

#: What a worker answers when a tool runs out of memory.
OUT_OF_MEMORY = "out of memory"
#: Pairs of the first call, which compiles and loads.
WARM_UP_PAIRS = 8
#: Places at which a shard may begin, at most.
_MOST_PLACES = 1 << 16


class Cell:
    """One job of a tool on the first n pairs of a data set, split into shards."""

    def __init__(self, adapter, job, pairs):
        self.adapter, self.job, self.pairs = adapter, job, pairs
        adapter.prepare(pairs, job)

    def run(self):
        """Seconds at which the run began and ended, on the host's monotonic clock; the tool's own timer goes first."""
        gc.disable()
        try:
            begin = time.monotonic()
            self.adapter.run()
            end = time.monotonic()
        finally:
            gc.enable()
        own = self.adapter.own_seconds()
        return begin, end if own is None else begin + own


def fresh_adapter(tool, threads):
    """A new adapter object of the given id and threads: cells of one worker must not share state."""
    adapter = aligners.load()[tool]
    adapter.threads = threads
    return adapter


def shard_bounds(pairs, shards):
    """Contiguous [start, stop) ranges of about as many cells each, one a shard; with a pair at least where there are as
    many, else one each for the first.

    A run lasts as long as its slowest shard, and tools take time by cells, not letters: a shard of two long pairs
    beside others of one would tell half of what the threads can do.
    """
    count = len(pairs)
    if count <= shards:
        return [(min(shard, count), min(shard + 1, count)) for shard in range(shards)]
    places = np.linspace(0, count, min(count, _MOST_PLACES) + 1).astype(np.int64)  # of 100M pairs all take seconds
    letters = [np.diff(offsets[places]).astype(np.float64) for offsets in (pairs.pattern_offsets, pairs.text_offsets)]
    held = np.diff(places)
    ends = np.concatenate([[0], np.cumsum(letters[0] * letters[1] / held + held)])
    wanted = np.linspace(0, ends[-1], shards + 1)
    behind = np.maximum(1, np.searchsorted(ends, wanted))
    nearest = behind - (wanted - ends[behind - 1] < ends[behind] - wanted)
    number = np.arange(shards + 1)  # each cut at least a place behind the one before, and as many before the end
    cuts = np.minimum(np.maximum.accumulate(nearest - number), len(held) - shards) + number
    return list(zip(places[cuts[:-1]].tolist(), places[cuts[1:]].tolist(), strict=True))


class Shard:
    """The work of one process: cells by key, over its own range of the pairs.

    threads: of each of its runs. shards: how many there are; they share the cores for what is not timed.
    """

    def __init__(self, threads, index, shards=1):
        self.threads, self.index = threads, index
        self.tools = set()  # those that have run here
        self.untimed_threads = max(1, usable_cores() // shards)
        self.path, self.pairs, self.cells = None, None, {}

    def open(self, path):
        """Map a data set, where it is not mapped already, and forget the cells of the one before."""
        if self.path != path:
            self.path, self.pairs = path, PairBatch.from_arrow(path)
        self.clear()

    def first_call(self, tool, job, pairs):
        """(seconds of a run, whether Numba compiled in it): of the run alone, by this clock. Importing the tool and
        preparing the pairs are no compilation."""
        self.tools.add(tool)
        cell = Cell(fresh_adapter(tool, self.threads), job, pairs)
        before, begin = kernel_cache.kept(), time.monotonic()
        cell.run()
        return time.monotonic() - begin, not kernel_cache.kept() <= before

    def prepare(self, key, tool, job, n, shards):
        """Prepare the cell of a tool on this shard's part of the first n pairs."""
        if self.index >= shards:
            return
        self.tools.add(tool)
        start, stop = shard_bounds(self.pairs[:n], shards)[self.index]
        self.cells[key] = (start, Cell(fresh_adapter(tool, self.threads), job, self.pairs[start:stop]))

    def run(self, key, begin_at):
        """Run the cell, at a given instant where one is given; (begin, end), or None where this shard has no part."""
        if key not in self.cells:
            return None
        if begin_at is not None:
            while time.monotonic() < begin_at:
                pass
        return self.cells[key][1].run()

    def timings(self, key):
        """Further quantities of the last run, {name: seconds}."""
        return dict(self.cells[key][1].adapter.timings()) if key in self.cells else {}

    def counts(self, key):
        """Counts of the last run, {name: number}."""
        return dict(self.cells[key][1].adapter.counts()) if key in self.cells else {}

    def peak_memory(self, key, reset):
        """Most memory of a GPU's tool since the last reset, {name: bytes}."""
        return dict(self.cells[key][1].adapter.peak_memory(reset)) if key in self.cells else {}

    def outcome(self, key):
        """Hash of the last run's outputs."""
        if key not in self.cells:
            return ""
        return verification.output_hash(self.cells[key][1].adapter.outputs(), self.untimed_threads)

    def verify(self, key, native_path, affine_path):
        """Verdict on the last run's outputs against the exact scores kept in .npy files, judged chunk by chunk.

        The outputs themselves come whole: a run leaves all its answers, in a library's own objects or packed, and their
        packed form is the smaller. What a cell holds is bounded by its slice of a round and by the prepared cells'
        budget.
        """
        if key not in self.cells:
            return verification.Verdict()
        start, cell = self.cells[key]
        rows = slice(start, start + len(cell.pairs))
        result = cell.adapter.outputs()
        affine = cell.job.penalties if affine_path else None
        return verification.verify(
            cell.pairs, result, cell.adapter.objective(cell.job), np.load(native_path, mmap_mode="r")[rows],
            affine, np.load(affine_path, mmap_mode="r")[rows] if affine_path else None, start, cell.adapter.exact,
            self.untimed_threads,
        )  # fmt: skip

    def forget(self, key):
        """Free the answers of a cell's last run: all cells' together may not fit, and only one runs at a time."""
        if key in self.cells:
            self.cells[key][1].adapter.forget()

    def drop(self, key):
        """Forget a cell."""
        self.cells.pop(key, None)

    def clear(self):
        """Forget all cells and what they share, and give the memory back to the system."""
        self.cells = {}
        self.release()
        _give_back_freed()

    def release(self):
        """Free what the cells share."""
        adapters = aligners.load()
        for tool in self.tools:
            adapters[tool].release()

    def peak_rss_bytes(self, reset):
        """Peak resident memory of this process since the last reset: after a reset what it holds; None where not told.

        Before a reset, what was freed goes back to the system: memory that a run takes anew is then seen to grow.
        """
        if reset:
            _give_back_freed()
            with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as control:
                control.write("5")
        with contextlib.suppress(OSError), open("/proc/self/status") as lines:
            for line in lines:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        return None


class Team:
    """The leader's own shard and those of the processes forked from it. shards: how many they are in all."""

    def __init__(self, shards, threads):
        self.shards, self.threads, self.own = shards, threads, Shard(threads, 0, shards)
        self.forked = {}  # {process id: pipe}

    def warm_up(self, tool, jobs, path):
        """First run of every job of a tool on a few pairs; {scope: (seconds, compiled)}. The first tool's first: forked
        after it, the other shards share its memory and pay it once.

        compiled: Numba compiled kernels in that run; else they came from its cache on disk or an earlier scope, or the
        tool has none.
        """
        if self.own.path != path:
            # Mapped by the leader alone, for those forked after it: to look at all offsets of 100M pairs takes each of
            # them a second and, for a moment, 0.8 GB.
            self.own.open(path)
        pairs = self.own.pairs[:WARM_UP_PAIRS]  # of the same mapping: tools that share data are not to bring it anew
        took = {job.scope: self.own.first_call(tool, job, pairs) for job in jobs}
        if not self.forked:
            self._fork()
        return took

    def _fork(self):
        for index in range(1, self.shards):
            shard = Shard(self.threads, index, self.shards)
            shard.path, shard.pairs, shard.tools = self.own.path, self.own.pairs, set(self.own.tools)
            process, pipe = _fork_shard(shard)
            self.forked[process] = pipe

    def everyone(self, method, *arguments):
        """Call a method of every shard, the forked ones at the same time; their answers, own first."""
        for pipe in self.forked.values():
            pipe.send((method, arguments))
        answers = [getattr(self.own, method)(*arguments)]
        for pipe in self.forked.values():
            try:
                kind, value = pipe.recv()
            except (EOFError, ConnectionError):
                raise RuntimeError("a shard's process died, as it does when memory runs out") from None
            if kind == "failed":
                raise MemoryError if value == OUT_OF_MEMORY else RuntimeError(value)
            answers.append(value)
        return answers

    def open(self, path):
        """Map a data set in every shard."""
        self.everyone("open", path)

    def prepare(self, key, tool, job, n, shards):
        """Prepare a cell of a tool over the given number of shards."""
        self.everyone("prepare", key, tool, job, n, shards)

    def run(self, key, shards, barrier_s=0.004):
        """Seconds of one run: of the one shard, or from a common start to the end of the slowest; 0 where the tool's
        own clock is too coarse for the pairs of each.

        What the last run left is freed everywhere before: else it would be while this one is timed.
        """
        self.forget(key)
        if shards == 1:
            begin, end = self.own.run(key, None)
            return end - begin
        begin_at = time.monotonic() + barrier_s
        spans = [span for span in self.everyone("run", key, begin_at) if span]
        if all(begin == end for begin, end in spans):
            return 0.0
        return max(end for _, end in spans) - begin_at

    def timings(self, key):
        """Further quantities of the last run, {name: seconds}: only a tool that runs in one process has any."""
        return self.own.timings(key)

    def counts(self, key):
        """See Shard.counts: only a tool that runs in one process has any."""
        return self.own.counts(key)

    def peak_memory(self, key, reset):
        """See Shard.peak_memory: only a tool that runs in one process has any."""
        return self.own.peak_memory(key, reset)

    def outcome(self, key):
        """One hash over the outputs of all shards."""
        return "".join(self.everyone("outcome", key))

    def verify(self, key, native_path, affine_path):
        """The joint verdict of all shards."""
        total = verification.Verdict()
        for verdict in self.everyone("verify", key, native_path, affine_path):
            total.add(verdict)
        return total

    def forget(self, key):
        """Free the answers of a cell's last run everywhere."""
        self.everyone("forget", key)

    def drop(self, key):
        """Forget a cell everywhere."""
        self.everyone("drop", key)

    def clear(self):
        """Forget all cells and what they share, and fork the shards anew: then they hold no memory of their own."""
        self.own.clear()
        for process, pipe in self.forked.items():
            os.kill(process, signal.SIGKILL)  # it waits for a request; later forks hold its pipe open
            os.waitpid(process, 0)
            pipe.close()
        self.forked = {}
        self._fork()

    def release(self):
        """Free what the cells share, everywhere."""
        self.everyone("release")

    def peak_rss_bytes(self, reset):
        """Peak resident memory over all its processes since the last reset, or None where the system does not tell."""
        peaks = self.everyone("peak_rss_bytes", reset)
        return None if None in peaks else sum(peaks)


def limit_memory(bytes_):
    """Cap this process' own memory, so that a tool that asks for too much fails alone; mapped files do not count."""
    resource.setrlimit(resource.RLIMIT_DATA, (bytes_, bytes_))


def _give_back_freed():
    """Let the C library return freed memory to the system, where it can (glibc)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _fork_shard(shard):
    """Fork a process that serves the shard; (its id, our end of its pipe)."""
    ours, theirs = multiprocessing.Pipe()
    # The other threads are Arrow's, which mends its pools in a forked child.
    warnings.filterwarnings("ignore", message=".*multi-threaded, use of fork", category=DeprecationWarning)
    parent = os.getpid()
    process = os.fork()
    if process == 0:
        ours.close()
        die_with_parent(parent)
        _serve(shard, theirs)
        os._exit(0)
    theirs.close()
    return process, ours


def _serve(target, pipe):
    """Answer (method, arguments) requests with the target's methods until the pipe closes."""
    while True:
        try:
            method, arguments = pipe.recv()
        except (EOFError, ConnectionError):
            return
        try:
            answer = "ok", getattr(target, method)(*arguments)
        except MemoryError:
            answer = "failed", OUT_OF_MEMORY
        except Exception as error:  # a tool may raise anything; the race goes on without it
            answer = "failed", f"{type(error).__name__}: {error}"
        try:
            pipe.send(answer)
        except ConnectionError:  # who asked has given up
            return


def main():
    """``python -m workflow.race.worker SOCKET MEMORY PROCESSES THREADS``: serve the conductor on an inherited socket.

    MEMORY: bytes that each of its processes may have, 0 for no cap. PROCESSES: it and those it will fork. THREADS: of
    each of them.
    """
    descriptor, memory, processes, threads = map(int, sys.argv[1:])
    die_with_parent()
    if memory:
        limit_memory(memory)
    _serve(Team(processes, threads), Connection(descriptor))


if __name__ == "__main__":
    main()
