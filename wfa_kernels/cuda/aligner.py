"""A batch on the current GPU: through the stream of a design, and what that leaves to the caller's rescue."""

import gc
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np

from wfa_kernels.cuda import by_length, device, long_reads, memory
from wfa_kernels.cuda.affine_design import AffineDesign
from wfa_kernels.cuda.affine_wfa_design import AffineWfa
from wfa_kernels.cuda.buffers import FIXED_BYTES, READS_SLOTS, SLOTS, bytes_of, letters_within
from wfa_kernels.cuda.edit_design import EditDesign
from wfa_kernels.cuda.edit_wfa import EditWfa
from wfa_kernels.cuda.edit_wfa_global import GlobalWfa
from wfa_kernels.cuda.long_reads import LongReads
from wfa_kernels.cuda.memory import GpuMemoryError
from wfa_kernels.cuda.packing import MAX_LENGTH
from wfa_kernels.cuda.pinned import PackedPairs, Pool
from wfa_kernels.cuda.rescue import Rescue
from wfa_kernels.cuda.spans import Events, Spans, Timings
from wfa_kernels.cuda.stream import Stream, levels_of
from wfa_kernels.designs import FAST
from wfa_kernels.penalties import Edit
from wfa_kernels.result import AlignmentResult

#: Letters of a batch, on each side: few enough to overlap much, enough to fill the GPU and to hide the launches.
_LEAST_LETTERS, _MOST_LETTERS = 1 << 24, 3 << 24
#: Of long reads that many times fewer, in more sets of buffers (buffers.READS_SLOTS).
_READS_PARTS = 2
_BATCHES = 28
#: Packed letters take a quarter of the time on the wire, launches as long as ever: larger batches, and fewer; twice as
#: large, or up to four times until they have so many pairs, of which each is a thread.
_PACKED, _MOST_PACKED, _PACKED_PAIRS = 2, 4, 160_000
_LETTERS_PER_PAIR = 96  # on each side, as far as a batch of them has room
#: Most letters of a batch, on each side, however large the GPU: where they lie, and how many runs the CIGARs of both
#: sides' letters may have, is counted in int32.
_COUNTABLE_LETTERS = (1 << 30) - (1 << 16)
#: CIGAR elements a pair that are made room for at least, and how much more room than is likely to be needed.
_FIRST_ELEMENTS, _MARGIN = 8, 1.05
#: How much more than was needed may be asked for again: a little less room than there is would fit no buffer of the
#: pool, and page-locking anew takes half a second for a gigabyte.
_ROOMY = 1.5
#: Most streams that are kept: each has some hundred MB of page-locked memory, and a call needs three at most.
_MOST_STREAMS = 8
#: Part of the free device memory that is taken where the caller sets no limit.
_MEMORY_SHARE = 0.5
#: Part of it for long reads.
_READS_SHARE = 0.75
#: Part of a call's pairs that a stream leaves which tells nothing of the others.
_FEW_LEFT = 0.1

_streams = {}
_pool = Pool()
_events = Events()
_lock = threading.Lock()
_owner = None  # the thread that has the lock


class GpuInUseError(RuntimeError):
    """A signal handler asks for what the call needs that it has interrupted."""


@contextmanager
def _alone():
    """For this thread alone: a stream's buffers serve one batch at a time. Raises GpuInUseError."""
    global _owner
    if _owner == threading.get_ident():
        raise GpuInUseError("a call of align() on the GPU is under way in this thread: wait until it is done")
    with _lock:
        try:
            _owner = threading.get_ident()
            yield
        finally:
            _owner = None


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
    way = _Way(penalties, design, scope == "cigar", device_memory, heuristic)
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
    if way.longer and _letters(pairs) > MAX_LENGTH * len(pairs):  # few would be left
        way = way.longer
    elif _letters(pairs) > long_reads.LETTERS * len(pairs):
        way = way.of_long_reads
    ordered = None if _as_they_are(way) else by_length.longest_first(pairs)
    if ordered is None:
        return _align(pairs, way, rescue, turn)
    answers = _align(ordered, way, partial(_of_these, rescue, ordered.rows), turn)
    return by_length.restored(answers, ordered.rows, _pool)


def _as_they_are(way):
    """The papers' designs order no pairs; nor need those of which the kernels take less than the wire."""
    kept = _streams.get(way)
    return way.design != FAST or (kept is not None and kept.design.wire_bound(kept.levels.first))


def release():
    """Give back the device and page-locked memory that is kept for the next call. Raises GpuInUseError."""
    with _alone():
        _let_go(list(_streams))
        _pool.clear()
        _events.clear()
    device.give_back_freed()


def _let_go(ways):
    """Free the memory of the streams of these ways, which no call is using."""
    for way in ways:
        if stream := _streams.pop(way):
            stream.close()
    device.give_back_freed()  # Numba keeps some of it, beside what the caller's limit leaves for the next


def slots():
    """Every Slot that is kept for the next call."""
    with _alone():
        return [slot for stream in _streams.values() if stream for slot in stream.slots]


