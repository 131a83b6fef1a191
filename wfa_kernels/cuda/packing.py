"""Letters in two bits each, as bit planes: packed on the GPU from ASCII (thesis section 3.2.2), read by every kernel.

host_packing makes the same on the host.

The code of a letter is bits 1 and 2 of its ASCII byte: A 00, C 01, T 10, G 11. Of 32 letters in a row, one uint64 of
``planes`` holds the low code bits in its low half and the high code bits in its high half, bit q for letter q. The
letters of a batch lie end to end, with LEAD letters before the first: a kernel may read past both ends of a sequence,
as long as it does not believe what it reads there. Only A, C, G and T have a code: bit q of ``odd`` marks any other.
"""

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.cuda.device import inlined

#: Letters of one word.
LETTERS = 32
#: Words before the first letter and behind the last one: a band of 256 diagonals and the words at hand reach as far.
LEAD_WORDS, TAIL_WORDS = 16, 24
LEAD = LEAD_WORDS * LETTERS
#: Longest sequence of a design that is for many pairs: their lengths cross the wire as 16 bits at most.
MAX_LENGTH = 0xFFFF
#: Longest sequence of a design for the pairs that are over that; twice as many letters are less than 2**26.
MAX_LONG = 1 << 24
#: Threads of a block of pack_letters and of clear_batch: a warp for each quarter of a processor, see
#: device.BESIDE_REGISTERS.
PACK_THREADS = 128
_WORDS = 4  # uint64 words of ASCII in 32 letters


@inlined
def funnel(low, high, shift):
    """The low word of (high, low) shifted right by shift < 32.

    instructions.make_funnel is the same as one instruction: the compiler cannot look into that, and then unrolls other
    loops of the edit-distance kernels (a third more code for the band of 32).
    """
    return uint32(((uint64(high) << uint64(32)) | uint64(low)) >> uint64(shift))


@inlined
def _odd_bytes(four):
    """Nonzero in the bytes that are none of A, C, G, T."""
    bit_0 = (four >> uint32(1)) & uint32(0x01010101)
    bit_1 = (four >> uint32(2)) & uint32(0x01010101)
    # All letters but T are 01000xx1 in the other bits; T is 01010xx0.
    t = bit_1 & ~bit_0
    return (four & uint32(0xF9F9F9F9)) ^ uint32(0x41414141) ^ t ^ (t << uint32(4))


@inlined
def _nibble(bits):
    """Bits 0, 8, 16 and 24, all others clear, as bits 0 to 3: no two terms of the product meet in a bit."""
    return uint32((uint64(bits) * uint64(0x10204080)) >> uint64(28)) & uint32(15)


@inlined
def _pack_word(letters, w, planes, odd):
    """Pack 32 letters, the w-th ones, into word LEAD_WORDS + w; whether one of them has no code."""
    plane_0, plane_1, strange = uint32(0), uint32(0), uint32(0)
    for q in range(2 * _WORDS):
        eight = letters[int64(_WORDS) * w + int64(q >> 1)]
        four = uint32(eight >> uint64(32 * (q & 1)))
        plane_0 |= _nibble((four >> uint32(1)) & uint32(0x01010101)) << uint32(4 * q)
        plane_1 |= _nibble((four >> uint32(2)) & uint32(0x01010101)) << uint32(4 * q)
        wrong = _odd_bytes(four)
        if wrong != uint32(0):
            for byte in range(4):
                if (wrong >> uint32(8 * byte)) & uint32(0xFF) != uint32(0):
                    strange |= uint32(1) << uint32(4 * q + byte)
    planes[int64(LEAD_WORDS) + w] = (uint64(plane_1) << uint64(32)) | uint64(plane_0)
    odd[int64(LEAD_WORDS) + w] = strange
    return strange != uint32(0)


