"""Which kernels a stream launches for a batch: what the batches before have needed."""

#: Pairs of a batch, as a part of it, that may be left over before every kernel is launched again.
_FEW = 0.001


class Levels:
    """The kernels of a design, and of the one beyond it, from the first one that a batch needs to the last.

    design: a Design, of ``own`` kernels; count: of all kernels. longest: sequence, in letters, to begin with.
    """

    def __init__(self, design, count, longest):
        self.own, self.count, self._design = len(design.NAMES), count, design
        self.first = design.first_likely_level(longest)

    def begin(self, longest, every, by_length):
        """Before a call with sequences of up to so many letters. every: launch every kernel for every batch.

        by_length: its batches are of about equal lengths each, and differ from one another.
        """
        self._by_length = by_length
        self._try_lower = True  # these pairs may be nearer than the last call's
        self._most_pairs = 0  # of a batch so far
        last = self.count - 1 if every else self._design.last_likely_level(longest)
        self._last, self._needed, self._may_curtail = max(self.first, last), 0, not every

    def choose(self, batch):
        """Set the batch's first and last level: those that its design tells by its lengths, or that were learned.

        Of the latter one batch at a time tries a level lower, to see if that is enough; the former leave a few pairs to
        the next level.
        """
        self._most_pairs = max(self._most_pairs, batch.pairs)
        known = self._by_length or self._design.counts(self.first)  # else of the few pairs that the others leave
        likely = self._design.likely_level(batch.longest, batch.pairs) if known else None
        batch.likely, batch.trial = likely is not None, False
        if batch.likely:
            batch.first_level, batch.last_level = likely, max(self._last, min(likely + 1, self.own - 1))
            return
        batch.first_level, batch.last_level = self.first, self._last
        batch.trial = self._try_lower and self.first > self._design.first_likely_level(batch.longest)
        if batch.trial:
            batch.first_level, self._try_lower = self.first - 1, False

    def learn(self, batch, tallies):
        """Take into account how many pairs of a batch had to go on to each level, and at the end to the host."""
        failed = tallies[batch.first_level + 1 : batch.last_level + 1]
        useless = 0  # kernels to leave out
        for i, count in enumerate(failed[: self.own - batch.first_level]):
            if count > self._design.tolerated_failures(batch.first_level + i, batch.first_level) * batch.pairs:
                useless = i + 1
        if useless:
            self.first = max(self.first, batch.first_level + useless)
            if batch.likely:
                self._design.forget()
        elif batch.trial or (batch.likely and self._tells_of_others(batch)):
            self.first, self._try_lower = min(self.first, batch.first_level), True
        if tallies[self.count] > _FEW * batch.pairs:
            self._last = self.count - 1
        elif self._may_curtail:
            reached = max((i for i, count in enumerate(failed, 1) if count), default=0)
            self._needed = max(self._needed, batch.first_level + reached)
            self._last = max(self._needed, self.first)

    def _tells_of_others(self, batch):
        """Whether other batches may begin where this one did, for whose lengths that was known to be enough: not those
        of other lengths, unless it makes no difference, nor larger ones."""
        alike = not self._by_length or self._design.wire_bound(batch.first_level)
        return alike and 2 * batch.pairs >= self._most_pairs
