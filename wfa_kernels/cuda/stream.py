"""Batches of pairs through the GPU: copies in, kernels and copies out overlap.

One batch is on its way in while others are computed and one comes out; a few sets of buffers go round. Each set
has a CUDA stream for its kernels: what one batch's few last pairs leave idle of the GPU, the next batch's kernels take.
The copies in have one, those out that follow the kernels another, and those of CIGARs a third, since a batch's CIGARs
must not wait for the kernels of later ones. The wire is the limit at short lengths, so little else crosses it:
lengths as 8 bits or 16 (the GPU adds them up), scores, ends of CIGARs, and CIGARs of just the size they have. That size
is known on the GPU only: the host waits for it some batches behind the copies, and then asks for the CIGARs. Letters
come as ASCII, and are packed there, or packed already, by the caller or by the host's cores: those that must be brought
into page-locked memory come packed, of large batches in page-locked memory a part, while the others cross the wire: as
much of them as is packed by the time these have.
"""

from collections import deque
from concurrent.futures import wait
from contextlib import suppress
from functools import partial

import numpy as np
from numba import cuda, njit

from wfa_kernels.cuda import compaction, device, packing
from wfa_kernels.cuda.batches import Batcher
from wfa_kernels.cuda.buffers import Slot, bytes_of
from wfa_kernels.cuda.by_length import LongestFirst
from wfa_kernels.cuda.compaction import THREADS
from wfa_kernels.cuda.levels import Levels
from wfa_kernels.cuda.memory import GpuMemoryError, device_array
from wfa_kernels.cuda.packing import LEAD_WORDS, LETTERS, MAX_LENGTH, PACK_THREADS
from wfa_kernels.cuda.pinned import PackedPairs
from wfa_kernels.cuda.records import bits_for
from wfa_kernels.result import NO_SCORE, OK

#: In place of a queue: every pair of the batch.
ALL_PAIRS = -1
#: Batches whose copies are under way before the host waits for one, of packed letters, whose CIGARs take the wire out
#: as long as they take it in, and must begin early; else two fewer than slots: what one has fetched is read by then.
_AHEAD_PACKED = 1
#: In place of a batch's number where the host has found letters without a code: what the flag holds when cleared.
_FOUND_BEFORE = 0


def levels_of(design, beyond):
    """Number of kernels of a design and of those beyond it."""
    return len(design.NAMES) + (len(beyond.NAMES) if beyond else 0)


