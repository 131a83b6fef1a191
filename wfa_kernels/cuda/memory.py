"""Device and page-locked memory of this library: every array comes from here, so that what is held is known."""

import contextlib
import threading
import weakref
from math import inf, prod

import numpy as np
from numba import cuda

from wfa_kernels.cuda import device

#: Bytes of an array before which the memory of those that are gone is given back.
_LARGE = 1 << 26

_lock = threading.Lock()
_held = {"device": 0, "pinned": 0}
_peak = dict(_held)
_most = {"device": inf, "pinned": inf}


class GpuMemoryError(MemoryError):
    """The GPU, or the host's page-locked memory, has no room for an array."""


def device_array(shape, dtype):
    """An array on the GPU, not cleared. Raises GpuMemoryError."""
    return _allocate("device", cuda.device_array, shape, dtype)


def pinned_array(shape, dtype):
    """A page-locked NumPy array, not cleared. Raises GpuMemoryError."""
    return _allocate("pinned", cuda.pinned_array, shape, dtype)


def held_bytes(kind):
    """Bytes of the arrays in use now; kind: "device" or "pinned"."""
    return _held[kind]


def peak_bytes(reset=False):
    """{"device": bytes, "pinned": bytes}: the most that was held at once since the last reset."""
    with _lock:
        if reset:
            _peak.update(_held)
        return dict(_peak)


@contextlib.contextmanager
def device_memory_within(most):
    """Within it, no device array is made that would bring what is held over so many bytes: GpuMemoryError."""
    _most["device"] = most
    try:
        yield
    finally:
        _most["device"] = inf


def _allocate(kind, make, shape, dtype):
    size = prod(shape if type(shape) is tuple else (shape,)) * np.dtype(dtype).itemsize
    if _held[kind] + size > _most[kind]:
        raise GpuMemoryError(f"{size} more bytes of {kind} memory would be more than {_most[kind]}")
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
    _count(kind, size)
    weakref.finalize(owner, _count, kind, -size)


def _count(kind, size):
    with _lock:
        _held[kind] += size
        _peak[kind] = max(_peak[kind], _held[kind])
