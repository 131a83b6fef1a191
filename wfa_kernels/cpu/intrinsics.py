"""Memory and bit operations Numba does not offer, as LLVM instructions.

``peek``/``poke`` index without the wrap-around of negative indices that ordinary indexing compiles in (a compare and
an add per access). No bounds are checked: the caller keeps every index within the array.

A small function called per cell takes an address, not an array: passing an array counts its references, two atomic
operations a call, which made the whole edit-distance wavefront take 10 ns a cell instead of 1.3.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_I64 = ir.IntType(64)
#: Letters that differing_letters compares.
BLOCK = 64


def _byte_pointer(context, builder, base_type, base, byte_index, bits):
    """Pointer to an integer of ``bits`` bits that starts at a byte of an array's data or of an address."""
    if isinstance(base_type, types.Integer):
        flat = builder.inttoptr(base, ir.IntType(8).as_pointer())
    else:
        data = context.make_array(base_type)(context, builder, value=base).data
        flat = builder.bitcast(data, ir.IntType(8).as_pointer())
    return builder.bitcast(builder.gep(flat, [byte_index]), ir.IntType(bits).as_pointer())


def _base_type(base):
    return types.int64 if isinstance(base, types.Integer) else base


@intrinsic
def address_of(typing_context, array):
    """Address of a contiguous array's data, as int64. The caller keeps the array alive by using it later."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, value=arguments[0]).data
        return builder.ptrtoint(data, _I64)

    return types.int64(array), generate


@intrinsic
def load_u64(typing_context, base, byte_index):
    """uint64 (little endian) at any byte of a contiguous array or address, aligned or not."""

    def generate(context, builder, signature, arguments):
        loaded = builder.load(_byte_pointer(context, builder, signature.args[0], *arguments, 64))
        loaded.align = 1
        return loaded

    return types.uint64(_base_type(base), types.int64), generate


@intrinsic
def load_u8(typing_context, address, byte_index):
    """uint8 at a byte of an address (int64)."""

    def generate(context, builder, signature, arguments):
        return builder.load(_byte_pointer(context, builder, signature.args[0], *arguments, 8))

    return types.uint8(types.int64, types.int64), generate


@intrinsic
def prefetch(typing_context, address):
    """Have the cache line of an address (int64) brought near; any address will do."""

    def generate(context, builder, signature, arguments):
        pointer, number = ir.PointerType(), ir.IntType(32)
        module = builder.module
        function = module.globals.get("llvm.prefetch.p0")
        if function is None:
            kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
            function = ir.Function(module, kind, "llvm.prefetch.p0")
        to_read, keep, data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(function, [builder.inttoptr(arguments[0], pointer), to_read, keep, data])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def load_i32(typing_context, address):
    """int32 at an address (int64) that is a multiple of 4, as int64."""

    def generate(context, builder, signature, arguments):
        loaded = builder.load(builder.inttoptr(arguments[0], ir.PointerType()), typ=ir.IntType(32))
        loaded.align = 4
        return builder.sext(loaded, _I64)

    return types.int64(types.int64), generate


def _store(number_type, bits):
    """An intrinsic's answer: write the low ``bits`` of a number at an address (int64) that is a multiple of them."""

    def generate(context, builder, signature, arguments):
        address, number = arguments
        number = number if bits == 64 else builder.trunc(number, ir.IntType(bits))
        builder.store(number, builder.inttoptr(address, ir.PointerType())).align = bits // 8
        return context.get_dummy_value()

    return types.void(types.int64, number_type), generate


@intrinsic
def store_u8(typing_context, address, number):
    """Write the low 8 bits of a uint64 at an address (int64)."""
    return _store(types.uint64, 8)


@intrinsic
def store_u16(typing_context, address, number):
    """Write the low 16 bits of a uint64 at an even address (int64)."""
    return _store(types.uint64, 16)


@intrinsic
def store_i32(typing_context, address, number):
    """Write the low 32 bits of an int64 at an address (int64) that is a multiple of 4."""
    return _store(types.int64, 32)


@intrinsic
def store_u64(typing_context, address, number):
    """Write a uint64 at an address (int64) that is a multiple of 8."""
    return _store(types.uint64, 64)


@intrinsic
def peek(typing_context, array, index):
    """``array[index]`` of a contiguous 1-D array, 0 <= index < len(array) unchecked."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, value=arguments[0]).data
        return builder.load(builder.gep(data, [arguments[1]]))

    return array.dtype(array, types.int64), generate


@intrinsic
def poke(typing_context, array, index, value):
    """``array[index] = value`` of a contiguous 1-D array, 0 <= index < len(array) unchecked."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, value=arguments[0]).data
        builder.store(arguments[2], builder.gep(data, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(array, types.int64, array.dtype), generate


def _zeros(builder, name, word):
    function = builder.module.declare_intrinsic(name, [_I64], ir.FunctionType(_I64, [_I64, ir.IntType(1)]))
    return builder.call(function, [word, ir.Constant(ir.IntType(1), 0)])


@intrinsic
def count_trailing_zeros(typing_context, word):
    """Zero bits below the lowest set bit of a uint64, as int64; 64 for 0."""

    def generate(context, builder, signature, arguments):
        return _zeros(builder, "llvm.cttz", arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def count_leading_zeros(typing_context, word):
    """Zero bits above the highest set bit of a uint64, as int64; 64 for 0."""

    def generate(context, builder, signature, arguments):
        return _zeros(builder, "llvm.ctlz", arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def count_ones(typing_context, word):
    """Bits set in a uint64, as int64."""

    def generate(context, builder, signature, arguments):
        return builder.call(builder.module.declare_intrinsic("llvm.ctpop", [_I64]), arguments)

    return types.int64(types.uint64), generate


@intrinsic
def differing_letters(typing_context, first, second):
    """uint64: bit j is set where byte j of the BLOCK bytes at two addresses (int64) is not the same.

    One vector compare where the processor has AVX-512, two with AVX2.
    """

    def generate(context, builder, signature, arguments):
        letters = ir.VectorType(ir.IntType(8), BLOCK)
        loaded = [builder.load(builder.inttoptr(address, ir.PointerType()), typ=letters) for address in arguments]
        for block in loaded:
            block.align = 1
        return builder.bitcast(builder.icmp_unsigned("!=", *loaded), _I64)

    return types.uint64(types.int64, types.int64), generate
