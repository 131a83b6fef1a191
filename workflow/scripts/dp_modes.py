"""A plain dynamic-programming aligner in the three modes of thesis section 2.2.3, for its figures.

Linear scores, to be maximised: MATCH for equal letters, MISMATCH and GAP (both negative) otherwise. Global alignment
pays for everything; semi-global leaves the text's ends free; local keeps the best-scoring part of both.
"""

MATCH, MISMATCH, GAP = 1, -1, -1
MODES = ("global", "semi-global", "local")


def fill(pattern, text, mode):
    """The DP matrix as a list of len(pattern) + 1 rows of len(text) + 1 scores (after Needleman-Wunsch and
    Smith-Waterman)."""
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    rows = [[0 if mode != "global" else GAP * h for h in range(len(text) + 1)]]
    for v in range(1, len(pattern) + 1):
        row = [0 if mode == "local" else GAP * v]
        for h in range(1, len(text) + 1):
            same = MATCH if pattern[v - 1] == text[h - 1] else MISMATCH
            best = max(rows[v - 1][h - 1] + same, rows[v - 1][h] + GAP, row[h - 1] + GAP)
            row.append(max(best, 0) if mode == "local" else best)
        rows.append(row)
    return rows


def end_cell(matrix, mode):
    """The cell (v, h) in which the best alignment of the mode ends."""
    height, width = len(matrix), len(matrix[0])
    if mode == "global":
        return height - 1, width - 1
    if mode == "semi-global":
        return height - 1, max(range(width), key=lambda h: matrix[-1][h])
    return max(((v, h) for v in range(height) for h in range(width)), key=lambda cell: matrix[cell[0]][cell[1]])


def align(pattern, text, mode):
    """(score, path): the path is the list of cells (v, h) from its first to its last, ends included.

    Ties prefer the diagonal, then the gap in the text.
    """
    matrix = fill(pattern, text, mode)
    v, h = end_cell(matrix, mode)
    score = matrix[v][h]
    path = [(v, h)]
    while not _starts(matrix, v, h, mode):
        same = v and h and (MATCH if pattern[v - 1] == text[h - 1] else MISMATCH)
        if v and h and matrix[v][h] == matrix[v - 1][h - 1] + same:
            v, h = v - 1, h - 1
        elif v and matrix[v][h] == matrix[v - 1][h] + GAP:
            v -= 1
        else:
            h -= 1
        path.append((v, h))
    return score, path[::-1]


def _starts(matrix, v, h, mode):
    if mode == "local":
        return matrix[v][h] == 0
    return v == 0 and (mode == "semi-global" or h == 0)
