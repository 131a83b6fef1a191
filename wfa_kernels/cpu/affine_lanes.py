"""The gap-affine recurrence for 16 neighbouring diagonals at once, as LLVM vector instructions.

Numba's loops over diagonals vectorise, but neither with the extend operator nor across the five rows read and three
written; one fused step on vectors is two to four times as fast. The vectors are plain LLVM IR: LLVM lowers them to what
the processor has (AVX-512, AVX2, NEON).
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

#: Diagonals per step; rows and origins need this much room behind their last cell.
LANES = 16
#: Offset of a diagonal that no path of the score reaches.
UNREACHED = -(2**30)
#: Byte of origins: whether I and D extend a gap, and where M comes from.
EXTENDS_INSERTION, EXTENDS_DELETION = 1, 2
FROM_MISMATCH, FROM_INSERTION, FROM_DELETION, SOURCE = 0, 4, 8, 12

_BIT, _BYTE, _I32, _I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
_OFFSETS = ir.VectorType(_I32, LANES)
_POINTERS = ir.VectorType(ir.PointerType(), LANES)


def _constant(value):
    return ir.Constant(_OFFSETS, [value] * LANES)


class _Lanes:
    """Vector operations on top of an IRBuilder."""

    def __init__(self, context, builder):
        self.context = context
        self.builder = builder

    def splat(self, scalar):
        """All lanes hold the low 32 bits of an int64."""
        nothing = ir.Constant(_OFFSETS, ir.Undefined)
        narrow = self.builder.trunc(scalar, _I32)
        one = self.builder.insert_element(nothing, narrow, ir.Constant(_I32, 0))
        return self.builder.shuffle_vector(one, nothing, _constant(0))

    def call(self, name, result, arguments):
        function = self.builder.module.globals.get(name)
        if function is None:
            function = ir.Function(self.builder.module, ir.FunctionType(result, [a.type for a in arguments]), name)
        return self.builder.call(function, arguments)

    def max(self, a, b):
        return self.call(f"llvm.smax.v{LANES}i32", _OFFSETS, [a, b])

    def min(self, a, b):
        return self.call(f"llvm.smin.v{LANES}i32", _OFFSETS, [a, b])

    def data(self, array_type, array):
        return self.context.make_array(array_type)(self.context, self.builder, value=array).data

    def at(self, data, index, vector):
        """Pointer to a vector that starts at element ``index``."""
        return self.builder.bitcast(self.builder.gep(data, [index]), vector.as_pointer())

    def load(self, data, index, step=0):
        """Offsets index + step, index + step + 1, ..."""
        index = self.builder.add(index, ir.Constant(_I64, step))
        loaded = self.builder.load(self.at(data, index, _OFFSETS), typ=_OFFSETS)
        loaded.align = 4
        return loaded

    def store(self, value, data, index, align):
        self.builder.store(value, self.at(data, index, value.type)).align = align

    def gather(self, data, indices, mask):
        """Four letters at each byte index; 0 where masked out."""
        b = self.builder
        wide = ir.VectorType(_I64, LANES)
        base = b.insert_element(ir.Constant(wide, ir.Undefined), b.ptrtoint(data, _I64), ir.Constant(_I32, 0))
        base = b.shuffle_vector(base, ir.Constant(wide, ir.Undefined), _constant(0))
        pointers = b.inttoptr(b.add(base, b.sext(indices, wide)), _POINTERS)
        name = f"llvm.masked.gather.v{LANES}i32.v{LANES}p0"
        return self.call(name, _OFFSETS, [pointers, ir.Constant(_I32, 1), mask, _constant(0)])


def _next(lanes, rings, sequences, rows, k, hi, m, n, text_at, strict):
    """Emit the recurrence: stores I, D and extended M; returns (mask of lanes to go on, origins as offsets).

    strict: what lies outside the matrix is unreached; else M is clamped to it. And no gap opens where one has ended.
    """
    b = lanes.builder
    new_m, new_i, new_d, replaced, opened, extended_i, extended_d, ended_i, ended_d = rows
    diagonals = b.add(lanes.splat(k), ir.Constant(_OFFSETS, list(range(LANES))))
    opened_i, longer_i = lanes.load(rings, opened, -1), lanes.load(rings, extended_i, -1)
    opened_d, longer_d = lanes.load(rings, opened, 1), lanes.load(rings, extended_d, 1)
    if strict:
        gap_i, gap_d = lanes.load(rings, ended_i, -1), lanes.load(rings, ended_d, 1)
        opened_i = b.select(b.icmp_signed("==", opened_i, gap_i), _constant(UNREACHED), opened_i)
        opened_d = b.select(b.icmp_signed("==", opened_d, gap_d), _constant(UNREACHED), opened_d)
    inside = b.icmp_signed("<=", diagonals, lanes.splat(hi))
    limit = lanes.min(lanes.splat(n), b.add(lanes.splat(m), diagonals))

    def kept(offsets):  # what is past hi or unreached must read as unreached, or the +1 of many scores adds up
        reached = b.and_(inside, b.icmp_signed(">=", offsets, _constant(0)))
        if strict:
            reached = b.and_(reached, b.icmp_signed("<=", offsets, limit))
        return b.select(reached, offsets, _constant(UNREACHED)), reached

    insertion, _ = kept(b.add(lanes.max(opened_i, longer_i), _constant(1)))
    deletion, _ = kept(lanes.max(opened_d, longer_d))
    mismatch = b.add(lanes.load(rings, replaced), _constant(1))
    if strict:
        mismatch, _ = kept(mismatch)
    best, reached = kept(lanes.max(mismatch, lanes.max(insertion, deletion)))
    lanes.store(insertion, rings, new_i, 4)
    lanes.store(deletion, rings, new_d, 4)

    offset = lanes.min(best, limit)
    pattern_letters = lanes.gather(sequences, b.sub(offset, diagonals), reached)
    text_letters = lanes.gather(sequences, b.add(offset, lanes.splat(text_at)), reached)
    differing = b.xor(pattern_letters, text_letters)
    zeros = lanes.call(f"llvm.cttz.v{LANES}i32", _OFFSETS, [differing, ir.Constant(_BIT, 0)])
    end = lanes.min(b.add(offset, b.lshr(zeros, _constant(3))), limit)
    lanes.store(b.select(reached, end, _constant(UNREACHED)), rings, new_m, 4)
    all_equal = b.and_(reached, b.icmp_signed("==", differing, _constant(0)))
    going = b.and_(all_equal, b.icmp_signed("<", end, limit))

    origins = b.select(b.icmp_signed("==", best, deletion), _constant(FROM_DELETION), _constant(FROM_MISMATCH))
    origins = b.select(b.icmp_signed("==", best, insertion), _constant(FROM_INSERTION), origins)
    for longer, fresh, bit in ((longer_i, opened_i, EXTENDS_INSERTION), (longer_d, opened_d, EXTENDS_DELETION)):
        extends = b.select(b.icmp_signed(">", longer, fresh), _constant(bit), _constant(0))
        origins = b.or_(origins, extends)
    return b.zext(b.bitcast(going, ir.IntType(LANES)), _I64), origins


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
        lanes = _Lanes(context, builder)
        data = [lanes.data(signature.args[i], arguments[i]) for i in (0, 1)]
        indices = [builder.add(builder.extract_value(arguments[2], i), arguments[3]) for i in range(9)]
        return _next(lanes, *data, indices, *arguments[3:8], _strict(reduction))[0]

    return types.uint64(rings, sequences, _ROWS, *[types.int64] * 5, reduction), generate


@intrinsic
def next_lanes_traced(typing_context, rings, sequences, rows, k, hi, m, n, text_at, reduction, origins, origin_at):
    """next_lanes that also stores a byte of origins for each diagonal at origins[origin_at:]."""

    def generate(context, builder, signature, arguments):
        lanes = _Lanes(context, builder)
        data = [lanes.data(signature.args[i], arguments[i]) for i in (0, 1)]
        indices = [builder.add(builder.extract_value(arguments[2], i), arguments[3]) for i in range(9)]
        going, noted = _next(lanes, *data, indices, *arguments[3:8], _strict(reduction))
        narrow = builder.trunc(noted, ir.VectorType(_BYTE, LANES))
        lanes.store(narrow, lanes.data(signature.args[9], arguments[9]), arguments[10], 1)
        return going

    return types.uint64(rings, sequences, _ROWS, *[types.int64] * 5, reduction, origins, types.int64), generate
