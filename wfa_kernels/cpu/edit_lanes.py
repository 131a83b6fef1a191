"""The edit-distance recurrence for 16 neighbouring diagonals at once, as LLVM vector instructions.

What a scalar loop takes 16 turns of about 25 instructions for is one step here, of which the two gathers of letters
are the greater part. Four letters are compared: of cells off the path one in 256 matches further.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from wfa_kernels.cpu.lanes import LANES, Lanes, constant

#: Where next_lanes has the bits of the lanes that may match further, that came by an insertion, and by a deletion.
GOING_AT, INSERTION_AT, DELETION_AT = 0, LANES, 2 * LANES


def _row(builder, address):
    return builder.inttoptr(address, ir.IntType(32).as_pointer())


@intrinsic
def next_lanes(typing_context, old, new, k, hi, m, n, pattern, text):
    """Thesis Eq. 4 for diagonals k .. k + 15, with four letters of the extend operator.

    All are int64. old, new: addresses of diagonal 0 in the row of the score before, int32, and in the row to write,
    with room for LANES behind diagonal hi. pattern, text: addresses of letters, of which 4 behind the last are read.
    The cells of diagonals past ``hi`` hold anything after it.
    Returns uint64: 16 bits each at GOING_AT, INSERTION_AT and DELETION_AT, at most one of the last two.
    """

    def generate(context, builder, signature, arguments):
        lanes, b = Lanes(context, builder), builder
        old, new = (_row(b, address) for address in arguments[:2])
        k, hi, m, n = arguments[2:6]
        pattern, text = (b.inttoptr(address, ir.IntType(8).as_pointer()) for address in arguments[6:])
        diagonals = lanes.diagonals(k)
        inside = b.icmp_signed("<=", diagonals, lanes.splat(hi))
        limit = lanes.min(lanes.splat(n), b.add(lanes.splat(m), diagonals))
        left, here, right = (lanes.load(old, k, step) for step in (-1, 0, 1))
        one_more = b.add(lanes.max(left, here), constant(1))
        deletion = b.icmp_signed(">", right, one_more)
        insertion = b.and_(b.icmp_signed(">", left, here), b.not_(deletion))
        offset = lanes.min(lanes.max(right, one_more), limit)
        end, told = lanes.going_on(pattern, text, offset, diagonals, limit, inside)
        lanes.store(end, new, k, 4)
        for mask, at in ((insertion, INSERTION_AT), (deletion, DELETION_AT)):
            told = b.or_(told, b.shl(lanes.bits(b.and_(inside, mask)), ir.Constant(told.type, at)))
        return told

    return types.uint64(*[types.int64] * 8), generate
