"""The way back through codes of cells (see affine_cell.Cell), for every kernel of gap-affine alignment."""

from numba import int32, uint32

from wfa_kernels.cigar import DELETION, INSERTION, MISMATCH
from wfa_kernels.cuda.device import inlined

#: Codes of a side.
REACHED, BEGINS = 0, 3


@inlined
def step_back(left, above, gap):
    """(the operation taken from a cell with these codes, 0 where the gap that one is in begins here; the gap, or 0)."""
    taken = gap
    if gap == uint32(0):
        taken = uint32(MISMATCH)
        if left == int32(REACHED):
            taken = gap = uint32(INSERTION)
        elif above == int32(REACHED):
            taken = gap = uint32(DELETION)
    elif (left if gap == uint32(INSERTION) else above) == int32(BEGINS):
        taken = gap = uint32(0)
    return taken, gap
