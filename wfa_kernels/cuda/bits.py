"""Words of 32 bits in kernels."""

from numba import int32, uint32

from wfa_kernels.cuda.device import inlined
from wfa_kernels.cuda.instructions import make_shift

_shift = make_shift()


@inlined
def bits_from(first):
    """Word with the bits from ``first`` (clamped to 0 .. 32) on."""
    return _shift(uint32(0xFFFFFFFF), uint32(max(int32(first), int32(0))))


@inlined
def bit_at(place):
    """Word with the bit at ``place``; no bit where that is outside 0 .. 31."""
    return _shift(uint32(1), uint32(place))
