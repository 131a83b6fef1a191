"""A batch on the current GPU: through the stream of a design, and what that leaves to the caller's rescue."""

from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np

from wfa_kernels.cuda import by_length, device, kept_streams, long_reads, memory
from wfa_kernels.cuda.packing import MAX_LENGTH
from wfa_kernels.cuda.pinned import PackedPairs, Pool
from wfa_kernels.cuda.rescue import Rescue
from wfa_kernels.cuda.spans import Events, Spans, Timings
from wfa_kernels.designs import FAST
from wfa_kernels.result import AlignmentResult

#: CIGAR elements a pair that are made room for at least, and how much more room than is likely to be needed.
_FIRST_ELEMENTS, _MARGIN = 8, 1.05
#: How much more than was needed may be asked for again: a little less room than there is would fit no buffer of the
#: pool, and page-locking anew takes half a second for a gigabyte.
_ROOMY = 1.5
#: Part of a call's pairs that a stream leaves which tells nothing of the others.
_FEW_LEFT = 0.1

_pool = Pool()
_events = Events()


def align_batch(pairs, penalties, scope, design, rescue, device_memory=None, heuristic=None):
    """Align a batch on the current GPU.

    pairs: PairBatch of n pairs; a PinnedPairs or PackedPairs is read by the GPU as it lies. penalties: Edit() or
    Affine(...). scope: "score" or "cigar". design: "fast" or a PaperDesign. rescue: callable that takes int64 row
    numbers and a progress callable, or None, and gives the AlignmentResult of those pairs: it gets the pairs that no
    kernel of the design can do, from another thread while the GPU works on. device_memory: bytes of device memory to
    keep within, by default half of what is free. heuristic: of the gap-affine PaperDesign, or None; the rescue's must
    be the same.

    Returns an AlignmentResult, in page-locked memory where the GPU did all pairs, in the order of the batch.
    """
    device.attach()
    way = kept_streams.Way(penalties, design, scope == "cigar", device_memory, heuristic)
    if not way.kernels().NAMES:
        return replace(rescue(np.arange(len(pairs))), rescued=len(pairs))
    turn = _Turn(_events.spans())
    if isinstance(pairs, PackedPairs) and len(pairs.odd_rows):
        with Rescue(rescue, _pool) as rescued:
            rescued.hand_over(pairs.odd_rows)
            return rescued.splice_into(_in_order(pairs, way, rescue, turn))
    return _in_order(pairs, way, rescue, turn)


def _in_order(pairs, way, rescue, turn):
    """Align the pairs longest first where that pays; the answers in the order of the batch."""
    if way.longer and kept_streams.letters_of(pairs) > MAX_LENGTH * len(pairs):  # few would be left
        way = way.longer
    elif kept_streams.letters_of(pairs) > long_reads.LETTERS * len(pairs):
        way = way.of_long_reads
    ordered = None if _as_they_are(way) else by_length.longest_first(pairs)
    if ordered is None:
        return _align(pairs, way, rescue, turn)
    answers = _align(ordered, way, partial(_of_these, rescue, ordered.rows), turn)
    return by_length.restored(answers, ordered.rows, _pool)


def _as_they_are(way):
    """The papers' designs order no pairs; nor need those of which the kernels take less than the wire."""
    kept = kept_streams.streams.get(way)
    return way.design != FAST or (kept is not None and kept.design.wire_bound(kept.levels.first))


def release():
    """Give back the device and page-locked memory that is kept for the next call. Raises GpuInUseError."""
    with kept_streams.alone():
        kept_streams.let_go(list(kept_streams.streams))
        _pool.clear()
        _events.clear()
    device.give_back_freed()


@dataclass(frozen=True)
class _Turn:
    """How pairs are tried. spans: of the call. short_of_memory: a stream has left them for want of it. every_level: one
    has, for kernels that were not launched. learns: they tell what other pairs need."""

    spans: Spans
    short_of_memory: bool = False
    every_level: bool = False
    learns: bool = True


def _align(pairs, way, rescue, turn):
    with Rescue(rescue, _pool) as rescued:
        left = _Left(pairs, way, rescued)
        result = _through_a_stream(pairs, way, left, turn)
        if result is None:
            every = np.arange(len(pairs))
            return replace(rescue(every), rescued=len(_without_odd(every, pairs)))
        # The stream's memory may be needed for these: by now none but kept_streams.streams holds it.
        for rows, change in (left.again, {"every_level": True}), (left.outgrown, {"short_of_memory": True}):
            if len(rows):
                following = replace(turn, **change, learns=turn.learns and len(rows) > _FEW_LEFT * len(pairs))
                rescued.add(rows, _align(pairs.take(rows), way, partial(_of_these, rescue, rows), following))
        if len(left.longer):
            rows = left.longer
            first = _Turn(turn.spans)
            rescued.add(rows, _in_order(pairs.take(rows), way.longer, partial(_of_these, rescue, rows), first))
        return rescued.splice_into(result)


