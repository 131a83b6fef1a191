"""Letters page-locked where they lie, such as in a memory-mapped file: no copy, and no second time their memory.

The driver locks whole pages, and may refuse: a mapping that can only be read needs a flag that not every GPU and driver
know, and not all file systems let their pages be locked. Where a file's mapping cannot be locked another one of its
pages is (see mapped_files). What lies within memory that is locked already shares it.
"""

import threading
import weakref

import numpy as np
from numba import cuda

from wfa_kernels.cuda import device, mapped_files
from wfa_kernels.cuda.memory import count_while_alive
from wfa_kernels.cuda.pinned import PinnedPairs

_locked = weakref.WeakSet()
_lock = threading.Lock()


class RegisterError(RuntimeError):
    """The driver refuses to page-lock memory of the host; the text is its reason."""


class RegisteredPairs(PinnedPairs):
    """A PairBatch whose flat bytes were page-locked where they lay: made by ``register``."""


def register(pairs):
    """The batch, its pages with letters locked for as long as an array over them lives. Raises RegisterError.

    pairs: PairBatch; of its flat bytes those between the first and the last offset.
    """
    sides = []
    for flat, offsets in ((pairs.pattern, pairs.pattern_offsets), (pairs.text, pairs.text_offsets)):
        sides += [_locked_part(flat[offsets[0] : offsets[-1]]), offsets - offsets[0]]
    return RegisteredPairs(*sides, pairs.metadata)


class _Locked:
    """What the arrays over a locked part have as their base: the pages are let go with the last of them."""

    def __init__(self, array):
        lies = _lockable(array)
        self._asked, self.size = array.ctypes.data, array.nbytes
        self.__array_interface__ = lies.__array_interface__
        _lock_pages(lies.ctypes.data, self.size, lies.flags.writeable)
        kept = array, lies  # they must outlive the lock, and no other array come to lie where the one asked for does
        weakref.finalize(self, _unlock_pages, lies.ctypes.data, kept).atexit = False
        count_while_alive("pinned", self.size, self)

    def part(self, first, size):
        """The array of a part of what was asked for; None where it is not all of it."""
        begin = first - self._asked
        return np.asarray(self)[begin : begin + size] if begin >= 0 and begin + size <= self.size else None


def _locked_part(array):
    if not array.nbytes:
        return array
    with _lock:
        for held in list(_locked):
            part = held.part(array.ctypes.data, array.nbytes)
            if part is not None:
                return part
        held = _Locked(array)
        _locked.add(held)
        return np.asarray(held)


def _lockable(array):
    try:
        return mapped_files.lockable(array)
    except mapped_files.MappingError as error:
        raise RegisterError(f"the driver cannot page-lock {array.nbytes} bytes where they lie: {error}") from None


def _lock_pages(first, size, writeable):
    if device.simulated():
        return
    driver = _driver()
    read_only = driver.CU_MEMHOSTREGISTER_READ_ONLY
    for flags in (0,) if writeable else (read_only, 0):  # an array may be read-only over pages that are not
        (error,) = driver.cuMemHostRegister(first, size, flags)
        if not error:
            return
    raise RegisterError(f"the driver cannot page-lock {size} bytes where they lie: {error.name}")


def _unlock_pages(first, kept):
    if not device.simulated():
        _driver().cuMemHostUnregister(first)


def _driver():
    from cuda.bindings import driver

    cuda.current_context()  # the driver registers memory for the current one
    return driver
