"""When the parts of a call ran, by the GPU's clock."""

import weakref
from collections import deque
from collections.abc import Mapping

from numba import cuda

from wfa_kernels.cuda import device


class Events:
    """Pairs of events, which a call uses again when the spans of an earlier one are gone."""

    def __init__(self):
        self._unused = deque()  # the garbage collector adds to it at any moment

    def spans(self):
        """The Spans of a call that begins."""
        try:
            events = self._unused.pop()
        except IndexError:
            events = []
        call = Spans(events)
        weakref.finalize(call, self._unused.append, events).atexit = False
        return call

    def clear(self):
        """Free the events that no call's spans hold."""
        self._unused.clear()


class Spans:
    """Begin and end of parts of a call, as events; more of those are made and put to the given ones as needed."""

    def __init__(self, events):
        self._events, self._spans, self._pairs = events, [], []

    def begin(self, name, batch, stream):
        """Begin to time what follows on a CUDA stream; the callable that ends it and gives the event of the end."""
        if len(self._spans) == len(self._events):
            self._events.append((cuda.event(), cuda.event()))
        begin, end = self._events[len(self._spans)]
        begin.record(stream)
        self._spans.append((name, batch.number, begin, end))
        self._pairs.append(batch.pairs)

        def ended():
            end.record(stream)
            return end

        return ended

    def seconds(self, parts):
        """Seconds of the call during which one of the parts went on for a batch at least, by the GPU's clock."""
        return covered((begin, end) for part, _, begin, end in self.timeline() if part in parts)

    def timeline(self):
        """[(part, batch number, begin, end)] of the call, in seconds since the first of them began."""
        first = self._spans[0][2] if self._spans else None
        return [
            (part, number, cuda.event_elapsed_time(first, begin) / 1e3, cuda.event_elapsed_time(first, end) / 1e3)
            for part, number, begin, end in self._spans
        ]

    def kernels(self):
        """[(batch number, its pairs, begin, end)] of the batches' kernels but packing, as in timeline()."""
        with_pairs = zip(self.timeline(), self._pairs, strict=True)
        return [(batch, pairs, *when) for (part, batch, *when), pairs in with_pairs if part == "time_kernel"]


def covered(spans):
    """Length of the union of (begin, end) spans."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


class Timings(Mapping):
    """Seconds of a call by the GPU's clock: its copies in, packing, the other kernels and its copies out; then
    time_copies, both ways, and time_compute, packing and the other kernels. They overlap: their sum is no time of the
    call.

    Asking takes a millisecond, so it is done when asked. Empty in the simulator.
    """

    #: Quantity -> the parts during at least one of which it counts.
    QUANTITIES = {part: (part,) for part in ("time_h2d", "time_pack", "time_kernel", "time_d2h")} | {
        "time_copies": ("time_h2d", "time_d2h"),
        "time_compute": ("time_pack", "time_kernel"),
    }

    def __init__(self, spans):
        self._spans = spans

    def __reduce__(self):
        """Events are no other process's: what is pickled, or copied in depth, is a dict of the seconds."""
        return dict, (dict(self),)

    def __getitem__(self, name):
        return self._spans.seconds(self.QUANTITIES[name])

    def spans(self):
        """[(part, batch number, begin, end)] in seconds since the first of them began; see Spans.timeline."""
        return [] if device.simulated() else self._spans.timeline()

    def kernels(self):
        """[(batch number, its pairs, begin, end)] of the batches' kernels but packing; begin, end as in spans()."""
        return [] if device.simulated() else self._spans.kernels()

    def __iter__(self):
        return iter(() if device.simulated() else self.QUANTITIES)

    def __len__(self):
        return len(tuple(iter(self)))
