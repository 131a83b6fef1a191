"""The edit-distance recurrence for one diagonal of 16 pairs at once, as LLVM vector instructions.

A row, the offsets of a wavefront, is of vectors of 16 offsets, one of each pair.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from wfa_kernels.cpu.intrinsics import BLOCK
from wfa_kernels.cpu.lanes import LANES, Lanes, constant

#: Bytes of a vector. The numbers of a group are these vectors: the pairs' lengths, their final diagonals n - m, and
#: where their letters begin, behind an address for all patterns and one for all texts.
VECTOR = 4 * LANES
M, N, FINAL, PATTERN, TEXT = range(5)
NUMBERS = 5 * VECTOR
_BYTE, _I32, _I64 = (ir.IntType(bits) for bits in (8, 32, 64))
_EVERY = ir.Constant(ir.VectorType(ir.IntType(1), LANES), [1] * LANES)
_PAIRS = ir.Constant(ir.VectorType(_I32, LANES), list(range(LANES)))


class _Group(Lanes):
    """Vectors at addresses (int64) that are multiples of their size."""

    def pointer(self, address, bits=32):
        return self.builder.inttoptr(address, ir.IntType(bits).as_pointer())

    def vector(self, address, which=0):
        loaded = self.load(self.pointer(address), ir.Constant(_I64, which * LANES))
        loaded.align = VECTOR
        return loaded


@intrinsic
def next_cells(typing_context, old, new, k, numbers, patterns, texts):
    """Thesis Eq. 4 for diagonal k of all pairs, with four letters of the extend operator.

    All are int64. old: address of diagonal k - 1 of the errors before, behind which are diagonals k and k + 1; new: of
    the cell to write, which may be ``old``. numbers: address of the pairs' numbers; patterns, texts: the addresses
    behind which their letters begin, of which 4 behind the last are read. All pairs have reached one of the diagonals.
    Returns uint64: 16 bits of those that may match further.
    """

    def generate(context, builder, signature, arguments):
        group, b = _Group(context, builder), builder
        old, new, k, numbers, patterns, texts = arguments
        left, here, right = (group.vector(old, which) for which in range(3))
        m, n, pattern_at, text_at = (group.vector(numbers, which) for which in (M, N, PATTERN, TEXT))
        diagonal = group.splat(k)
        limit = group.min(n, b.add(m, diagonal))
        one_more = b.add(group.max(left, here), constant(1))
        offset = group.min(group.max(right, one_more), limit)
        pattern = group.gather(group.pointer(patterns, 8), b.add(pattern_at, b.sub(offset, diagonal)), _EVERY)
        text = group.gather(group.pointer(texts, 8), b.add(text_at, offset), _EVERY)
        end, going = group.matched(pattern, text, offset, limit, _EVERY)
        group.store(end, group.pointer(new), ir.Constant(_I64, 0), VECTOR)
        return going

    return types.uint64(*[types.int64] * 6), generate


@intrinsic
def ended(typing_context, middle, errors, numbers):
    """uint64: the bits of the pairs whose final diagonal has reached the end of the text.

    All are int64. middle: address of diagonal 0 of a row of ``errors`` errors; numbers: as next_cells has it.
    """

    def generate(context, builder, signature, arguments):
        group, b = _Group(context, builder), builder
        middle, errors, numbers = arguments
        final, n = (group.vector(numbers, which) for which in (FINAL, N))
        bound = group.splat(errors)
        inside = b.and_(b.icmp_signed("<=", final, bound), b.icmp_signed(">=", final, b.neg(bound)))
        index = b.add(b.mul(final, constant(VECTOR)), b.mul(_PAIRS, constant(4)))
        offset = group.gather(group.pointer(middle, 8), index, inside)
        return group.bits(b.and_(inside, b.icmp_signed("==", offset, n)))

    return types.uint64(*[types.int64] * 3), generate


@intrinsic
def fill_lanes(typing_context, at, number):
    """All 16 offsets at an address get one number; both int64."""

    def generate(context, builder, signature, arguments):
        group = _Group(context, builder)
        at, number = arguments
        group.store(group.splat(number), group.pointer(at), ir.Constant(_I64, 0), VECTOR)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def copy_block(typing_context, source, target):
    """Copy BLOCK bytes from one address to another that is a multiple of it; both int64."""

    def generate(context, builder, signature, arguments):
        block = ir.VectorType(_BYTE, BLOCK)
        source, target = (builder.inttoptr(address, ir.PointerType()) for address in arguments)
        loaded = builder.load(source, typ=block)
        loaded.align = 1
        builder.store(loaded, target).align = BLOCK
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate
