"""Groups of pairs, one in each lane of a vector, set up for bit_lanes.advance.

A lane's band is diagonals -a to band - 1 - a, laid evenly about diagonals 0 and n - m. A path that leaves it below
holds gaps of at least a + 1 deletions and n - m + a + 1 insertions, one that leaves it above of as many as the rest of
the band asks: a score below the cost of those gaps is proven (Ukkonen 1985). a + n - m is even, so that the final cell
is computed by an even step; where a is odd the first antidiagonal known is 1, else 0.

Memory of a group: uint16 numbers, 64 bytes aligned. Vectors: remaining, scores, ``words`` of final bits, words + 1 of
planes (see bit_lanes); then letters of the text and of the pattern, two vectors for as many letters as a lane has bits.
"""

import numpy as np
from numba import njit

from wfa_kernels.affine_cell import make_cell
from wfa_kernels.cpu.bit_letters import LETTERS, letter_planes
from wfa_kernels.cpu.helper import helper
from wfa_kernels.cpu.intrinsics import load_u8, peek, poke, store_u16

#: Bits of the numbers that memory is made of.
UNIT = 16
_UNIT_SHIFT = 4
_NO_LIMIT = 2**60
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
#: Rows of start_codes.
USUAL, EVEN, ODD_LEFT, ODD_RIGHT, PAST = range(5)


@helper
def lowest_diagonal(m, n, band):
    """a of the module's text."""
    below = (band - 1 - (n - m)) >> 1
    return below + ((below + n - m) & 1)


@helper
def proof_limit(m, n, band, gap_open, gap_extend):
    """A score below this, in units of the penalties given, is proven; 0 where the final diagonal is outside."""
    a = lowest_diagonal(m, n, band)
    b = band - 1 - a
    final = n - m
    if a < max(0, -final) or b < max(0, final):
        return 0
    below = 2 * gap_open + gap_extend * (2 * a + 2 + final) if a < m else _NO_LIMIT
    above = 2 * gap_open + gap_extend * (2 * b + 2 - final) if b < n else _NO_LIMIT
    return min(below, above)


@helper
def _shift(lane):
    """Binary logarithm of 16, 32 or 64."""
    return 4 + (lane >> 5)


@helper
def double_steps(m, n):
    return (m + n) >> 1


@helper
def border_steps(m, n, band):
    """Double steps that touch the matrix' first row or column."""
    a = lowest_diagonal(m, n, band)
    return max(a >> 1, (band >> 1) - ((a + 1) >> 1))


