"""What a design of the GPU's kernels may be: checked where it is made, without a GPU."""

import numpy as np
import pytest

from wfa_kernels import DesignError, PaperDesign
from wfa_kernels.designs import AFFINE_ONLY, FAST, MOST_BT_BLOCKS, checked

each_count = pytest.mark.parametrize("name", AFFINE_ONLY)


@pytest.mark.parametrize("threads", [0, -32, 31, 33, 1056, 32.0, "32", False])
def test_threads_of_a_block_are_whole_warps_as_far_as_a_block_goes(threads):
    with pytest.raises(DesignError, match="block_threads must be a multiple of 32 up to 1024, not"):
        PaperDesign(block_threads=threads)


@each_count
@pytest.mark.parametrize("count", [0, -1, MOST_BT_BLOCKS + 1, 2.0, True])
def test_counts_of_a_design_begin_at_1_and_end(name, count):
    with pytest.raises(DesignError, match=f"{name} must be an integer from 1 to {MOST_BT_BLOCKS}, not"):
        PaperDesign(**{name: count})


@each_count
def test_the_ends_of_what_is_allowed_are_allowed(name):
    for field, values in (("block_threads", (32, 1024)), (name, (1, MOST_BT_BLOCKS))):
        assert [getattr(PaperDesign(**{field: value}), field) for value in values] == list(values)


@pytest.mark.parametrize("name", ["block_threads", *AFFINE_ONLY])
def test_a_numpy_integer_becomes_a_plain_one(name):
    """numba-cuda takes no NumPy integer as a size."""
    assert type(getattr(PaperDesign(**{name: np.int64(64)}), name)) is int


def test_kernels_and_designs_that_there_are_not_are_told_with_those_that_there_are():
    with pytest.raises(DesignError, match="unknown first_kernel 'E16'; allowed: E32, E64, E128"):
        PaperDesign(first_kernel="E16")
    with pytest.raises(DesignError, match="unknown design 'slow'; allowed: fast, paper, or a PaperDesign"):
        checked("slow")


def test_fields_are_held_against_penalties_that_are_known_alone():
    for design in (PaperDesign(bt_blocks=9), PaperDesign(first_kernel="E64")):
        assert checked(design) is design
    assert checked("fast", affine=True) == FAST and checked("paper", affine=False) == PaperDesign()
    with pytest.raises(DesignError, match="central_diagonals is for gap-affine"):
        checked(PaperDesign(central_diagonals=9), affine=False)
    with pytest.raises(DesignError, match="first_kernel is for edit distance; .* block_threads, central_diagonals"):
        checked(PaperDesign(first_kernel="E64"), affine=True)
