"""Launches of the GPU's kernels, without a GPU."""

import warnings

import pytest
from numba import cuda

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
