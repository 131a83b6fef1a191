"""Gap-affine wavefront alignment (WFA), plain Python: the recurrence as written, slow.

Problem: the cheapest global alignment of pattern and text where a mismatch costs ``mismatch`` and a gap of n letters
``gap_open + n * gap_extend``.

Recurrence (thesis Eq. 3; Marco-Sola et al. 2021, Algorithm 1), offsets h on diagonal k = h - v for score s:
    I[s][k] = max(M[s - o - e][k - 1], I[s - e][k - 1]) + 1
    D[s][k] = max(M[s - o - e][k + 1], D[s - e][k + 1])
    M[s][k] = LCP-extended max(M[s - x][k] + 1, I[s][k], D[s][k])
A wavefront is a dict {k: offset}; a diagonal that no path of that score reaches is absent. All wavefronts are kept.
With a heuristic cells are absent that it leaves out.
"""

from itertools import groupby

from wfa_kernels.heuristics import StaticBand, WavefrontReduction


def align_pair(pattern, text, penalties, scope, heuristic=None):
    """Align one pair of bytes.

    penalties: object with ``triple`` (mismatch, gap_open, gap_extend). scope: "score" or "cigar". heuristic: None, a
    StaticBand or a WavefrontReduction.
    Returns (score, CIGAR string or None for scope "score").
    """
    mismatch, gap_open, gap_extend = penalties.triple
    in_band = _band(pattern, text, heuristic)
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
        opened_i = opened_d = opened
        if isinstance(heuristic, WavefrontReduction):
            opened_i, opened_d = (_apart(opened, gap.get(score - gap_open - gap_extend, {})) for gap in (i, d))
        i[score] = in_band(_inside(pattern, text, {k + 1: h + 1 for k, h in _furthest(opened_i, extended_i).items()}))
        d[score] = in_band(_inside(pattern, text, {k - 1: h for k, h in _furthest(opened_d, extended_d).items()}))
        replaced = _inside(pattern, text, {k: h + 1 for k, h in m.get(score - mismatch, {}).items()})
        reached = _furthest(replaced, i[score], d[score])
        m[score] = {k: _extend(pattern, text, k, h) for k, h in reached.items()}
        if isinstance(heuristic, WavefrontReduction):
            lowest, highest = _reduced(pattern, text, m[score], heuristic)
            m[score], i[score], d[score] = (_cut(matrix[score], lowest, highest) for matrix in (m, i, d))
    if scope == "score":
        return score, None
    return score, _trace(pattern, text, penalties.triple, m, i, d, score)


def _band(pattern, text, heuristic):
    """The function that leaves of a wavefront what the heuristic's band has of it."""
    if not isinstance(heuristic, StaticBand):
        return lambda wavefront: wavefront
    lowest, highest = heuristic.diagonals(len(pattern), len(text))
    return lambda wavefront: _cut(wavefront, lowest, highest)


def _reduced(pattern, text, wavefront, reduction):
    """The lowest and the highest diagonal that are kept of M (Marco-Sola et al. 2021, heuristic reduction)."""
    lowest, highest = min(wavefront, default=0), max(wavefront, default=-1)
    if highest - lowest + 1 < reduction.min_length:
        return lowest, highest
    distances = {k: max(len(pattern) - (h - k), len(text) - h) for k, h in wavefront.items()}
    furthest = min(distances.values()) + reduction.max_distance
    near = [k for k, distance in distances.items() if distance <= furthest]
    final = len(text) - len(pattern)
    return min(*near, final), max(*near, final)


def _apart(opened, gap):
    """The cells in which no gap of that kind has just ended (see WavefrontReduction)."""
    return {k: h for k, h in opened.items() if gap.get(k) != h}


def _cut(wavefront, lowest, highest):
    return {k: h for k, h in wavefront.items() if lowest <= k <= highest}


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
                (_inside(pattern, text, {k: m.get(score - mismatch, {}).get(k, -2) + 1}).get(k, -1), "X"),
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
