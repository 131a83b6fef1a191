"""When each warp of the kernels was on the GPU, and on which processor: stamps of the GPU's clock, for measuring.

A stamped kernel is a kernel as it is, put into another that notes the clock before it and after it. So no kernel knows
of stamps, and without them each is compiled as ever. A warp counts from its first instruction until the last of its
threads is done.
"""

import inspect
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
from numba import cuda, int32, int64

from wfa_kernels.cuda import device
from wfa_kernels.cuda.device import inlined
from wfa_kernels.cuda.instructions import make_clock, make_processor
from wfa_kernels.cuda.memory import device_array

WARP = 32


@dataclass(frozen=True)
class WarpStamps:
    """Warps that ran, n of them, in the order of their launches.

    kernels: names. at_once: int64[kernels], warps of each that the GPU holds at once, when it runs nothing else.
    kernel: int32[n], place in ``kernels``. begin, end: int64[n], nanoseconds of the GPU's clock. processor: int32[n].
    processors: that the GPU has. unstamped: warps for which there was no room.
    """

    kernels: tuple
    at_once: np.ndarray
    kernel: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    processor: np.ndarray
    processors: int
    unstamped: int


class Watch:
    """Stamps of the launches since the last clear(). room: warps."""

    def __init__(self, room):
        self._room = room
        self._begin, self._end = (device_array(room, np.int64) for _ in range(2))
        self._processor = device_array(room, np.int32)
        self.clear()

    def clear(self):
        """Forget all stamps."""
        self._launches, self._used, self._unstamped = [], 0, 0
        device.clear(self._end, 2 * self._room, 0)  # each thread of a warp raises it
        device.wait()

    def launcher(self, launch):
        """A Launcher's like that has stamps written. launch: that Launcher."""

        def stamping(kernel, blocks, threads, *arguments, shared_bytes=0):
            warps, first = blocks * -(-threads // WARP), self._used
            if first + warps > self._room:
                self._unstamped += warps
                launch(kernel, blocks, threads, *arguments, shared_bytes=shared_bytes)
                return
            self._used += warps
            self._launches.append((kernel, threads, shared_bytes, warps))
            arrays = self._begin, self._end, self._processor
            launch(stamped(kernel), blocks, threads, *arrays, first, *arguments, shared_bytes=shared_bytes)

        return stamping

    def read(self):
        """The WarpStamps, when the GPU is done."""
        device.wait()
        shapes = list(dict.fromkeys(launch[:3] for launch in self._launches))
        places = np.array([shapes.index(launch[:3]) for launch in self._launches], np.int32)
        at_once = [
            device.blocks_at_once(stamped(kernel), threads, shared_bytes) * -(-threads // WARP)
            for kernel, threads, shared_bytes in shapes
        ]
        return WarpStamps(
            tuple(kernel.__name__ for kernel, _, _ in shapes),
            np.array(at_once, np.int64),
            np.repeat(places, [launch[3] for launch in self._launches]),
            *(self._read(array) for array in (self._begin, self._end, self._processor)),
            device.processors(),
            self._unstamped,
        )

    def _read(self, array):
        values = np.empty(self._used, array.dtype)
        device.copy_out(values, array, 0, 0)
        device.wait()
        return values


@contextmanager
def watching(slots, room):
    """Stamp what is launched on these slots within: gives the Watch. room: warps that there is room for."""
    watch = Watch(room)
    launchers = [slot.launch for slot in slots]
    try:
        for slot, launch in zip(slots, launchers, strict=True):
            slot.launch = watch.launcher(launch)
        yield watch
    finally:
        for slot, launch in zip(slots, launchers, strict=True):
            slot.launch = launch


@cache
def stamped(kernel):
    """The kernel with stamps; before its own arguments come begin, end: int64[...], processor: int32[...], as in
    WarpStamps, and which elements of these are its first warp's.
    """
    function = kernel.__wrapped__
    names = ", ".join(inspect.signature(function).parameters)
    source = "\n".join([
        f"def stamped(warp_begin, warp_end, warp_processor, first_warp, {names}):",
        "    note_begin(warp_begin, warp_processor, first_warp)",
        f"    run_kernel({names})",
        "    note_end(warp_end, first_warp)",
    ])  # fmt: skip
    note_begin, note_end = _make_notes()
    run_kernel = inlined(function)
    namespace = {"note_begin": note_begin, "note_end": note_end, "run_kernel": run_kernel}
    exec(source, namespace)
    kept = () if device.simulated() else ("max_registers", "shared_memory_carveout")
    options = {option: kernel.targetoptions.get(option) for option in kept}
    return cuda.jit(namespace["stamped"], **options)


def _make_notes():
    """Device functions that note a warp's begin and its end."""
    clock, processor_here = make_clock(), make_processor()

    @inlined
    def row(first):
        warps = (cuda.blockDim.x + int32(WARP - 1)) // int32(WARP)
        return int64(first) + int64(cuda.blockIdx.x) * int64(warps) + int64(cuda.threadIdx.x // int32(WARP))

    @inlined
    def note_begin(begin, processor, first):
        if cuda.threadIdx.x % int32(WARP) == int32(0):
            begin[row(first)] = clock()
            processor[row(first)] = processor_here()

    @inlined
    def note_end(end, first):
        cuda.atomic.max(end, row(first), clock())

    return note_begin, note_end
