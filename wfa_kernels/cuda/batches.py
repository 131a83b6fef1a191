"""The pairs of a call cut into batches, their lengths and letters brought into page-locked memory by other threads."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import config

from wfa_kernels.cuda import host_packing, records
from wfa_kernels.cuda.buffers import Batch
from wfa_kernels.cuda.by_length import LongestFirst
from wfa_kernels.cuda.compaction import THREADS, record_words
from wfa_kernels.cuda.packing import LEAD, LETTERS
from wfa_kernels.cuda.pinned import PackedPairs, PinnedPairs
from wfa_kernels.cuda.source import Share, Source

#: Letters are packed, and ordinary memory is brought into page-locked memory, by several threads: one does not keep up
#: with the wire. Where there are few cores one is left to the thread that feeds the GPU.
_THREADS = max(2, min(8, config.NUMBA_DEFAULT_NUM_THREADS - 1))
#: Letters, and lengths, that a thread brings at a time; the latter whole blocks.
_LETTERS_AT_A_TIME, _LENGTHS_AT_A_TIME = 1 << 22, 1 << 18
#: How many times smaller the first batch is, as the kernels begin early then, and the least that the last ones take,
#: half of what is left each: little is left behind the last copy. Much smaller packed ones would be here before the
#: host has launched what the one before needs.
_FIRST_PART, _LEAST_PART = 4, 8
_FIRST_PART_PACKED = _LEAST_PART_PACKED = 4
#: Fewest letters of a batch, on each side: to launch what it needs takes the host longer than fewer take on the wire,
#: packed by the caller or by the host, or as page-locked letters. Batches of about equal lengths may have fewer.
_LEAST_LETTERS, _LEAST_LETTERS_PINNED = 1 << 24, 1 << 23
#: Most of a batch's page-locked letters that the host packs while the others cross the wire, as a part of them, and
#: fewest letters of a batch, on each side, for which the threads' work is worth what starting it takes. More than that
#: part, and they and the copy engine get into each other's way at the host's memory.
_SHARE, _LEAST_TO_SHARE = 3 / 8, 1 << 25
#: How much larger that part may be than it was, and than what the host has packed in time, of a batch before.
_MORE = 1 / 32
#: Most pieces in which the letters of one side are packed, and fewest letters of each.
_PIECES, _PACKED_AT_A_TIME = 4, 1 << 20


@dataclass
class _Draft:
    """A batch to be, that ends before the first pair with a sequence over the limit."""

    number: int
    start: int
    stop: int
    records: np.ndarray
    telling: list  # (future, arguments) of what is under way into them, each to tell the longest sequence


class Batcher:
    """Cuts pairs into batches for these slots.

    pairs, letters: most pairs of a batch, most letters of its patterns and of its texts. longest: most letters of a
    sequence. longest_seen: of all sequences so far. host_packs: the host packs letters, all that must be brought into
    page-locked memory and a part of those that are there. at_once: function of the longest sequence of a batch, gives
    the pairs that it has at most if they are in order of their lengths, or None.
    """

    def __init__(self, slots, pairs, letters, longest, host_packs, at_once=lambda longest: None):
        self.slots, self.pairs, self.letters, self.longest, self.longest_seen = slots, pairs, letters, longest, 0
        self._threads, self._host_packs, self._at_once = ThreadPoolExecutor(_THREADS), host_packs, at_once
        self._longest = 0  # sequence of the call before; during a call, of its batches so far
        self._share = _SHARE

    def beside(self, function, *arguments):
        """Begin what the host has to do besides, in another thread; a future."""
        return self._threads.submit(function, *arguments)

    def close(self):
        """Wait for its threads, which begin nothing more."""
        self._threads.shutdown(cancel_futures=True)

    def learn(self, slot, source):
        """Take into account how the Source of a slot's batch was settled.

        A host that has not packed its share in time has less to do for the next batches: its threads would keep it from
        what only the host can do.
        """
        slot.marked |= source.marked
        if source.shares:
            slot.late = source.late
            packed, letters = LETTERS * sum(map(len, source.planes)), sum(len(side.letters) for side in source.shares)
            self._share = min(_SHARE, min(self._share, packed / letters) + _MORE)

    def batches(self, pairs, letters, skipped):
        """Yield the batches of a PairBatch, each when its letters are on the way to page-locked memory or there.

        letters: most of a batch in this call. skipped: list, to which the rows of pairs over the limit are added. The
        first and the last batches are small: the kernels begin early, and little is left to do after the last copy.
        """
        self._share = _SHARE
        if isinstance(pairs, PackedPairs):
            longest, least = int(pairs.longest.max(initial=0)), letters // max(_FIRST_PART_PACKED, _LEAST_PART_PACKED)
            if longest <= self.longest and longest * THREADS <= least:
                return self._told_batches(pairs, letters)
        return self._read_batches(pairs, letters, skipped)

    def _told_batches(self, pairs, letters):
        """Those of PackedPairs whose records serve as they are: every batch begins with one."""
        start = number = 0
        while start < len(pairs):
            stop = self._cut(pairs, start, number, letters)
            if stop < len(pairs):
                stop -= stop % THREADS
            blocks, words = slice(start // THREADS, records.blocks_of(stop)), record_words(pairs.bits)
            longest, told = int(pairs.longest[blocks].max()), pairs.records[blocks.start * words : blocks.stop * words]
            yield self._batch(pairs, number, start, stop, longest, told, pairs.bits)
            start, number = stop, number + 1

    def _read_batches(self, pairs, letters, skipped):
        """Those of other pairs, each of whose records are put down while the one before is used."""
        bits, self._longest = records.bits_for(self._longest), 0
        draft = self._draft(pairs, letters, 0, 0, bits)
        while draft is not None:
            count, longest = self._told(pairs, draft)
            start, number = draft.start, draft.number
            self._longest = max(self._longest, longest)
            if bits < records.bits_for(self._longest):
                bits = records.bits_for(self._longest)
                draft = self._draft(pairs, letters, start, number, bits)
            elif count:
                stop, told = start + count, draft.records[: records.blocks_of(count) * record_words(bits)]
                draft = self._draft(pairs, letters, stop, number + 1, bits)
                yield self._batch(pairs, number, start, stop, longest, told, bits)
            else:
                skipped.append(start)
                draft = self._draft(pairs, letters, start + 1, number, bits)

    def _batch(self, pairs, number, start, stop, longest, told, bits):
        """The batch of the pairs start .. stop. told, bits: its records, bits of a length in them."""
        self.longest_seen = max(self.longest_seen, longest)
        slot, before = self.slots[number % len(self.slots)], []
        for offsets in (pairs.pattern_offsets, pairs.text_offsets):
            first = int(offsets[start])
            before.append(first - (first % LETTERS if isinstance(pairs, PackedPairs) else 0) - LEAD)
        return Batch(
            number, start, stop, longest, slot, self._source(pairs, start, stop, slot), told, bits, tuple(before)
        )

    def _draft(self, pairs, letters, start, number, bits):
        """The next batch, whose records threads begin to put down; None after the last."""
        if start == len(pairs):
            return None
        slot, stop = self.slots[number % len(self.slots)], self._cut(pairs, start, number, letters)
        slot.arrived.synchronize()  # until then its page-locked buffers are being read
        blocks, words, pieces = records.blocks_of(stop - start), record_words(bits), []
        told, longest = slot.staged_records[: blocks * words], np.empty(blocks, np.int64)
        for at in range(0, stop - start, _LENGTHS_AT_A_TIME):
            rows = slice(start + at, min(start + at + _LENGTHS_AT_A_TIME, stop) + 1)
            first, last = at // THREADS, (at + _LENGTHS_AT_A_TIME) // THREADS
            out = told[first * words : last * words], longest[first:last]
            arguments = pairs.pattern_offsets[rows], pairs.text_offsets[rows], bits, *out
            pieces.append((self._threads.submit(records.tell, *arguments), arguments))
        return _Draft(number, start, stop, told, pieces)

    def _told(self, pairs, draft):
        """(pairs of a draft before one over the limit, the longest sequence of these).

        What no thread has begun is not waited for: they may have the letters of the batch before to pack.
        """
        longest = max(
            records.tell(*arguments) if piece.cancel() else piece.result() for piece, arguments in draft.telling
        )
        if longest <= self.longest:
            return draft.stop - draft.start, longest
        rows = slice(draft.start, draft.stop + 1)
        lengths = np.maximum(*(np.diff(offsets[rows]) for offsets in (pairs.pattern_offsets, pairs.text_offsets)))
        count = int(np.argmax(lengths > self.longest))
        return count, int(lengths[:count].max(initial=0))

    def _cut(self, pairs, start, number, letters):
        """Where a batch from ``start`` on ends that takes half of the letters that are left, within limits."""
        packed, stops = isinstance(pairs, PackedPairs), []
        first, least = (_FIRST_PART_PACKED, _LEAST_PART_PACKED) if packed else (_FIRST_PART, _LEAST_PART)
        fewest = _LEAST_LETTERS_PINNED if isinstance(pairs, PinnedPairs) and not packed else _LEAST_LETTERS
        fewest = 0 if isinstance(pairs, LongestFirst) else min(letters, fewest)
        most = letters if number else max(letters // first, fewest)
        pairs_at_most = self._pairs_at_most(pairs, start)
        for offsets in (pairs.pattern_offsets, pairs.text_offsets):
            left = int(offsets[-1] - offsets[start])
            wanted = min(most, left // 2 if left // 2 >= max(letters // least, fewest) else left)
            ends = offsets[start + 1 : start + 1 + pairs_at_most]
            stops.append(start + int(np.searchsorted(ends, offsets[start] + wanted, side="right")))
        return max(start + 1, min(stops))

    def _pairs_at_most(self, pairs, start):
        """Most pairs of a batch that begins there."""
        if not isinstance(pairs, LongestFirst):
            return self.pairs
        longest = max(int(pairs.pattern_lengths[start]), int(pairs.text_lengths[start]))
        return min(self.pairs, self._at_once(longest) or self.pairs)

    def _source(self, pairs, start, stop, slot):
        """The letters of the pairs start .. stop, on their way to page-locked memory or there."""
        bounds = [(int(offsets[start]), int(offsets[stop])) for offsets in (pairs.pattern_offsets, pairs.text_offsets)]
        if isinstance(pairs, PackedPairs):
            parts = zip(pairs.planes, bounds, strict=True)
            return Source(tuple(planes[first // LETTERS : -(-last // LETTERS)] for planes, (first, last) in parts))
        ordered, locked = isinstance(pairs, LongestFirst), isinstance(pairs, PinnedPairs)
        large = min(last - first for first, last in bounds) >= _LEAST_TO_SHARE
        if self._host_packs and (large if locked else not ordered):
            return self._packed(_letters(pairs, bounds), slot, self._share if locked else 1)
        if locked:
            return Source(letters=_letters(pairs, bounds))
        staged = tuple(
            buffer[: last - first] for buffer, (first, last) in zip(slot.stage(self.letters), bounds, strict=True)
        )
        copies = pairs.copies(start, stop, staged) if ordered else _copies(_letters(pairs, bounds), staged)
        return Source(letters=staged, staging=[self._threads.submit(*copy) for copy in copies], locked=False)

    def _packed(self, letters, slot, share):
        """Source of these letters, a share of which the host packs."""
        planes, odd, rest, shares = [], [], [], []
        for flat, buffers in zip(letters, slot.stage_packed(self.letters), strict=True):
            cut = len(flat) if share == 1 else int(share * len(flat)) // host_packing.BLOCK * host_packing.BLOCK
            words, size = tuple(buffer[: -(-cut // LETTERS)] for buffer in buffers), _letters_of_a_piece(cut)
            pieces = [
                self._threads.submit(host_packing.pack, *piece, slot.marked)
                for piece in _pieces(flat[:cut], *words, size)
            ]
            planes.append(words[0])
            odd.append(words[1])
            rest.append(flat[cut:])
            shares.append(Share(flat, pieces, size))
        staging = [piece for side in shares for piece in side.pieces]
        return Source(planes, odd, rest, staging, shares=() if share == 1 else shares)


def _letters(pairs, bounds):
    """(letters of patterns, of texts) within these bounds."""
    return tuple(flat[first:last] for flat, (first, last) in zip((pairs.pattern, pairs.text), bounds, strict=True))


def _copies(sources, targets):
    """Yield (function, *arguments): together they fill the targets."""
    for target, source in zip(targets, sources, strict=True):
        for at in range(0, len(source), _LETTERS_AT_A_TIME):
            yield np.copyto, target[at : at + _LETTERS_AT_A_TIME], source[at : at + _LETTERS_AT_A_TIME]


def _letters_of_a_piece(letters):
    """Letters of each piece but the last in which threads pack so many of one side; whole blocks."""
    return -(-max(_PACKED_AT_A_TIME, -(-letters // _PIECES)) // host_packing.BLOCK) * host_packing.BLOCK


def _pieces(letters, planes, odd, size):
    """Yield what a thread packs at a time: (letters, their planes, their odd ones)."""
    words = size // LETTERS
    for piece in range(-(-len(letters) // size)):
        part = letters[piece * size : (piece + 1) * size]
        part.flags.writeable = False  # as letters of a mapped file are: compiled once for both
        yield part, *(out[piece * words : (piece + 1) * words] for out in (planes, odd))
