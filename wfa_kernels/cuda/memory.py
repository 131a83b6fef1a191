"""Device and page-locked memory of this library: every array comes from here, so that what is held is known."""

import contextlib
import threading
import weakref
from collections import deque
from math import inf, prod

import numpy as np
from numba import cuda

from wfa_kernels.cuda import device

#: Bytes of an array before which the memory of those that are gone is given back.
_LARGE = 1 << 26

_lock = threading.Lock()
_held = {"device": 0, "pinned": 0}
_peak = dict(_held)
_gone = deque()  # (kind, bytes): the garbage collector tells of them at any moment, so without the lock
_within = threading.local()  # most: bytes of device memory that this thread's arrays may bring it to


class GpuMemoryError(MemoryError):
    """The GPU, or the host's page-locked memory, has no room for an array."""


def device_array(shape, dtype):
    """An array on the GPU, not cleared. Raises GpuMemoryError."""
    return _allocate("device", cuda.device_array, shape, dtype)


def pinned_array(shape, dtype):
    """A page-locked NumPy array, not cleared. Raises GpuMemoryError."""
    return _allocate("pinned", cuda.pinned_array, shape, dtype)


def host_array(shape, dtype):
    """A page-locked NumPy array, or an ordinary one where there is no room for that: copies of it take longer."""
    try:
        return pinned_array(shape, dtype)
    except GpuMemoryError:
        return np.empty(shape, dtype)


def held_bytes(kind):
    """Bytes of the arrays in use now; kind: "device" or "pinned"."""
    with _lock:
        _leave_out_gone()
        return _held[kind]


def peak_bytes(reset=False):
    """{"device": bytes, "pinned": bytes}: the most that was held at once since the last reset."""
    with _lock:
        _leave_out_gone()
        if reset:
            _peak.update(_held)
        return dict(_peak)


@contextlib.contextmanager
def device_memory_within(most):
    """Within it, this thread makes no device array that would bring what is held over so many bytes: GpuMemoryError."""
    _within.most = most
    try:
        yield
    finally:
        del _within.most


def _allocate(kind, make, shape, dtype):
    size = prod(shape if type(shape) is tuple else (shape,)) * np.dtype(dtype).itemsize
    most = getattr(_within, "most", inf)
    if kind == "device" and held_bytes(kind) + size > most:
        raise GpuMemoryError(f"{size} more bytes of device memory would be more than {most}")
    if size >= _LARGE:
        device.give_back_freed()
    try:
        array = make(shape, dtype)
    except Exception as error:  # the driver's errors are of several kinds
        if "OUT_OF_MEMORY" in str(error).upper():
            raise GpuMemoryError(f"no room for {size} bytes of {kind} memory") from None
        raise
    count_while_alive(kind, size, array)
    return array


def count_while_alive(kind, size, owner):
    """Count so many bytes as held until their owner is gone; kind: "device" or "pinned"."""
    with _lock:
        _leave_out_gone()
        _held[kind] += size
        _peak[kind] = max(_peak[kind], _held[kind])
    weakref.finalize(owner, _gone.append, (kind, size))


def _leave_out_gone():
    """To be called with the lock."""
    while _gone:
        kind, size = _gone.popleft()
        _held[kind] -= size
