"""Signals while a kernel runs in the main thread: their handlers are called, and Python goes on."""

import ctypes
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit

from wfa_kernels import Affine, Edit, PairBatch, align
from wfa_kernels.cpu import affine, crew, interrupts, schedule

_send = ctypes.CDLL(None)["raise"]
_send.argtypes, _send.restype = [ctypes.c_int], ctypes.c_int


@njit
def _arrays(number):
    """Arrays as a kernel gives them back, and a signal before."""
    _send(number)
    return np.zeros(1, np.int32), np.zeros(1, np.uint8)


@pytest.fixture
def ctrl_c():
    """Numba's code during which Ctrl-C is pressed, as a callable; see _arrays."""
    _arrays(signal.SIGURG)  # compiles; without a handler it is ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    yield lambda: _arrays(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def interrupted(ctrl_c):
    """A kernel of one pair during which Ctrl-C is pressed."""
    return SimpleNamespace(align_range=lambda *_: (*ctrl_c(), None, None))


def test_ctrl_c_during_a_kernel_is_a_keyboard_interrupt(interrupted):
    with pytest.raises(KeyboardInterrupt):
        schedule.align_batch(interrupted, PairBatch.from_strings(["A"], ["A"]), Edit(), "score", 1, 10**6)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_handlers_are_called_behind_the_work_in_the_order_of_their_signals():
    came = []
    signals = (signal.SIGUSR2, signal.SIGINT, signal.SIGUSR1)
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in signals}
    try:

        def work(item):
            for number in signals:
                signal.raise_signal(number)
            return item, list(came)

        assert interrupts.hold(work, 7) == (7, []) and came == list(signals)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_all_handlers_are_called_and_back_whatever_one_of_them_raises(monkeypatch):
    """Also what one raises that is back while others are not yet."""
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
    came = []

    def handler(number, _):
        came.append(number)
        raise KeyboardInterrupt

    def work():
        for number in signals:
            signal.raise_signal(number)

    def put_back_and_send(number, function):
        replaced = before_it(number, function)
        if function is handler:
            came.append("back")
            signal.raise_signal(number)
        return replaced

    before, before_it = {number: signal.signal(number, handler) for number in signals}, interrupts._signal.signal
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupts.hold(work)
        assert came == list(signals) and all(signal.getsignal(number) is handler for number in signals)
        monkeypatch.setattr(interrupts._signal, "signal", put_back_and_send)
        came.clear()
        with pytest.raises(KeyboardInterrupt):
            interrupts.hold(lambda: None)
        monkeypatch.undo()
        assert all(signal.getsignal(number) is handler for number in signals) and came.count("back") == len(signals)
        assert came.index(signal.SIGINT) > came.index(signal.SIGTERM), "Ctrl-C waits for the others"
    finally:
        monkeypatch.undo()
        for number, function in before.items():
            signal.signal(number, function)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_during_one_of_many_runs_waits_for_its_end():
    ended = []

    def work(start, _):
        signal.raise_signal(signal.SIGINT)
        ended.append(start)

    with pytest.raises(KeyboardInterrupt):
        list(crew.in_order(work, 2, 1))
    assert ended == [0]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2"])
def test_every_signal_whose_handler_may_raise_waits(name):
    number, came = getattr(signal, name), []
    before = signal.signal(number, lambda *_: came.append(number))
    try:
        assert interrupts.hold(lambda: signal.raise_signal(number) or list(came)) == [] and came == [number]
    finally:
        signal.signal(number, before)


def test_what_the_work_raises_is_raised_and_handlers_are_back():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError):
        interrupts.hold(lambda: 1 // 0)
    assert signal.getsignal(signal.SIGINT) is before


def test_another_thread_than_the_main_one_leaves_signals_alone():
    told = []
    thread = threading.Thread(target=lambda: told.append(interrupts.hold(signal.getsignal, signal.SIGINT)))
    thread.start()
    thread.join()
    assert told == [signal.getsignal(signal.SIGINT)]


def test_a_signal_that_comes_while_a_kernel_is_chosen_is_what_its_handler_raises(monkeypatch, ctrl_c):
    """Looking along the diagonals of clean pairs is Numba's code, too."""

    def choose(*_):
        chosen.append(ctrl_c())

    chosen = []
    monkeypatch.setattr(affine, "choose", choose)
    with pytest.raises(KeyboardInterrupt):
        align(PairBatch.from_strings(["A"], ["A"]), Affine(4, 6, 2), device="cpu")
    assert len(chosen) == 1
