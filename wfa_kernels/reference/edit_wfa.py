"""Edit distance by the wavefront algorithm (WFA), in plain Python: the readable twin of cpu/edit_wfa.

Problem: global alignment of a pattern of m and a text of n bytes; mismatch, insertion and deletion cost 1 each.

Recurrence (thesis Eq. 4; Algorithms 3 to 5): W[e][k] is the furthest offset h on diagonal k = h - v that e edits reach.

    d       = max( W[e-1][k+1]        deletion
                   W[e-1][k  ] + 1    mismatch
                   W[e-1][k-1] + 1 )  insertion
    W[e][k] = d + length of the common prefix of pattern[d-k:] and text[d:]

Memory: every wavefront is kept, a dict {k: offset} each; a point outside the matrix is not stored.
Limits: none but time and memory, both e * e for distance e.
"""

from itertools import groupby


def align_pair(pattern, text, penalties, scope, observe=None):
    """Align two bytes objects. penalties: Edit(). scope: "score" or "cigar".

    observe(e, k, operation, before, after), if given, is called for every W[e][k] as it is computed, with the operation
    that leads there ("X", "I", "D", or "" for W[0][0]) and its offset before and after the matches are added.
    Returns (edit distance, CIGAR string or None for scope "score").
    """
    wavefronts = _wavefronts(pattern, text, observe or (lambda *_: None))
    score = len(wavefronts) - 1
    return score, _trace(pattern, text, wavefronts) if scope == "cigar" else None


def _extend(pattern, text, k, h):
    """The offset that matches reach from offset h on diagonal k (thesis Algorithm 3)."""
    while h < len(text) and h - k < len(pattern) and pattern[h - k] == text[h]:
        h += 1
    return h


def _origins(wavefront, k):
    """(offset, operation) of every step that leads to diagonal k (thesis Eq. 4, Algorithm 4)."""
    steps = ((k, 1, "X"), (k - 1, 1, "I"), (k + 1, 0, "D"))
    return [(wavefront[origin] + advance, operation) for origin, advance, operation in steps if origin in wavefront]


def _wavefronts(pattern, text, observe):
    """[W[0], ..., W[e]], the last the first to reach the end (thesis Algorithm 5)."""
    m, n = len(pattern), len(text)
    wavefronts = [{0: _extend(pattern, text, 0, 0)}]
    observe(0, 0, "", 0, wavefronts[0][0])
    while wavefronts[-1].get(n - m) != n:
        e = len(wavefronts)
        wavefront = {}
        for k in range(-e, e + 1):
            inside = [step for step in _origins(wavefronts[-1], k) if step[0] <= n and step[0] - k <= m]
            if inside:
                offset, operation = max(inside, key=lambda step: step[0])
                wavefront[k] = _extend(pattern, text, k, offset)
                observe(e, k, operation, offset, wavefront[k])
        wavefronts.append(wavefront)
    return wavefronts


def _trace(pattern, text, wavefronts):
    """CIGAR of one optimal path, from the end back to the start."""
    m, n = len(pattern), len(text)
    k, h = n - m, n
    backwards = []
    for wavefront in reversed(wavefronts[:-1]):
        inside = [step for step in _origins(wavefront, k) if step[0] <= n and step[0] - k <= m]
        offset, operation = max(inside, key=lambda step: step[0])
        backwards += ["="] * (h - offset) + [operation]
        h = offset - (operation != "D")
        k += (operation == "D") - (operation == "I")
    backwards += ["="] * h
    return "".join(f"{len(list(run))}{operation}" for operation, run in groupby(reversed(backwards)))