@cuda.jit(cache=True)
def pack_letters(
    pattern, pattern_first, pattern_words, text, text_first, text_words,
    pattern_planes, text_planes, pattern_odd, text_odd, flag, batch,
):  # fmt: skip
    """Pack the letters of a batch, or what the host has left of them, one word a thread.

    pattern, text: uint64[...], ASCII bytes end to end, read where those letters lie that are packed here.
    pattern_first, text_first, pattern_words, text_words: first word to make, and how many. pattern_planes, text_planes:
    uint64[...], pattern_odd, text_odd: uint32[...], written behind LEAD_WORDS. flag: int64[1], set to the number of the
    batch where a letter has no code (it may lie behind the last sequence).
    """
    w = int64(cuda.blockIdx.x) * int64(PACK_THREADS) + int64(cuda.threadIdx.x)
    strange = False
    if w < pattern_words:
        strange = _pack_word(pattern, pattern_first + w, pattern_planes, pattern_odd)
    elif w < pattern_words + text_words:
        strange = _pack_word(text, text_first + w - pattern_words, text_planes, text_odd)
    if strange:
        flag[0] = batch


@cuda.jit(cache=True)
def clear_batch(queues, tallies, pattern_odd, pattern_words, text_odd, text_words):
    """Set to 0 the first numbers of the queues' first row, and the first words of ``odd``, one each a thread.

    The driver's memset is a kernel, too, of blocks of its own choice.
    """
    at = int64(cuda.blockIdx.x) * int64(PACK_THREADS) + int64(cuda.threadIdx.x)
    if at < tallies:
        queues[0, at] = int32(0)
    if at < pattern_words:
        pattern_odd[at] = uint32(0)
    if at < text_words:
        text_odd[at] = uint32(0)


@inlined
def letters_from(planes, at):
    """(plane 0, plane 1) of the 32 letters from place ``at`` on."""
    word, shift = int64(at) >> int64(5), uint32(at) & uint32(31)
    low, high = planes[word], planes[word + int64(1)]
    plane_0 = funnel(uint32(low), uint32(high), shift)
    return plane_0, funnel(uint32(low >> uint64(32)), uint32(high >> uint64(32)), shift)


@inlined
def differences(pattern, pattern_at, text, text_at):
    """Bit q tells whether the letters pattern_at + q and text_at + q differ, for 32 of them."""
    left_0, left_1 = letters_from(pattern, pattern_at)
    right_0, right_1 = letters_from(text, text_at)
    # Numba computes with 64 bits, and the leading zeros of 64 are not those of 32.
    return uint32((left_0 ^ right_0) | (left_1 ^ right_1))


@inlined
def matches_on(pattern, pattern_at, text, text_at, most):
    """Number of equal letters, up to ``most``, from these places on."""
    run, step = int32(0), int32(LETTERS)
    while step == int32(LETTERS) and run < most:
        differ = differences(pattern, pattern_at + run, text, text_at + run)
        if differ != uint32(0):
            step = int32(cuda.ffs(differ)) - int32(1)
        run += step
    return min(run, most)


@inlined
def matches_back(pattern, pattern_end, text, text_end, most):
    """Number of equal letters, up to ``most``, that end before these places."""
    run, step = int32(0), int32(LETTERS)
    while step == int32(LETTERS) and run < most:
        back = run + int32(LETTERS)
        step = int32(cuda.clz(differences(pattern, pattern_end - back, text, text_end - back)))
        run += step
    return min(run, most)


@inlined
def any_odd(odd, at, length):
    """Whether a letter of the sequence has no code."""
    found = uint32(0)
    first = int32(0)
    while first < length:
        place = int64(at) + int64(first)
        word = funnel(odd[place >> int64(5)], odd[(place >> int64(5)) + int64(1)], uint32(place) & uint32(31))
        if length - first < int32(LETTERS):
            word &= (uint32(1) << uint32(length - first)) - uint32(1)
        found |= word
        first += int32(LETTERS)
    return found != uint32(0)
