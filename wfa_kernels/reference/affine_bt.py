"""Gap-affine wavefronts that carry their backtrace in BT-blocks, plain Python: the readable twin of cuda/affine_wfa.

Recurrence: that of reference/affine_wfa (thesis Eq. 3). Piggybacked backtrace (thesis section 4.3, Fig. 9): beside its
offset a cell has a BT-block, up to 16 operations in 32 bits and the number of the block before it. The operation that
leads to a cell is the two low bits of the offset when the maximum is taken, so of equal offsets the highest code wins:
I 1, X 2, D 3. A block that is full is offloaded to the BT-buffer, and the cell goes on with an empty one behind it.

The thesis has X, I and D only, and leaves open how a gap that goes on is told from a new one. As in the authors'
program (WFA-GPU, utils/cigar.c), an X inside a gap stands for no mismatch: it ends the gap.

Memory: all wavefronts and all blocks. Limits: time, s * s for score s.
"""

from dataclasses import dataclass
from itertools import groupby

#: Codes of the operations, two bits each, and how many a block holds.
CODES = {"I": 1, "X": 2, "D": 3}
OPERATIONS_PER_BLOCK = 16


@dataclass(frozen=True)
class Cell:
    """offset: h. block: its operations, the last in the two low bits. previous: number of the block before, or 0."""

    offset: int
    block: int = 0
    previous: int = 0


@dataclass(frozen=True)
class Trace:
    """wavefronts: {"M", "I", "D"} -> {score: {k: Cell}}. buffer: (operations, previous) of block 1, 2, ...

    score: the cost of the pair. final: the last cell of M.
    """

    wavefronts: dict
    buffer: tuple
    score: int
    final: Cell


def align_pair(pattern, text, penalties, scope):
    """Align one pair of bytes.

    penalties: object with ``triple`` (mismatch, gap_open, gap_extend). scope: "score" or "cigar".
    Returns (score, CIGAR string or None for scope "score").
    """
    found = trace(pattern, text, penalties)
    return found.score, rebuild(pattern, text, operations(found)) if scope == "cigar" else None


def trace(pattern, text, penalties):
    """The Trace of a pair of bytes; penalties: see align_pair."""
    x, o, e = penalties.triple
    final_k, end, buffer, s = len(text) - len(pattern), len(text), [], 0
    m, i, d = {0: {0: Cell(_extend(pattern, text, 0, 0))}}, {}, {}
    while m[s].get(final_k, Cell(-1)).offset != end:
        s += 1
        i[s], d[s], m[s] = {}, {}, {}
        opened, replaced = m.get(s - o - e, {}), m.get(s - x, {})
        for k in range(-min(s, len(pattern)), min(s, len(text)) + 1):
            gap = _furthest([(i.get(s - e, {}).get(k - 1), 1), (opened.get(k - 1), 1)])
            _put(i[s], k, _moved(gap, "I", buffer, pattern, text, k))
            gap = _furthest([(d.get(s - e, {}).get(k + 1), 0), (opened.get(k + 1), 0)])
            _put(d[s], k, _moved(gap, "D", buffer, pattern, text, k))
            best = _furthest([(i[s].get(k), 0), (replaced.get(k), 1), (d[s].get(k), 0)])
            cell = _moved(best, "X", buffer, pattern, text, k)
            if cell is not None:
                m[s][k] = Cell(_extend(pattern, text, k, cell.offset), cell.block, cell.previous)
    return Trace({"M": m, "I": i, "D": d}, tuple(buffer), s, m[s][final_k])


def operations(found):
    """Letters of a Trace's operations from the first on, each X that ends a gap among them."""
    letters = dict(zip(CODES.values(), CODES, strict=True))
    backwards, block, previous = [], found.final.block, found.final.previous
    while block or previous:
        while block:
            backwards.append(letters[block & 3])
            block >>= 2
        if previous:
            block, previous = found.buffer[previous - 1]
    return "".join(reversed(backwards))


def rebuild(pattern, text, told):
    """CIGAR string: the matches are found again between the operations (thesis Algorithm 6)."""
    h = _extend(pattern, text, 0, 0)
    letters, k, in_gap = ["=" * h], 0, False
    for letter in told:
        if in_gap and letter == "X":
            in_gap = False
        else:
            in_gap = letter != "X"
            letters.append(letter)
            h += letter != "D"
            k += (letter == "I") - (letter == "D")
        if not in_gap:
            end = _extend(pattern, text, k, h)
            letters.append("=" * (end - h))
            h = end
    return "".join(f"{len(list(run))}{letter}" for letter, run in groupby("".join(letters)))


def _furthest(sources):
    """(offset, cell) of the furthest (cell or None, letters of text taken on the way); the last of equals, or None."""
    reached = [(cell.offset + taken, at, cell) for at, (cell, taken) in enumerate(sources) if cell is not None]
    if not reached:
        return None
    offset, _, cell = max(reached, key=lambda source: source[:2])
    return offset, cell


def _moved(source, operation, buffer, pattern, text, k):
    """The cell that an operation reaches from a source, with that operation in its block; None outside the matrix."""
    if source is None or source[0] > min(len(text), len(pattern) + k):
        return None
    offset, cell = source
    block, previous = cell.block << 2 | CODES[operation], cell.previous
    if block >> (2 * OPERATIONS_PER_BLOCK - 2):
        buffer.append((block, previous))
        block, previous = 0, len(buffer)
    return Cell(offset, block, previous)


def _put(wavefront, k, cell):
    if cell is not None:
        wavefront[k] = cell


def _extend(pattern, text, k, h):
    """Offset after the matches that follow offset h on diagonal k (thesis Algorithm 2)."""
    while h < len(text) and h - k < len(pattern) and pattern[h - k] == text[h]:
        h += 1
    return h
