"""Single instructions, and circuits of them, for kernels: they compile faster and better than Python's operators.

Types, LLVM's and Numba's, are made where they are used: LLVM's change with their use, Numba's have a number each, in
the order in which they are made, and Numba's cache of compiled kernels, which knows a kernel by all that it refers to,
would not find one again that refers to them.
"""

import time
from functools import cache

from wfa_kernels.cuda.device import simulated
from wfa_kernels.gates import ONE, ZERO

_WORD = 0xFFFFFFFF
#: Words that a thread loads or stores by one instruction, at a place that is a multiple of so many.
VECTOR = 4


def make_circuit(gates, inputs, outputs, name):
    """A function for kernels that computes a circuit, one LOP3 a gate: tuple of uint32 words to tuple of uint32 words.

    inputs: names of signals, in order. outputs: signals. name: one of its own for every circuit.
    """
    return _simulated(gates, inputs, outputs) if simulated() else _intrinsic(gates, inputs, outputs, name)


@cache
def make_funnel():
    """A function for kernels, (low, high, shift): the low word of the uint32 words shifted right together."""
    if simulated():
        from numba import uint32

        return lambda low, high, shift: uint32((int(high) << 32 | int(low)) >> (int(shift) & 31) & _WORD)
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def funnel(typing_context, low, high, shift):
        def generate(context, builder, signature, arguments):
            word = ir.IntType(32)
            kind = ir.FunctionType(word, [word] * 3)
            return builder.call(ir.InlineAsm(kind, "shf.r.wrap.b32 $0, $1, $2, $3;", "=r,r,r,r"), arguments)

        return types.uint32(types.uint32, types.uint32, types.uint32), generate

    return _named(intrinsic(funnel), "funnel")


@cache
def make_shift():
    """A function for kernels, (word, places): a uint32 word shifted left, 0 from 32 places (uint32) on."""
    if simulated():
        from numba import uint32

        return lambda word, places: uint32(int(word) << min(int(places), 32) & _WORD)
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def shift(typing_context, word, places):
        def generate(context, builder, signature, arguments):
            word = ir.IntType(32)
            kind = ir.FunctionType(word, [word] * 2)
            return builder.call(ir.InlineAsm(kind, "shl.b32 $0, $1, $2;", "=r,r,r"), arguments)

        return types.uint32(types.uint32, types.uint32), generate

    return _named(intrinsic(shift), "shift")


def whole_vectors(words):
    """So many words, or a few more: whole vectors."""
    return -(-words // VECTOR) * VECTOR


@cache
def make_load(count):
    """A function for kernels, (words, at): tuple of ``count`` uint32, whole vectors, from place ``at`` on.

    words: uint32[...]. at: uint64, a multiple of VECTOR.
    """
    if simulated():
        return lambda words, at: tuple(words[int(at) + i] for i in range(count))
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def load(typing_context, words, at):
        def generate(context, builder, signature, arguments):
            found = []
            for place in _vectors(context, builder, signature, arguments, count):
                vector = builder.load(place, align=4 * VECTOR)
                found += [builder.extract_element(vector, ir.IntType(32)(i)) for i in range(VECTOR)]
            return context.make_tuple(builder, signature.return_type, found)

        return types.UniTuple(types.uint32, count)(words, types.uint64), generate

    return _named(intrinsic(load), f"load {count}")


@cache
def make_store(count):
    """A function for kernels, (words, at, values): it stores a tuple of ``count`` uint32; see make_load."""
    if simulated():

        def store_one_by_one(words, at, values):
            for i in range(count):
                words[int(at) + i] = values[i]

        return store_one_by_one
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def store(typing_context, words, at, values):
        def generate(context, builder, signature, arguments):
            for first, place in enumerate(_vectors(context, builder, signature, arguments, count)):
                vector = ir.Constant(ir.VectorType(ir.IntType(32), VECTOR), ir.Undefined)
                for i in range(VECTOR):
                    word = builder.extract_value(arguments[2], first * VECTOR + i)
                    vector = builder.insert_element(vector, word, ir.IntType(32)(i))
                builder.store(vector, place, align=4 * VECTOR)
            return context.get_dummy_value()

        return types.void(words, types.uint64, types.UniTuple(types.uint32, count)), generate

    return _named(intrinsic(store), f"store {count}")


def _vectors(context, builder, signature, arguments, count):
    """Places of the vectors of an array, arguments[0], from arguments[1] on, in LLVM's terms."""
    from llvmlite import ir

    words = context.make_array(signature.args[0])(context, builder, arguments[0])
    first = builder.gep(words.data, [arguments[1]])
    vectors = builder.bitcast(first, ir.VectorType(ir.IntType(32), VECTOR).as_pointer())
    return [builder.gep(vectors, [ir.IntType(64)(i)]) for i in range(count // VECTOR)]


@cache
def make_clock():
    """A function for kernels, (): nanoseconds of the GPU's clock, int64, which all its processors share."""
    return time.perf_counter_ns if simulated() else _special_register("globaltimer", 64)


@cache
def make_processor():
    """A function for kernels, (): number, int32, of the processor that the thread is on."""
    return int if simulated() else _special_register("smid", 32)


def _special_register(register, bits):
    """Read anew wherever it stands, and neither before what stands before it nor after what follows."""
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    typed = {32: types.int32, 64: types.int64}[bits]

    def read(typing_context):
        def generate(context, builder, signature, arguments):
            kind = ir.FunctionType(ir.IntType(bits), [])
            moved = ir.InlineAsm(
                kind, f"mov.u{bits} $0, %{register};", "=l,~{memory}" if bits == 64 else "=r,~{memory}", True
            )
            return builder.call(moved, [])

        return typed(), generate

    return _named(intrinsic(read), register)


def _named(made, name):
    """Numba's cache of compiled kernels tells functions by this; by default it is another one in every process."""
    made._set_uuid(name)
    return made


def _simulated(gates, inputs, outputs):
    from numba import uint32

    def function(words):
        known = {ZERO: 0, ONE: _WORD} | {signal: int(word) for signal, word in zip(inputs, words, strict=True)}
        for gate in gates:
            known[gate.name] = gate.value(*(known[signal] for signal in gate.inputs)) & _WORD
        return tuple(uint32(known[signal]) for signal in outputs)

    return function


def _intrinsic(gates, inputs, outputs, name):
    """Written as LLVM code: the compiler would split gates into operations, and not find all of them again."""
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def typed(typing_context, words):
        signature = types.UniTuple(types.uint32, len(outputs))(types.UniTuple(types.uint32, len(inputs)))

        def generate(context, builder, signature, arguments):
            word = ir.IntType(32)
            known = {ZERO: word(0), ONE: word(_WORD)}
            known |= {signal: builder.extract_value(arguments[0], i) for i, signal in enumerate(inputs)}
            for gate in gates:
                operands = [known[signal] for signal in gate.inputs]
                operands += operands[:1] * (3 - len(operands))  # the table does not depend on these
                lop3 = ir.InlineAsm(
                    ir.FunctionType(word, [word] * 3), f"lop3.b32 $0, $1, $2, $3, {gate.table};", "=r,r,r,r"
                )
                known[gate.name] = builder.call(lop3, operands)
            return context.make_tuple(builder, signature.return_type, [known[signal] for signal in outputs])

        return signature, generate

    return _named(intrinsic(typed), name)
