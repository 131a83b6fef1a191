"""Where the seconds of a race go: by phase, and in it by what the workers are asked to do."""

import time
from contextlib import contextmanager

IN_ALL = "in all"


class Stopwatch:
    """seconds: {phase: {what: seconds}}, and of each phase IN_ALL. A phase may come more than once.

    ended: is called with each phase that ends, and its seconds.
    """

    def __init__(self, clock=time.monotonic, ended=lambda name, seconds: None):
        self._clock, self._ended, self._phase, self.seconds = clock, ended, None, {}

    @contextmanager
    def phase(self, name):
        """Count what is done meanwhile under this name. Phases follow one another, none lies in another."""
        self._phase = name
        before = self.seconds.get(name, {}).get(IN_ALL, 0.0)
        try:
            with self.of(IN_ALL):
                yield
        finally:
            self._phase = None
        self._ended(name, self.seconds[name][IN_ALL] - before)

    @contextmanager
    def of(self, what):
        """Time a part of the phase; outside of one nothing is kept."""
        begin = self._clock()
        try:
            yield
        finally:
            if self._phase is not None:
                parts = self.seconds.setdefault(self._phase, {})
                parts[what] = parts.get(what, 0.0) + self._clock() - begin

    def total(self, what=IN_ALL):
        """Seconds of this in all phases."""
        return sum(parts.get(what, 0.0) for parts in self.seconds.values())

    def card(self):
        """The seconds, rounded for people."""
        return {phase: {what: round(s, 2) for what, s in parts.items()} for phase, parts in self.seconds.items()}
