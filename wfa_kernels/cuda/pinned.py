"""Page-locked memory: the only memory that the GPU's copy engines read and write at full speed.

Page-locking takes about as long as filling the memory, so results hand their buffer back to a pool when the last array
that looks into it is gone, and staging buffers live as long as their stream.
"""

import threading
import weakref
from collections import deque
from dataclasses import dataclass

import numpy as np

from wfa_kernels.cuda import device, packing, records
from wfa_kernels.cuda.compaction import record_words
from wfa_kernels.cuda.memory import device_array, host_array, pinned_array
from wfa_kernels.pairs import PairBatch, PairsError

#: Words that are packed at once.
_PIECE = 1 << 20


class PinnedPairs(PairBatch):
    """A PairBatch whose flat bytes are page-locked: made by ``pin``."""

    def __getitem__(self, rows):
        """A slice (step 1) of the batch, page-locked as it is: it shares its bytes."""
        part = super().__getitem__(rows)
        sides = _from_zero(part.pattern, part.pattern_offsets), _from_zero(part.text, part.text_offsets)
        return type(self)(*sides[0], *sides[1], part.metadata)

    @property
    def page_locked_bytes(self):
        """Bytes of page-locked memory that it holds."""
        return self.pattern.nbytes + self.text.nbytes


@dataclass(frozen=True, eq=False)
class PackedPairs(PairBatch):
    """A PairBatch that lies packed to 2 bits a letter in page-locked memory too: made by ``pack``.

    planes: two arrays uint64[...], of the patterns and of the texts, as packing says but without the words before the
    first letter; offsets begin at 0. odd_rows: int64[...], pairs with a letter that has no code. records: uint32[...],
    what the GPU is to be told of the pairs, page-locked, with so many bits a length (see records). longest: int64[...],
    the longest sequence of each. packed_from: the four arrays that were packed. Raises PairsError for others.
    """

    planes: tuple = ()
    odd_rows: np.ndarray = None
    records: np.ndarray = None
    bits: int = 8
    longest: np.ndarray = None
    packed_from: tuple = ()

    def __post_init__(self):
        super().__post_init__()
        sides = self.pattern, self.pattern_offsets, self.text, self.text_offsets
        if len(self.packed_from) != 4 or any(a is not b for a, b in zip(sides, self.packed_from, strict=True)):
            raise PairsError(
                "the letters of packed pairs can not be replaced: make a PairBatch, then pack_pairs() of it"
            )

    @property
    def page_locked_bytes(self):
        """Bytes of page-locked memory that it holds."""
        return sum(planes.nbytes for planes in self.planes) + self.records.nbytes


def pin(pairs):
    """A copy of the batch in page-locked memory, which align() on a GPU reads without staging it."""
    pattern, pattern_offsets = _from_zero(pairs.pattern, pairs.pattern_offsets)
    text, text_offsets = _from_zero(pairs.text, pairs.text_offsets)
    return PinnedPairs(_locked_copy(pattern), pattern_offsets, _locked_copy(text), text_offsets, pairs.metadata)


def pack(pairs):
    """The batch with its letters packed to 2 bits, by the GPU; align() on a GPU then copies only those."""
    pattern, pattern_offsets = _from_zero(pairs.pattern, pairs.pattern_offsets)
    text, text_offsets = _from_zero(pairs.text, pairs.text_offsets)
    odd, planes = np.zeros(len(pairs), bool), []
    for letters, offsets in ((pattern, pattern_offsets), (text, text_offsets)):
        packed, places = _packed(letters)
        odd[np.searchsorted(offsets, places, side="right") - 1] = True
        planes.append(packed)
    rows, told = np.flatnonzero(odd), _records(pattern_offsets, text_offsets)
    sides = pattern, pattern_offsets, text, text_offsets
    return PackedPairs(*sides, pairs.metadata, tuple(planes), rows, *told, sides)


