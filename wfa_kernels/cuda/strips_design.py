"""What the fast designs have in common: narrow bands one thread a pair, then strips, several threads a pair."""

import numpy as np

from wfa_kernels.affine_cell import make_cell
from wfa_kernels.cuda import affine_seeds, banded, strips_windows
from wfa_kernels.cuda.affine_rates import RATES, best_rate, likely_cost
from wfa_kernels.cuda.affine_strips import (
    BLOCK,
    CHUNK,
    ENDS,
    WIDE_BLOCK,
    make_forward,
    make_functions,
    make_windowed_forward,
)
from wfa_kernels.cuda.affine_strips_back import make_backward, make_windowed_backward
from wfa_kernels.cuda.instructions import whole_vectors
from wfa_kernels.cuda.packing import MAX_LONG
from wfa_kernels.penalties import MAX_SCORE

#: (fewest threads of a pair, reach of the band in chunks) of the strips: a little further each, since a score over a
#: limit costs twice. The last holds whole matrices of the longest pairs, and is there twice: pairs that begin with it
#: have a limit by a rate, and go on to it without. By a model of pairs of 10,000 letters strips have 0.7 to 0.9 of the
#: reach in chunks, and a third of these in threads are kept busy.
_REACHES = (
    (2, 9), (2, 12), (2, 16), (4, 21), (4, 28), (4, 37), (8, 48), (8, 64), (16, 128), (32, 512), (32, 2048), (32, 2048)
)  # fmt: skip
#: Of pairs of more than MAX_LENGTH letters, the same. Each step takes about three times as long: the tries in vain
#: before it add a third, or half.
_LONG_REACHES = (8, 64), (16, 160), (32, 448), (32, 1280), (32, 4096), *[(32, MAX_LONG // CHUNK + 1)] * 2
STRIPS, LONG_STRIPS = (
    tuple((min(threads, BLOCK), reach) for threads, reach in reaches) for reaches in (_REACHES, _LONG_REACHES)
)
#: Times the widest band that long pairs are.
_LONG = 8
#: Part of a batch's long pairs that may be left to a wider reach.
_FEW_LONG_PAIRS = 0.03
#: A rate so little too high stays: the highest of few pairs is below that of many.
_SLACK = 0.9
#: Pairs for which there is to be room at a time: with fewer most of a GPU is idle, and what little is kept of a pair in
#: windows serves better, though it is computed twice.
_FEW_AT_ONCE = 132
#: Blocks of strips, one warp each, that fill a GPU: 20 for each of the 132 processors of an H100 or H200.
_WARPS = 2640
#: Threads that fill half of a GPU. Pairs too few for that have twice as many threads each, or WIDE_BLOCK where the band
#: reaches so far, in chunks.
_HALF, _WIDE_REACH = _WARPS * BLOCK // 2, 384


class BandsThenStrips(banded.Banded):
    """See design.Design. penalties: (mismatch, gap_open, gap_extend). bands: diagonals of each band. strips: as STRIPS,
    which they are by default; without a band there are none then.

    rate: by which pairs are tried first, of affine_rates.RATES: about the best one for the batches of a call so far,
    and until one is done for the call before. 0: not known yet.
    """

    LEARNED = len(RATES)
    #: Pairs that a batch for the bands is to have at least.
    BAND_PAIRS = 0
    rate = 0

    def __init__(self, penalties, bands, strips=None):
        self.penalties = penalties
        self.begin()
        self._triple = make_cell(*penalties).triple
        if strips is None:
            strips = STRIPS if bands else ()
        self.BANDS, self.STRIPS = bands, strips
        again = [", without a rate" * (reach in strips[:i]) for i, reach in enumerate(strips)]
        named = (f"strips, reach {reach}{more}" for (_, reach), more in zip(strips, again, strict=True))
        self.NAMES = (*(f"band {band}" for band in bands), *named)

    def longer(self):
        """See design.Design."""
        return LongStrips(self.penalties) if self.NAMES else None

    def scratch_words(self, pairs, longest, traced):
        """For the bands; for as many pairs in the likely strips as fill the GPU; for one pair in all others."""
        last = max(len(self.BANDS), self.last_likely_level(longest)) - len(self.BANDS)
        wanted = [super().scratch_words(pairs, longest, traced)] if self.BANDS else []
        for level, (fewest, reach) in enumerate(self.STRIPS):
            at_once = min(pairs, 2 * self._filling(fewest, traced)) if level <= last else 1
            wanted.append(at_once * self._pair_words(_most(fewest), reach, longest, traced) // 2 + 1)
            if level <= last and _capped(reach, longest) >= _WIDE_REACH:
                at_once = min(pairs, 2 * _HALF // WIDE_BLOCK)
                wanted.append(at_once * self._pair_words(WIDE_BLOCK, reach, longest, traced) // 2 + 1)
        return max(wanted)

    def tolerated_failures(self, level, first):
        """See design.Design. What is left of long pairs takes as long as all of them, be they few."""
        return super().tolerated_failures(level, first) if level < len(self.BANDS) else _FEW_LONG_PAIRS

    def first_likely_level(self, longest):
        """Strips for sequences much longer than the bands are wide: they tell the rate, and with it whether a band
        would do; and the bands together take a minute to compile."""
        bands = len(self.BANDS) if longest > _LONG * max(self.BANDS, default=0) else 0
        return max(self.first_level, bands)

    def last_likely_level(self, longest):
        """The first band half as wide as the sequences are long: kernels take seconds to compile."""
        widths = [*self.BANDS, *(2 * CHUNK * reach for _, reach in self.STRIPS)]
        return next((level for level, width in enumerate(widths) if 2 * width >= longest), len(widths) - 1)

    def likely_level(self, longest, pairs):
        """See design.Design: the first one that is certain of what such pairs cost by the rate so far."""
        return self.certain_level(likely_cost(2 * longest, self.rate)) if self.rate else None

    def certain_level(self, cost):
        """The first kernel that is certain of pairs up to a cost, without its unit."""
        diagonals = 2 * self._away(cost) + 2
        widths = (*self.BANDS, *(2 * CHUNK * reach for _, reach in self.STRIPS))
        return next((level for level, width in enumerate(widths) if diagonals <= width), widths.index(widths[-1]))

    def _away(self, cost):
        """Diagonals to each side of the final one that a path of up to a cost may reach."""
        _, gap_open, gap_extend = self._triple
        return max(0, cost - 2 * gap_open) // (2 * gap_extend) + 1

    def filling_pairs(self, longest, level, traced):
        """See design.Design. Those with which a batch's strips fill half of a GPU: with CIGARs there is less room."""
        if level is None:
            level = self.first_likely_level(longest)
        if level < len(self.BANDS):
            return self.BAND_PAIRS
        return self._filling(self.STRIPS[level - len(self.BANDS)][0], traced)

    def pairs_at_once(self, longest, words, traced):
        """See design.Design."""
        level = self.likely_level(longest, 0)
        if level is None:
            level = self.first_likely_level(longest)
        if not traced or not len(self.BANDS) <= level < len(self.NAMES):
            return None
        fewest, reach = self.STRIPS[level - len(self.BANDS)]
        part = self._pair_words(fewest, self._within_rate(reach, longest, self.rate), longest, traced)
        return max(_FEW_AT_ONCE, 2 * words // part)

    def _filling(self, fewest, traced):
        return _HALF // (_most(fewest) if traced else fewest)

    def begin(self):
        """See design.Design."""
        self._pairs, self._batches = np.zeros(len(RATES), np.int64), 0

    def learn(self, numbers, batch):
        """See design.Design. numbers: of a batch's pairs by their place in RATES."""
        self._pairs += numbers
        self._batches += 1
        if self._pairs.any():
            best = best_rate(self._pairs, self._batches)
            self.rate = self.rate if _SLACK * self.rate < best < self.rate else best

    def counts(self, level):
        """See design.Design: the strips count."""
        return level >= len(self.BANDS)

    def forget(self):
        """See design.Design."""
        self.begin()
        self.rate = 0

    def launch(self, level, queue, after, batch, traced):
        """Launch the kernels of a level."""
        if level < len(self.BANDS):
            super().launch(level, queue, after, batch, traced)
        else:
            self._launch_strips(*self.STRIPS[level - len(self.BANDS)], queue, after, batch, traced)

    def _launch_strips(self, fewest, reach, queue, after, batch, traced):
        """Launch the kernels, on as many pairs at a time as there is scratch memory for.

        CIGARs of pairs whose states have no room are traced window by window. Where there is not enough for one pair,
        all pairs are handed on: a reach below 0 is none.
        """
        words, bounds, windows = batch.slot.scratch_words, self._bounds(batch.longest), None
        rate = self.rate if queue < 0 else 0  # what waits was over a limit already
        reach = self._within_rate(reach, batch.longest, rate)
        threads, part, room = self._shared_out(fewest, reach, batch, traced, queue >= 0)
        wanted = min(batch.pairs, _FEW_AT_ONCE)
        if traced and room < wanted:
            threads = _most(fewest)
            shape = -(-batch.longest // CHUNK), 2 * reach + 2, threads
            found = strips_windows.fitting(self.penalties, *shape, 2 * bounds, words.size, wanted)
            windows, part, room = found or (None, part, 0)
        if not room:
            reach, room = -1, batch.pairs
        room = _evenly(batch.pairs, room)
        for first in range(0, batch.pairs, room):
            pairs = queue, after, first, min(room, batch.pairs - first)
            self._launch_part(batch, pairs, (threads, reach, rate), (words, part, bounds), traced, windows)

    def _within_rate(self, reach, longest, rate):
        """Chunks that a band need reach of pairs that cost no more than a rate tells; 0: not known."""
        reach = _capped(reach, longest)
        return min(reach, self._away(likely_cost(2 * longest, rate)) // CHUNK + 2) if rate else reach

    def _shared_out(self, fewest, reach, batch, traced, few_wait):
        """(threads of a pair, words of it, pairs for which there is room): the most threads with which the pairs at a
        time do not fill the GPU. few_wait: a small part of the batch is likely to be taken."""
        for threads in _choices(fewest, reach):
            wide = threads > BLOCK
            pairs = _likely(batch.pairs, wide and few_wait)
            part = self._pair_words(threads, reach, batch.longest, traced)
            room = batch.slot.scratch_words.size // part
            fills = not room or _evenly(pairs, room) * threads >= 2 * _HALF
            if not fills and (traced or not wide or room >= pairs):
                break
        return threads, part, room

    def _launch_part(self, batch, pairs, band, memory, traced, windows):
        """pairs: (queue, after, first of it, count). band: (threads of a pair, reach, rate). memory: (words, of a pair,
        for its bounds). windows: strips_windows.Windows, or None."""
        queue, after, first, count = pairs
        threads, reach, _ = band
        block = max(threads, BLOCK)
        launch, scores, blocks = batch.slot.launch, batch.slot.scores, -(-count // (block // threads))
        if memory[2] and reach >= 0:
            kernel = affine_seeds.make_seeds(affine_seeds.price_of_a_seed(self._triple), self._triple[1])
            launch(kernel, count, affine_seeds.THREADS, *batch.input, queue, first, count, scores, *memory)

        def forward(kernel, *window):
            launch(kernel, blocks, block, *batch.input, *pairs, *band, scores, *memory, *window)

        def backward(kernel, *window):
            together = _back_together(_likely(count, queue >= 0))
            given = queue, first, count, together, reach
            blocks = -(-count // (BLOCK // together))
            launch(kernel, blocks, BLOCK, *batch.input, *given, *batch.output, *memory, *window)

        if windows is None or reach < 0:
            forward(make_forward(self.penalties, traced, block))
            if traced and reach >= 0:
                backward(make_backward(self.penalties))
            return
        for kind, *window in windows.steps():
            if kind == strips_windows.BACK:
                backward(make_windowed_backward(self.penalties), *window)
            else:
                forward(make_windowed_forward(self.penalties, kind == strips_windows.TRACE), *window)

    def _pair_words(self, threads, reach, longest, traced):
        """uint32 words that are kept of a pair of sequences of up to ``longest`` letters."""
        strips = -(-longest // CHUNK)
        kept = strips if traced else min(strips, threads + 1)
        chunks = 2 * _capped(reach, longest) + 2
        records = kept * (chunks * make_functions(self.penalties, traced).per_chunk + ENDS)
        return max(1, 2 * self._bounds(longest) + records)

    def _bounds(self, longest):
        """Words for the bounds by seeds of a sequence of up to ``longest`` letters, if there are any: of both sides
        whole vectors, as the records come behind them."""
        return whole_vectors(affine_seeds.bounds_of(longest)) if affine_seeds.price_of_a_seed(self._triple) else 0


class LongStrips(BandsThenStrips):
    """Strips alone, for pairs with a sequence of more than MAX_LENGTH letters: see BandsThenStrips."""

    def __init__(self, penalties):
        super().__init__(penalties, (), LONG_STRIPS)

    def longest(self, scratch_words):
        """See design.Design: as far as no cost, and none of its bounds, is over 32 bits."""
        _, gap_open, gap_extend = self.penalties
        return min(MAX_LONG, (MAX_SCORE - 2 * gap_open) // (4 * gap_extend))


def _likely(pairs, few_wait):
    """Pairs that a kernel is likely to take, of those that may wait for it."""
    return max(1, int(_FEW_LONG_PAIRS * pairs)) if few_wait else pairs


def _most(fewest):
    """Threads of a pair where there are few pairs, within a warp."""
    return min(2 * fewest, BLOCK)


def _back_together(pairs):
    """Threads of a pair on its way back: the most with which so many pairs fill half of a GPU at the most."""
    threads = BLOCK
    while threads > 1 and pairs * threads > _HALF:
        threads //= 2
    return threads


def _choices(fewest, reach):
    """Threads that a pair may have, the most first: chunks of a strip must be enough to keep them busy."""
    within_a_warp = _most(fewest), fewest
    return (WIDE_BLOCK, *within_a_warp) if reach >= _WIDE_REACH else within_a_warp


def _evenly(pairs, most):
    """Pairs to take at a time: at most so many, and as many each time."""
    return -(-pairs // -(-pairs // most))


def _capped(reach, longest):
    """No further than what holds the whole matrix."""
    return min(reach, 3 * longest // (2 * CHUNK) + 2)
