"""thesis Fig 8: threads over the diagonals of a wavefront, while other blocks align other pairs.

Everything shown is the trace of this project's kernel of WFA-GPU's design, run in Numba's CUDA simulator.
"""

from workflow.scripts import plotting, pool_trace
from workflow.scripts.figures.thesis_fig4 import SIZES, THREAD_STYLE

PENALTIES = 2, 3, 1
#: Pairs of the pool, one for each block.
PAIRS = ((b"GATTACAGA", b"GAATACCA"), (b"ACGTACGT", b"ACTTACT"), (b"TTGACCT", b"TGACGACT"))


def draw():
    """Threads of three blocks over the diagonals of each wavefront."""
    found = pool_trace.trace(PAIRS, PENALTIES)
    reach = [max(abs(work.k) for work in found.work if work.block == block) for block in range(len(PAIRS))]
    fig, panels = plotting.figure(
        plotting.ONE_COLUMN, 6.6, nrows=len(PAIRS), sharex=True, gridspec_kw={"height_ratios": [r + 1 for r in reach]}
    )
    for block, axes in enumerate(panels):
        _panel(axes, [work for work in found.work if work.block == block], found.threads)
        (pair,) = {work.pair for work in found.work if work.block == block}
        pattern, text = (side.decode() for side in PAIRS[pair])
        axes.set_title(f"block {block}, pair {pair}: {pattern}, {text}, score {found.scores[pair]}", fontsize=7)
    panels[-1].set_xlabel("score $s$")
    panels[-1].set_xticks(range(max(found.scores) + 1))
    threads = [
        plotting.plt.Line2D([], [], linestyle="", color=color, marker=marker, markersize=9, label=f"thread {thread}")
        for thread, (color, marker) in enumerate(THREAD_STYLE)
    ]
    fig.legend(handles=threads, loc="outside upper center", ncols=found.threads, handletextpad=0.1, columnspacing=1.0)
    x, o, e = PENALTIES
    fig.supxlabel(
        f"mismatch {x}, gap open {o}, gap extend {e}; blocks of {found.threads} threads\n"
        "filled: a path of that score is there; pale: none; frame: one wavefront\n"
        "the simulator runs blocks in turn: each was made to take one pair",
        fontsize=7,
    )
    return fig


def _panel(axes, cells, threads):
    for score in {work.score for work in cells}:
        taken = [work.k for work in cells if work.score == score]
        axes.add_patch(
            plotting.plt.Rectangle(
                (score - 0.4, min(taken) - 0.48), 0.8, max(taken) - min(taken) + 0.96, facecolor="#f4f4f4",
                edgecolor="#9a9a9a", lw=0.6, zorder=0,
            )
        )  # fmt: skip
    for thread in range(threads):
        color, marker = THREAD_STYLE[thread]
        own = [work for work in cells if work.thread == thread]
        axes.scatter(
            [work.score for work in own], [work.k for work in own], s=[0.8 * SIZES[marker]] * len(own), marker=marker,
            color=color, alpha=[1.0 if work.reached else 0.25 for work in own],
        )  # fmt: skip
    for work in cells:
        axes.text(work.score, work.k - 0.04, str(work.thread), fontsize=7, ha="center", va="center")
    reach = max(abs(work.k) for work in cells)
    axes.set_yticks(range(-reach, reach + 1))
    axes.set_ylim(-reach - 0.7, reach + 0.7)
    axes.set_ylabel("diagonal $k$")


main = plotting.command(draw)
if __name__ == "__main__":
    main()
