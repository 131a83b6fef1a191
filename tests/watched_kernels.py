"""What the library did with its pairs in the simulator, seen from outside: for a process that does just that."""

import numpy as np

from wfa_kernels.cuda import edit_wfa, stream, strips_design


class Watched:
    """From now on: batches (pairs of each), host_packed (words of each that the host packed), rates (of pairs that
    BandsThenStrips learned of), answered ({name of a kernel: scores that it found}), worked_on ((name, block, thread,
    pair) of each thread that the kernels E32, E64 and E128 put to a pair)."""

    def __init__(self):
        self.batches, self.host_packed, self.rates, self.worked_on, self.answered = [], [], [], [], {}
        self._running = []
        self._watch_batches()
        self._watch_rates()
        self._watch_levels()
        self._watch_blocks()

    def forget(self):
        """What was seen so far does not count."""
        for seen in (self.batches, self.host_packed, self.rates, self.worked_on, self.answered):
            seen.clear()

    def _watch_batches(self):
        send = stream.Stream._send

        def watched(stream_, batch):
            send(stream_, batch)
            self.batches.append(batch.pairs)
            self.host_packed.append(sum(map(len, batch.source.planes)))

        stream.Stream._send = watched

    def _watch_rates(self):
        learn = strips_design.BandsThenStrips.learn

        def listening(design, numbers, batch):
            self.rates.extend(np.repeat(strips_design.RATES, numbers).tolist())
            learn(design, numbers, batch)

        strips_design.BandsThenStrips.learn = listening

    def _watch_levels(self):
        align = stream.Stream._align

        def one_by_one(stream_, batch, levels, kernels, before):
            for level in levels:
                waiting = batch.slot.scores.copy_to_host()[: batch.pairs] < 0
                self._running.append(kernels.NAMES[level - before])
                align(stream_, batch, [level], kernels, before)
                scores = batch.slot.scores.copy_to_host()[: batch.pairs][waiting]
                self.answered.setdefault(self._running.pop(), []).extend(scores[scores >= 0].tolist())

        stream.Stream._align = one_by_one

    def _watch_blocks(self):
        lengths_of = edit_wfa.lengths_of

        def looked_at(shape, i):
            # While a kernel runs, the simulator puts its own blocks and threads behind the module's name ``cuda``.
            place = int(edit_wfa.cuda.blockIdx.x), int(edit_wfa.cuda.threadIdx.x)
            if self._running:  # else it is the way back's
                self.worked_on.append((self._running[-1], *place, int(i)))
            return lengths_of(shape, i)

        edit_wfa.lengths_of = looked_at
