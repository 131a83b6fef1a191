"""WFA-GPU's design of gap-affine alignment (see design.Design): how much memory each launch of affine_wfa gets.

As the thesis has it (4.2), the first launch has memory for a conservative estimate of the errors, 10 % of the longest
sequence, each the dearest there is, and so for many pairs at once. What is over that goes to a second launch for 30 %,
then to a third with as few blocks as the worst pair asks for, and then to the host. Where the memory holds the estimate
for fewer blocks than keep the GPU busy, these get equal parts of it: most pairs have fewer errors.
"""

from copy import copy
from dataclasses import dataclass, replace
from math import gcd

from wfa_kernels.cuda import device
from wfa_kernels.cuda.affine_wfa import POOL, cell_words, chip_bytes, make_kernel, rings, rows
from wfa_kernels.cuda.affine_wfa_ranges import shared_words
from wfa_kernels.cuda.affine_wfa_trace import OPERATIONS, blocks_to_runs
from wfa_kernels.cuda.compaction import THREADS
from wfa_kernels.cuda.design import Design
from wfa_kernels.cuda.packing import MAX_LENGTH, MAX_LONG
from wfa_kernels.designs import MOST_BT_BLOCKS
from wfa_kernels.heuristics import StaticBand, WavefrontReduction
from wfa_kernels.penalties import MAX_SCORE

#: Errors that the first two launches have memory for, in a hundred letters.
_ERRORS = 10, 30
#: Least reach of the first launch: short pairs may be anything.
_LEAST_REACH = 16
#: Shared memory of a block for its central diagonals, unless their number is given; and what the rest of a block takes.
_CHIP_BYTES, _OTHER_CHIP_BYTES = 32 * 1024, 1024
#: Blocks that run at once: so many on each of 132 processors, by what their registers and shared memory allow.
_PROCESSORS, _BLOCKS, _RESIDENT_THREADS, _RESIDENT_BYTES = 132, 32, 1024, 227 * 1024
#: Threads of a block: one for each _DIAGONALS diagonals of the widest wavefront, from _LEAST_THREADS on up to
#: _MOST_THREADS where several blocks share a processor, _ALONE_THREADS where each has one of its own.
_LEAST_THREADS, _MOST_THREADS, _ALONE_THREADS, _DIAGONALS = (4, 4, 4, 1) if device.simulated() else (32, 256, 512, 8)
#: The second launch is content with one block for 2 ** _FEWER processors.
_FEWER = 3
#: Blocks of a launch in the simulator, where they run one after another.
SIMULATED_BLOCKS = 2
#: Largest rings, in rows: larger penalties make many wavefronts for few cells.
_MOST_ROWS = 512
#: Most device memory that is asked for so that the worst pair fits, in int32.
_MOST_WORDS = 1 << 30
_MANY = 2**31 - 1


@dataclass(frozen=True)
class Share:
    """What one block of a launch has, in the terms of affine_wfa.make_kernel; part in int32."""

    central: int
    reach: int
    capacity: int
    part: int

    @property
    def wide(self):
        """Whether diagonals lie in global memory."""
        return self.reach > self.central

    def times_in(self, words):
        """How many blocks have room in so many int32; there is no end to blocks that need none."""
        return words // self.part if self.part else _MANY


#: Of a block that hands every pair on.
NOTHING = Share(central=0, reach=-1, capacity=0, part=0)


