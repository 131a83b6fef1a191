"""Batches of pairs through the GPU: copies in, kernels and copies out overlap.

One batch is on its way in while others are computed and one comes out; ``SLOTS`` sets of buffers go round. The copies
of each direction have a CUDA stream, and so has each set of buffers for its kernels: what one batch's few last pairs
leave idle of the GPU, the next batch's kernels take. The wire is the limit at short lengths, so little else crosses it:
lengths as 16 bits (the GPU adds them up), scores, ends of CIGARs, and CIGARs of just the size they have. That size is
known on the GPU only: the host waits for it two batches behind the copies, and then asks for the CIGARs. Letters come
as ASCII, and are packed there, or packed already.
"""

from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import cuda, njit

from wfa_kernels.cuda import compaction, device, packing
from wfa_kernels.cuda.compaction import THREADS
from wfa_kernels.cuda.launching import Launcher
from wfa_kernels.cuda.memory import device_array, pinned_array
from wfa_kernels.cuda.packing import LEAD, LEAD_WORDS, LETTERS, MAX_LENGTH, PACK_THREADS, TAIL_WORDS
from wfa_kernels.cuda.pinned import PackedPairs, PinnedPairs
from wfa_kernels.result import NO_SCORE

#: In place of a queue: every pair of the batch.
ALL_PAIRS = -1
SLOTS = 4
#: Batches whose copies are under way before the host waits for one.
_AHEAD = 2
_BATCHES = 1 << 20
_NO_BATCH = -1
#: Part of the device memory for the batches; the kernels have the rest.
_BATCHES_SHARE = 0.5
#: Pairs of a batch, as a part of it, that may be left over before every kernel is launched again.
_FEW = 0.001
#: Ordinary memory is brought into page-locked memory by several threads: one does not keep up with the wire.
_STAGING_THREADS = 8
_STAGING_PIECE = 1 << 22
#: So do their lengths: pairs at a time.
_SHAPE_PIECE = 1 << 18


@njit(nogil=True, cache=True)
def _put_lengths(pattern_offsets, text_offsets, lengths):
    """Fill lengths, uint32[pairs], m | n << 16, cut off at 16 bits; the longest sequence.

    pattern_offsets, text_offsets: int64[pairs + 1].
    """
    longest = 0
    for i in range(len(lengths)):
        m, n = pattern_offsets[i + 1] - pattern_offsets[i], text_offsets[i + 1] - text_offsets[i]
        longest = max(longest, m, n)
        lengths[i] = (m & 0xFFFF) | (n & 0xFFFF) << 16
    return longest


