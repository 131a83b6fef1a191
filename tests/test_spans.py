"""A GPU call's parts over time: how long at least one of some was at it."""

import pickle
from types import SimpleNamespace

import pytest

from wfa_kernels.cuda import device, spans


def test_time_that_spans_share_counts_once():
    assert spans.covered([]) == 0
    assert spans.covered([(5, 6), (0, 2), (1, 3), (1, 2)]) == 4
    assert spans.covered([(-2, -1), (0, 1)]) == 2


def test_quantities_of_a_call(monkeypatch):
    monkeypatch.setattr(device, "simulated", lambda: False)
    told = [("time_h2d", 0, 0, 4), ("time_pack", 0, 1, 3), ("time_kernel", 0, 2, 5), ("time_h2d", 1, 3, 6)]
    call = spans.Spans([])
    monkeypatch.setattr(call, "timeline", lambda: [*told, ("time_d2h", 0, 5, 7)])
    assert dict(spans.Timings(call)) == {
        "time_h2d": 6, "time_pack": 2, "time_kernel": 3, "time_d2h": 2, "time_copies": 7, "time_compute": 4,
    }  # fmt: skip
    with pytest.raises(KeyError):
        spans.Timings(call)["time_total"]


def test_a_call_keeps_its_times_when_others_follow(monkeypatch):
    monkeypatch.setattr(spans.cuda, "event", Clock)
    monkeypatch.setattr(spans.cuda, "event_elapsed_time", lambda begin, end: end.at - begin.at)
    monkeypatch.setattr(device, "simulated", lambda: False)
    events, batch, now = spans.Events(), SimpleNamespace(number=0, pairs=1), iter(range(100))
    first, second = events.spans(), events.spans()
    for call, parts in ((first, 1), (second, 2)):
        for _ in range(parts):
            call.begin("time_kernel", batch, now)()
    times = spans.Timings(first), spans.Timings(second)
    assert [t["time_kernel"] for t in times] == [1e-3, 2e-3]
    assert len(second._events) == 2
    used = second._events
    del second, times, call
    third, fourth = events.spans(), events.spans()
    assert third._events is used and fourth._events == [], "those of a call that is gone, and new ones"
    assert spans.Timings(first)["time_kernel"] == 1e-3


def test_times_are_pickled_as_a_dict(monkeypatch):
    monkeypatch.setattr(device, "simulated", lambda: False)
    call = spans.Spans([])
    monkeypatch.setattr(call, "timeline", lambda: [("time_kernel", 0, 2, 5)])
    times = spans.Timings(call)
    assert pickle.loads(pickle.dumps(times)) == dict(times) and times["time_kernel"] == 3


class Clock:
    """In place of an event: it tells the next of some numbers, as milliseconds."""

    def record(self, numbers):
        self.at = next(numbers)


def test_the_simulator_has_no_clock(monkeypatch):
    monkeypatch.setattr(device, "simulated", lambda: True)
    call = spans.Timings(spans.Spans([]))
    assert dict(call) == {} and call.spans() == []
