"""Edit distance by Myers' bit-parallel dynamic programming (BPM), in plain Python: the readable twin of cpu/bpm.

Problem: global alignment of a pattern of m and a text of n bytes; mismatch, insertion and deletion cost 1 each.

Recurrence: the matrix M of thesis Eq. 1 held as the differences down a column, one bit per row i = 1..m (bit i-1):
Pv has the rows with M[i, j] - M[i-1, j] = +1, Mv those with -1; Ph, Mh likewise along a row. Eq has the rows whose
pattern letter is the text letter. Python's integers have any width, so a column is one word (Myers 1999, figure 8):

    Xv = Eq | Mv
    Xh = (((Eq & Pv) + Pv) ^ Pv) | Eq
    Ph = Mv | ~(Xh | Pv);   Mh = Pv & Xh
    Ph = Ph << 1 | 1;       Mh = Mh << 1        (the 1: M[0, j] = j in global alignment)
    Pv = Mh | ~(Xv | Ph);   Mv = Ph & Xv

Memory: all columns. Limits: none but time and memory, both m * n.
"""

from itertools import groupby


def align_pair(pattern, text, penalties, scope):
    """Align two bytes objects. penalties: Edit(). scope: "score" or "cigar".

    Returns (edit distance, CIGAR string or None for scope "score").
    """
    columns = _columns(pattern, text)
    pv, mv = columns[-1]
    score = len(text) + pv.bit_count() - mv.bit_count()  # M[0, n] and the differences down to M[m, n]
    return score, _trace(pattern, text, columns) if scope == "cigar" else None


def _columns(pattern, text):
    """[(Pv, Mv) of column 0, ..., of column n]."""
    mask = (1 << len(pattern)) - 1
    equal = {byte: sum(1 << i for i, letter in enumerate(pattern) if letter == byte) for byte in set(pattern)}
    pv, mv = mask, 0
    columns = [(pv, mv)]
    for byte in text:
        eq = equal.get(byte, 0)
        xv = eq | mv
        xh = (((eq & pv) + pv) ^ pv) | eq
        ph = (mv | ~(xh | pv)) << 1 | 1
        mh = (pv & xh) << 1
        pv, mv = (mh | ~(xv | ph)) & mask, ph & xv & mask
        columns.append((pv, mv))
    return columns


def _trace(pattern, text, columns):
    """CIGAR of one optimal path, from (m, n) back to (0, 0).

    Equal letters are a match. Else a gap if the columns say that it is optimal: a deletion where
    M[i-1, j] + 1 = M[i, j], an insertion where M[i, j-1] + 1 = M[i-1, j-1] <= M[i, j]. Else a mismatch.
    """
    i, j = len(pattern), len(text)
    backwards = []
    while i and j:
        if pattern[i - 1] == text[j - 1]:
            operation = "="
        elif columns[j][0] >> (i - 1) & 1:
            operation = "D"
        elif columns[j - 1][1] >> (i - 1) & 1:
            operation = "I"
        else:
            operation = "X"
        backwards.append(operation)
        i -= operation != "I"
        j -= operation != "D"
    backwards += ["D"] * i + ["I"] * j
    return "".join(f"{len(list(run))}{operation}" for operation, run in groupby(reversed(backwards)))
