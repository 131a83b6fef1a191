"""Kernels launched again and again on the same arrays.

At every launch Numba works out anew of what type each argument is and how it is handed over. Here that is done once for
a kernel and its arrays; from then on a launch puts down the numbers among the arguments, and calls the driver.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from wfa_kernels.cuda import device


class Launcher:
    """Launches kernels on one CUDA stream. Keeps the arrays of each kernel's last launch alive."""

    def __init__(self, stream):
        self._stream, self._bound = stream, {}

    def __call__(self, kernel, blocks, threads, *arguments, shared_bytes=0):
        """Launch a kernel. arguments: device arrays and ints. shared_bytes: dynamic shared memory of a block."""
        bound = self._bound.get(kernel)
        if bound is not None and bound.takes(arguments):
            bound.launch(blocks, threads, shared_bytes, self._stream)
            return
        if shared_bytes > device.ALWAYS_ALLOWED and not device.simulated():
            device.allow_shared(_compiled(kernel, arguments), shared_bytes)
        with warnings.catch_warnings():  # of a small last batch, or of the one block that adds up, users need not know
            warnings.filterwarnings("ignore", message=r".*Grid size \d+ will likely result in GPU under-utilization")
            configured = kernel[blocks, threads, self._stream, shared_bytes]
        configured(*arguments)
        if bound is not None or kernel not in self._bound:
            self._bound[kernel] = _bind(kernel, arguments)


@dataclass(frozen=True)
class _Bound:
    """A compiled kernel and its arguments in memory, as the driver takes them.

    arrays: [(place among the arguments, array)]. numbers: [(place among the arguments, place in values)]. values:
    int64[...], what the kernel gets, 8 bytes each. places: uint64[...], the address of each.
    """

    function: object
    arrays: list
    numbers: list
    values: np.ndarray
    places: np.ndarray

    def takes(self, arguments):
        """Put down the numbers; whether the arrays are these."""
        for place, array in self.arrays:
            if arguments[place] is not array:
                return False
        for place, at in self.numbers:
            self.values[at] = arguments[place]
        return True

    def launch(self, blocks, threads, shared_bytes, stream):
        if shared_bytes > device.ALWAYS_ALLOWED:
            device.allow_shared(self.function, shared_bytes)
        device.launch(self.function, blocks, threads, shared_bytes, stream, self.places.ctypes.data)


def _compiled(kernel, arguments):
    """The driver's handle of a kernel, compiled for such arguments."""
    return kernel.compile(_types(kernel, arguments))._codelibrary.get_cufunc().kernel.handle


def _types(kernel, arguments):
    return tuple(kernel.typeof_pyval(argument) for argument in arguments)


def _bind(kernel, arguments):
    """A _Bound for a kernel that was launched with such arguments; None where Numba does not tell what it launches."""
    try:
        compiled = kernel.overloads[_types(kernel, arguments)]
        function = compiled._codelibrary.get_cufunc().kernel
        compiled.bind()  # Numba does so for what it compiles: a kernel out of its cache would go without its carve-out
    except (AttributeError, KeyError):  # the simulator, or another version of Numba: it can launch all the same
        return None
    values, arrays, numbers = [], [], []
    for place, argument in enumerate(arguments):
        if type(argument) is int:
            numbers.append((place, len(values)))
            values.append(argument)
        else:  # as Numba hands over arrays: two pointers of no use here, its size, its items' size, its data
            arrays.append((place, argument))
            values += [0, 0, argument.size, argument.dtype.itemsize, device.address(argument)]
            values += [*argument.shape, *argument.strides]
    if function.num_arguments != len(values):
        return None
    values = np.array(values, np.int64)
    places = values.ctypes.data + 8 * np.arange(len(values), dtype=np.uint64)
    return _Bound(function.handle, arrays, numbers, values, places)
