"""Runs of work among the caller's thread and helpers."""

import os
import subprocess
import sys
import threading
import time

import pytest

from wfa_kernels.cpu import crew


def spans(units, threads, work=lambda start, stop: None, unit_seconds=1.0, **options):
    """What in_order() gives where each run gives its units after doing ``work``; helpers are asked at once."""

    def run(start, stop):
        work(start, stop)
        return start, stop

    return list(crew.in_order(run, units, threads, unit_seconds=unit_seconds, **options))


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("units", [1, 2, 5, 300])
@pytest.mark.parametrize("options", [{}, {"most": 10, "shares": 1}])
def test_runs_make_up_all_units_in_order(units, threads, options):
    found = spans(units, threads, **options)
    assert found[0][0] == 0 and found[-1][1] == units
    assert all(stop == start for (_, stop), (start, _) in zip(found[:-1], found[1:], strict=True))


def test_no_units_are_no_runs():
    assert spans(0, 3) == []


def test_so_many_threads_work_at_once_and_no_more():
    there, most, lock, all_there = [], [], threading.Lock(), threading.Event()

    def work(*_):
        with lock:
            there.append(threading.get_ident())
            most.append(len(there))
            if len(there) == 5:
                all_there.set()
        assert all_there.wait(60)
        with lock:
            there.remove(threading.get_ident())

    spans(30, 5, work)
    assert max(most) == 5


def test_helpers_stay_for_the_next_call():
    used, both = set(), threading.Barrier(2, timeout=60)

    def work(*_):
        used.add(threading.current_thread())
        both.wait()

    for _ in range(20):
        spans(2, 2, work)
    assert all(thread.is_alive() for thread in used)
    assert len(used) < 20


def _threads_of(unit_seconds, busy):
    used = set()
    spans(100, 2, lambda *_: used.add(threading.get_ident()) or _busy(busy), unit_seconds)
    return used


def test_little_work_stays_with_this_thread():
    assert _threads_of(0.0, 0.0) == {threading.get_ident()}


def test_helpers_are_asked_when_runs_turn_out_long():
    assert len(_threads_of(0.0, 2 * crew._RUN_SECONDS)) == 2


def test_runs_that_take_no_time_become_long_and_long_ones_stay_short():
    assert len(spans(1000, 1, most=1000)) <= 12
    sizes = [stop - start for start, stop in spans(12, 1, lambda *_: _busy(2 * crew._RUN_SECONDS))]
    assert sizes == [1] * 12


def test_runs_get_no_longer_than_four_times_the_most():
    assert max(stop - start for start, stop in spans(1000, 1, most=8)) == 32


def test_an_answer_is_given_before_the_next_run_of_this_thread():
    begun = []
    answers = crew.in_order(lambda start, stop: begun.append(start), 3, 1)
    next(answers)
    assert begun == [0]
    assert len([*answers]) + 1 == len(begun)


@pytest.mark.parametrize("where", ["caller", "helper"])
def test_what_work_raises_is_raised_and_no_further_run_is_begun(where):
    begun, helping = [], threading.Event()

    def work(start, _):
        begun.append(start)
        mine = threading.current_thread() is threading.main_thread()
        if mine == (where == "caller"):
            helping.set()
            raise KeyError(start)
        assert helping.wait(60)
        _busy(2 * crew._RUN_SECONDS)

    with pytest.raises(KeyError):
        spans(1000, 2, work)
    count = len(begun)
    assert count < 1000
    time.sleep(0.05)
    assert len(begun) == count


def test_whoever_stops_listening_waits_for_the_runs_that_were_begun():
    ended, begun = [], threading.Barrier(2, timeout=60)

    def work(start, stop):
        if start < 2:
            begun.wait()
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.1)
        ended.append(stop)

    answers = crew.in_order(work, 100, 2, unit_seconds=1.0)
    next(answers)
    answers.close()
    count = len(ended)
    assert count >= 2 and max(ended) < 100
    time.sleep(0.2)
    assert len(ended) == count


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_helpers_of_its_own():
    code = """
import os, threading
from wfa_kernels.cpu import crew

def two():
    both = threading.Barrier(2, timeout=60)
    return list(crew.in_order(lambda *_: both.wait(), 2, 2, unit_seconds=1.0))

two()
child = os.fork()
two()
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def _busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
