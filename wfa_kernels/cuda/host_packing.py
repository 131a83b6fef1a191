"""Letters packed by the host's cores, as packing says: what crosses the wire then is a quarter of the letters.

Memory is the limit, not the few vector instructions: for every letter a byte is read and 1/4 of one is written, 3/8 if
all marks are, which is left out where they are 0 already: two EPYC cores pack 32 GB of letters a second in place of 29.
The processor's own prefetching stops at every page, so letters are asked for some way ahead: 8 threads of a Xeon pack
54 GB a second in place of 37, all marks written. Writing past the caches was slower (41).
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from wfa_kernels.cuda.packing import LETTERS

#: Letters that are packed at once: two words.
BLOCK = 64
#: How far ahead letters are asked for.
_AHEAD = 2048
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


@intrinsic
def _codes(typing_context, letters, at):
    """Of the BLOCK letters of a contiguous uint8 array from index ``at`` on, uint64 each: low code bits, high code
    bits, and which letters have no code. The caller keeps within the array.
    """

    def generate(context, builder, signature, arguments):
        byte, number, long = (ir.IntType(bits) for bits in (8, 32, 64))
        block, pointer = ir.VectorType(byte, BLOCK), ir.PointerType()
        data = builder.gep(
            context.make_array(signature.args[0])(context, builder, value=arguments[0]).data, arguments[1:]
        )
        found = builder.load(builder.bitcast(data, block.as_pointer()))
        found.align = 1
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        prefetch = builder.module.globals.get("llvm.prefetch.p0") or ir.Function(
            builder.module, kind, "llvm.prefetch.p0"
        )
        to_read, near, is_data = (ir.Constant(number, value) for value in (0, 3, 1))
        ahead = builder.inttoptr(builder.add(builder.ptrtoint(data, long), ir.Constant(long, _AHEAD)), pointer)
        builder.call(prefetch, [ahead, to_read, near, is_data])

        def every(value):
            return ir.Constant(block, [ir.Constant(byte, value)] * BLOCK)

        bits = [builder.icmp_unsigned("!=", builder.and_(found, every(bit)), every(0)) for bit in (2, 4)]
        strange = None
        for letter in b"ACGT":
            other = builder.icmp_unsigned("!=", found, every(letter))
            strange = other if strange is None else builder.and_(strange, other)
        words = [builder.bitcast(mask, long) for mask in (*bits, strange)]
        return context.make_tuple(builder, signature.return_type, words)

    return types.UniTuple(types.uint64, 3)(letters, types.int64), generate


@njit(nogil=True, cache=True)
def pack(letters, planes, odd, marked):
    """Pack letters; whether one of them has no code.

    letters: uint8[n]. planes: uint64[ceil(n / 32)], odd: uint32[ceil(n / 32)], written; see packing. marked: whether
    odd may be other than 0 before.
    """
    whole = len(letters) // BLOCK * BLOCK
    strange = _pack_blocks(letters, whole, planes, odd, marked)
    if whole < len(letters):
        last, last_planes, last_odd = np.full(BLOCK, ord("A"), np.uint8), np.empty(2, np.uint64), np.empty(2, np.uint32)
        last[: len(letters) - whole] = letters[whole:]
        strange |= _pack_blocks(last, BLOCK, last_planes, last_odd, True)
        first = whole // LETTERS
        planes[first:], odd[first:] = last_planes[: len(planes) - first], last_odd[: len(odd) - first]
    return strange != np.uint64(0)


@njit(nogil=True, cache=True)
def _pack_blocks(letters, count, planes, odd, marked):
    """Pack the first letters, whole blocks; nonzero where one of them has no code."""
    strange = np.uint64(0)
    for block in range(count // BLOCK):
        low, high, other = _codes(letters, block * BLOCK)
        planes[2 * block] = (high << _HALF) | (low & _LOW)
        planes[2 * block + 1] = (high & ~_LOW) | (low >> _HALF)
        if marked or other != np.uint64(0):
            odd[2 * block], odd[2 * block + 1] = other & _LOW, other >> _HALF
        strange |= other
    return strange
