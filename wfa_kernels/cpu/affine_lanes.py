"""The gap-affine recurrence for 16 neighbouring diagonals at once, as LLVM vector instructions.

Numba's loops over diagonals vectorise, but neither with the extend operator nor across the five rows read and three
written; one fused step on vectors is two to four times as fast. The vectors are plain LLVM IR: LLVM lowers them to what
the processor has (AVX-512, AVX2, NEON).
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from wfa_kernels.cpu.lanes import LANES, Lanes, constant

#: Offset of a diagonal that no path of the score reaches.
UNREACHED = -(2**30)
#: Byte of origins: whether I and D extend a gap, and where M comes from.
EXTENDS_INSERTION, EXTENDS_DELETION = 1, 2
FROM_MISMATCH, FROM_INSERTION, FROM_DELETION, SOURCE = 0, 4, 8, 12


def _next(lanes, rings, sequences, rows, k, hi, m, n, text_at, strict):
    """Emit the recurrence: stores I, D and extended M; returns (bits of the lanes to go on, origins as offsets).

    strict: what lies outside the matrix is unreached; else M is clamped to it. And no gap opens where one has ended.
    """
    b = lanes.builder
    new_m, new_i, new_d, replaced, opened, extended_i, extended_d, ended_i, ended_d = rows
    diagonals = lanes.diagonals(k)
    opened_i, longer_i = lanes.load(rings, opened, -1), lanes.load(rings, extended_i, -1)
    opened_d, longer_d = lanes.load(rings, opened, 1), lanes.load(rings, extended_d, 1)
    if strict:
        gap_i, gap_d = lanes.load(rings, ended_i, -1), lanes.load(rings, ended_d, 1)
        opened_i = b.select(b.icmp_signed("==", opened_i, gap_i), constant(UNREACHED), opened_i)
        opened_d = b.select(b.icmp_signed("==", opened_d, gap_d), constant(UNREACHED), opened_d)
    inside = b.icmp_signed("<=", diagonals, lanes.splat(hi))
    limit = lanes.min(lanes.splat(n), b.add(lanes.splat(m), diagonals))

    def kept(offsets):  # what is past hi or unreached must read as unreached, or the +1 of many scores adds up
        reached = b.and_(inside, b.icmp_signed(">=", offsets, constant(0)))
        if strict:
            reached = b.and_(reached, b.icmp_signed("<=", offsets, limit))
        return b.select(reached, offsets, constant(UNREACHED)), reached

    insertion, _ = kept(b.add(lanes.max(opened_i, longer_i), constant(1)))
    deletion, _ = kept(lanes.max(opened_d, longer_d))
    mismatch = b.add(lanes.load(rings, replaced), constant(1))
    if strict:
        mismatch, _ = kept(mismatch)
    best, reached = kept(lanes.max(mismatch, lanes.max(insertion, deletion)))
    lanes.store(insertion, rings, new_i, 4)
    lanes.store(deletion, rings, new_d, 4)

    text = b.gep(sequences, [text_at])
    end, going = lanes.going_on(sequences, text, lanes.min(best, limit), diagonals, limit, reached)
    lanes.store(b.select(reached, end, constant(UNREACHED)), rings, new_m, 4)

    origins = b.select(b.icmp_signed("==", best, deletion), constant(FROM_DELETION), constant(FROM_MISMATCH))
    origins = b.select(b.icmp_signed("==", best, insertion), constant(FROM_INSERTION), origins)
    for longer, fresh, bit in ((longer_i, opened_i, EXTENDS_INSERTION), (longer_d, opened_d, EXTENDS_DELETION)):
        extends = b.select(b.icmp_signed(">", longer, fresh), constant(bit), constant(0))
        origins = b.or_(origins, extends)
    return going, origins


_ROWS = types.UniTuple(types.int64, 9)


def _strict(reduction):
    return not isinstance(reduction, types.NoneType)


@intrinsic
def next_lanes(typing_context, rings, sequences, rows, k, hi, m, n, text_at, reduction):
    """Eq. 3 for diagonals k .. k + 15, with four letters of the extend operator.

    rings: int32[...]; sequences: uint8[...], pattern at 0 and text at ``text_at``, both padded by 4 bytes or more.
    rows: nine indices into rings of diagonal 0: M, I, D to write, then M[s-x], M[s-o-e], I[s-e], D[s-e], I[s-o-e],
    D[s-o-e]; the last two count with a ``reduction`` only.
    Diagonals past ``hi`` are written as unreached; so is what lies outside the matrix, unless ``reduction``, of which
    the type alone counts, is None: then M is clamped to the matrix. With one no gap opens where one of its kind has
    just ended. Returns uint64, bit j set where diagonal k + j may match further.
    """

    def generate(context, builder, signature, arguments):
        lanes = Lanes(context, builder)
        data = [lanes.data(signature.args[i], arguments[i]) for i in (0, 1)]
        indices = [builder.add(builder.extract_value(arguments[2], i), arguments[3]) for i in range(9)]
        return _next(lanes, *data, indices, *arguments[3:8], _strict(reduction))[0]

    return types.uint64(rings, sequences, _ROWS, *[types.int64] * 5, reduction), generate


@intrinsic
def next_lanes_traced(typing_context, rings, sequences, rows, k, hi, m, n, text_at, reduction, origins, origin_at):
    """next_lanes that also stores a byte of origins for each diagonal at origins[origin_at:]."""

    def generate(context, builder, signature, arguments):
        lanes = Lanes(context, builder)
        data = [lanes.data(signature.args[i], arguments[i]) for i in (0, 1)]
        indices = [builder.add(builder.extract_value(arguments[2], i), arguments[3]) for i in range(9)]
        going, noted = _next(lanes, *data, indices, *arguments[3:8], _strict(reduction))
        narrow = builder.trunc(noted, ir.VectorType(ir.IntType(8), LANES))
        lanes.store(narrow, lanes.data(signature.args[9], arguments[9]), arguments[10], 1)
        return going

    return types.uint64(rings, sequences, _ROWS, *[types.int64] * 5, reduction, origins, types.int64), generate