class AffineWfa(Design):
    """See design.Design. penalties: (mismatch, gap_open, gap_extend). choice: a PaperDesign. heuristic: or None."""

    HOST_PACKS = False

    def __init__(self, penalties, choice, heuristic=None):
        self.unit = gcd(*penalties)
        self.triple = tuple(penalty // self.unit for penalty in penalties)
        self.choice, self.heuristic = choice, heuristic
        self._longest = MAX_LENGTH
        fits = self._rows() <= _MOST_ROWS
        self.NAMES = ("estimated errors", "more errors", "any errors") if fits else ()

    def longest(self, scratch_words):
        """See design.Design."""
        return self._longest

    def longer(self):
        """See design.Design: as far as no cost, and no place in the rings, is over 32 bits."""
        if not self.NAMES:
            return None
        longer, (_, o, e) = copy(self), self.triple
        cells = MAX_SCORE // (cell_words(True) * self._rows())
        longer._longest = min(MAX_LONG, (MAX_SCORE // self.unit - 2 * o) // (2 * e), (cells - 1) // 2)
        return longer

    def scratch_words(self, pairs, longest, traced):
        """For as many blocks of the first launch as run at once, or for one of the last if that is more."""
        share = self.estimated(longest, traced)
        many = min(pairs, self._resident(share, traced)) * share.part
        return (POOL + max(many, min(self.worst(longest, traced).part, _MOST_WORDS))) // 2 + 1

    def launch(self, level, queue, after, batch, traced):
        """Launch the kernel on a batch."""
        blocks, share = self.plan(level, batch.scratch.size, batch.pairs, batch.longest, traced)
        self.launch_blocks(blocks, share, queue, after, batch, traced)

    def launch_blocks(self, blocks, share, queue, after, batch, traced):
        """Launch the kernel on a batch with so many blocks, each of that Share; the pool begins anew."""
        device.clear(batch.scratch, 1, batch.slot.compute)
        registers = device.registers_of(self.choice.block_threads)
        kernel = make_kernel(self.triple, share.wide, traced, self.heuristic, registers)
        batch.slot.launch(
            kernel, blocks, self.threads(share, blocks), *batch.input, queue, after, *batch.output, self.unit,
            share.central, share.reach, share.capacity, share.part, batch.slot.scratch_numbers,
            batch.slot.scratch_words,
            shared_bytes=self._chip_bytes(share.central, traced),
        )  # fmt: skip

    def finish(self, batch):
        """Launch what makes runs of the BT-blocks of all pairs."""
        batch.slot.launch(blocks_to_runs, batch.blocks, THREADS, *batch.input, *batch.output)

    def up_to(self, score, scratch_words, pairs, longest, traced):
        """(blocks, Share of each, score) of a launch for pairs up to a score, without their unit, or up to the half,
        quarter, ... of it for which enough blocks to keep the GPU busy have room."""
        while score > 0:
            share = self._share(min(longest, self._reach(score)), self._bt_blocks(score), traced)
            blocks = min(pairs, self._resident(share, traced), share.times_in(2 * scratch_words - POOL))
            if blocks >= min(pairs, _processors()):
                return blocks, share, score
            score //= 2
        return 1, NOTHING, 0

    def words_up_to(self, score, pairs, longest, traced):
        """Scratch words, uint64, of as many blocks as run at once, for pairs up to a score."""
        blocks, share, _ = self.up_to(score, _MANY, pairs, longest, traced)
        return (POOL + blocks * share.part) // 2 + 1

    def plan(self, level, scratch_words, pairs, longest, traced):
        """(blocks, Share of each) of a launch within so many uint64 words."""
        words = 2 * scratch_words - POOL
        if level == len(_ERRORS):
            blocks = max(1, min(_processors(), self.worst(longest, traced).times_in(words)))
        else:
            share = self.estimated(longest, traced, _ERRORS[level])
            blocks, least = min(self._resident(share, traced), share.times_in(words)), _processors() >> _FEWER * level
            if blocks >= min(least, pairs):
                return min(pairs, blocks), share
            blocks = max(1, least)
        blocks = min(pairs, blocks)
        return blocks, self._within(words // blocks, longest, traced)

    def threads(self, share, blocks=_MANY):
        """Threads of each of so many blocks."""
        if self.choice.block_threads is not None:
            return self.choice.block_threads
        wanted = 1 << ((2 * self._usual(share.reach) + 1) // _DIAGONALS).bit_length()
        return max(_LEAST_THREADS, min(_MOST_THREADS if blocks > _processors() else _ALONE_THREADS, wanted))

    def estimated(self, longest, traced, errors=_ERRORS[0]):
        """The Share for so many errors in a hundred letters of sequences of up to so many letters."""
        x, o, e = self.triple
        score = -(-longest * errors // 100) * max(x, o + e)
        reach = min(longest, max(_LEAST_REACH, self._reach(score)))
        return self._share(reach, self._bt_blocks(max(score, o + e * reach)), traced)

    def worst(self, longest, traced):
        """The Share for any pair of sequences of up to so many letters."""
        x, o, e = self.triple
        dearest = min(x * longest + o + e * longest, 2 * (o + e * longest))
        return self._share(longest, self._bt_blocks(dearest), traced)

    def _reach(self, score):
        """Furthest diagonal of a score."""
        _, o, e = self.triple
        return max(0, score - o) // e

    def _bt_blocks(self, score):
        """About as many BT-blocks as the wavefronts up to a score fill: a block every 16 operations, three a diagonal.

        Measured on random pairs: 0.94 of that, as some diagonals stay unreached. Within this an eighth is to spare.
        """
        if self.choice.bt_blocks is not None:
            return self.choice.bt_blocks
        _, _, e = self.triple
        reach = self._reach(score)
        diagonals = score + 1 + e * reach * (reach + 1)
        return min(MOST_BT_BLOCKS, 3 * diagonals // OPERATIONS * 9 // 8 + OPERATIONS)

    def _share(self, reach, capacity, traced):
        central, capacity = min(reach, self._central(traced)), capacity if traced else 0
        return Share(central, reach, capacity, self._ring_words(reach, traced) * (reach > central) + 2 * capacity)

    def _within(self, words, longest, traced):
        """The Share of a block with so many int32: where they are not enough for any pair, half for its diagonals."""
        worst = self.worst(longest, traced)
        if worst.part <= words:
            return worst
        held = (words // 2 if traced else words) // self._ring_words(0, traced)
        reach = min(longest, max(self._central(traced), (held - 1) // 2))
        share = self._share(reach, 0, traced)
        capacity = min(worst.capacity, (words - share.part) // 2) if traced else 0
        return replace(share, capacity=capacity, part=share.part + 2 * capacity)

    def _ring_words(self, reach, traced):
        return cell_words(traced) * self._rows() * (2 * reach + 1)

    def _rows(self):
        return rows(self.triple, self.heuristic)

    def _chip_bytes(self, central, traced):
        return chip_bytes(self.triple, central, traced, self.heuristic)

    def _central(self, traced):
        """Diagonals on each side of diagonal 0 in shared memory."""
        given = self.choice.central_diagonals
        diagonal = self._chip_bytes(0, traced)
        other = _OTHER_CHIP_BYTES + 4 * shared_words(rings(self.triple)[0], self.heuristic)
        room = device.most_shared_bytes() - other
        most = _CHIP_BYTES // diagonal if given is None else min(given, room // diagonal)
        return self._usual(max(0, (most - 1) // 2))

    def _usual(self, reach):
        """Of so many diagonals to each side those that most wavefronts have: a heuristic leaves few."""
        if isinstance(self.heuristic, StaticBand):
            return min(reach, 2 * self.heuristic.width + _LEAST_REACH)
        if isinstance(self.heuristic, WavefrontReduction):
            return min(reach, 2 * self.heuristic.max_distance + _LEAST_REACH)
        return reach

    def _resident(self, share, traced):
        """Blocks that run at once on an H100 or H200."""
        if device.simulated():
            return _processors()
        bytes_of_block = self._chip_bytes(share.central, traced) + 1024
        some = min(_BLOCKS, _RESIDENT_THREADS // self.threads(share), _RESIDENT_BYTES // bytes_of_block)
        return _PROCESSORS * max(1, some)


def _processors():
    """Least blocks that keep the GPU busy."""
    return SIMULATED_BLOCKS if device.simulated() else _PROCESSORS