@dataclass(frozen=True)
class _Way:
    """What a stream is for."""

    penalties: object
    design: object
    traced: bool
    device_memory: int | None
    heuristic: object
    long: bool = False  # for pairs with a sequence of more than MAX_LENGTH letters
    reads: bool = False  # for long reads, as far as they are not longer than that

    @property
    def beyond(self):
        return GlobalWfa if isinstance(self.penalties, Edit) and self.design != FAST else None

    @property
    def longer(self):
        """The way for pairs that are too long for this one, or None."""
        return replace(self, long=True, reads=False) if not self.long and self._usual().longer() else None

    @property
    def of_long_reads(self):
        """The way for long reads: this one where there is no other."""
        if self.long or self.design != FAST:
            return self
        return replace(self, reads=isinstance(self.penalties, Edit) or long_reads.serves(self.penalties.triple))

    @property
    def slots(self):
        """Sets of buffers."""
        return READS_SLOTS if self.reads else SLOTS

    @property
    def most_letters(self):
        """Letters of a batch, on each side, above which it is no better for being larger."""
        return _MOST_LETTERS // _READS_PARTS if self.reads else _MOST_LETTERS

    def kernels(self):
        if self.reads and not isinstance(self.penalties, Edit):
            return LongReads(self.penalties.triple)
        return self._usual().longer() if self.long else self._usual()

    def _usual(self):
        if not isinstance(self.penalties, Edit):
            triple = self.penalties.triple
            return AffineDesign(triple) if self.design == FAST else AffineWfa(triple, self.design, self.heuristic)
        return EditDesign() if self.design == FAST else EditWfa(self.design)


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
        # The stream's memory may be needed for these: by now none but _streams holds it.
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
    with _alone():
        stream, letters = _stream(pairs, way, turn.short_of_memory)
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
                _let_go([way])
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


def _stream(pairs, way, short_of_memory=False):
    """(the stream for that, letters of a batch): one that is large enough is used again, within its memory.

    short_of_memory: one has left these pairs for want of it. No stream where even the smallest batch finds no room.
    """
    total = max(_letters(pairs), MAX_LENGTH)
    if way.device_memory and memory.held_bytes("device") > way.device_memory:  # by calls that may hold more
        _let_go([other for other in _streams if other != way])
    kept, longest = _streams.get(way), 0
    wanted = _wanted_letters(pairs, way, total, kept)
    if kept and _too_small(kept, pairs, way, wanted, short_of_memory):
        wanted, longest = max(wanted, kept.letters), kept.longest  # for the calls to come
        _let_go([way])
        kept = None
    _streams.pop(way, None)
    if kept is None:
        _let_go(list(_streams)[: 1 - _MOST_STREAMS])
        kept = _new_stream(way, wanted, max(longest, _longest(pairs)), short_of_memory)
    _streams[way] = kept  # behind those that were used before
    return kept, min(wanted, kept.letters) if kept else 0


def _too_small(kept, pairs, way, wanted, short_of_memory):
    """Whether a larger stream is to take the place of one that is kept."""
    if kept.letters < min(wanted, kept.most) or kept.batcher.longest_seen > 2 * kept.longest:
        return True
    return (short_of_memory and kept.partial) or ((short_of_memory or way.long) and _longest(pairs) > kept.longest)


def _wanted_letters(pairs, way, total, kept):
    """Letters of a batch, on each side, of ``total``."""
    times = 1
    if isinstance(pairs, PackedPairs):
        enough = _PACKED_PAIRS * total // max(1, len(pairs)) // way.most_letters + 1
        times = min(max(_PACKED, enough), _MOST_PACKED)
    wanted = min(times * way.most_letters, max(times * total // _BATCHES, min(total, _LEAST_LETTERS)))
    if not len(pairs):
        return wanted
    longest, level = (kept.longest, kept.levels.first) if kept else (_longest(pairs), None)
    filling = way.kernels().filling_pairs(longest, level, way.traced) * total // len(pairs)
    return max(wanted, min(total, filling))


def _letters(pairs):
    """Letters of its patterns or of its texts, whichever are more."""
    return int(max(ends[-1] - ends[0] for ends in (pairs.pattern_offsets, pairs.text_offsets)))


def _longest(pairs):
    return int(max(pairs.pattern_lengths.max(initial=1), pairs.text_lengths.max(initial=1)))


def _room_of(way, limit, all_of_it):
    """Of so many bytes those for this way: longer reads may be among long ones, in a stream of the same call."""
    if all_of_it:
        return limit
    if way.long:
        return max(limit - memory.held_bytes("device"), int((1 - _READS_SHARE) * limit))
    return int(_READS_SHARE * limit) if way.reads else limit


def _new_stream(way, wanted, longest, all_of_it):
    """As large as if there were no other: those make way where not all have room, until they are wanted again.

    Then its own size is halved, batches no further than one has room for any pair; None where that is not enough.
    all_of_it: whatever other ways are used in the same call.
    """
    limit = way.device_memory or int(_MEMORY_SHARE * (device.free_bytes() + memory.held_bytes("device")))
    kernels, halvings = way.kernels(), 0
    levels, of_a_pair = levels_of(kernels, way.beyond), MAX_LENGTH // 2 if way.long else _LETTERS_PER_PAIR
    while True:
        whole = _room_of(way, limit, all_of_it) - FIXED_BYTES
        most = min(max(MAX_LENGTH, letters_within(whole, levels, way.traced, of_a_pair, way.slots)), _COUNTABLE_LETTERS)
        letters = min(max(way.most_letters, wanted), most, 1 << (wanted - 1).bit_length()) >> halvings
        letters, room = max(letters, min(MAX_LENGTH, _MOST_LETTERS)), whole >> halvings
        if halvings and bytes_of(letters, letters // of_a_pair, levels, way.traced, way.slots) > room:
            return None
        try:
            with memory.device_memory_within(limit):
                of_a_batch = letters // of_a_pair, letters, longest
                stream = Stream(kernels, way.beyond, way.traced, *of_a_batch, room, way.slots)
        except GpuMemoryError:
            if _streams:
                _let_go(list(_streams))
                gc.collect()  # frames of errors that Numba has caught, and keeps in cycles, hold arrays
            else:  # another process may have taken what was free
                halvings += 1
            continue
        stream.elements_per_letter, stream.most = 0, letters if halvings else most
        stream.partial = way.long and whole < limit - FIXED_BYTES
        return stream
