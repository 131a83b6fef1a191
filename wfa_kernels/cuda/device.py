"""The GPU, if there is one. Nothing here needs a GPU, a driver or an installed numba-cuda to be imported."""

from functools import cache


def simulated():
    """Whether kernels run in Numba's CUDA simulator (environment variable NUMBA_ENABLE_CUDASIM=1 before import)."""
    from numba import config

    return bool(config.ENABLE_CUDASIM)


@cache
def _problem():
    """Why no GPU can be used, or None."""
    try:
        from numba import cuda
    except ImportError as error:
        return f"numba-cuda is not installed: {error}"
    try:
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


def free_bytes():
    """Free bytes of device memory; in the simulator, which knows no such thing, 256 MiB."""
    if simulated():
        return 2**28
    from numba import cuda

    return int(cuda.current_context().get_memory_info().free)
