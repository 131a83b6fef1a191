"""ASCII letters to two bits each, four at a time, in the kernel that uses them (thesis section 3.2.2).

The code of a letter is bits 1 and 2 of its ASCII byte: A 00, C 01, T 10, G 11. As bit planes, 32 letters become two
words, bit q of which are the two code bits of letter q; packed, 16 letters become one word, letter q in bits 2q and
2q + 1. Only A, C, G and T have a code: ``odd`` tells whether any other byte was met.
"""

from numba import cuda, int32, uint32, uint64

#: Letters of one plane word.
LETTERS = 32
#: Bytes that a reader may touch past the end of the last sequence.
PADDING_BYTES = 64
#: Longest sequence: lengths cross the wire as 16 bits.
MAX_LENGTH = 0xFFFF


@cuda.jit(device=True, inline="always")
def funnel(low, high, shift):
    """The low word of (high, low) shifted right by shift < 32."""
    return uint32(((uint64(high) << uint64(32)) | uint64(low)) >> uint64(shift))


@cuda.jit(device=True, inline="always")
def _odd_bytes(four):
    """Nonzero in the bytes that are none of A, C, G, T."""
    bit_0 = (four >> uint32(1)) & uint32(0x01010101)
    bit_1 = (four >> uint32(2)) & uint32(0x01010101)
    # All letters but T are 01000xx1 in the other bits; T is 01010xx0.
    t = bit_1 & ~bit_0
    return (four & uint32(0xF9F9F9F9)) ^ uint32(0x41414141) ^ t ^ (t << uint32(4))


@cuda.jit(device=True, inline="always")
def _bytes_inside(left):
    """Mask of the first ``left`` (clamped to 0 .. 4) bytes of a word."""
    inside = min(max(left, int32(0)), int32(4))
    return uint32((uint64(1) << uint64(8 * inside)) - uint64(1))


@cuda.jit(device=True, inline="always")
def ascii_planes(letters, start, first, length):
    """(plane 0, plane 1, odd) of letters first .. first + 31 of a sequence of ASCII bytes.

    letters: uint32[...] flat bytes, four a word. start: byte at which the sequence begins. length: of the sequence;
    letters outside of it have code 0. odd: nonzero where a letter within is none of A, C, G, T.
    """
    plane_0, plane_1, odd = uint32(0), uint32(0), uint32(0)
    left = int32(length) - int32(first)
    if int32(first) < int32(0) or left <= int32(0):
        return plane_0, plane_1, odd
    at = uint32(start) + uint32(first)
    word = at >> uint32(2)
    shift = (at & uint32(3)) << uint32(3)
    low = letters[word]
    for q in range(8):
        high = letters[word + uint32(q + 1)]
        four = funnel(low, high, shift)
        low = high
        kept = _bytes_inside(left - int32(4 * q))
        odd |= _odd_bytes(four) & kept
        # The product moves bits 0, 8, 16, 24 to 28 .. 31; no two of its terms meet in a bit.
        nibble_0 = (uint64((four >> uint32(1)) & uint32(0x01010101) & kept) * uint64(0x10204080)) >> uint64(28)
        nibble_1 = (uint64((four >> uint32(2)) & uint32(0x01010101) & kept) * uint64(0x10204080)) >> uint64(28)
        plane_0 |= uint32(nibble_0 & uint64(15)) << uint32(4 * q)
        plane_1 |= uint32(nibble_1 & uint64(15)) << uint32(4 * q)
    return plane_0, plane_1, odd


@cuda.jit(device=True, inline="always")
def ascii_packed(letters, start, first, length):
    """(packed, odd) of letters first .. first + 15 of a sequence of ASCII bytes; see ascii_planes."""
    packed, odd = uint32(0), uint32(0)
    left = int32(length) - int32(first)
    if left <= int32(0):
        return packed, odd
    at = uint32(start) + uint32(first)
    word = at >> uint32(2)
    shift = (at & uint32(3)) << uint32(3)
    low = letters[word]
    for q in range(4):
        high = letters[word + uint32(q + 1)]
        four = funnel(low, high, shift)
        low = high
        kept = _bytes_inside(left - int32(4 * q))
        odd |= _odd_bytes(four) & kept
        codes = (four >> uint32(1)) & uint32(0x03030303) & kept
        codes = (codes | (codes >> uint32(6))) & uint32(0x000F000F)
        packed |= ((codes | (codes >> uint32(12))) & uint32(0xFF)) << uint32(8 * q)
    return packed, odd
