"""One cell of gap-affine dynamic programming in small numbers, as a circuit for many cells at once.

Problem: the cheapest global alignment, a mismatch costs ``x``, a gap of n letters ``o + n * e`` (g = o + e below).

Recurrence (Suzuki and Kasahara 2018, Eq. 4, here for costs). With H the cost of a cell and of neighbours
    u = H[i, j] - H[i - 1, j]           v = H[i, j] - H[i, j - 1]           z = H[i, j] - H[i - 1, j - 1]
    p = E[i, j + 1] - H[i, j]           q = F[i + 1, j] - H[i, j]           (E, F: cost in a gap of text, of pattern)
a cell needs u and p of its left neighbour, v and q of its upper one, and whether its letters are equal:
    a = p + u,  b = q + v,  z = 0 if the letters are equal, else min(x, a, b)
    u' = z - v,  v' = z - u,  p' = min(g, a - z + e),  q' = min(g, b - z + e)
All these numbers are small whatever the lengths: 0 <= z, a, b <= 2g, -g <= u, v <= g, e <= p, q <= g. So each is kept
in bit planes, one word for each binary digit of many cells, and arithmetic is done with gates (Loving, Hernandez and
Benson 2014 for the idea). Planes hold u + e, v + e (modulo their size), p - e and q - e.

Outside the matrix. With z = 2e forced, u = v = e and p = q = g reproduce themselves: what lies above the first row and
left of the first column is computed as any cell is. Only H[0, 0] lies o below its surroundings: u = v = e - o there.
"""

from dataclasses import dataclass
from functools import cache
from math import gcd

from wfa_kernels.gates import ONE, ZERO, Circuit

#: Up to this mismatch cost z is built level by level as well; beyond it that takes more gates than comparing.
_MOST_LEVELS = 4


@dataclass(frozen=True)
class Cell:
    """The circuit for some penalties, and how its numbers are coded.

    Inputs and outputs are named by letter and binary digit, u0 the lowest. Inputs: ``u*`` and ``p*`` of the left
    neighbour, ``v*`` and ``q*`` of the upper one, ``differ`` (the letters do), ``outside`` (the cell is not of the
    matrix). Outputs: the same four and ``z*`` of this cell; for the way back, in two digits, a code of each side,
    ``left*`` and ``above*``: 0 if a gap from there reaches the cell at its cost, 3 if a gap onward from this cell is as
    cheap when it begins here as when it goes on, else 1 or 2.
    """

    gates: tuple
    outputs: dict
    delta_bits: int  # of u and of v
    gap_bits: int  # of p and of q
    step_bits: int  # of z
    triple: tuple  # mismatch, gap_open, gap_extend, without a common divisor
    divisor: int

    @property
    def delta(self):
        """Code of u, v = e: outside the matrix, by its binary digits."""
        return digits(2 * self.triple[2], self.delta_bits)

    @property
    def delta_at_start(self):
        """Code of u, v at H[0, 0]."""
        return digits(2 * self.triple[2] - self.triple[1], self.delta_bits)

    @property
    def gap(self):
        """Code of p, q = g."""
        return digits(self.triple[1], self.gap_bits)


def digits(number, bits):
    """The binary digits of number modulo 2 ** bits, the lowest first."""
    return tuple(number >> q & 1 for q in range(bits))


@cache
def make_cell(mismatch, gap_open, gap_extend, inside=False):
    """The Cell of these penalties, each divided by what they have in common. inside: no cell is ``outside``."""
    divisor = gcd(mismatch, gap_open, gap_extend)
    x, o, e = mismatch // divisor, gap_open // divisor, gap_extend // divisor
    ways = (_by_levels, _by_comparing) if x <= _MOST_LEVELS else (_by_comparing,)
    gates, outputs = min((_build(x, o, e, inside, way) for way in ways), key=lambda built: len(built[0]))
    bits = {letter: sum(name[0] == letter and name[1:].isdigit() for name in outputs) for letter in "upz"}
    return Cell(tuple(gates), outputs, bits["u"], bits["p"], bits["z"], (x, o, e), divisor)


