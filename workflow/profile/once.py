"""The child that Nsight Compute watches: one call a cell between the profiler's start and stop, after warm-up calls."""

from numba import cuda

from wfa_kernels import Edit, align, release_gpu_memory
from workflow.profile.cells import CELLS, load

#: Calls before the watched one: the first compiles, the second knows which kernel to begin with.
WARM_UP_CALLS = 2
#: ncu saves and restores the device memory in use for every pass over a launch: with the default it takes minutes.
DEVICE_MEMORY_BYTES = 2 * 2**30


@cuda.jit
def profile_mark():
    """Does nothing; its name in ncu's list says that the next cell begins."""


def run(folder, count):
    """Run every cell of cells.CELLS once under the profiler, in order. folder, count: see cells.load()."""
    profile_mark[1, 1]()
    for cell in CELLS:
        pairs, design = load(cell.dataset, folder, count), cell.design()
        for _ in range(WARM_UP_CALLS):
            align(pairs, Edit(), scope="cigar", device="cuda", design=design, device_memory=DEVICE_MEMORY_BYTES)
        cuda.synchronize()
        with cuda.profiling():
            profile_mark[1, 1]()
            align(pairs, Edit(), scope="cigar", device="cuda", design=design, device_memory=DEVICE_MEMORY_BYTES)
            cuda.synchronize()
        release_gpu_memory()
