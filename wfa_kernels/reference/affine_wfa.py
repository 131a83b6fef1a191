"""Gap-affine wavefront alignment (WFA), plain Python: the recurrence as written, slow.

Problem: the cheapest global alignment of pattern and text where a mismatch costs ``mismatch`` and a gap of n letters
``gap_open + n * gap_extend``.

Recurrence (thesis Eq. 3; Marco-Sola et al. 2021, Algorithm 1), offsets h on diagonal k = h - v for score s:
    I[s][k] = max(M[s - o - e][k - 1], I[s - e][k - 1]) + 1
    D[s][k] = max(M[s - o - e][k + 1], D[s - e][k + 1])
    M[s][k] = LCP-extended max(M[s - x][k] + 1, I[s][k], D[s][k])
A wavefront is a dict {k: offset}; a diagonal that no path of that score reaches is absent. All wavefronts are kept.
"""

from itertools import groupby


def align_pair(pattern, text, penalties, scope):
    """Align one pair of bytes.

    penalties: object with ``triple`` (mismatch, gap_open, gap_extend). scope: "score" or "cigar".
    Returns (score, CIGAR string or None for scope "score").
    """
    mismatch, gap_open, gap_extend = penalties.triple
    final_diagonal = len(text) - len(pattern)
    m, i, d = {0: {0: _extend(pattern, text, 0, 0)}}, {}, {}
    score = 0
    while m.get(score, {}).get(final_diagonal) != len(text):
        score += 1
        opened, extended_i, extended_d = (
            m.get(score - gap_open - gap_extend, {}),
            i.get(score - gap_extend, {}),
            d.get(score - gap_extend, {}),
        )
        i[score] = _inside(pattern, text, {k + 1: h + 1 for k, h in _furthest(opened, extended_i).items()})
        d[score] = _inside(pattern, text, {k - 1: h for k, h in _furthest(opened, extended_d).items()})
        replaced = _inside(pattern, text, {k: h + 1 for k, h in m.get(score - mismatch, {}).items()})
        reached = _furthest(replaced, i[score], d[score])
        m[score] = {k: _extend(pattern, text, k, h) for k, h in reached.items()}
    if scope == "score":
        return score, None
    return score, _trace(pattern, text, penalties.triple, m, i, d, score)


def _furthest(*wavefronts):
    """Diagonal by diagonal the largest offset."""
    best = {}
    for wavefront in wavefronts:
        for k, h in wavefront.items():
            best[k] = max(h, best.get(k, h))
    return best


def _inside(pattern, text, wavefront):
    """The cells (v, h) that exist."""
    return {k: h for k, h in wavefront.items() if h <= len(text) and h - k <= len(pattern)}


def _extend(pattern, text, k, h):
    """Offset after the matches that follow offset h on diagonal k (thesis Algorithm 2)."""
    while h < len(text) and h - k < len(pattern) and pattern[h - k] == text[h]:
        h += 1
    return h


def _trace(pattern, text, triple, m, i, d, score):
    """CIGAR: from the end, the first source whose offset explains the cell (thesis section 2.4)."""
    mismatch, gap_open, gap_extend = triple
    letters = []
    k = len(text) - len(pattern)
    h = len(text)
    matrix = "M"
    while True:
        if matrix == "M":
            sources = [
                (i[score].get(k, -1), "I") if score in i else (-1, "I"),
                (d[score].get(k, -1), "D") if score in d else (-1, "D"),
                (m.get(score - mismatch, {}).get(k, -2) + 1, "X"),
                (0 if score == 0 else -1, "start"),
            ]
            reached, source = max(sources, key=lambda candidate: candidate[0])
            letters += "=" * (h - reached)
            h = reached
            if source == "start":
                return _run_lengths(letters)
            if source == "X":
                letters.append("X")
                h -= 1
                score -= mismatch
            else:
                matrix = source
        else:
            letters.append(matrix)
            step = (1, 1) if matrix == "I" else (0, -1)
            h, k = h - step[0], k - step[1]
            gap = i if matrix == "I" else d
            if gap.get(score - gap_extend, {}).get(k) == h:
                score -= gap_extend
            else:
                score -= gap_open + gap_extend
                matrix = "M"


def _run_lengths(letters):
    """CIGAR string of operations listed from the end."""
    return "".join(f"{len(list(run))}{letter}" for letter, run in groupby(reversed(letters)))
