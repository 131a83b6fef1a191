"""Launches of the GPU's kernels."""

import warnings

import pytest
from numba import cuda

from tests import gpu_cells
from wfa_kernels import Edit, align
from wfa_kernels.cuda import aligner
from wfa_kernels.cuda.launching import Launcher


@cuda.jit
def nothing():
    """A kernel that is configured and never run."""


class Configured:
    """Its launches go no further than to what Numba says of them."""

    def __getitem__(self, configuration):
        nothing[configuration]
        return lambda *arguments: None


def test_numba_does_not_tell_users_of_small_grids():
    with pytest.warns(match="Grid size 1 will likely result in GPU under-utilization"):
        nothing[1, 32, 0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Launcher(0)(Configured(), 1, 32)


@pytest.mark.gpu
@pytest.mark.parametrize("design", ["fast", "paper"])
def test_arguments_are_put_down_once_for_a_kernel_and_its_arrays(design):
    """Else every launch works them out anew, as where Numba does not tell what it launches."""
    align(gpu_cells.uniform(100_000, 150, 0.05), Edit(), scope="cigar", device="cuda", design=design)
    bound = [bound for slot in aligner.slots() for bound in slot.launch._bound.values()]
    assert bound and None not in bound
