"""thesis Fig 3: the edit-distance matrix of GATTA (rows) and GAATA (columns), its first rows filled.

Along a diagonal the score does not rise until a mismatch: where letters match, the cell takes its diagonal
neighbour's value (thesis Eq. 1), so WFA may extend without computing the rest.
"""

from workflow.scripts import plotting

ROWS, COLUMNS = "GATTA", "GAATA"
#: Rows of the pattern that the thesis prints filled (G, A, T).
FILLED = 3


def distances(pattern, text, rows):
    """Rows 0..rows of the edit-distance matrix (thesis Eq. 1)."""
    matrix = [list(range(len(text) + 1))]
    for v in range(1, rows + 1):
        row = [v]
        for h in range(1, len(text) + 1):
            differs = pattern[v - 1] != text[h - 1]
            row.append(min(matrix[v - 1][h - 1] + differs, row[h - 1] + 1, matrix[v - 1][h] + 1))
        matrix.append(row)
    return matrix


def diagonal(matrix):
    """[(v, h)] of the filled cells of diagonal 0."""
    return [(v, v) for v in range(len(matrix))]


def draw():
    """Diagonal extension: the score does not rise until a mismatch."""
    matrix = distances(ROWS, COLUMNS, FILLED)
    fig, axes = plotting.figure(plotting.ONE_COLUMN, 2.8)
    values = {(v, h): str(n) for v, row in enumerate(matrix) for h, n in enumerate(row)}
    cells = diagonal(matrix)
    free = [cell for cell in cells if matrix[cell[0]][cell[1]] == 0]
    shade = {cell: (plotting.GREEN if cell in free else plotting.RED) + "40" for cell in cells}
    plotting.matrix(axes, ROWS, COLUMNS, values, shade, font=9)
    for (v0, h0), (v1, h1) in zip(cells, cells[1:], strict=False):
        color = plotting.GREEN if (v1, h1) in free else plotting.RED
        arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 1.4, "shrinkA": 7, "shrinkB": 7}
        axes.annotate("", (h1, v1), (h0, v0), arrowprops=arrow)
    fig.supxlabel("green: letters match, the score stays 0; red: a mismatch, it rises to 1", fontsize=7)
    return fig


main = plotting.command(draw)
if __name__ == "__main__":
    main()
