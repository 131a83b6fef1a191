"""The pairs of a call cut into batches, their lengths and letters brought into page-locked memory by other threads."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit

from wfa_kernels.cuda import host_packing
from wfa_kernels.cuda.buffers import SLOTS, Batch, Slot, Source
from wfa_kernels.cuda.by_length import LongestFirst
from wfa_kernels.cuda.compaction import NARROW, THREADS, length_words
from wfa_kernels.cuda.packing import LEAD, LETTERS
from wfa_kernels.cuda.pinned import PackedPairs, PinnedPairs

#: Letters are packed, and ordinary memory is brought into page-locked memory, by several threads: one does not keep up
#: with the wire.
_THREADS = 8
#: Letters, and lengths, that a thread brings at a time; the latter whole blocks.
_LETTERS_AT_A_TIME, _LENGTHS_AT_A_TIME = 1 << 22, 1 << 18
#: How many times smaller the first batches are: the kernels begin early. Packed letters are here so soon that the way
#: of CIGARs out takes as long as theirs in: it must begin early too, and the lengths of a second batch of full size
#: would be late.
_FIRST, _FIRST_PACKED = (4,), (8, 4, 2)
#: The last batches take half of what is left each, down to this part of a batch: little is left behind the last copy.
_LEAST_PART = 8
#: Part of a batch's page-locked letters that the host packs while the others cross the wire, and fewest letters of a
#: batch, on each side, for which the threads' work is worth what starting it takes. More than that part, and they and
#: the copy engine get into each other's way at the host's memory.
_SHARE, _LEAST_TO_SHARE = 3 / 8, 1 << 25
#: Fewest letters that a thread packs at a time.
_PACKED_AT_A_TIME = 1 << 20


@njit(nogil=True, cache=True)
def _put_lengths(pattern_offsets, text_offsets, bits, lengths):
    """Fill lengths, uint16[pairs] or uint32[pairs], m | n << bits, both cut off; the longest sequence.

    pattern_offsets, text_offsets: int64[pairs + 1].
    """
    longest, kept = 0, (1 << bits) - 1
    for i in range(len(lengths)):
        m, n = pattern_offsets[i + 1] - pattern_offsets[i], text_offsets[i + 1] - text_offsets[i]
        longest = max(longest, m, n)
        lengths[i] = (m & kept) | (n & kept) << bits
    return longest


@njit(nogil=True, cache=True)
def _tell(pattern_offsets, text_offsets, pattern_before, text_before, threads, bits, lengths, patterns_at, texts_at):
    """Fill what the GPU is told of a batch's pairs, lengths (see _put_lengths) and places; the longest sequence.

    pattern_before, text_before: what the offsets are to be less. threads: pairs of a block. patterns_at, texts_at:
    uint32[blocks], where the sequences of each block's first pair begin. They are put down while the offsets are at
    hand: one offset in 128 read afterwards is a cache miss each, 6 ms for 10M pairs.
    """
    longest = 0
    for block in range(len(patterns_at)):
        first = block * threads
        patterns_at[block] = pattern_offsets[first] - pattern_before
        texts_at[block] = text_offsets[first] - text_before
        last = min(first + threads, len(lengths))
        block_longest = _put_lengths(
            pattern_offsets[first : last + 1], text_offsets[first : last + 1], bits, lengths[first:last]
        )
        longest = max(longest, block_longest)
    return longest


@dataclass
class _Draft:
    """A batch to be, that ends before the first pair with a sequence over the limit."""

    number: int
    start: int
    stop: int
    slot: Slot
    telling: list  # lengths and places under way into the slot's page-locked memory, each to tell the longest


class Batcher:
    """Cuts pairs into batches for these slots.

    pairs, letters: most pairs of a batch, most letters of its patterns and of its texts. longest: most letters of a
    sequence. longest_seen: of all sequences so far. host_packs: the host packs letters, all that must be brought into
    page-locked memory and a part of those that are there.
    """

    def __init__(self, slots, pairs, letters, longest, host_packs):
        self.slots, self.pairs, self.letters, self.longest, self.longest_seen = slots, pairs, letters, longest, 0
        self._threads, self._host_packs = ThreadPoolExecutor(_THREADS), host_packs
        self._longest = 0  # sequence of the call before; during a call, of its batches so far

    def beside(self, function, *arguments):
        """Begin what the host has to do besides, in another thread; a future."""
        return self._threads.submit(function, *arguments)

    def batches(self, pairs, letters, skipped):
        """Yield the batches of a PairBatch, each when its letters are on the way to page-locked memory or there.

        letters: most of a batch in this call. skipped: list, to which the rows of pairs over the limit are added. The
        first and the last batches are small: the kernels begin early, and little is left to do after the last copy.
        """
        packed, sides = isinstance(pairs, PackedPairs), (pairs.pattern_offsets, pairs.text_offsets)
        narrow, self._longest = self._longest <= NARROW, 0
        draft = self._draft(sides, letters, 0, 0, packed, narrow)
        while draft is not None:
            count, longest = self._told(sides, draft)
            start, number, slot = draft.start, draft.number, draft.slot
            stop = start + count
            self._longest = max(self._longest, longest)
            if narrow and self._longest > NARROW:
                narrow = False
                draft = self._draft(sides, letters, start, number, packed, narrow)
            elif count:
                if stop < draft.stop:
                    _move_places(draft.stop - start, count, narrow, slot.staged_header)
                # Its lengths come while this one is used.
                draft = self._draft(sides, letters, stop, number + 1, packed, narrow)
                self.longest_seen = max(self.longest_seen, longest)
                yield Batch(number, start, stop, longest, narrow, slot, self._source(pairs, start, stop, slot))
            else:
                skipped.append(start)
                draft = self._draft(sides, letters, start + 1, number, packed, narrow)

    def _draft(self, sides, letters, start, number, packed, narrow):
        """The next batch, whose lengths and places threads begin to put down; None after the last.

        packed: the letters are. narrow: 8 bits are enough for a length.
        """
        if start == len(sides[0]) - 1:
            return None
        slot, first = self.slots[number % SLOTS], _FIRST_PACKED if packed else _FIRST
        most = letters // first[number] if number < len(first) else letters
        stop = min(self._cut(offsets, start, most, letters // _LEAST_PART) for offsets in sides)
        slot.arrived.synchronize()  # until then its page-locked buffers are being read
        before = [int(offsets[start]) - LEAD - (int(offsets[start]) % LETTERS if packed else 0) for offsets in sides]
        lengths, *places = _parts(slot.staged_header, stop - start, narrow)
        pieces = []
        for at in range(0, stop - start, _LENGTHS_AT_A_TIME):
            offsets = [side[start + at : min(start + at + _LENGTHS_AT_A_TIME, stop) + 1] for side in sides]
            blocks = slice(at // THREADS, (at + _LENGTHS_AT_A_TIME) // THREADS)
            out = lengths[at : at + _LENGTHS_AT_A_TIME], *(starts[blocks] for starts in places)
            pieces.append(self._threads.submit(_tell, *offsets, *before, THREADS, 8 if narrow else 16, *out))
        return _Draft(number, start, stop, slot, pieces)

    def _told(self, sides, draft):
        """(pairs of a draft before one over the limit, the longest sequence of these)."""
        longest = max(piece.result() for piece in draft.telling)
        if longest <= self.longest:
            return draft.stop - draft.start, longest
        lengths = np.maximum(*(np.diff(offsets[draft.start : draft.stop + 1]) for offsets in sides))
        count = int(np.argmax(lengths > self.longest))
        return count, int(lengths[:count].max(initial=0))

    def _cut(self, offsets, start, most, least):
        """Where a batch from ``start`` on ends that takes half of the letters that are left, within limits."""
        letters = min(most, max(least, int(offsets[-1] - offsets[start]) // 2))
        ends = offsets[start + 1 : start + 1 + self.pairs]
        return max(start + 1, start + int(np.searchsorted(ends, offsets[start] + letters, side="right")))

    def _source(self, pairs, start, stop, slot):
        """The letters of the pairs start .. stop, on their way to page-locked memory or there."""
        bounds = [(int(offsets[start]), int(offsets[stop])) for offsets in (pairs.pattern_offsets, pairs.text_offsets)]
        if isinstance(pairs, PackedPairs):
            parts = zip(pairs.planes, bounds, strict=True)
            return Source(tuple(planes[first // LETTERS : -(-last // LETTERS)] for planes, (first, last) in parts))
        ordered, locked = isinstance(pairs, LongestFirst), isinstance(pairs, PinnedPairs)
        large = min(last - first for first, last in bounds) >= _LEAST_TO_SHARE
        if self._host_packs and (large if locked else not ordered):
            return self._packed(_letters(pairs, bounds), slot, _SHARE if locked else 1)
        if locked:
            return Source(letters=_letters(pairs, bounds))
        staged = tuple(
            buffer[: last - first] for buffer, (first, last) in zip(slot.stage(self.letters), bounds, strict=True)
        )
        copies = pairs.copies(start, stop, staged) if ordered else _copies(_letters(pairs, bounds), staged)
        return Source(letters=staged, staging=[self._threads.submit(*copy) for copy in copies], locked=False)

    def _packed(self, letters, slot, share):
        """Source of these letters, a share of which the host packs."""
        planes, odd, rest, staging = [], [], [], []
        for flat, buffers in zip(letters, slot.stage_packed(self.letters), strict=True):
            cut = len(flat) if share == 1 else int(share * len(flat)) // host_packing.BLOCK * host_packing.BLOCK
            words = tuple(buffer[: -(-cut // LETTERS)] for buffer in buffers)
            staging += [self._threads.submit(host_packing.pack, *piece) for piece in _pieces(flat[:cut], *words)]
            planes.append(words[0])
            odd.append(words[1])
            rest.append(flat[cut:])
        return Source(planes, odd, rest, staging)


def _letters(pairs, bounds):
    """(letters of patterns, of texts) within these bounds."""
    return tuple(flat[first:last] for flat, (first, last) in zip((pairs.pattern, pairs.text), bounds, strict=True))


def _copies(sources, targets):
    """Yield (function, *arguments): together they fill the targets."""
    for target, source in zip(targets, sources, strict=True):
        for at in range(0, len(source), _LETTERS_AT_A_TIME):
            yield np.copyto, target[at : at + _LETTERS_AT_A_TIME], source[at : at + _LETTERS_AT_A_TIME]


def _pieces(letters, planes, odd):
    """Yield what each of half of the threads packs: (letters, their planes, their odd ones)."""
    blocks = -(-max(_PACKED_AT_A_TIME, -(-len(letters) // (_THREADS // 2))) // host_packing.BLOCK)
    size, words = blocks * host_packing.BLOCK, blocks * host_packing.BLOCK // LETTERS
    for piece in range(-(-len(letters) // size)):
        part = letters[piece * size : (piece + 1) * size]
        part.flags.writeable = False  # as letters of a mapped file are: compiled once for both
        yield part, *(out[piece * words : (piece + 1) * words] for out in (planes, odd))


def _parts(header, pairs, narrow):
    """(lengths, places of patterns, places of texts) of so many pairs in what the GPU is told of a batch."""
    blocks, words = -(-pairs // THREADS), length_words(pairs, narrow)
    lengths = header[:words].view(np.uint16)[:pairs] if narrow else header[:words]
    return lengths, header[words : words + blocks], header[words + blocks : words + 2 * blocks]


def _move_places(drafted, pairs, narrow, header):
    """Put the places behind fewer lengths than were drafted."""
    places = [starts.copy() for starts in _parts(header, drafted, narrow)[1:]]
    for target, starts in zip(_parts(header, pairs, narrow)[1:], places, strict=True):
        target[:] = starts[: len(target)]
