"""Gap-affine alignment in bit planes along antidiagonals, plain Python: Python's integers are words of any width.

Recurrence: that of wfa_kernels.affine_cell. The cells of antidiagonal t = v + h, v letters of the pattern and h of the
text, are computed at once from those of antidiagonal t - 1; bit k + m + 1 of every plane is diagonal k = h - v.
"""

from itertools import groupby

from wfa_kernels.affine_cell import make_cell


def align_pair(pattern, text, penalties, scope):
    """Align one pair of bytes.

    penalties: object with ``triple`` (mismatch, gap_open, gap_extend). scope: "score" or "cigar".
    Returns (score, CIGAR string or None for scope "score").
    """
    cell = make_cell(*penalties.triple)
    _, gap_open, gap_extend = cell.triple
    m, n = len(pattern), len(text)
    final = n - m
    score = gap_open + gap_extend * abs(final) if final else 0
    planes, codes = _start(cell, m, n), {}
    for t in range(1, m + n + 1):
        computed = _antidiagonal(cell, planes, pattern, text, t)
        here = _here(m, n, t)
        for name in planes:
            planes[name] = planes[name] & ~here | computed[name] & here
        codes[t] = computed
        if t > abs(final) and (t - final) % 2 == 0:
            score += _number(computed, "z", cell.step_bits, final + m + 1)
    cigar = _trace(pattern, text, codes) if scope == "cigar" else None
    return score * cell.divisor, cigar


def _start(cell, m, n):
    """The planes before the first antidiagonal."""
    everywhere, origin = (1 << m + n + 3) - 1, 1 << m + 1
    planes = {}
    for letter in "uv":
        for digit, (usual, first) in enumerate(zip(cell.delta, cell.delta_at_start, strict=True)):
            planes[f"{letter}{digit}"] = usual * everywhere & ~origin | first * origin
    for letter in "pq":
        for digit, usual in enumerate(cell.gap):
            planes[f"{letter}{digit}"] = usual * everywhere
    return planes


def _here(m, n, t):
    """The bits of the diagonals that antidiagonal t has a cell on."""
    return sum(1 << k + m + 1 for k in range(-m - 1, n + 2) if (k + t) % 2 == 0)


def _antidiagonal(cell, planes, pattern, text, t):
    """{output: plane}."""
    m, n = len(pattern), len(text)
    inputs = {name: plane << 1 if name[0] in "up" else plane >> 1 for name, plane in planes.items()}
    inputs |= {"zero": 0, "one": -1, "differ": 0, "outside": 0}
    for k in range(-m - 1, n + 2):
        v, h = (t - k) // 2, (t + k) // 2
        if v < 1 or h < 1:
            inputs["outside"] |= 1 << k + m + 1
        elif v <= m and h <= n and pattern[v - 1] != text[h - 1]:
            inputs["differ"] |= 1 << k + m + 1
    for gate in cell.gates:
        inputs[gate.name] = gate.value(*(inputs[signal] for signal in gate.inputs))
    return {output: inputs[signal] for output, signal in cell.outputs.items()}


def _number(planes, letter, digits, bit):
    return sum((planes[f"{letter}{digit}"] >> bit & 1) << digit for digit in range(digits))


def _trace(pattern, text, codes):
    """CIGAR from the codes of {antidiagonal: planes}: from the end, inside a gap or not."""
    letters, gap = [], None
    v, h = len(pattern), len(text)
    while v > 0 and h > 0:
        bit = h - v + len(pattern) + 1
        left, above = (_number(codes[v + h], side, 2, bit) for side in ("left", "above"))
        if gap is None and pattern[v - 1] == text[h - 1]:
            taken = "="
        elif gap == "I" and left != 3 or gap is None and left == 0:
            gap = taken = "I"
        elif gap == "D" and above != 3 or gap is None and above == 0:
            gap = taken = "D"
        elif gap is None:
            taken = "X"
        else:
            gap = None
            continue
        letters.append(taken)
        v -= taken != "I"
        h -= taken != "D"
    letters += "D" * v + "I" * h
    return "".join(f"{len(list(run))}{letter}" for letter, run in groupby(reversed(letters)))