def _of_these(rescue, rows, places, progress=None):
    return rescue(rows[places], progress)


def _through_a_stream(pairs, way, left, turn):
    """The AlignmentResult of all pairs but those of ``left``, a _Left; None where the smallest batch has no room."""
    traced, count = way.traced, len(pairs)
    scores, status = _pool.take(count, np.int32), _pool.take(count, np.uint8)
    offsets = _pool.take(count + 1, np.int64) if traced else np.zeros(1, np.int64)
    offsets[0] = 0
    with kept_streams.alone():
        stream, letters = kept_streams.stream_for(pairs, way, turn.short_of_memory)
        if stream is None:
            return None
        room = _Room(pairs, stream.elements_per_letter) if traced else None
        left.laid_out_for, left.partial = stream.longest, stream.partial
        try:
            with memory.device_memory_within(way.device_memory or inf):
                again = stream.align(
                    pairs, letters, scores, status, offsets[1:], room, turn.spans, left, turn.every_level, turn.learns,
                )  # fmt: skip
        except BaseException:  # what is under way still writes to these arrays and to the stream's
            try:
                stream.drain()
            finally:  # another interrupt may end that
                kept_streams.let_go([way])
            raise
        left.again = _without_odd(again, pairs)
        if traced and count and turn.learns:  # a few that are left have more runs than the pairs of a next call
            stream.elements_per_letter = room.to_ask_for(int(offsets[-1])) / max(1, room.letters())
    answers = (room.array[: int(offsets[-1])], offsets) if traced else (None, None)
    return AlignmentResult(scores, status, *answers, timings=Timings(turn.spans))


def _without_odd(rows, pairs):
    """These rows but those of packed pairs whose letters have no code: they are the host's already."""
    return np.setdiff1d(rows, pairs.odd_rows) if isinstance(pairs, PackedPairs) else rows


class _Left:
    """What a stream leaves of its pairs, int64[...] rows each: those for kernels that were not launched (again), those
    for which another stream may have enough memory (outgrown), and those that are too long for the way and that its
    longer one may do (longer). Others are handed over to a Rescue.

    laid_out_for: letters of a sequence for which the stream's scratch memory is. partial: it is not all that may be.
    """

    def __init__(self, pairs, way, rescued):
        self._pairs, self._may_be_longer, self._rescued = pairs, way.longer is not None, rescued
        self.again = self.outgrown = self.longer = np.empty(0, np.int64)

    def hand_over(self, rows):
        """Take rows that no kernel could do."""
        rows = _without_odd(rows, self._pairs)
        sides = self._pairs.pattern_offsets, self._pairs.text_offsets
        letters = np.maximum(*(ends[rows + 1] - ends[rows] for ends in sides))
        longer = (letters > MAX_LENGTH) & self._may_be_longer
        outgrown = (letters > self.laid_out_for) & (letters <= MAX_LENGTH) | self.partial
        self.longer = np.concatenate([self.longer, rows[longer]])
        self.outgrown = np.concatenate([self.outgrown, rows[outgrown]])
        self._rescue(rows[~longer & ~outgrown])

    def hand_over_odd(self, rows):
        """Take rows with letters that have no code: no other stream could do them."""
        self._rescue(_without_odd(rows, self._pairs))

    def _rescue(self, rows):
        if len(rows):
            self._rescued.hand_over(rows)


class _Room:
    """A page-locked array for the CIGAR elements of these pairs, that can grow.

    elements_per_letter: of calls before, of whatever lengths.
    """

    def __init__(self, pairs, elements_per_letter):
        self._sides, count = (pairs.pattern_offsets, pairs.text_offsets), len(pairs)
        elements = max(_FIRST_ELEMENTS * count, round(elements_per_letter * self.letters()))
        self.array = _pool.take(elements, np.uint32)

    def letters(self, first=None):
        """Letters of all pairs, or of the first ones, both sequences together."""
        end = -1 if first is None else first
        return sum(int(offsets[end] - offsets[0]) for offsets in self._sides)

    def to_ask_for(self, elements):
        """Elements to make room for at the next call, if it has as many as this one had."""
        return len(self.array) if len(self.array) <= _ROOMY * elements else _MARGIN * elements

    def grow(self, elements, done):
        """Make room for so many elements, of the first pairs, and for as many a letter of those behind.

        done: how many pairs these are.
        """
        likely = int(_MARGIN * elements * self.letters() / max(1, self.letters(done)))
        larger = _pool.take(max(elements, likely, len(self.array) * 5 // 4), np.uint32)
        larger[: len(self.array)] = self.array
        self.array = larger
