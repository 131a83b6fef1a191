"""Source of a device function: the antidiagonals of one gap-affine pair within a band, in bit planes in registers.

Layout. The band is B = 64 * words diagonals k = h - v, from -a on; m, n: letters of the pattern and of the text, v, h:
of their prefixes; t = v + h. Bit l of an antidiagonal's planes is diagonal 2l - a if t + a is even, else 2l - a + 1. So
going from odd to even the left neighbour is one bit below and the upper one at the same bit ("rise": the planes u and p
move up), from even to odd the upper neighbour is one bit above ("fall": v and q move down). a has the parity of n - m:
the last antidiagonal is even. A double step is a fall and a rise; both read the same text letters, text[l - a // 2 + d]
in double step d, and as pattern letters pattern[(a + 1) // 2 + d - l], less one in the fall: these are kept in reverse.
What comes in at the band's ends is a gap at the highest cost there is a code for: no path inside takes it.

Registers cannot be indexed, so each word of each plane is a variable, and the source is written out word by word.
"""

from dataclasses import replace
from functools import cache

from numba import cuda, int32, uint32, uint64

from wfa_kernels.affine_cell import digits, make_cell
from wfa_kernels.cuda.bits import bit_at, bits_from
from wfa_kernels.cuda.compaction import THREADS
from wfa_kernels.cuda.device import inlined
from wfa_kernels.cuda.instructions import make_circuit, make_funnel
from wfa_kernels.cuda.packing import LETTERS, letters_from

#: Words for the way back of 32 cells: the code of the left side in the low two, of the upper side in the high two.
CODES = ("left0", "left1", "above0", "above1")


def cells_of(triple):
    """(Cell, Cell for cells inside the matrix) of the penalties, with the digits of z that both have.

    Further ones are 0, as z is max(mismatch, 2 * gap_extend) at most; a circuit that compares may give some.
    """
    cells = make_cell(*triple), make_cell(*triple, inside=True)
    step_bits = min(cell.step_bits for cell in cells)
    return tuple(replace(cell, step_bits=step_bits) for cell in cells)


@cache
def make_forward(triple, words, traced):
    """Device function that computes one pair within a band of 64 * words diagonals; see banded.make_kernel.

    triple: (mismatch, gap_open, gap_extend) without a common divisor. traced: leave for every antidiagonal after
    number a & 1, and every word of it, CODES in two uint64.
    """
    cells = cells_of(triple)
    namespace = {
        "bit_at": bit_at, "bits_from": bits_from, "cuda": cuda, "funnel": make_funnel(), "int32": int32,
        "letters_from": letters_from, "uint32": uint32, "uint64": uint64,
    }  # fmt: skip
    for cell, name in zip(cells, ("anywhere", "inside"), strict=True):
        inputs = [plane for plane, _ in _planes(cell)] + ["differ", "outside"]
        outputs = [cell.outputs[output] for output in _outputs(cell)]
        unique = f"affine cell {triple} {name}"
        namespace[name] = make_circuit(cell.gates, inputs, outputs, unique)
    exec(source(cells[0], words, traced), namespace)
    return inlined(namespace["forward"])


def source(cell, words, traced):
    """The Python source of forward()."""
    lines = [
        "def forward(pattern, pattern_at, text, text_at, m, n, a, limit, codes, at):",
        *_indented(_begin(cell, words)),
        "    double, steps = int32(0), (m + n) >> int32(1)",
        f"    ramp = max(low, int32({32 * words}) - ((a + int32(1)) >> int32(1)))",
        "    while double < steps and score < limit:",
        *_indented(_next_letters(words), 2),
        f"        stop = double + min(int32({LETTERS}), steps - double)",
        "        if double < ramp:",
        "            while double < stop:",
        *_indented(_double_step(cell, "anywhere", words, traced), 4),
        "        else:",
        "            while double < stop:",
        *_indented(_double_step(cell, "inside", words, traced), 4),
        "    return score",
    ]
    return "\n".join(lines)


def _indented(lines, levels=1):
    return ["    " * levels + line for line in lines]


def _planes(cell):
    """[(plane, its usual digit)] of what an antidiagonal hands on."""
    digits = {"u": cell.delta, "p": cell.gap, "v": cell.delta, "q": cell.gap}
    return [(f"{letter}{digit}", usual) for letter in "upvq" for digit, usual in enumerate(digits[letter])]


