"""Batches of pairs through the GPU: copies in, kernels and copies out overlap on three streams.

One batch is on its way in while another is computed and a third comes out; ``_SLOTS`` sets of buffers go round. The
wire is the limit at short lengths, so little else crosses it: lengths as 16 bits (the GPU adds them up), scores, ends
of CIGARs, and CIGARs of just the size they have. That size is known on the GPU only: the host waits for it two batches
behind the copies, and then asks for the CIGARs.
"""

from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import cuda, njit

from wfa_kernels.cuda import compaction, device
from wfa_kernels.cuda.compaction import THREADS
from wfa_kernels.cuda.packing import MAX_LENGTH, PADDING_BYTES
from wfa_kernels.cuda.pinned import PinnedPairs
from wfa_kernels.result import NO_SCORE

#: In place of a queue: every pair of the batch.
ALL_PAIRS = -1
_SLOTS = 4
#: Batches whose copies are under way before the host waits for one.
_AHEAD = 2
_BATCHES = 1 << 20
#: Part of the free device memory for the kernels' scratch memory.
_SCRATCH_SHARE = 0.5
#: A level is left out for the batches to come when it fails on more than this part of a batch.
_TOO_MANY_FAIL = 0.3
#: Pairs of a batch, as a part of it, that may be left over before every kernel is launched again.
_FEW = 0.001
#: Ordinary memory is brought into page-locked memory by several threads: one reaches about 10 GB/s, the wire takes 55.
_STAGING_THREADS = 8
_STAGING_PIECE = 1 << 22


@njit(nogil=True, cache=True)
def _shape_batch(pattern_offsets, text_offsets, start, stop, most, block, shape):
    """Fill ``shape`` (see compaction.place_pairs) up to a sequence over ``most``; (pairs taken, longest sequence)."""
    count, longest = stop - start, 0
    for i in range(count):
        m = pattern_offsets[start + i + 1] - pattern_offsets[start + i]
        n = text_offsets[start + i + 1] - text_offsets[start + i]
        if max(m, n) > most:
            count = i
            break
        longest = max(longest, m, n)
        shape[i] = m | n << 16
    blocks = (count + block - 1) // block
    for b in range(blocks):
        shape[count + b] = pattern_offsets[start + b * block] - pattern_offsets[start]
        shape[count + blocks + b] = text_offsets[start + b * block] - text_offsets[start]
    return count, longest


