"""Streams that are kept from call to call: what each is for, how large it is, and when it makes way for others."""

import gc
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace

from wfa_kernels.cuda import device, long_reads, memory
from wfa_kernels.cuda.affine_design import AffineDesign
from wfa_kernels.cuda.affine_wfa_design import AffineWfa
from wfa_kernels.cuda.buffers import FIXED_BYTES, READS_SLOTS, SLOTS, bytes_of, letters_within
from wfa_kernels.cuda.edit_design import EditDesign
from wfa_kernels.cuda.edit_wfa import EditWfa
from wfa_kernels.cuda.edit_wfa_global import GlobalWfa
from wfa_kernels.cuda.long_reads import LongReads
from wfa_kernels.cuda.memory import GpuMemoryError
from wfa_kernels.cuda.packing import MAX_LENGTH
from wfa_kernels.cuda.pinned import PackedPairs
from wfa_kernels.cuda.stream import Stream, levels_of
from wfa_kernels.designs import FAST
from wfa_kernels.penalties import Edit

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
#: Most streams that are kept: each has some hundred MB of page-locked memory, and a call needs three at most.
_MOST_STREAMS = 8
#: Part of the free device memory that is taken where the caller sets no limit.
_MEMORY_SHARE = 0.5
#: Part of it for long reads.
_READS_SHARE = 0.75

streams = {}  # Way -> Stream, the one used longest ago first; None where there was no room
_lock = threading.Lock()
_owner = None  # the thread that has the lock


class GpuInUseError(RuntimeError):
    """A signal handler asks for what the call needs that it has interrupted."""


@contextmanager
def alone():
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


def let_go(ways):
    """Free the memory of the streams of these ways, which no call is using."""
    for way in ways:
        if stream := streams.pop(way):
            stream.close()
    device.give_back_freed()  # Numba keeps some of it, beside what the caller's limit leaves for the next


def slots():
    """Every Slot that is kept for the next call."""
    with alone():
        return [slot for stream in streams.values() if stream for slot in stream.slots]


@dataclass(frozen=True)
class Way:
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


def stream_for(pairs, way, short_of_memory=False):
    """(the stream for that, letters of a batch): one that is large enough is used again, within its memory.

    short_of_memory: one has left these pairs for want of it. No stream where even the smallest batch finds no room.
    """
    total = max(letters_of(pairs), MAX_LENGTH)
    if way.device_memory and memory.held_bytes("device") > way.device_memory:  # by calls that may hold more
        let_go([other for other in streams if other != way])
    kept, longest = streams.get(way), 0
    wanted = _wanted_letters(pairs, way, total, kept)
    if kept and _too_small(kept, pairs, way, wanted, short_of_memory):
        wanted, longest = max(wanted, kept.letters), kept.longest  # for the calls to come
        let_go([way])
        kept = None
    streams.pop(way, None)
    if kept is None:
        let_go(list(streams)[: 1 - _MOST_STREAMS])
        kept = new_stream(way, wanted, max(longest, _longest(pairs)), short_of_memory)
    streams[way] = kept  # behind those that were used before
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


def letters_of(pairs):
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


def new_stream(way, wanted, longest, all_of_it):
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
            if streams:
                let_go(list(streams))
                gc.collect()  # frames of errors that Numba has caught, and keeps in cycles, hold arrays
            else:  # another process may have taken what was free
                halvings += 1
            continue
        stream.elements_per_letter, stream.most = 0, letters if halvings else most
        stream.partial = way.long and whole < limit - FIXED_BYTES
        return stream
