"""Letters as bit planes, 64 at once, and calls of compiled functions by address."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

#: Letters taken at once.
LETTERS = 64
_I8, _I32, _I64 = (ir.IntType(bits) for bits in (8, 32, 64))
_BYTES = ir.VectorType(_I8, LETTERS)


def _all(value):
    return ir.Constant(_BYTES, [value] * LETTERS)


@intrinsic(prefer_literal=True)
def letter_planes(typing_context, address, backwards):
    """Two planes of the 64 bytes at an address: bits 1 and 2 of each, which tell A, C, G and T apart.

    backwards: 0 or 1, a constant: the last byte becomes bit 0. Returns three uint64: the planes, and which bytes are
    one of the four letters.
    """
    turned = backwards.literal_value

    def generate(context, builder, signature, arguments):
        b = builder
        loaded = b.load(b.inttoptr(arguments[0], ir.PointerType()), typ=_BYTES)
        loaded.align = 1
        if turned:
            order = ir.Constant(ir.VectorType(_I32, LETTERS), list(range(LETTERS))[::-1])
            loaded = b.shuffle_vector(loaded, ir.Constant(_BYTES, ir.Undefined), order)
        planes = [b.icmp_unsigned("!=", b.and_(loaded, _all(bit)), _all(0)) for bit in (2, 4)]
        known = [b.icmp_unsigned("==", loaded, _all(letter)) for letter in b"ACGT"]
        planes.append(b.or_(b.or_(known[0], known[1]), b.or_(known[2], known[3])))
        return context.make_tuple(b, signature.return_type, [b.bitcast(plane, _I64) for plane in planes])

    return types.UniTuple(types.uint64, 3)(types.int64, backwards), generate


@intrinsic
def call_address(typing_context, address, arguments):
    """Call the compiled function of int64 arguments and no result at an address. arguments: a tuple of int64."""

    def generate(context, builder, signature, values):
        numbers = [builder.extract_value(values[1], index) for index in range(len(signature.args[1]))]
        kind = ir.FunctionType(ir.VoidType(), [_I64] * len(numbers))
        builder.call(builder.inttoptr(values[0], kind.as_pointer()), numbers)
        return context.get_dummy_value()

    return types.void(types.int64, arguments), generate