def _begin(cell, words):
    """The first antidiagonal: number 0 if a is even, with its one cell of the matrix, else number 1, with two."""
    _, gap_open, gap_extend = cell.triple
    first = digits(gap_open + 2 * gap_extend, cell.delta_bits)  # the code of u of (1, 0) and of v of (0, 1)
    nothing = digits(0, cell.gap_bits)
    lines = ["odd, low = a & int32(1), a >> int32(1)", "score = int32(0)", "if n != m:"]
    lines.append(f"    score = int32({gap_open}) + int32({gap_extend}) * odd")
    for w in range(words):
        lines += [
            f"final_{w} = bit_at(((n - m + a) >> int32(1)) - int32({32 * w}))",
            f"one, two, three = bit_at(low - int32({32 * w})), uint32(0), uint32(0)",
            "if odd:",
            f"    one, two, three = uint32(0), one, bit_at(low + int32(1) - int32({32 * w}))",
        ]
        for plane, usual in _planes(cell):
            letter, digit = plane[0], int(plane[1:])
            others = {
                "u": [("one", cell.delta_at_start), ("two", first)],
                "v": [("one", cell.delta_at_start), ("three", first)],
                "p": [("three", nothing)],
                "q": [("two", nothing)],
            }[letter]
            flips = [bit for bit, value in others if value[digit] != usual]
            lines.append(f"{plane}_{w} = uint32({' ^ '.join([hex(0xFFFFFFFF * usual), *flips])})")
        place = f"int32(pattern_at) + ((a + int32(1)) >> int32(1)) - int32({32 * w + 32})"
        lines += [f"x, y = letters_from(pattern, {place})", f"r0_{w + 1}, r1_{w + 1} = cuda.brev(x), cuda.brev(y)"]
        lines.append(f"s0_{w}, s1_{w} = letters_from(text, int32(text_at) - low + int32({32 * w}))")
    return lines


def _next_letters(words):
    """The letters that come in during the next 32 double steps."""
    return [
        "x, y = letters_from(pattern, int32(pattern_at) + ((a + int32(1)) >> int32(1)) + double)",
        "r0_0, r1_0 = cuda.brev(x), cuda.brev(y)",
        f"s0_{words}, s1_{words} = letters_from(text, int32(text_at) - low + int32({32 * words}) + double)",
    ]


def _outputs(cell):
    return [*(plane for plane, _ in _planes(cell)), *(f"z{digit}" for digit in range(cell.step_bits)), *CODES]


def _double_step(cell, compute, words, traced):
    masked = compute == "anywhere"
    lines = ["below, above = low - double, low + odd + double"] if masked else ["outside = uint32(0)"]
    for w in range(words):
        lines += _cell(cell, compute, w, words, "vq", traced)
    for plane in ("r0", "r1"):
        lines += [f"{plane}_{w} = funnel({plane}_{w - 1}, {plane}_{w}, uint32(31))" for w in range(words, 0, -1)]
        lines.append(f"{plane}_0 = uint32({plane}_0 << uint32(1))")
    lines += ["above += int32(1)"] if masked else []
    for w in reversed(range(words)):
        lines += _cell(cell, compute, w, words, "up", traced)
    lines += [f"at += uint64({4 * words * THREADS})"] if traced else []
    for digit in range(cell.step_bits):
        met = " | ".join(f"(z{digit}_{w} & final_{w})" for w in range(words))
        lines += [f"if uint32({met}) != uint32(0):", f"    score += int32({1 << digit})"]
    for plane in ("s0", "s1"):
        lines += [f"{plane}_{w} = funnel({plane}_{w}, {plane}_{w + 1}, uint32(1))" for w in range(words)]
        lines.append(f"{plane}_{words} = uint32({plane}_{words} >> uint32(1))")
    return [*lines, "double += int32(1)"]


def _cell(cell, compute, w, words, moving, traced):
    """One word of an antidiagonal; moving: the planes that move to meet the others, "up" or "vq"."""
    lines = []
    if compute == "anywhere":
        place = f"int32({32 * w})"
        lines.append(f"outside = uint32(~bits_from(below - {place}) | bits_from(above - {place}))")
    inputs = []
    for plane, _ in _planes(cell):
        edge = "uint32(0xFFFFFFFF)" if plane[0] in "uv" else "uint32(0)"
        if plane[0] not in moving:
            inputs.append(f"{plane}_{w}")
        elif moving == "up":
            inputs.append(f"funnel({f'{plane}_{w - 1}' if w else edge}, {plane}_{w}, uint32(31))")
        else:
            inputs.append(f"funnel({plane}_{w}, {f'{plane}_{w + 1}' if w < words - 1 else edge}, uint32(1))")
    inputs.append(f"uint32((r0_{w + 1} ^ s0_{w}) | (r1_{w + 1} ^ s1_{w}))")
    outputs = [f"{name}_{w}" if name not in CODES else name for name in _outputs(cell)]
    lines.append(f"{', '.join(outputs)} = {compute}(({', '.join(inputs)}, outside))")
    if traced:
        for side in range(2):
            low, high = CODES[2 * side : 2 * side + 2]
            row = 2 * (w if moving == "vq" else w + words) + side
            place = f"at + uint64({row * THREADS})"
            lines.append(f"codes[{place}] = (uint64({high}) << uint64(32)) | uint64({low})")
    return lines
