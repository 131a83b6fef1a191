"""thesis Fig 5 (ewfa Fig 3): offsets and piggybacked backtrace vectors of GATTACA / GAATA, score by score.

Everything shown is the trace of this project's reference edit WFA.
"""

from workflow.scripts import plotting, traces

PATTERN, TEXT = b"GATTACA", b"GAATA"
#: The thesis' arrows for a step of the backtrace (its Algorithm 6): deletion from k + 1, mismatch, insertion.
ARROWS = {"D": "↖", "X": "←", "I": "↙"}


def arrows(vector):
    """A backtrace vector as the thesis writes it; a dot for the empty one."""
    return "".join(ARROWS[operation] for operation in vector) or "·"


def draw():
    """Offsets and piggybacked backtrace vectors, score by score."""
    steps = traces.trace(PATTERN, TEXT)
    on_path = {(step.score, step.k) for step in traces.optimal(steps, PATTERN, TEXT)}
    end = traces.last(steps, PATTERN, TEXT)
    diagonals = range(-end.score, end.score + 1)
    fig, panels = plotting.figure(plotting.ONE_COLUMN, 4.4, ncols=2, sharey=True)
    for axes, title in zip(panels, ("offsets after extend()", "backtrace vectors"), strict=True):
        _grid(axes, diagonals, end.score)
        axes.set_title(title, fontweight="bold")
    for step in steps.values():
        color = plotting.RED if (step.score, step.k) in on_path else plotting.BLACK
        weight = "bold" if color == plotting.RED else "normal"
        place = {"ha": "center", "va": "center", "color": color, "fontweight": weight}
        panels[0].text(step.score, step.k, str(step.after), fontsize=9, **place)
        panels[1].text(step.score, step.k, arrows(step.vector), fontsize=8, **place)
    panels[0].set_ylabel("diagonal $k$ = $h$ − $v$")
    fig.supxlabel(
        f"pattern {PATTERN.decode()}, text {TEXT.decode()}: e = {end.score}, ends at W({end.score},−{-end.k})\n"
        f"red: the optimal alignment, backtrace {arrows(end.vector)}; empty: outside the matrix\n"
        "← mismatch    ↖ deletion (from $k$ + 1)    ↙ insertion (from $k$ − 1)",
        fontsize=7,
    )
    return fig


def _grid(axes, diagonals, score):
    for s in range(score + 1):
        for k in range(-s, s + 1):
            axes.add_patch(
                plotting.plt.Rectangle((s - 0.5, k - 0.5), 1, 1, facecolor="none", edgecolor="#9a9a9a", lw=0.6)
            )
    axes.set_xlim(-0.6, score + 0.6)
    axes.set_ylim(diagonals[0] - 0.6, diagonals[-1] + 0.6)
    axes.set_xticks(range(score + 1))
    axes.set_yticks(diagonals)
    axes.set_xlabel("score $e$")
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)


main = plotting.command(draw)
if __name__ == "__main__":
    main()