def _build(x, o, e, inside, step):
    """(gates, {output: signal})."""
    circuit = Circuit()
    delta_bits, gap_bits = (2 * (o + e)).bit_length(), o.bit_length()
    u, v = ([f"{letter}{digit}" for digit in range(delta_bits)] for letter in "uv")
    p, q = ([f"{letter}{digit}" for digit in range(gap_bits)] for letter in "pq")
    a, b = _sum(circuit, u, p), _sum(circuit, v, q)
    z = step(circuit, a, b, x)
    z += [ZERO] * ((2 * e).bit_length() - len(z))
    if not inside:
        forced = zip(digits(2 * e, len(z)), z, strict=True)
        z = [_chosen(circuit, "outside", digit, signal) for digit, signal in forced]
    # u' + e = z - v + e, of the codes: z - (v + e) + 2e, where - n is ~n + 1.
    shifted = _sum(circuit, z + [ZERO] * (delta_bits - len(z)), _signals(digits(2 * e + 1, delta_bits)))
    numbers = {
        "u": _sum(circuit, shifted, [circuit.gate(lambda a: ~a, signal) for signal in v]),
        "v": _sum(circuit, shifted, [circuit.gate(lambda a: ~a, signal) for signal in u]),
        "z": z,
    }
    numbers["p"], numbers["left"] = _gap(circuit, _difference(circuit, a, z), o)
    numbers["q"], numbers["above"] = _gap(circuit, _difference(circuit, b, z), o)
    return circuit.reduced(
        {f"{name}{digit}": s for name, signals in numbers.items() for digit, s in enumerate(signals)}
    )


def _by_levels(circuit, a, b, x):
    """z for a small x: whether it is at least 1, 2, ... x."""
    levels = [
        circuit.gate(lambda a, b, c: a & b & c, "differ", _at_least(circuit, a, least), _at_least(circuit, b, least))
        for least in range(1, x + 1)
    ]
    z = []
    for digit in range(x.bit_length()):
        signal = ZERO
        for level, reached in enumerate(levels, 1):  # the digit changes wherever a level of it begins
            if level >> digit & 1 != level - 1 >> digit & 1:
                signal = circuit.gate(lambda a, b: a ^ b, signal, reached)
        z.append(signal)
    return z


def _by_comparing(circuit, a, b, x):
    """z for any x."""
    less = _borrow(circuit, a, b)
    smaller = [circuit.gate(lambda a, b, c: c & a | ~c & b, *pair, less) for pair in zip(a, b, strict=True)]
    more = _at_least(circuit, smaller, x)
    limit = digits(x, len(a)) if more != ZERO else [0] * len(a)
    capped = [_chosen(circuit, more, digit, signal) for digit, signal in zip(limit, smaller, strict=True)]
    return [circuit.gate(lambda a, b: a & b, "differ", signal) for signal in capped]


def _gap(circuit, longer, o):
    """(p - e, its code for the way back) where a gap that is already open costs ``longer`` more than the cell."""
    limit = digits(o, o.bit_length())
    full = o + 1 == 1 << len(limit)  # then whatever is past the digits is enough
    begins = _at_least(circuit, longer, o + 1 if full else o)
    gap = [_chosen(circuit, begins, digit, signal) for digit, signal in zip(limit, longer, strict=False)]
    if o in (1, 3):  # the digits tell it themselves
        return gap, (gap[0], gap[-1])
    some = _at_least(circuit, longer, 1)
    return gap, (some, circuit.gate(lambda a, b: a & b, some, begins))


def _chosen(circuit, condition, digit, signal):
    """A constant digit under a condition, else the signal."""
    if digit:
        return circuit.gate(lambda a, b: a | b, condition, signal)
    return circuit.gate(lambda a, b: ~a & b, condition, signal)


def _signals(known):
    return [ONE if digit else ZERO for digit in known]


def _sum(circuit, left, right):
    """left + right modulo 2 ** len(left)."""
    total, carry = [], ZERO
    for digit, a in enumerate(left):
        b = right[digit] if digit < len(right) else ZERO
        total.append(circuit.gate(lambda a, b, c: a ^ b ^ c, a, b, carry))
        carry = circuit.gate(lambda a, b, c: a & b | c & (a | b), a, b, carry)
    return total


def _difference(circuit, left, right):
    """left - right >= 0."""
    total, borrow = [], ZERO
    for digit, a in enumerate(left):
        b = right[digit] if digit < len(right) else ZERO
        total.append(circuit.gate(lambda a, b, c: a ^ b ^ c, a, b, borrow))
        borrow = circuit.gate(lambda a, b, c: ~a & (b | c) | b & c, a, b, borrow)
    return total


def _borrow(circuit, left, right):
    """Whether left < right."""
    borrow = ZERO
    for pair in zip(left, right, strict=True):
        borrow = circuit.gate(lambda a, b, c: ~a & (b | c) | b & c, *pair, borrow)
    return borrow


def _at_least(circuit, number, least):
    """Whether a number is at least a constant."""
    enough = ONE
    for digit, signal in enumerate(number):
        if least >> digit & 1:
            enough = circuit.gate(lambda a, b: a & b, signal, enough)
        else:
            enough = circuit.gate(lambda a, b: a | b, signal, enough)
    return enough if least < 1 << len(number) else ZERO
