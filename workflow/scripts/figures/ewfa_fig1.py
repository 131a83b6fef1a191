"""ewfa Fig 1: the edit WFA of GATTACA / GAATA inside the DP matrix, beside the full matrix.

Left: every cell of the matrix. Right: the wavefronts' furthest-reaching cells, computeNext() dotted, extend() solid,
the extension of W(2,-2) in red. Both come from code: the matrix from thesis Eq. 1, the wavefronts from the trace of
this project's reference edit WFA.
"""

from workflow.scripts import plotting, traces
from workflow.scripts.figures.thesis_fig3 import distances

PATTERN, TEXT = b"GATTACA", b"GAATA"
MARKED = (2, -2)
SCORE_COLORS = ("#cfe8f7", "#d5efe6", "#fbeccb", "#f6dde9", "#e8e8e8")


def draw():
    """DP matrix, and the furthest-reaching cells of each wavefront in it."""
    steps = traces.trace(PATTERN, TEXT)
    rows, columns = PATTERN.decode(), TEXT.decode()
    matrix = distances(rows, columns, len(rows))
    fig, (full, waves) = plotting.figure(plotting.ONE_COLUMN, 2.9, ncols=2)
    values = {(v, h): str(n) for v, row in enumerate(matrix) for h, n in enumerate(row)}
    plotting.matrix(full, rows, columns, values, font=8)
    full.set_title("DP matrix: all cells", fontweight="bold")
    _wavefronts(waves, steps, rows, columns)
    waves.set_title("WFA: wavefronts", fontweight="bold")
    end = traces.last(steps, PATTERN, TEXT)
    marked = steps[MARKED]
    fig.supxlabel(
        f"number: score of the cell; dotted: computeNext(); solid: extend()\nred: extend() of W(2,−2) from offset "
        f"{marked.before} to {marked.after}; e = {end.score}, ends at W({end.score},−{-end.k})",
        fontsize=7,
    )
    return fig


def _wavefronts(axes, steps, rows, columns):
    cells, shade = {}, {}
    for step in steps.values():
        for offset in range(step.before, step.after + 1):
            cell = step.cell(offset)
            if cell not in cells:
                cells[cell], shade[cell] = str(step.score), SCORE_COLORS[step.score % len(SCORE_COLORS)]
    plotting.matrix(axes, rows, columns, cells, shade, font=8)
    for step in steps.values():
        source = steps.get(step.source) if step.source else None
        if source:
            _line(axes, source.cell(source.after), step.cell(step.before), ":", plotting.GREY)
    for step in steps.values():
        color = plotting.RED if (step.score, step.k) == MARKED else plotting.BLUE
        for offset in range(step.before, step.after):
            _line(axes, step.cell(offset), step.cell(offset + 1), "-", color)


def _line(axes, start, end, style, color):
    """A line between the middles of two cells, shortened so that the numbers stay readable."""
    (v0, h0), (v1, h1) = start, end
    length = ((v1 - v0) ** 2 + (h1 - h0) ** 2) ** 0.5
    dv, dh = 0.28 * (v1 - v0) / length, 0.28 * (h1 - h0) / length
    axes.plot([h0 + dh, h1 - dh], [v0 + dv, v1 - dv], style, color=color, linewidth=1.5, zorder=2)


main = plotting.command(draw)
if __name__ == "__main__":
    main()