@helper
def letter_vectors(steps, words, lane):
    """Vectors for one sequence's letters of a group: of those that a window may touch."""
    return 2 * ((steps + LETTERS) // lane + words + 2 + LETTERS // lane)


@helper
def state_vectors(words, planes):
    return 2 + words + (words + 1) * (planes + 2)


@helper
def fill_planes(memory, at, words, vector, codes):
    """The state of lanes without a pair, and of cells past the band. codes: see start_codes."""
    width = vector >> _UNIT_SHIFT
    planes = codes.shape[1]
    _fill(memory, at, (2 + words) * width, 0)
    at += (2 + words) * width
    for _ in range(words):
        for plane in range(planes):
            _fill(memory, at + plane * width, width, -codes[USUAL, plane])
        _fill(memory, at + planes * width, 2 * width, 0)
        at += (planes + 2) * width
    for plane in range(planes):
        _fill(memory, at + plane * width, width, -codes[PAST, plane])
    _fill(memory, at + planes * width, width, -1)


@helper
def _fill(memory, at, count, value):
    for k in range(at, at + count):
        poke(memory, k, np.uint16(value))


@njit(inline="always")
def put_pair(memory, at, lane_at, shape, m, n, codes):
    """Set up a lane: the group begins at ``at``, the lane in a vector at lane_at; shape: (words, lane, vector)."""
    words, lane, vector = shape
    width, planes = vector >> _UNIT_SHIFT, codes.shape[1]
    a = lowest_diagonal(m, n, 2 * lane * words)
    half, steps = a >> 1, double_steps(m, n)
    for piece in range(lane >> _UNIT_SHIFT):
        poke(memory, at + lane_at + piece, np.uint16((steps >> (UNIT * piece)) & 0xFFFF))
    _set_bit(memory, at + 2 * width + lane_at, (n - m + a) >> 1, lane, width, 1)
    state = at + (2 + words) * width + lane_at
    stride = (planes + 2) * width
    for place in range(1 + (a & 1)):  # where the first cells known differ from their surroundings
        row = ODD_LEFT + place if a & 1 else EVEN
        for plane in range(planes):
            if codes[row, plane] != codes[USUAL, plane]:
                _set_bit(memory, state + plane * width, half + place, lane, stride, codes[row, plane])
    first, last = half + 1, half - 1 + (a & 1)
    for piece in range(words * lane >> _UNIT_SHIFT):
        word, inner = piece * UNIT >> _shift(lane), piece & ((lane >> _UNIT_SHIFT) - 1)
        border = state + word * stride + planes * width + inner
        low = min(max(first - piece * UNIT, 0), UNIT)
        high = min(max(last + 1 - piece * UNIT, 0), UNIT)
        poke(memory, border, np.uint16(0xFFFF << low & 0xFFFF))
        poke(memory, border + width, np.uint16((1 << high) - 1))


@helper
def bit_of(memory, at, bit, lane, stride):
    """0 or 1: a bit of a lane's words, which begin at ``at`` and are ``stride`` numbers apart."""
    index = at + (bit >> _shift(lane)) * stride + ((bit & (lane - 1)) >> _UNIT_SHIFT)
    return (np.int64(peek(memory, index)) >> (bit & (UNIT - 1))) & 1


@njit(inline="always")
def _set_bit(memory, at, bit, lane, stride, digit):
    """A bit of a lane's words, which begin at ``at`` and are ``stride`` numbers apart."""
    index = at + (bit >> _shift(lane)) * stride + ((bit & (lane - 1)) >> _UNIT_SHIFT)
    mask = np.uint16(1 << (bit & (UNIT - 1)))
    number = peek(memory, index)
    poke(memory, index, number | mask if digit else number & ~mask)


@helper
def read_lane(memory, at, lane):
    number = 0
    for piece in range(lane >> _UNIT_SHIFT):
        number |= np.int64(peek(memory, at + piece)) << (UNIT * piece)
    return number


@helper
def put_text(at, lane, vector, letters, count, start, stop, shift, spare):
    """Letter planes of letters[start:stop] from bit position ``shift`` on; whether all letters are known.

    at: address of a lane's planes. letters: address of ``count`` of them. spare: address of LETTERS bytes.
    """
    known = _ALL
    for block in range(shift >> 6, (stop - start + shift + LETTERS - 1) >> 6):
        first = start - shift + block * LETTERS
        planes = letter_planes(_readable(letters, count, first, spare), 0)
        known &= planes[2] | ~_bits_between(start - first, stop - first)
        _put_planes(at, lane, vector, block, planes)
    return known == _ALL


@helper
def put_pattern(at, lane, vector, letters, count, start, stop, last, spare):
    """Letter planes of letters[start:stop] backwards, its first letter at bit position ``last``; as put_text."""
    known = _ALL
    for block in range(max(0, last - (stop - start) + 1) >> 6, (last >> 6) + 1):
        first = start + last - block * LETTERS - LETTERS + 1  # of the letter at the block's last position
        planes = letter_planes(_readable(letters, count, first, spare), 1)
        known &= planes[2] | ~_bits_between(first + LETTERS - stop, first + LETTERS - start)
        _put_planes(at, lane, vector, block, planes)
    return known == _ALL


@helper
def _readable(letters, count, first, spare):
    """Address of 64 bytes: of letters[first:first + 64], or of a copy where those are not all there."""
    if first >= 0 and first + LETTERS <= count:
        return letters + first
    for k in range(0, LETTERS, 2):
        pair = _letter(letters, count, first + k) | _letter(letters, count, first + k + 1) << np.uint64(8)
        store_u16(spare + k, pair)
    return spare


@helper
def _letter(letters, count, index):
    return np.uint64(load_u8(letters, index)) if 0 <= index < count else np.uint64(0)


@helper
def _bits_between(low, high):
    """Bits low to high - 1 of 64."""
    bits = _ALL
    if low > 0:
        bits = bits << np.uint64(low) if low < LETTERS else np.uint64(0)
    if high < LETTERS:
        bits &= _ALL >> np.uint64(LETTERS - high) if high > 0 else np.uint64(0)
    return bits


@helper
def _put_planes(at, lane, vector, block, planes):
    """Write LETTERS bits of both planes, in pieces of UNIT bits: a lane has as many, or two or four times as many."""
    both, of_plane = vector >> 2, vector >> 3  # bytes
    at += (block << (6 - _shift(lane))) * both
    for piece in range(LETTERS // UNIT):
        bit = piece * UNIT
        here = at + (bit >> _shift(lane)) * both + ((bit & (lane - 1)) >> 3)
        store_u16(here, planes[0] >> np.uint64(bit))
        store_u16(here + of_plane, planes[1] >> np.uint64(bit))


def start_codes(mismatch, gap_open, gap_extend):
    """int8[5, planes]: digits of every plane u, p, v, q, in the rows USUAL, EVEN, ODD_LEFT, ODD_RIGHT and PAST.

    EVEN: at H[0, 0]. ODD_LEFT, ODD_RIGHT: at the cells below and to the right of it.
    """
    cell = make_cell(mismatch, gap_open, gap_extend)
    _, gap_open, gap_extend = cell.triple
    begun = tuple((gap_open + 2 * gap_extend) >> digit & 1 for digit in range(cell.delta_bits))
    free, full = (0,) * cell.gap_bits, (1,) * cell.delta_bits
    delta, gap, start = cell.delta, cell.gap, cell.delta_at_start
    rows = [
        delta + gap + delta + gap,
        start + gap + start + gap,
        begun + gap + delta + free,
        delta + free + begun + gap,
        full + free + full + free,
    ]
    return np.array(rows, np.int8)
