"""Which kernels a stream launches for a batch: what the batches before have needed."""

#: Pairs of a batch, as a part of it, that may be left over before every kernel is launched again.
_FEW = 0.001


class Levels:
    """The kernels of a design, and of the one beyond it, from the first one that a batch needs to the last.

    design: a Design, of ``own`` kernels; count: of all kernels.
    """

    def __init__(self, design, count):
        self.own, self.count, self._design = len(design.NAMES), count, design
        self.first = design.first_level

    def begin(self, longest, every):
        """Before a call with sequences of up to so many letters. every: launch every kernel for every batch."""
        self._try_lower = True  # these pairs may be nearer than the last call's
        last = self.count - 1 if every else self._design.last_likely_level(longest)
        self._last, self._needed, self._may_curtail = max(self.first, last), 0, not every

    def choose(self, batch):
        """Set the batch's first and last level; one batch at a time tries a level lower, to see if that is enough."""
        batch.first_level, batch.last_level = self.first, self._last
        batch.trial = self._try_lower and self.first > self._design.first_level
        if batch.trial:
            batch.first_level, self._try_lower = self.first - 1, False

    def learn(self, batch, tallies):
        """Take into account how many pairs of a batch had to go on to each level, and at the end to the host."""
        failed = tallies[batch.first_level + 1 : batch.last_level + 1]
        useless = 0  # kernels to leave out
        for i, count in enumerate(failed[: self.own - batch.first_level]):
            if count > self._design.tolerated_failures(batch.first_level + i) * batch.pairs:
                useless = i + 1
        if useless:
            self.first = max(self.first, batch.first_level + useless)
        elif batch.trial:
            self.first, self._try_lower = min(self.first, batch.first_level), True
        if tallies[self.count] > _FEW * batch.pairs:
            self._last = self.count - 1
        elif self._may_curtail:
            self._needed = max(self._needed, batch.first_level + sum(count > 0 for count in failed))
            self._last = max(self._needed, self.first)
