"""A GPU call's parts over time: how long at least one of some was at it."""

import pytest

from wfa_kernels.cuda import device, spans


def test_time_that_spans_share_counts_once():
    assert spans.covered([]) == 0
    assert spans.covered([(5, 6), (0, 2), (1, 3), (1, 2)]) == 4
    assert spans.covered([(-2, -1), (0, 1)]) == 2


def test_quantities_of_a_call(monkeypatch):
    monkeypatch.setattr(device, "simulated", lambda: False)
    told = [("time_h2d", 0, 0, 4), ("time_pack", 0, 1, 3), ("time_kernel", 0, 2, 5), ("time_h2d", 1, 3, 6)]
    call = spans.Spans()
    monkeypatch.setattr(call, "timeline", lambda: [*told, ("time_d2h", 0, 5, 7)])
    assert dict(spans.Timings(call)) == {
        "time_h2d": 6, "time_pack": 2, "time_kernel": 3, "time_d2h": 2, "time_copies": 7, "time_compute": 4,
    }  # fmt: skip
    with pytest.raises(KeyError):
        spans.Timings(call)["time_total"]


def test_the_simulator_has_no_clock(monkeypatch):
    monkeypatch.setattr(device, "simulated", lambda: True)
    assert dict(spans.Timings(spans.Spans())) == {} and spans.Timings(spans.Spans()).spans() == []
