"""Which cells the workers hold prepared, within a budget of memory: the one used longest ago goes first.

A library's adapter may hold its pairs and its last answers as Python objects, many times the size of the sequences; a
GPU's holds its pairs once more, page-locked. With long rounds the cells of all tools together would not fit a machine's
memory; a cell that was dropped is prepared again before its next run, which is not timed.
"""

import psutil

#: Part of the machine's memory that all prepared cells may take together, by the estimate below.
PREPARED_SHARE = 0.5


def held_bytes(adapter, pairs):
    """Estimated bytes of a tool's cell on these pairs, its input and answers."""
    bases = int(pairs.pattern_offsets[-1] - pairs.pattern_offsets[0] + pairs.text_offsets[-1] - pairs.text_offsets[0])
    return adapter.held_bytes_a_base * bases + adapter.held_bytes_a_pair * len(pairs)


class Prepared:
    """The cells that are held: (worker, cell name), least recently used first. budget_bytes: of all of them."""

    def __init__(self, budget_bytes=None):
        share = int(psutil.virtual_memory().total * PREPARED_SHARE)
        self.budget_bytes = share if budget_bytes is None else budget_bytes
        self._held = {}

    def use(self, worker, name):
        """Whether the cell is held; it then counts as just used."""
        if (worker, name) not in self._held:
            return False
        self._held[(worker, name)] = self._held.pop((worker, name))
        return True

    def add(self, worker, name, size_bytes):
        """Note a cell as held; the (worker, cell name) to drop beforehand. One cell may always be held."""
        dropped = []
        while self._held and sum(self._held.values()) + size_bytes > self.budget_bytes:
            dropped.append(next(iter(self._held)))
            del self._held[dropped[-1]]
        self._held[(worker, name)] = size_bytes
        return dropped

    def forget(self, worker, name=None):
        """A cell of a worker, by default every one, is no longer held."""
        for held in [h for h in self._held if h[0] == worker and name in (None, h[1])]:
            del self._held[held]