def _records(*sides):
    """(records of all pairs, in page-locked memory, bits of a length in them, the longest sequence of each)."""
    pairs = len(sides[0]) - 1
    blocks = records.blocks_of(pairs)
    bits = records.bits_for(max(int(np.diff(offsets).max(initial=0)) for offsets in sides))
    told = pinned_array(max(1, blocks * record_words(bits)), np.uint32)[: blocks * record_words(bits)]
    longest = np.zeros(blocks, np.int64)
    records.tell(*sides, bits, told, longest)
    return told, bits, longest


def _from_zero(flat, offsets):
    return flat[offsets[0] : offsets[-1]], offsets - offsets[0]


def _packed(letters):
    """(planes in page-locked memory, places of the letters without a code)."""
    words = max(1, -(-len(letters) // packing.LETTERS))
    planes, odd = pinned_array(words, np.uint64), []
    piece = min(_PIECE, words)
    ascii_there = device_array(piece * 4, np.uint64)
    planes_there = device_array(packing.LEAD_WORDS + piece, np.uint64)
    odd_there, flag = device_array(packing.LEAD_WORDS + piece, np.uint32), device_array(1, np.int64)
    strange = np.empty(piece, np.uint32)
    for first in range(0, words, piece):
        part = letters[first * packing.LETTERS : (first + piece) * packing.LETTERS]
        count = -(-len(part) // packing.LETTERS)
        if not count:
            break
        device.copy_in(ascii_there, part, 0)
        packing.pack_letters[-(-count // packing.PACK_THREADS), packing.PACK_THREADS](
            ascii_there, 0, count, ascii_there, 0, 0, planes_there, planes_there, odd_there, odd_there, flag, 1
        )
        device.copy_out(planes[first : first + count], planes_there, packing.LEAD_WORDS, 0)
        device.copy_out(strange[:count], odd_there, packing.LEAD_WORDS, 0)
        device.wait()
        if strange[:count].any():
            marks = np.unpackbits(strange[:count].view(np.uint8), bitorder="little")[: len(part)]
            odd.append(np.flatnonzero(marks) + first * packing.LETTERS)
    return planes, np.concatenate([np.empty(0, np.int64), *odd])


def _locked_copy(array):
    copy = pinned_array(max(1, len(array)), array.dtype)[: len(array)]
    copy[:] = array
    return copy


class Pool:
    """Page-locked buffers, or ordinary ones where there is no room for those, that are used again."""

    def __init__(self):
        self._free, self._lock = [], threading.Lock()
        self._returned = deque()  # by the garbage collector, at any moment, so without the lock

    def take(self, count, dtype):
        """An array of ``count`` elements, not cleared; its memory comes back when no array refers to it any more."""
        size = max(1, count * np.dtype(dtype).itemsize)
        with self._lock:
            self._take_back()
            fitting = [buffer for buffer in self._free if size <= len(buffer) <= 4 * size + 2**20]
            buffer = min(fitting, key=len, default=None)
            if buffer is not None:
                self._free = [b for b in self._free if b is not buffer]
        if buffer is None:
            self._let_go(size)
            buffer = host_array(size, np.uint8)
        lease = _Lease(buffer)
        weakref.finalize(lease, self._returned.append, buffer)
        return np.asarray(lease)[: count * np.dtype(dtype).itemsize].view(dtype)

    def _let_go(self, size):
        """Free buffers that are too small for so many bytes, largest first, as many bytes at most: else those of ever
        larger calls add up."""
        with self._lock:
            self._take_back()
            for buffer in sorted(self._free, key=len, reverse=True):
                if len(buffer) <= size:
                    size -= len(buffer)
                    self._free = [b for b in self._free if b is not buffer]

    def _take_back(self):
        """What has come back is free; to be called with the lock."""
        while self._returned:
            self._free.append(self._returned.popleft())

    def clear(self):
        """Free the buffers that nobody uses."""
        with self._lock:
            self._take_back()
            self._free.clear()


class _Lease:
    """What the arrays over a buffer have as their base: it dies with the last of them."""

    def __init__(self, buffer):
        self._buffer = buffer
        self.__array_interface__ = buffer.__array_interface__
