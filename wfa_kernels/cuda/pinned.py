"""Page-locked memory: the only memory that the GPU's copy engines read and write at full speed.

Page-locking takes about as long as filling the memory, so results hand their buffer back to a pool when the last array
that looks into it is gone, and staging buffers live as long as their stream.
"""

import threading
import weakref

import numpy as np
from numba import cuda

from wfa_kernels.pairs import PairBatch


class PinnedPairs(PairBatch):
    """A PairBatch whose flat bytes are page-locked: made by ``pin``."""


def pin(pairs):
    """A copy of the batch in page-locked memory, which align() on a GPU reads without staging it."""
    return PinnedPairs(
        _locked_copy(pairs.pattern), pairs.pattern_offsets, _locked_copy(pairs.text), pairs.text_offsets, pairs.metadata
    )


def _locked_copy(array):
    copy = cuda.pinned_array(max(1, len(array)), array.dtype)[: len(array)]
    copy[:] = array
    return copy


class Pool:
    """Page-locked buffers that are used again."""

    def __init__(self):
        self._free, self._lock = [], threading.Lock()

    def take(self, count, dtype):
        """An array of ``count`` elements, not cleared; its memory comes back when no array refers to it any more."""
        size = max(1, count * np.dtype(dtype).itemsize)
        with self._lock:
            fitting = [buffer for buffer in self._free if size <= len(buffer) <= 4 * size + 2**20]
            buffer = min(fitting, key=len, default=None)
            if buffer is not None:
                self._free = [b for b in self._free if b is not buffer]
        if buffer is None:
            buffer = cuda.pinned_array(size, np.uint8)
        lease = _Lease(buffer)
        weakref.finalize(lease, self._give_back, buffer)
        return np.asarray(lease)[: count * np.dtype(dtype).itemsize].view(dtype)

    def _give_back(self, buffer):
        with self._lock:
            self._free.append(buffer)

    def clear(self):
        """Free the buffers that nobody uses."""
        with self._lock:
            self._free.clear()


class _Lease:
    """What the arrays over a buffer have as their base: it dies with the last of them."""

    def __init__(self, buffer):
        self._buffer = buffer
        self.__array_interface__ = buffer.__array_interface__
