"""Vectors of 16 offsets of neighbouring diagonals, as LLVM instructions: what the wavefront kernels' steps are made of.

LLVM lowers them to what the processor has (AVX-512, AVX2, NEON).
"""

from llvmlite import ir

#: Diagonals per step; rows need this much room behind their last cell.
LANES = 16

_BYTE, _I32, _I64 = (ir.IntType(bits) for bits in (8, 32, 64))
OFFSETS = ir.VectorType(_I32, LANES)
_POINTERS = ir.VectorType(ir.PointerType(), LANES)


def constant(value):
    return ir.Constant(OFFSETS, [value] * LANES)


class Lanes:
    """Vector operations on top of an IRBuilder."""

    def __init__(self, context, builder):
        self.context = context
        self.builder = builder

    def splat(self, scalar):
        """All lanes hold the low 32 bits of an int64."""
        nothing = ir.Constant(OFFSETS, ir.Undefined)
        narrow = self.builder.trunc(scalar, _I32)
        one = self.builder.insert_element(nothing, narrow, ir.Constant(_I32, 0))
        return self.builder.shuffle_vector(one, nothing, constant(0))

    def call(self, name, result, arguments):
        function = self.builder.module.globals.get(name)
        if function is None:
            function = ir.Function(self.builder.module, ir.FunctionType(result, [a.type for a in arguments]), name)
        return self.builder.call(function, arguments)

    def max(self, a, b):
        return self.call(f"llvm.smax.v{LANES}i32", OFFSETS, [a, b])

    def min(self, a, b):
        return self.call(f"llvm.smin.v{LANES}i32", OFFSETS, [a, b])

    def data(self, array_type, array):
        return self.context.make_array(array_type)(self.context, self.builder, value=array).data

    def at(self, data, index, vector):
        """Pointer to a vector that starts at element ``index``."""
        return self.builder.bitcast(self.builder.gep(data, [index]), vector.as_pointer())

    def load(self, data, index, step=0):
        """Offsets index + step, index + step + 1, ..."""
        index = self.builder.add(index, ir.Constant(_I64, step))
        loaded = self.builder.load(self.at(data, index, OFFSETS), typ=OFFSETS)
        loaded.align = 4
        return loaded

    def store(self, value, data, index, align):
        self.builder.store(value, self.at(data, index, value.type)).align = align

    def diagonals(self, k):
        """k, k + 1, ...: the diagonals of the lanes."""
        return self.builder.add(self.splat(k), ir.Constant(OFFSETS, list(range(LANES))))

    def gather(self, data, indices, mask):
        """Four letters at each byte index; 0 where masked out."""
        pointers = self.builder.gep(data, [indices], source_etype=_BYTE)
        pointers.type = _POINTERS  # of one pointer and a vector of indices; as such LLVM knows indices of 32 bits
        name = f"llvm.masked.gather.v{LANES}i32.v{LANES}p0"
        return self.call(name, OFFSETS, [pointers, ir.Constant(_I32, 1), mask, constant(0)])

    def going_on(self, pattern, text, offset, diagonals, limit, inside):
        """(offsets behind at most four matches, bits of the lanes that may match further), lanes inside alone."""
        b = self.builder
        letters = self.gather(pattern, b.sub(offset, diagonals), inside), self.gather(text, offset, inside)
        return self.matched(*letters, offset, limit, inside)

    def matched(self, pattern, text, offset, limit, inside):
        """going_on for the four letters that stand at the offsets."""
        b = self.builder
        differing = b.xor(pattern, text)
        zeros = self.call(f"llvm.cttz.v{LANES}i32", OFFSETS, [differing, ir.Constant(ir.IntType(1), 0)])
        end = self.min(b.add(offset, b.lshr(zeros, constant(3))), limit)
        going = b.and_(b.and_(inside, b.icmp_signed("==", differing, constant(0))), b.icmp_signed("<", end, limit))
        return end, self.bits(going)

    def bits(self, mask):
        """A mask as the low bits of an int64."""
        return self.builder.zext(self.builder.bitcast(mask, ir.IntType(LANES)), _I64)
