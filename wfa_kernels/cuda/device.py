"""The GPU, if there is one. Nothing here needs a GPU, a driver or an installed numba-cuda to be imported."""

from functools import cache
from importlib.util import find_spec

import numpy as np

#: Major compute capability of an H100 or H200.
HOPPER = 9
#: Percent of a processor's memory on chip that kernels which are to run side by side ask for as shared memory. By
#: default each would get as much as it can use, and a processor changes that only when nothing runs on it: the kernels
#: of a batch would wait for the longest pair of another one.
SIDE_BY_SIDE = 100
#: What kernels with a whole block for one pair ask for: few of those are on a processor, and they are faster with the
#: rest of that memory as cache.
FEW_SIDE_BY_SIDE = 28
#: Registers of a thread of the kernels that pack, sum and gather, at most, in blocks of four warps: they run beside
#: strips. A quarter of a Hopper processor has registers for five warps of those, 96 each, and 32 for one warp besides.
#: Blocks of more warps wait until several pairs of strips are done on one processor.
BESIDE_REGISTERS = 32
#: Registers of a processor, by how many a warp's threads get them, and most of a thread.
_REGISTERS, _REGISTERS_AT_A_TIME, _MOST_REGISTERS = 65536, 8, 255
#: Bytes of dynamic shared memory of a block up to which the driver need not be told of it.
ALWAYS_ALLOWED = 48 * 1024
_gpu_in_use = {}  # "number": of the GPU that this process aligns on


class OtherGpuError(RuntimeError):
    """The current GPU is not the one that this process aligns on."""


def simulated():
    """Whether kernels run in Numba's CUDA simulator (environment variable NUMBA_ENABLE_CUDASIM=1 before import)."""
    from numba import config

    return bool(config.ENABLE_CUDASIM)


@cache
def _problem():
    """Why no GPU can be used, or None."""
    if find_spec("numba_cuda") is None:  # Numba has a numba.cuda of its own, which the kernels here do not fit
        return "numba-cuda is not installed"
    try:
        from numba import cuda

        if simulated() or cuda.is_available():
            return None
        return "no NVIDIA GPU or driver found"
    except Exception as error:  # drivers fail in many ways; none of them may end a run that can go on without a GPU
        return f"the CUDA driver failed: {error}"


def available():
    """Whether kernels can run here; true in the simulator."""
    return _problem() is None


def describe():
    """One line: name and compute capability of the GPU in use, or why there is none."""
    if _problem() is not None:
        return _problem()
    if simulated():
        return "Numba's CUDA simulator"
    from numba import cuda

    gpu = cuda.get_current_device()
    name = gpu.name.decode() if isinstance(gpu.name, bytes) else gpu.name
    return f"{name}, compute capability {'.'.join(map(str, gpu.compute_capability))}"


def is_hopper():
    """Whether the GPU in use has compute capability 9."""
    from numba import cuda

    return not simulated() and available() and cuda.get_current_device().compute_capability[0] == HOPPER


def inlined(function):
    """A device function that is part of its callers' code.

    By the compiler behind Numba: Numba's own way (``inline="always"``) copies what callers are made of again and again,
    and takes three to five times as long for the same instructions.
    """
    from numba import cuda

    options = {} if simulated() else {"forceinline": True}
    return cuda.jit(device=True, **options)(function)


def named(function, suffix, registers=None, carveout=None):
    """A kernel of a Python function, under a name of its own: Numba's cache and profilers tell closures by it.

    registers: most of a thread, where the compiler would take a few more and fewer threads would fit. carveout: percent
    of a processor's memory on chip that is to be shared memory; None: as much as it can use.
    """
    from numba import cuda

    function.__name__ += suffix
    function.__qualname__ += suffix
    options = {} if simulated() else {"max_registers": registers, "shared_memory_carveout": carveout, "cache": True}
    return cuda.jit(**options)(function)


def registers_of(threads):
    """Most registers of a thread with which a block of so many fits a processor; None where all do, or for None."""
    most = _MOST_REGISTERS if threads is None else _REGISTERS // threads // _REGISTERS_AT_A_TIME * _REGISTERS_AT_A_TIME
    return most if most < _MOST_REGISTERS else None


def give_back_freed():
    """Let go of the memory of arrays that are gone: Numba puts that off, of page-locked ones whatever their size."""
    if not simulated():
        from numba import cuda

        cuda.current_context().deallocations.clear()


def free_bytes():
    """Free bytes of device memory; in the simulator, which knows no such thing, 256 MiB."""
    if simulated():
        return 2**28
    from numba import cuda

    give_back_freed()
    return int(cuda.current_context().get_memory_info().free)


def processors():
    """Processors (SMs) of the GPU in use; the simulator counts as one."""
    from numba import cuda

    return 1 if simulated() else int(cuda.get_current_device().MULTIPROCESSOR_COUNT)


def most_shared_bytes():
    """Bytes of shared memory that a block may have on the GPU in use; where there is none, as on an H100 or H200."""
    from numba import cuda

    if simulated() or not available():
        return 227 * 1024
    return int(cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)


def allow_shared(function, dynamic_bytes):
    """Let a kernel's blocks have so much dynamic shared memory, more than ALWAYS_ALLOWED."""
    from numba import cuda

    attribute = _driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    _check(_driver().cuKernelSetAttribute(attribute, dynamic_bytes, int(function), int(cuda.get_current_device().id)))


def blocks_at_once(kernel, threads, shared_bytes):
    """Blocks that the GPU in use holds of a kernel that has been launched; in the simulator, that runs them in turn, 1.

    threads, shared_bytes: of a block, the latter as asked for at the launch.
    """
    if simulated():
        return 1
    from numba import cuda

    compiled = next(iter(kernel.overloads.values()))
    function = compiled._codelibrary.get_cufunc()
    per_processor = cuda.current_context().get_active_blocks_per_multiprocessor(function, threads, shared_bytes)
    return int(per_processor) * processors()


def copy_in(target, source, stream, first=0):
    """Copy a contiguous host array into a device array's memory, from element ``first`` on, in order of the stream.

    Asynchronous when the host array is page-locked; else the call may wait, and the driver copies by way of its own
    page-locked buffer.
    """
    at = first * target.dtype.itemsize
    if source.nbytes and simulated():
        _simulated_bytes(target)[at : at + source.nbytes] = source.view(np.uint8)
    elif source.nbytes:
        _check(_driver().cuMemcpyHtoDAsync(address(target) + at, source.ctypes.data, source.nbytes, int(stream)))


def copy_out(target, source, first, stream):
    """Fill a contiguous host array from element ``first`` of a device array's memory on; see copy_in."""
    at = first * source.dtype.itemsize
    if target.nbytes and simulated():
        target.view(np.uint8)[:] = _simulated_bytes(source)[at : at + target.nbytes]
    elif target.nbytes:
        _check(_driver().cuMemcpyDtoHAsync(target.ctypes.data, address(source) + at, target.nbytes, int(stream)))


def is_done(event):
    """Whether what lies before an event in its stream is done, as all is at once in the simulator."""
    if simulated():
        return True
    (answer,) = _driver().cuEventQuery(event.handle)
    if answer == _driver().CUresult.CUDA_ERROR_NOT_READY:
        return False
    _check((answer,))
    return True


def attach():
    """Make the GPU's context the calling thread's: the driver's own calls need one, Numba's see to it by the way.

    Raises OtherGpuError where another GPU has been in use: what is kept between calls, kernels among it, is that one's.
    """
    if not simulated():
        from numba import cuda

        cuda.current_context()
        here = cuda.get_current_device().id
        if _gpu_in_use.setdefault("number", here) != here:
            raise OtherGpuError(
                f"GPU {here} is the current one, and this process has aligned on GPU {_gpu_in_use['number']}: a "
                "process aligns on one GPU; allowed: a process for each"
            )


def wait():
    """Wait until the GPU is done."""
    from numba import cuda

    cuda.synchronize()


def clear(target, count, stream):
    """Set the first elements, of 4 bytes each, of a device array's memory to 0, in order of the stream."""
    if simulated():
        _simulated_bytes(target)[: 4 * count] = 0
    else:
        _check(_driver().cuMemsetD32Async(address(target), 0, count, int(stream)))


def launch(function, blocks, threads, shared_bytes, stream, arguments):
    """Launch a kernel by the driver's own call. arguments: address of the addresses of its arguments."""
    _check(
        _driver().cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared_bytes, int(stream), int(arguments), 0)
    )


@cache
def _driver():
    from cuda.bindings import driver

    return driver


def address(array):
    """Of a device array's memory. ``__cuda_array_interface__`` tells it too, but works out shape and strides first."""
    return array.device_ctypes_pointer.value


def _simulated_bytes(array):
    return array._ary.reshape(-1).view(np.uint8)


def _check(answer):
    if answer[0]:
        raise RuntimeError(f"the GPU's driver failed: {answer[0]!r}")
