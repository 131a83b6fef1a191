"""Where the seconds of a race go: by phase, in it by what the workers are asked to do, and for which tool."""

import time
from contextlib import contextmanager

IN_ALL = "in all"


class Stopwatch:
    """seconds: {phase: {what: seconds}}, and of each phase IN_ALL. A phase may come more than once.
    of_tools: {tool: {phase: {what: seconds}}} of what was asked for one tool.

    ended: is called with each phase that ends, and its seconds.
    """

    def __init__(self, clock=time.monotonic, ended=lambda name, seconds: None):
        self._clock, self._ended, self._phase, self.seconds, self.of_tools = clock, ended, None, {}, {}

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

    def passed(self, name, began):
        """Count as a phase what was done before this watch was there, since an instant of its clock."""
        self.seconds[name] = {IN_ALL: self._clock() - began}

    @contextmanager
    def of(self, what, tool=None):
        """Time a part of the phase, done for a tool where one is given; outside of a phase nothing is kept."""
        begin = self._clock()
        try:
            yield
        finally:
            if self._phase is not None:
                took = self._clock() - begin
                for phases in (self.seconds, self.of_tools.setdefault(tool, {})) if tool else (self.seconds,):
                    parts = phases.setdefault(self._phase, {})
                    parts[what] = parts.get(what, 0.0) + took

    def total(self, what=IN_ALL):
        """Seconds of this in all phases."""
        return sum(parts.get(what, 0.0) for parts in self.seconds.values())

    def card(self):
        """The seconds, rounded for people."""
        return _rounded(self.seconds)

    def tools_card(self):
        """The seconds of each tool, rounded for people."""
        return {tool: _rounded(phases) for tool, phases in self.of_tools.items()}


def _rounded(phases):
    return {phase: {what: round(s, 2) for what, s in parts.items()} for phase, parts in phases.items()}