class Stream:
    """Aligns batches with the kernels of one design; keeps its buffers for the next call.

    design: a Design. beyond: None, or the class of further kernels for what is over all its limits, made with bytes of
    device memory.

    traced: with CIGARs. pairs, letters: most pairs of a batch, most letters of its patterns and of its texts. letters
    must not be below MAX_LENGTH. longest: sequence, in letters, for which to lay out the scratch memory. memory: bytes
    of device memory to keep within, of which the kernels get what the batches' buffers leave. slots: sets of buffers.
    Raises GpuMemoryError.
    """

    def __init__(self, design, beyond, traced, pairs, letters, longest, memory, slots):
        self.design, self.traced, self.letters, self.longest = design, traced, letters, longest
        self.levels = Levels(design, levels_of(design, beyond), longest)
        left = max(0, memory - int(bytes_of(letters, pairs, self.levels.count, traced, slots)))
        share = left // (2 if beyond else 1)
        self.beyond = beyond(share) if beyond else None
        wanted = design.scratch_words(pairs, longest, traced)
        words = max(1, min(share // 8 // slots, wanted))
        if words < wanted and design.NEEDS_ALL_SCRATCH:
            raise GpuMemoryError(f"{8 * slots * wanted} bytes of scratch memory are needed, and {share} are left")
        most_letters = min(max(letters, MAX_LENGTH), design.longest(words if traced else None))
        slot = pairs, letters, self.levels.count, words, traced, design.LEARNED, bits_for(most_letters)
        self.slots = [Slot(*slot) for _ in range(slots)]
        at_once = partial(design.pairs_at_once, words=words, traced=traced)
        self.batcher = Batcher(self.slots, pairs, letters, most_letters, design.HOST_PACKS, at_once)
        self.inward, self.outward, self.afterwards = cuda.stream(), cuda.stream(), cuda.stream()
        self.cigar_spans = device_array(2 * slots, np.int64)  # (first element, end) of the batch in each slot

    def drain(self):
        """Wait for all that is under way, after an error: threads that write to buffers, copies, kernels. It is of no
        use afterwards but to be closed."""
        self.batcher.close()
        with suppress(Exception):  # the error may be the GPU's
            device.wait()

    def close(self):
        """Let go of its device memory, whoever still holds the stream: what has kept the frames of a call does."""
        for slot in self.slots:
            vars(slot).clear()
        self.cigar_spans = self.beyond = None

    def align(self, pairs, letters, scores, status, ends, room, spans, left, every_level=False, learns=True):
        """Align a PairBatch; rows, int64[...], that may be tried again with every_level: their score is NO_SCORE.

        letters: of a batch, on each side. scores: int32[n], status: uint8[n], all OK, and, if traced, ends: int64[n],
        where each CIGAR ends, are filled. room: its ``array``, uint32[...], takes the CIGARs; ``grow(elements, count)``
        makes it larger, so many being of the first ``count`` pairs. Copies to page-locked arrays are the fastest.
        spans: Spans of the call, which are added to.
        left: its ``hand_over`` is called with rows, int64[...], that no kernel can do, and ``hand_over_odd`` with those
        that have letters without a code, as soon as that is known; their CIGAR is empty. every_level: launch every
        kernel for every batch. Else those that no pair has needed lately are left out, and the pairs that may need them
        are returned. learns: what is left of them tells of batches and calls to come.
        """
        again, skipped, waiting = [], [], deque()
        self.spans = spans
        for slot in self.slots:
            slot.forget()
            device.clear(slot.flag, 2, slot.compute)
        device.clear(self.cigar_spans, 4 * len(self.slots), self.slots[0].compute)  # the first batch begins at 0
        self.summed = self.beyond_done = self.fetched = None
        self.levels.begin(self.longest, every_level, isinstance(pairs, LongestFirst))
        self.learns = learns
        if learns:
            self.design.begin()
        cleared = self.batcher.beside(np.copyto, status, OK)  # 10M take 0.8 ms
        batches = self.batcher.batches(pairs, letters, skipped)
        ahead = _AHEAD_PACKED if isinstance(pairs, PackedPairs) else len(self.slots) - 2
        staged, sent = self._next(batches), None
        while staged is not None or sent is not None:
            batch, sent = sent, staged
            if staged is not None:  # before the launches for the batch before: the wire must not wait for the host
                staged = self._next(batches)  # while the host packs the one that is sent, and then this one
                self._send(sent)
            if batch is not None:
                self._launch(batch)
                self._fetch(batch, scores)
                waiting.append(batch)
            if len(waiting) > ahead:
                self._finish(waiting.popleft(), scores, again, ends, room, left)
        if skipped:
            left.hand_over(np.array(skipped, np.int64))
        while waiting:
            self._finish(waiting.popleft(), scores, again, ends, room, left)
        for stream in (self.outward, self.afterwards):
            stream.synchronize()
        self._widen(ends)
        for done in (cleared, *(slot.widening for slot in self.slots if slot.widening)):
            done.result()
        wait([late for slot in self.slots for late in slot.late])
        self.spans = None  # else its events were not free for the next call
        for row in skipped:
            scores[row] = NO_SCORE
            if self.traced:
                ends[row] = ends[row - 1] if row else 0
        return np.sort(np.concatenate([np.empty(0, np.int64), *again]))

    def _next(self, batches):
        """The next batch, what need not be waited for on its way to the GPU; None after the last."""
        batch = next(batches, None)
        if batch is not None:
            slot = batch.slot
            slot.computed.wait(self.inward)
            ended = self.spans.begin("time_h2d", batch, self.inward)
            device.copy_in(slot.records, batch.records, self.inward)
            if batch.source.locked:
                self._send_letters(batch, batch.source.letters)
            if not batch.source.staging:
                self._send_planes(batch)
            slot.arrived = ended()
        return batch

    def _send(self, batch):
        """Send what the host packs or stages of a batch, when it is done, or letters that it has not packed in time."""
        slot, source = batch.slot, batch.source
        if not source.staging:
            return
        # When its other letters have arrived, the wire has those of the next batch to do: time enough to wake up in.
        left = source.settle(lambda: device.is_done(slot.arrived))
        self.batcher.learn(slot, source)
        ended = self.spans.begin("time_h2d", batch, self.inward)
        self._send_letters(batch, left if source.locked else source.letters)
        self._send_planes(batch)
        slot.arrived = ended()

    def _send_letters(self, batch, letters):
        """Send letters of the patterns and of the texts to where the packed ones end."""
        for target, planes, some in zip(batch.slot.ascii, batch.source.planes, letters, strict=True):
            device.copy_in(target, some, self.inward, len(planes) * LETTERS // target.dtype.itemsize)

    def _send_planes(self, batch):
        slot, source = batch.slot, batch.source
        for target, planes in zip(slot.planes, source.planes, strict=True):
            device.copy_in(target, planes, self.inward, LEAD_WORDS)
        if source.strange:
            for target, odd in zip(slot.odd, source.odd, strict=True):
                device.copy_in(target, odd, self.inward, LEAD_WORDS)

    def _launch(self, batch):
        self.levels.choose(batch)
        stream = batch.slot.compute
        batch.slot.arrived.wait(stream)
        batch.slot.left.wait(stream)
        self._pack(batch, stream)
        ended = self.spans.begin("time_kernel", batch, stream)
        self._align(batch, range(batch.first_level, min(batch.last_level + 1, self.levels.own)), self.design, 0)
        if self.traced:
            self.design.finish(batch)
        beyond = range(max(batch.first_level, self.levels.own), batch.last_level + 1)
        if beyond:
            self._align_beyond(batch, beyond, stream)
        if self.traced:
            self._gather(batch, stream)
        batch.slot.computed = ended()

    def _pack(self, batch, stream):
        """Letters into planes, and where each sequence begins."""
        slot, source, blocks = batch.slot, batch.source, batch.blocks
        ended = self.spans.begin("time_pack", batch, stream)
        # The flag holds the number, from 1, of a batch with letters that have no code, if it was found so on the GPU.
        flagged = batch.number + 1
        if source.strange:
            flagged = _FOUND_BEFORE
            device.clear(slot.flag, 2, stream)
        done = [len(planes) for planes in source.planes]
        words = [-(-len(letters) // LETTERS) for letters in source.letters]
        unmarked = [0, 0]
        if any(words) and not source.strange:
            unmarked = [LEAD_WORDS + count if count else 0 for count in done]
        slot.launch(
            packing.clear_batch, -(-max(len(slot.tallies), *unmarked) // PACK_THREADS), PACK_THREADS,
            slot.queues, len(slot.tallies), slot.odd[0], unmarked[0], slot.odd[1], unmarked[1],
        )  # fmt: skip
        if any(words):
            slot.launch(
                packing.pack_letters, -(-sum(words) // PACK_THREADS), PACK_THREADS,
                slot.ascii[0], done[0], words[0], slot.ascii[1], done[1], words[1],
                *slot.planes, *slot.odd, slot.flag, flagged,
            )  # fmt: skip
        slot.launch(
            compaction.place_pairs, blocks, THREADS,
            batch.pairs, batch.bits, compaction.record_words(batch.bits), *batch.before, slot.records,
            slot.shape, slot.place, slot.queues, slot.scores, *slot.odd, slot.flag, flagged,
        )  # fmt: skip
        ended()

    def _align(self, batch, levels, kernels, before):
        """Launch the kernels of these levels; ``before`` of them belong to another design."""
        for level in levels:
            queue = level if level > batch.first_level else ALL_PAIRS
            after = level + 1 if level < batch.last_level else self.levels.count
            kernels.launch(level - before, queue, after, batch, self.traced)

    def _align_beyond(self, batch, levels, stream):
        """Launch the kernels beyond the design's: their memory serves one batch at a time."""
        if self.beyond_done is not None:
            self.beyond_done.wait(stream)
        self._align(batch, levels, self.beyond, self.levels.own)
        self.beyond_done = batch.slot.beyond_done
        self.beyond_done.record(stream)

    def _cigar_span(self, number):
        """Where the span of a batch, of that number, lies among cigar_spans: that of its slot."""
        return 2 * (number % len(self.slots))

    def _gather(self, batch, stream):
        """All runs of the batch into one array of CIGARs."""
        slot, count, blocks = batch.slot, batch.pairs, batch.blocks
        slot.launch(compaction.sum_blocks, blocks, THREADS, count, slot.scores, slot.counts, slot.sums)
        if self.summed is not None:  # where the CIGARs of the batch before end
            self.summed.wait(stream)
        before, this = self._cigar_span(batch.number - 1), self._cigar_span(batch.number)
        slot.launch(compaction.scan_sums, 1, THREADS, blocks, slot.sums, self.cigar_spans, before, this)
        self.summed = slot.summed
        self.summed.record(stream)
        slot.launch(
            compaction.gather_runs, blocks, THREADS, count, slot.scores, slot.counts, slot.runs_at, slot.runs,
            slot.sums, self.cigar_spans, this, slot.ends, slot.cigars,
        )  # fmt: skip

    def _fetch(self, batch, scores):
        """Ask for all but the CIGARs, whose size the host does not know yet."""
        slot = batch.slot
        slot.computed.wait(self.outward)
        ended = self.spans.begin("time_d2h", batch, self.outward)
        device.copy_out(slot.tallies, slot.queues, 0, self.outward)
        if self.traced:
            device.copy_out(slot.cigar_span, self.cigar_spans, self._cigar_span(batch.number), self.outward)
        slot.told.record(self.outward)
        device.copy_out(scores[batch.start : batch.stop], slot.scores, 0, self.outward)
        if self.traced:
            if slot.widening:
                slot.widening.result()
            device.copy_out(slot.staged_ends[: batch.pairs], slot.ends, 0, self.outward)
        slot.left = ended()

    def _finish(self, batch, scores, again, ends, room, left):
        """Ask for the CIGARs; learn which pairs are left, and which kernels the next batches need."""
        slot = batch.slot
        slot.told.synchronize()  # and all that was fetched before
        self._widen(ends)
        tallies = slot.tallies.tolist()
        count = self.levels.count
        rows = self._not_done(batch, tallies[count], scores, left) if tallies[count] else ()
        tallies[count] = len(rows)
        if self.learns:
            self.levels.learn(batch, tallies)
            self.design.learn(slot.tallies[count + 2 :], batch)
        if len(rows):
            if batch.last_level < count - 1:
                again.append(rows)
            else:
                left.hand_over(rows)
        if self.traced:
            base, end = slot.cigar_span.tolist()
            self.fetched = batch, base
            if end > len(room.array):
                self.afterwards.synchronize()  # until then the array is being written
                room.grow(end, batch.stop)
            slot.left.wait(self.afterwards)
            ended = self.spans.begin("time_d2h", batch, self.afterwards)
            device.copy_out(room.array[base:end], slot.cigars, 0, self.afterwards)
            slot.left = ended()

    def _not_done(self, batch, count, scores, left):
        """Rows, int64[...], of the pairs of a batch that no kernel has done, but for those with letters that have no
        code, which another kernel could not do either: these are handed over. count: of all."""
        slot, rows = batch.slot, np.empty(count, np.int32)
        device.copy_out(rows, slot.queues, (self.levels.count + 1) * slot.queues.shape[1], self.afterwards)
        self.afterwards.synchronize()
        slot.left.synchronize()  # the scores have come
        rows = np.sort(rows).astype(np.int64) + batch.start
        odd = scores[rows] == compaction.ODD
        if odd.any():
            left.hand_over_odd(rows[odd])
        return rows[~odd]

    def _widen(self, ends):
        """Begin to put down where the CIGARs of the batch fetched last end: 32 bits of that have crossed the wire."""
        if self.fetched is not None:
            batch, base = self.fetched
            staged, self.fetched = batch.slot.staged_ends[: batch.pairs], None
            batch.slot.widening = self.batcher.beside(_put_ends, staged, base, ends[batch.start : batch.stop])


@njit(nogil=True, cache=True)
def _put_ends(low, base, ends):
    """Fill ends, int64[pairs], none of them below base nor 2**32 above, from their low 32 bits, uint32[pairs]."""
    for i in range(len(ends)):
        ends[i] = base + np.int64(np.uint32(low[i] - np.uint32(base & 0xFFFFFFFF)))