class _Slot:
    """Device and page-locked buffers of one batch in flight."""

    def __init__(self, pairs, letters, levels, traced):
        blocks = -(-pairs // THREADS)
        words = letters // 4 + PADDING_BYTES // 4
        self.pattern, self.text = (cuda.device_array(words, np.uint32) for _ in range(2))
        self.shape = cuda.device_array(pairs + 2 * blocks, np.uint32)
        self.place = cuda.device_array((2, pairs), np.uint32)
        self.queues = cuda.device_array((levels + 2, max(pairs, levels + 1)), np.int32)
        self.scores = cuda.device_array(pairs, np.int32)
        self.counts = cuda.device_array(pairs, np.uint32)
        self.ends = cuda.device_array(pairs, np.int64)
        # A CIGAR has no more runs than its pair has letters.
        self.cigars = cuda.device_array(2 * letters if traced else 1, np.uint32)
        self.staged_shape = cuda.pinned_array(pairs + 2 * blocks, np.uint32)
        self.staged = None
        self.tallies = cuda.pinned_array(levels + 1, np.int32)
        self.filled = cuda.pinned_array(2, np.int64)
        # The newest of each kind: the last letters are here, the kernels are done, sizes are known, all has left.
        self.arrived, self.computed, self.told, self.left = (cuda.event() for _ in range(4))

    def stage(self, letters):
        """Two page-locked buffers for the letters of a batch in ordinary memory."""
        if self.staged is None:
            self.staged = [cuda.pinned_array(letters, np.uint8) for _ in range(2)]
        return self.staged


@dataclass
class _Batch:
    number: int
    start: int
    stop: int
    longest: int
    slot: _Slot
    sources: tuple  # flat letters of its patterns and of its texts, page-locked or soon to be
    staging: list  # copies into page-locked memory under way
    first_level: int = 0
    last_level: int = 0

    @property
    def pairs(self):
        return self.stop - self.start

    @property
    def blocks(self):
        return -(-self.pairs // THREADS)


class Stream:
    """Aligns batches with the kernels of one design; keeps its buffers for the next call.

    design: an object with LEVELS, the number of its kernels, each for the pairs over the limit of the one before;
    ``launch(level, queue, after, batch, traced, scratch, runs, stream)``, which launches one on the pairs of a queue or
    on ALL_PAIRS and leaves those over its limit to the queue ``after`` (see banded_bpm.make_kernel for the arrays);
    ``finish(batch, scratch, runs, stream)``, what its CIGARs need besides; ``scratch_words(pairs, longest)``, the
    uint64 words of scratch memory for full speed; ``longest(scratch words)``, the longest sequence that can be done;
    and MOST_RUNS of a CIGAR.

    traced: with CIGARs. pairs, letters: most pairs of a batch, most letters of its patterns and of its texts. letters
    must not be below MAX_LENGTH. longest: sequence, in letters, for which to lay out the scratch memory.
    """

    def __init__(self, design, traced, pairs, letters, longest):
        self.design, self.traced, self.pairs, self.letters = design, traced, pairs, letters
        self.slots = [_Slot(pairs, letters, design.LEVELS, traced) for _ in range(_SLOTS)]
        self.inward, self.compute, self.outward = cuda.stream(), cuda.stream(), cuda.stream()
        self.sums = cuda.device_array(-(-pairs // THREADS), np.int64)
        self.filled = cuda.device_array(_BATCHES, np.int64)
        self.runs = cuda.device_array(design.MOST_RUNS * pairs if traced else 1, np.uint32)
        room = int(_SCRATCH_SHARE * device.free_bytes()) // 8
        words = min(room, design.scratch_words(pairs, longest)) if traced else 1
        self.scratch = cuda.device_array(words, np.uint64)
        self.most_letters = min(MAX_LENGTH, design.longest(words if traced else None))
        self.first_level = 0
        self._events, self._spans = [], []
        self.stagers = ThreadPoolExecutor(_STAGING_THREADS)

    def align(self, pairs, letters, scores, ends, room, every_level=False):
        """Align a PairBatch; the rows left to the caller, int64[...], whose score is NO_SCORE and CIGAR empty.

        letters: of a batch, on each side. scores: int32[n] and, if traced, ends: int64[n], where each CIGAR ends; both
        are filled. room: its ``array``, uint32[...], takes the CIGARs; ``grow(elements)`` makes it larger. Copies to
        page-locked arrays are the fastest. every_level: launch every kernel for every batch. Else those that no pair
        has needed lately are left out, and ``curtailed`` tells whether rows may have been left for that reason.
        """
        left, skipped, waiting = [], [], deque()
        if not every_level:  # else it goes on where a curtailed call stopped
            self._spans = []
        self.curtailed = False
        self.first_level = max(0, self.first_level - 1)  # these pairs may be nearer than the last call's
        self.last_level = self.design.LEVELS - 1
        self.may_curtail = not every_level
        device.copy_in(self.filled, np.zeros(1, np.int64), self.compute)
        batches = self._batches(pairs, letters, skipped)
        batch = next(batches, None)
        while batch is not None:
            self._send(batch)
            following = next(batches, None)  # its staging goes on during the launches
            self._launch(batch)
            self._fetch(batch, scores, ends)
            waiting.append(batch)
            if len(waiting) > _AHEAD:
                self._finish(waiting.popleft(), left, room)
            batch = following
        while waiting:
            self._finish(waiting.popleft(), left, room)
        self.outward.synchronize()
        for row in skipped:
            scores[row] = NO_SCORE
            if self.traced:
                ends[row] = ends[row - 1] if row else 0
        return np.sort(np.concatenate([*left, np.array(skipped, np.int64)]))

    def seconds(self, name):
        """Seconds that a part of the last call took by the GPU's clock, in all."""
        return sum(cuda.event_elapsed_time(begin, end) for part, begin, end in self._spans if part == name) / 1e3

    def _span(self, name, stream):
        """Begin to time what follows on a stream; the callable that ends it and gives the event of the end."""
        if len(self._spans) == len(self._events):
            self._events.append((cuda.event(), cuda.event()))
        begin, end = self._events[len(self._spans)]
        begin.record(stream)
        self._spans.append((name, begin, end))

        def ended():
            end.record(stream)
            return end

        return ended

    def _batches(self, pairs, letters, skipped):
        """Cut the pairs into batches, and begin to stage each.

        The first and the last ones are small: the kernels begin early, and little is left to do after the last copy.
        """
        start, number = 0, 0
        while start < len(pairs):
            slot = self.slots[number % _SLOTS]
            stop = min(
                self._cut(offsets, start, letters // 4 if number == 0 else letters, letters // 8)
                for offsets in (pairs.pattern_offsets, pairs.text_offsets)
            )
            slot.arrived.synchronize()  # until then its page-locked buffers are being read
            count, longest = _shape_batch(
                pairs.pattern_offsets, pairs.text_offsets, start, stop, self.most_letters, THREADS, slot.staged_shape
            )
            stop = start + count
            if not count:
                skipped.append(start)
                start += 1
                continue
            yield _Batch(number, start, stop, longest, slot, *self._stage(pairs, start, stop, slot))
            start, number = stop, number + 1

    def _cut(self, offsets, start, most, least):
        """Where a batch from ``start`` on ends that takes half of the letters that are left, within limits."""
        letters = min(most, max(least, int(offsets[-1] - offsets[start]) // 2))
        ends = offsets[start + 1 : start + 1 + self.pairs]
        return max(start + 1, start + int(np.searchsorted(ends, offsets[start] + letters, side="right")))

    def _stage(self, pairs, start, stop, slot):
        """(page-locked letters of patterns and texts, the copies under way to fill them)."""
        parts = [
            flat[offsets[start] : offsets[stop]]
            for flat, offsets in ((pairs.pattern, pairs.pattern_offsets), (pairs.text, pairs.text_offsets))
        ]
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
        ended = self._span("time_h2d", self.inward)
        device.copy_in(slot.shape, slot.staged_shape[: batch.pairs + 2 * batch.blocks], self.inward)
        device.copy_in(slot.pattern, batch.sources[0], self.inward)
        device.copy_in(slot.text, batch.sources[1], self.inward)
        slot.arrived = ended()

    def _launch(self, batch):
        slot, design, count, blocks, stream = batch.slot, self.design, batch.pairs, batch.blocks, self.compute
        batch.first_level, batch.last_level = self.first_level, self.last_level
        slot.arrived.wait(stream)
        slot.left.wait(stream)
        ended = self._span("time_kernel", stream)
        compaction.place_pairs[blocks, THREADS, stream](count, slot.shape, slot.place, slot.queues)
        for level in range(batch.first_level, batch.last_level + 1):
            queue = level if level > batch.first_level else ALL_PAIRS
            after = level + 1 if level < batch.last_level else design.LEVELS
            design.launch(level, queue, after, batch, self.traced, self.scratch, self.runs, stream)
        if self.traced:
            design.finish(batch, self.scratch, self.runs, stream)
        if self.traced:
            compaction.sum_blocks[blocks, THREADS, stream](count, slot.scores, slot.counts, self.sums)
            compaction.scan_sums[1, compaction.SCAN_THREADS, stream](blocks, self.sums, self.filled, batch.number)
            compaction.gather_runs[blocks, THREADS, stream](
                count, slot.scores, slot.counts, self.runs, self.sums, self.filled, batch.number, slot.ends, slot.cigars
            )
        slot.computed = ended()

    def _fetch(self, batch, scores, ends):
        """Ask for all but the CIGARs, whose size the host does not know yet."""
        slot = batch.slot
        slot.computed.wait(self.outward)
        ended = self._span("time_d2h", self.outward)
        device.copy_out(slot.tallies, slot.queues, 0, self.outward)
        if self.traced:
            device.copy_out(slot.filled, self.filled, batch.number, self.outward)
        slot.told.record(self.outward)
        device.copy_out(scores[batch.start : batch.stop], slot.scores, 0, self.outward)
        if self.traced:
            device.copy_out(ends[batch.start : batch.stop], slot.ends, 0, self.outward)
        slot.left = ended()

    def _finish(self, batch, left, room):
        """Ask for the CIGARs; learn which pairs no kernel could do, and which kernel to begin with."""
        slot, levels = batch.slot, self.design.LEVELS
        slot.told.synchronize()
        tallies = slot.tallies.tolist()
        if tallies[levels]:
            self.curtailed |= batch.last_level < levels - 1
            rows = np.empty(tallies[levels], np.int32)
            device.copy_out(rows, slot.queues, (levels + 1) * slot.queues.shape[1], self.outward)
            self.outward.synchronize()
            left.append(rows.astype(np.int64) + batch.start)
        failed = tallies[batch.first_level + 1 : batch.last_level + 1]  # pairs that each further kernel had to do
        if failed and failed[0] > _TOO_MANY_FAIL * batch.pairs:
            self.first_level = max(self.first_level, batch.first_level + 1)
        if tallies[levels] > _FEW * batch.pairs:
            self.last_level = levels - 1
        elif self.may_curtail:
            needed = sum(count > 0 for count in failed)
            self.last_level = max(batch.first_level + needed, self.first_level)
        if self.traced:
            base, end = slot.filled.tolist()
            if end > len(room.array):
                self.outward.synchronize()  # until then the array is being written
                room.grow(end)
            ended = self._span("time_d2h", self.outward)
            device.copy_out(room.array[base:end], slot.cigars, 0, self.outward)
            slot.left = ended()


class Timings(Mapping):
    """Seconds of the last call of a stream by the GPU's clock: its copies in, its kernels (packing included) and its
    copies out. They overlap: their sum is no time of the call.

    Asking takes a millisecond, so it is done when asked, and must be before the next call. Empty in the simulator.
    """

    PARTS = ("time_h2d", "time_kernel", "time_d2h")

    def __init__(self, stream):
        self._stream = stream

    def __getitem__(self, name):
        if name not in self.PARTS:
            raise KeyError(name)
        return self._stream.seconds(name)

    def __iter__(self):
        return iter(() if device.simulated() else self.PARTS)

    def __len__(self):
        return len(tuple(iter(self)))
