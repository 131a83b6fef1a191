"""The fast design of gap-affine alignment of long reads: wavefronts for those that cost little, strips for the others.

A band and strips take a step for every few letters, however near a pair's sequences are; wavefronts a barrier for every
score, and the letters 32 at a time. So of clean pairs, few or many, wavefronts are done first. Their cells are about
score * score / gap_extend, of 12 warp instructions for 32: what costs more goes on to the strips.
"""

from wfa_kernels.cuda import affine_design, device
from wfa_kernels.cuda.affine_rates import likely_cost
from wfa_kernels.cuda.affine_wfa_design import AffineWfa
from wfa_kernels.cuda.design import Design
from wfa_kernels.cuda.packing import MAX_LENGTH
from wfa_kernels.cuda.strips_design import STRIPS, BandsThenStrips
from wfa_kernels.designs import PaperDesign

#: Letters of a sequence, on average, from which on reads are long.
LETTERS = 1536
#: Letters of a batch's longest sequence for each unit of the score up to which there are wavefronts: with many pairs,
#: and with so few that each has a processor of its own or shares it with one. And the highest such score.
MANY_LETTERS, FEW_LETTERS, FEW, MOST_SCORE = 32, 10, 264, 2500
#: Of many pairs most cost a fraction of that: many blocks at a time, each of two warps and with few diagonals on chip.
_MANY = PaperDesign() if device.simulated() else PaperDesign(block_threads=64, central_diagonals=101)


def serves(penalties):
    """Whether both have kernels for these penalties, (mismatch, gap_open, gap_extend)."""
    return bool(affine_design.bands(penalties) and AffineWfa(penalties, PaperDesign()).NAMES)


class LongReads(Design):
    """See design.Design. penalties: (mismatch, gap_open, gap_extend), that it serves."""

    def __init__(self, penalties):
        self.strips = BandsThenStrips(penalties, (), STRIPS)
        self.few = AffineWfa(penalties, PaperDesign())
        self.many = AffineWfa(penalties, _MANY)
        self.NAMES = ("wavefronts", *self.strips.NAMES)
        self.LEARNED = self.strips.LEARNED

    def longest(self, scratch_words):
        """See design.Design."""
        return min(MAX_LENGTH, affine_design.longest(self.strips.penalties))

    def scratch_words(self, pairs, longest, traced):
        """See design.Design."""
        wanted = [self.strips.scratch_words(pairs, longest, traced)]
        for most in (pairs, min(pairs, FEW)):
            wavefronts, score = self.wavefronts(most, longest)
            wanted.append(wavefronts.words_up_to(score, most, longest, traced))
        return max(wanted)

    def launch(self, level, queue, after, batch, traced):
        """Launch the kernels of a level. The wavefronts' runs are made at once: other kernels leave runs themselves.
        What they leave goes to the first strips that are certain of higher scores."""
        if level > 0:
            self.strips.launch(level - 1, queue, after, batch, traced)
            return
        wavefronts, score = self.wavefronts(batch.pairs, batch.longest)
        blocks, share, score = wavefronts.up_to(score, batch.scratch.size, batch.pairs, batch.longest, traced)
        if batch.last_level > 0:
            after = min(1 + self.strips.certain_level(score + 1), batch.last_level)
        wavefronts.launch_blocks(blocks, share, queue, after, batch, traced)
        if traced:
            wavefronts.finish(batch)

    def wavefronts(self, pairs, longest):
        """(their design, most_score) for so many pairs of up to so many letters."""
        return self.few if pairs <= FEW else self.many, most_score(pairs, longest)

    def begin(self):
        """See design.Design."""
        self.strips.begin()

    def learn(self, numbers, batch):
        """See design.Design. What wavefronts leave is the dearest, and tells nothing of the others unless that is so
        much that these begin with the strips, too."""
        if batch.first_level > 0 or numbers.sum() > self.tolerated_failures(0, 0) * batch.pairs:
            self.strips.learn(numbers, batch)

    def counts(self, level):
        """See design.Design: the strips count."""
        return level > 0

    def forget(self):
        """See design.Design."""
        self.strips.forget()

    def tolerated_failures(self, level, first):
        """See design.Design. What the wavefronts leave has had to be done by strips anyhow."""
        if first == 0:
            return super().tolerated_failures(level, first)
        return self.strips.tolerated_failures(level - 1, first - 1)

    def wire_bound(self, first):
        """See design.Design."""
        return first == 0

    def filling_pairs(self, longest, level, traced):
        """See design.Design: each pair has a block of the wavefronts'."""
        return self.strips.filling_pairs(longest, level and level - 1, traced) if level != 0 else 0

    def pairs_at_once(self, longest, words, traced):
        """See design.Design: of the strips, if it is known that pairs begin with them."""
        if self._cheap(longest, FEW):
            return None
        return self.strips.pairs_at_once(longest, words, traced)

    def first_likely_level(self, longest):
        """The wavefronts, where the rate does not tell that pairs cost too much."""
        return 0 if self._cheap(longest, FEW) else 1

    def last_likely_level(self, longest):
        """See design.Design."""
        return 1 + self.strips.last_likely_level(longest)

    def likely_level(self, longest, pairs):
        """See design.Design: the first one that is certain of what such pairs cost by the rate so far."""
        level = self.strips.likely_level(longest, pairs)
        if level is None:
            return None
        return 0 if self._cheap(longest, pairs) else 1 + level

    def _cheap(self, longest, pairs):
        return not self.strips.rate or likely_cost(2 * longest, self.strips.rate) <= most_score(pairs, longest)


def most_score(pairs, longest):
    """Score, without its unit, up to which there are wavefronts of so many pairs of up to so many letters."""
    return min(MOST_SCORE, longest // (FEW_LETTERS if pairs <= FEW else MANY_LETTERS))
