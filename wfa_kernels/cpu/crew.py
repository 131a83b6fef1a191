"""Runs of many units of work among the thread that asks and helpers, which stay for the next call.

Starting a thread takes longer than aligning a small batch: so helpers are kept, and the thread that asks works, too.
Each run costs Python code, which no two threads execute at once: so runs are long, but for the last ones, which even
out what each thread has to do.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

from wfa_kernels.cpu import interrupts

#: More than anyone asks for: helpers are started as they are needed.
_MOST_HELPERS = 1 << 12
#: Helpers that a thread asks at a time: those ask others, so all are awake soon, unless nothing is left.
_ASKED = 2
#: Seconds of work beside which a run's Python code and its new memory are little, and to wake a helper for it. With 0.5
#: ms 16 threads got into each other's way for that: 3239 short reads took them up to nine times as long as one.
_RUN_SECONDS = 4e-3
#: Times as many units as the most of a run that it may have where they are short.
LONGEST_RUN = 4


def in_order(work, units, threads, most=1, shares=2, unit_seconds=0.0):
    """What ``work(start, stop)`` gives of the runs of units that make up 0 to ``units``, in order, as they are there.

    work: callable for any thread, run in ``threads`` at most; in the caller's, signals wait while it runs. What it
    raises is raised here, and no further run is begun. most: units of a run, or up to LONGEST_RUN times as many where
    those take less than _RUN_SECONDS. shares: runs for each thread that what is left makes up, if all were as long.
    unit_seconds: what a unit takes at least, before it is known; helpers are asked where that is worth while.
    """
    if units == 1:
        yield interrupts.hold(work, 0, 1)
        return
    job = _Job(work, units, threads, most, shares, unit_seconds)
    try:
        yield from job.answers()
    finally:
        job.end()


@dataclass
class _Run:
    start: int
    stop: int
    answer: tuple = ()


class _Job:
    """Units that threads take runs of, and the answers so far. Arguments: those of in_order()."""

    def __init__(self, work, units, threads, most, shares, unit_seconds):
        self._work, self._units, self._threads, self._most, self._shares = work, units, threads, most, shares
        self._lock, self._begun, self._least, self._unit_seconds = Lock(), 0, 1, unit_seconds
        self._runs, self._given, self._helpers = [], 0, []

    def answers(self):
        """Do runs until none is left, and give answers in between, then those of the helpers."""
        while run := self._take():
            self._do(run)
            yield from self._ready()
        at = 0
        while at < len(self._helpers):  # one that works still may have asked others
            if not self._helpers[at].cancel():
                self._helpers[at].result()
            at += 1
        yield from self._ready()

    def end(self):
        """Begin no further run, and wait for those that were begun: they are of the caller's arrays."""
        self._stop()
        for helper in self._helpers:
            if not helper.cancel():
                helper.exception()

    def _stop(self):
        with self._lock:
            self._begun = self._units

    def _help(self):
        try:
            while run := self._take():
                self._do(run)
        except BaseException:
            self._stop()
            raise

    def _take(self):
        """The next run, None where no unit is left; asks helpers for what is left behind it."""
        with self._lock:
            left = self._units - self._begun
            if not left:
                return None
            fair = min(left // (self._threads * self._shares), self._most)
            run = _Run(self._begun, self._begun + min(left, max(1, fair, self._least)))
            self._begun = run.stop
            self._runs.append(run)
            worth = min(self._threads - 1, int((self._units - self._begun) * self._unit_seconds / _RUN_SECONDS))
            for _ in range(min(_ASKED, worth - len(self._helpers))):
                self._helpers.append(_crew.submit(self._help))
            return run

    def _do(self, run):
        begin = time.thread_time()
        run.answer = (interrupts.hold(self._work, run.start, run.stop),)
        length = run.stop - run.start
        self._unit_seconds = (time.thread_time() - begin) / length
        as_long = int(_RUN_SECONDS / max(self._unit_seconds, _RUN_SECONDS / 2 / length))  # at most twice this one
        self._least = min(as_long, LONGEST_RUN * self._most)

    def _ready(self):
        """Answers that were not given, up to the first that is not there."""
        while self._given < len(self._runs) and self._runs[self._given].answer:
            yield self._runs[self._given].answer[0]
            self._given += 1


def _begin():
    """Helpers of this process: those of the one that it was forked from did not come along."""
    global _crew
    _crew = ThreadPoolExecutor(_MOST_HELPERS, "wfa_kernels")


_begin()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin)