class _Slot:
    """Device and page-locked buffers of one batch in flight."""

    def __init__(self, pairs, letters, levels, scratch_words, traced):
        blocks = -(-pairs // THREADS)
        words = -(-letters // LETTERS) + 1
        self.ascii = [device_array(words * LETTERS // 8, np.uint64) for _ in range(2)]
        self.planes = [device_array(LEAD_WORDS + words + TAIL_WORDS, np.uint64) for _ in range(2)]
        self.odd = [device_array(LEAD_WORDS + words + TAIL_WORDS, np.uint32) for _ in range(2)]
        self.shape = device_array(pairs + 2 * blocks, np.uint32)
        self.place = device_array((2, pairs), np.uint32)
        self.queues = device_array((levels + 2, max(pairs, levels + 2)), np.int32)
        self.scores = device_array(pairs, np.int32)
        self.counts = device_array(pairs, np.uint32)
        self.runs_at = device_array(pairs, np.uint32)
        self.ends = device_array(pairs, np.int64)
        self.sums = device_array(blocks, np.int64)
        self.flag = device_array(1, np.int64)
        # A CIGAR has no more runs than its pair has letters.
        self.runs, self.cigars = (device_array(2 * letters if traced else 1, np.uint32) for _ in range(2))
        self.scratch = device_array(scratch_words, np.uint64)
        self.scratch_words, self.scratch_numbers = self.scratch.view(np.uint32), self.scratch.view(np.int32)
        self.staged_shape = pinned_array(pairs + 2 * blocks, np.uint32)
        self.staged = None
        self.tallies = pinned_array(levels + 1, np.int32)
        self.filled = pinned_array(2, np.int64)
        self.compute = cuda.stream()
        self.launch = Launcher(self.compute)
        self.told, self.summed, self.beyond_done = cuda.event(), cuda.event(), cuda.event()
        self._never = cuda.event()
        self.forget()

    def forget(self):
        """Nothing is under way. The newest of each kind: letters are here, kernels are done, all has left."""
        self.arrived = self.computed = self.left = self._never

    def stage(self, letters):
        """Two page-locked buffers for the letters of a batch in ordinary memory."""
        if self.staged is None:
            self.staged = [pinned_array(letters, np.uint8) for _ in range(2)]
        return self.staged


@dataclass
class _Draft:
    """A batch to be, that ends before the first pair with a sequence over the limit."""

    number: int
    start: int
    stop: int
    slot: _Slot
    shaping: list  # lengths under way into the slot's page-locked memory, each to tell the longest


@dataclass
class _Batch:
    number: int
    start: int
    stop: int
    longest: int
    slot: _Slot
    sources: tuple  # letters of its patterns and of its texts, or their planes, page-locked or soon to be
    staging: list  # copies into page-locked memory under way
    packed: bool  # sources are planes
    first_level: int = 0
    last_level: int = 0
    trial: bool = False  # it begins a level lower than it would, to see whether that is enough

    @property
    def pairs(self):
        return self.stop - self.start

    @property
    def blocks(self):
        return -(-self.pairs // THREADS)

    @property
    def input(self):
        """First arguments of every kernel that aligns."""
        return *self.slot.planes, self.pairs, self.slot.shape, self.slot.place, self.slot.queues

    @property
    def output(self):
        """What those kernels write."""
        return self.slot.scores, self.slot.runs_at, self.slot.counts, self.slot.runs

    @property
    def scratch(self):
        """Device memory for the kernels, uint64[...]."""
        return self.slot.scratch


def letters_within(memory, levels, traced, letters_per_pair):
    """Most letters, on each side, of batches whose buffers take so many bytes of device memory."""
    letter = SLOTS * (2 + 2 / 4 + 2 / 8 + (16 if traced else 0))
    pair = SLOTS * (32 + 4 * (levels + 2) + 1)
    return int(_BATCHES_SHARE * memory / (letter + pair / letters_per_pair))


def levels_of(design, beyond):
    """Number of kernels of a design and of those beyond it."""
    return len(design.NAMES) + (len(beyond.NAMES) if beyond else 0)


class Stream:
    """Aligns batches with the kernels of one design; keeps its buffers for the next call.

    design: a Design. beyond: None, or the class of further kernels for what is over all its limits, made with bytes of
    device memory.

    traced: with CIGARs. pairs, letters: most pairs of a batch, most letters of its patterns and of its texts. letters
    must not be below MAX_LENGTH. longest: sequence, in letters, for which to lay out the scratch memory. memory: bytes
    of device memory to keep within, of which letters_within tells what the batches take. Raises GpuMemoryError.
    """

    def __init__(self, design, beyond, traced, pairs, letters, longest, memory):
        self.design, self.traced, self.pairs, self.letters, self.longest = design, traced, pairs, letters, longest
        share = int((1 - _BATCHES_SHARE) * memory) // (2 if beyond else 1)
        self.own_levels, self.levels = len(design.NAMES), levels_of(design, beyond)
        self.beyond = beyond(share) if beyond else None
        words = min(share // 8 // SLOTS, design.scratch_words(pairs, longest, traced))
        self.slots = [_Slot(pairs, letters, self.levels, words, traced) for _ in range(SLOTS)]
        self.inward, self.outward = cuda.stream(), cuda.stream()
        self.filled = device_array(_BATCHES, np.int64)
        self.most_letters = min(MAX_LENGTH, design.longest(words if traced else None))
        self.longest_seen = 0
        self.first_level = design.first_level
        self._events, self._spans = [], []
        self.stagers = ThreadPoolExecutor(_STAGING_THREADS)

    def align(self, pairs, letters, scores, ends, room, hand_over, every_level=False):
        """Align a PairBatch; rows, int64[...], that may be tried again with every_level: their score is NO_SCORE.

        letters: of a batch, on each side. scores: int32[n] and, if traced, ends: int64[n], where each CIGAR ends; both
        are filled. room: its ``array``, uint32[...], takes the CIGARs; ``grow(elements)`` makes it larger. Copies to
        page-locked arrays are the fastest. hand_over: is called with rows, int64[...], that no kernel can do, as soon
        as that is known; their CIGAR is empty. every_level: launch every kernel for every batch. Else those that no
        pair has needed lately are left out, and the pairs that may need them are returned.
        """
        again, skipped, waiting = [], [], deque()
        if not every_level:  # else it goes on where a curtailed call stopped
            self._spans = []
        for slot in self.slots:
            slot.forget()
            device.clear(slot.flag, 2, slot.compute)
        device.clear(self.filled, 2, self.slots[0].compute)  # where the first batch is
        self.summed = self.beyond_done = None
        self.try_lower = True  # these pairs may be nearer than the last call's
        last = self.levels - 1 if every_level else self.design.last_likely_level(self.longest)
        self.last_level, self.needed_level = max(self.first_level, last), 0
        self.may_curtail = not every_level
        batches = self._batches(pairs, letters, skipped)
        staged, sent = next(batches, None), None
        while staged is not None or sent is not None:
            batch, sent = sent, staged
            if staged is not None:  # before the launches for the batch before: the wire must not wait for the host
                if not sent.staging:
                    self._send(sent)
                staged = next(batches, None)  # its staging goes on meanwhile
                if sent.staging:
                    self._send(sent)
            if batch is not None:
                self._launch(batch)
                self._fetch(batch, scores, ends)
                waiting.append(batch)
            if len(waiting) > _AHEAD:
                self._finish(waiting.popleft(), again, room, hand_over)
        if skipped:
            hand_over(np.array(skipped, np.int64))
        while waiting:
            self._finish(waiting.popleft(), again, room, hand_over)
        self.outward.synchronize()
        for row in skipped:
            scores[row] = NO_SCORE
            if self.traced:
                ends[row] = ends[row - 1] if row else 0
        return np.sort(np.concatenate([np.empty(0, np.int64), *again]))

    def seconds(self, name):
        """Seconds of the last call during which a part went on for at least one batch, by the GPU's clock."""
        total, until = 0.0, 0.0
        for begin, end in sorted((begin, end) for part, _, begin, end in self.timeline() if part == name):
            total += max(0.0, end - max(begin, until))
            until = max(until, end)
        return total

    def timeline(self):
        """[(part, batch number, begin, end)] of the last call, in seconds since the first of them began."""
        first = self._spans[0][2] if self._spans else None
        return [
            (part, number, cuda.event_elapsed_time(first, begin) / 1e3, cuda.event_elapsed_time(first, end) / 1e3)
            for part, number, begin, end in self._spans
        ]

    def _span(self, name, batch, stream):
        """Begin to time what follows on a stream; the callable that ends it and gives the event of the end."""
        if len(self._spans) == len(self._events):
            self._events.append((cuda.event(), cuda.event()))
        begin, end = self._events[len(self._spans)]
        begin.record(stream)
        self._spans.append((name, batch.number, begin, end))

        def ended():
            end.record(stream)
            return end

        return ended

    def _batches(self, pairs, letters, skipped):
        """Cut the pairs into batches, and begin to stage each.

        The first and the last ones are small: the kernels begin early, and little is left to do after the last copy.
        """
        packed, sides = isinstance(pairs, PackedPairs), (pairs.pattern_offsets, pairs.text_offsets)
        draft = self._draft(sides, letters, 0, 0)
        while draft is not None:
            count, longest = self._shaped(sides, draft)
            start, number, slot = draft.start, draft.number, draft.slot
            stop = start + count
            if count:
                draft = self._draft(sides, letters, stop, number + 1)
                self._put_places(sides, start, stop, packed, slot.staged_shape)
                self.longest_seen = max(self.longest_seen, longest)
                yield _Batch(number, start, stop, longest, slot, *self._stage(pairs, start, stop, slot), packed)
            else:
                skipped.append(start)
                draft = self._draft(sides, letters, start + 1, number)

    def _draft(self, sides, letters, start, number):
        """The next batch, whose lengths threads begin to put down; None after the last."""
        if start == len(sides[0]) - 1:
            return None
        slot = self.slots[number % SLOTS]
        stop = min(
            self._cut(offsets, start, letters // 4 if number == 0 else letters, letters // 8) for offsets in sides
        )
        slot.arrived.synchronize()  # until then its page-locked buffers are being read
        lengths = slot.staged_shape[: stop - start]
        pieces = [
            self.stagers.submit(_put_lengths, *(offsets[at : at + _SHAPE_PIECE + 1] for offsets in sides), part)
            for at in range(start, stop, _SHAPE_PIECE)
            for part in [lengths[at - start : at - start + _SHAPE_PIECE]]
        ]
        return _Draft(number, start, stop, slot, pieces)

    def _shaped(self, sides, draft):
        """(pairs of a draft before one over the limit, the longest sequence of these)."""
        longest = max(piece.result() for piece in draft.shaping)
        if longest <= self.most_letters:
            return draft.stop - draft.start, longest
        lengths = np.maximum(*(np.diff(offsets[draft.start : draft.stop + 1]) for offsets in sides))
        count = int(np.argmax(lengths > self.most_letters))
        return count, int(lengths[:count].max(initial=0))

    def _cut(self, offsets, start, most, least):
        """Where a batch from ``start`` on ends that takes half of the letters that are left, within limits."""
        letters = min(most, max(least, int(offsets[-1] - offsets[start]) // 2))
        ends = offsets[start + 1 : start + 1 + self.pairs]
        return max(start + 1, start + int(np.searchsorted(ends, offsets[start] + letters, side="right")))

    def _put_places(self, sides, start, stop, packed, shape):
        """Where the sequences of each block's first pair begin, behind the lengths."""
        at = stop - start
        for offsets in sides:
            first = LEAD + (int(offsets[start]) % LETTERS if packed else 0)
            places = offsets[start:stop:THREADS] - offsets[start] + first
            shape[at : at + len(places)] = places
            at += len(places)

    def _stage(self, pairs, start, stop, slot):
        """(page-locked letters of patterns and texts, the copies under way to fill them)."""
        bounds = [(int(offsets[start]), int(offsets[stop])) for offsets in (pairs.pattern_offsets, pairs.text_offsets)]
        if isinstance(pairs, PackedPairs):
            parts = zip(pairs.planes, bounds, strict=True)
            return tuple(planes[first // LETTERS : -(-last // LETTERS)] for planes, (first, last) in parts), []
        parts = [flat[first:last] for flat, (first, last) in zip((pairs.pattern, pairs.text), bounds, strict=True)]
        if isinstance(pairs, PinnedPairs):
            return tuple(parts), []
        staged = tuple(buffer[: len(part)] for buffer, part in zip(slot.stage(self.letters), parts, strict=True))
        copies = [
            self.stagers.submit(np.copyto, target[at : at + _STAGING_PIECE], source[at : at + _STAGING_PIECE])
            for target, source in zip(staged, parts, strict=True)
            for at in range(0, len(source), _STAGING_PIECE)
        ]
        return staged, copies

    def _send(self, batch):
        slot = batch.slot
        for copy in batch.staging:
            copy.result()
        slot.computed.wait(self.inward)
        ended = self._span("time_h2d", batch, self.inward)
        device.copy_in(slot.shape, slot.staged_shape[: batch.pairs + 2 * batch.blocks], self.inward)
        for target, planes, source in zip(slot.ascii, slot.planes, batch.sources, strict=True):
            if batch.packed:
                device.copy_in(planes, source, self.inward, LEAD_WORDS)
            else:
                device.copy_in(target, source, self.inward)
        slot.arrived = ended()

    def _launch(self, batch):
        batch.first_level, batch.last_level = self.first_level, self.last_level
        batch.trial = self.try_lower and batch.first_level > self.design.first_level
        if batch.trial:
            batch.first_level, self.try_lower = batch.first_level - 1, False
        stream = batch.slot.compute
        batch.slot.arrived.wait(stream)
        batch.slot.left.wait(stream)
        self._pack(batch, stream)
        ended = self._span("time_kernel", batch, stream)
        self._align(batch, range(batch.first_level, min(batch.last_level + 1, self.own_levels)), self.design, 0)
        if self.traced:
            self.design.finish(batch)
        beyond = range(max(batch.first_level, self.own_levels), batch.last_level + 1)
        if beyond:
            self._align_beyond(batch, beyond, stream)
        if self.traced:
            self._gather(batch, stream)
        batch.slot.computed = ended()

    def _pack(self, batch, stream):
        """Letters into planes, and where each sequence begins."""
        slot, blocks = batch.slot, batch.blocks
        ended = self._span("time_pack", batch, stream)
        device.clear(slot.queues, self.levels + 2, stream)
        if not batch.packed:
            words = [-(-len(letters) // LETTERS) for letters in batch.sources]
            slot.launch(
                packing.pack_letters, -(-max(1, sum(words)) // PACK_THREADS), PACK_THREADS, slot.ascii[0], words[0],
                slot.ascii[1], words[1], *slot.planes, *slot.odd, slot.flag, batch.number + 1,
            )  # fmt: skip
        # The flag holds the number, from 1, of a batch with letters that have no code; packed letters all have one.
        slot.launch(
            compaction.place_pairs, blocks, THREADS, batch.pairs, slot.shape, slot.place, slot.queues, slot.scores,
            *slot.odd, slot.flag, _NO_BATCH if batch.packed else batch.number + 1,
        )  # fmt: skip
        ended()

    def _align(self, batch, levels, kernels, before):
        """Launch the kernels of these levels; ``before`` of them belong to another design."""
        for level in levels:
            queue = level if level > batch.first_level else ALL_PAIRS
            after = level + 1 if level < batch.last_level else self.levels
            kernels.launch(level - before, queue, after, batch, self.traced)

    def _align_beyond(self, batch, levels, stream):
        """Launch the kernels beyond the design's: their memory serves one batch at a time."""
        if self.beyond_done is not None:
            self.beyond_done.wait(stream)
        self._align(batch, levels, self.beyond, self.own_levels)
        self.beyond_done = batch.slot.beyond_done
        self.beyond_done.record(stream)

    def _gather(self, batch, stream):
        """All runs of the batch into one array of CIGARs."""
        slot, count, blocks = batch.slot, batch.pairs, batch.blocks
        slot.launch(compaction.sum_blocks, blocks, THREADS, count, slot.scores, slot.counts, slot.sums)
        if self.summed is not None:  # where the CIGARs of the batch before end
            self.summed.wait(stream)
        slot.launch(compaction.scan_sums, 1, compaction.SCAN_THREADS, blocks, slot.sums, self.filled, batch.number)
        self.summed = slot.summed
        self.summed.record(stream)
        slot.launch(
            compaction.gather_runs, blocks, THREADS, count, slot.scores, slot.counts, slot.runs_at, slot.runs,
            slot.sums, self.filled, batch.number, slot.ends, slot.cigars,
        )  # fmt: skip

    def _fetch(self, batch, scores, ends):
        """Ask for all but the CIGARs, whose size the host does not know yet."""
        slot = batch.slot
        slot.computed.wait(self.outward)
        ended = self._span("time_d2h", batch, self.outward)
        device.copy_out(slot.tallies, slot.queues, 0, self.outward)
        if self.traced:
            device.copy_out(slot.filled, self.filled, batch.number, self.outward)
        slot.told.record(self.outward)
        device.copy_out(scores[batch.start : batch.stop], slot.scores, 0, self.outward)
        if self.traced:
            device.copy_out(ends[batch.start : batch.stop], slot.ends, 0, self.outward)
        slot.left = ended()

    def _finish(self, batch, again, room, hand_over):
        """Ask for the CIGARs; learn which pairs are left, and which kernels the next batches need."""
        slot = batch.slot
        slot.told.synchronize()
        tallies = slot.tallies.tolist()
        self._choose_levels(batch, tallies)
        if tallies[self.levels]:
            rows = np.empty(tallies[self.levels], np.int32)
            device.copy_out(rows, slot.queues, (self.levels + 1) * slot.queues.shape[1], self.outward)
            self.outward.synchronize()
            rows = np.sort(rows).astype(np.int64) + batch.start
            if batch.last_level < self.levels - 1:
                again.append(rows)
            else:
                hand_over(rows)
        if self.traced:
            base, end = slot.filled.tolist()
            if end > len(room.array):
                self.outward.synchronize()  # until then the array is being written
                room.grow(end)
            ended = self._span("time_d2h", batch, self.outward)
            device.copy_out(room.array[base:end], slot.cigars, 0, self.outward)
            slot.left = ended()

    def _choose_levels(self, batch, tallies):
        """First and last kernel of the next batches, from how many pairs had to go on to each in this one."""
        failed = tallies[batch.first_level + 1 : batch.last_level + 1]
        useless = 0  # kernels to leave out
        for i, count in enumerate(failed[: self.own_levels - batch.first_level]):
            if count > self.design.tolerated_failures(batch.first_level + i) * batch.pairs:
                useless = i + 1
        if useless:
            self.first_level = max(self.first_level, batch.first_level + useless)
        elif batch.trial:
            self.first_level, self.try_lower = min(self.first_level, batch.first_level), True
        if tallies[self.levels] > _FEW * batch.pairs:
            self.last_level = self.levels - 1
        elif self.may_curtail:
            self.needed_level = max(self.needed_level, batch.first_level + sum(count > 0 for count in failed))
            self.last_level = max(self.needed_level, self.first_level)


class Timings(Mapping):
    """Seconds of the last call of a stream by the GPU's clock: its copies in, packing, the other kernels and its copies
    out. They overlap: their sum is no time of the call.

    Asking takes a millisecond, so it is done when asked, and must be before the next call. Empty in the simulator.
    """

    PARTS = ("time_h2d", "time_pack", "time_kernel", "time_d2h")

    def __init__(self, stream):
        self._stream = stream

    def __getitem__(self, name):
        if name not in self.PARTS:
            raise KeyError(name)
        return self._stream.seconds(name)

    def spans(self):
        """[(part, batch number, begin, end)] in seconds since the first of them began; see Stream.timeline."""
        return [] if device.simulated() else self._stream.timeline()

    def __iter__(self):
        return iter(() if device.simulated() else self.PARTS)

    def __len__(self):
        return len(tuple(iter(self)))
