"""Which cells the workers hold prepared, within a budget of memory: the one used longest ago goes first.

A library's adapter may hold its pairs as Python objects, many times the size of the sequences; a GPU's holds its pairs
once more, page-locked, once for all cells of its worker. Answers are held by the one cell that runs. With long rounds
the cells of all tools together would not fit a machine's memory; a cell that was dropped is prepared again before its
next run, which is not timed.
"""

import psutil

#: Part of the machine's memory that prepared cells may take together, by the estimate below. The rest is for the
#: answers of the cell that runs, and for the system to keep the data set at hand, which is timed from there too.
PREPARED_SHARE = 0.7
#: In place of a cell's name: what the cells of a worker hold together, be there none at the moment.
SHARED = None


def bases(pairs, n):
    """Letters of the first n pairs, of both sequences.

    No slice of the pairs is made: it would check all their offsets, 0.04 s for 10M.
    """
    return int(sum(ends[n] - ends[0] for ends in (pairs.pattern_offsets, pairs.text_offsets)))


def held_bytes(adapter, pairs, n):
    """Estimated bytes of a tool's cell on the first n pairs: input and answers, but for what a worker's cells share."""
    return adapter.held_bytes_a_base * bases(pairs, n) + adapter.held_bytes_a_pair * n


def shared_bytes(adapter, pairs, n):
    """Estimated bytes that the cells of a tool's worker hold together, the largest on the first n pairs."""
    return adapter.shared_bytes_a_base * bases(pairs, n)


def data_bytes(pairs):
    """Bytes of a data set, which a file's mapping brings to memory: letters and offsets."""
    return bases(pairs, len(pairs)) + pairs.pattern_offsets.nbytes + pairs.text_offsets.nbytes


class Prepared:
    """The cells that are held: (worker, cell name), least recently used first. budget_bytes: of all of them.

    What the cells of a worker share is held under the name SHARED, and counts as used whenever one of them is.
    """

    def __init__(self, budget_bytes=None):
        share = int(psutil.virtual_memory().total * PREPARED_SHARE)
        self.budget_bytes = share if budget_bytes is None else budget_bytes
        self._held = {}

    def use(self, worker, name):
        """Whether the cell is held; it then counts as just used."""
        if (worker, name) not in self._held:
            return False
        for one in (SHARED, name):
            if (worker, one) in self._held:
                self._held[(worker, one)] = self._held.pop((worker, one))
        return True

    def add(self, worker, name, size_bytes, shared=0):
        """Note a cell as held, and bytes that it shares with others of its worker; the (worker, cell name) to drop
        beforehand, in order: SHARED, which takes longest to prepare, only behind all cells. One may always be held."""
        shared = max(shared, self._held.pop((worker, SHARED), 0))
        dropped = []
        for held in sorted(self._held, key=lambda held: held[1] is SHARED):
            if sum(self._held.values()) + size_bytes + shared <= self.budget_bytes:
                break
            dropped.append(held)
            del self._held[held]
        if shared:
            self._held[(worker, SHARED)] = shared
        self._held[(worker, name)] = size_bytes
        return dropped

    def forget(self, worker, name=None):
        """A cell of a worker, by default every one and what they share, is no longer held."""
        for held in [h for h in self._held if h[0] == worker and name in (None, h[1])]:
            del self._held[held]
