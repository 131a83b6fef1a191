"""thesis Fig 4 (ewfa Fig 2): which thread of a block works on which diagonal, score by score.

Everything shown is the trace of this project's kernel of eWFA-GPU's design, run in Numba's CUDA simulator.
"""

from workflow.scripts import block_trace, plotting

PATTERN, TEXT = b"GATTACAGATTACA", b"GAATAGGTTCGA"
#: (colour, marker) of each thread; the number inside tells them apart, too.
THREAD_STYLE = (
    (plotting.ORANGE, "o"),
    (plotting.SKY, "s"),
    (plotting.GREEN, "D"),
    (plotting.PINK, "h"),
)
#: Points squared, so that a digit of 7 points fits in every shape.
SIZES = {"o": 120, "s": 100, "D": 84, "h": 130}


def draw():
    """Threads of one block over the diagonals of each wavefront."""
    block = block_trace.trace(PATTERN, TEXT)
    cells = sorted(block.work, key=lambda work: (work.score, work.k))  # the order between threads is chance
    fig, axes = plotting.figure(plotting.ONE_COLUMN, 4.2)
    _turns(axes, cells)
    for thread in range(block.threads):
        color, marker = THREAD_STYLE[thread]
        own = [(work.score, work.k) for work in cells if work.thread == thread]
        axes.scatter(*zip(*own, strict=True), s=SIZES[marker], color=color, marker=marker, label=f"thread {thread}")
    for work in cells:
        axes.text(work.score, work.k - 0.04, str(work.thread), fontsize=7, ha="center", va="center")
    axes.set_xticks(range(block.distance + 1))
    axes.set_yticks(range(-block.distance, block.distance + 1))
    axes.set_xlabel("score $e$")
    axes.set_ylabel("diagonal $k$ = $h$ − $v$")
    fig.legend(loc="outside upper center", ncols=block.threads, handletextpad=0.1, columnspacing=1.0)
    fig.supxlabel(
        f"pattern {PATTERN.decode()}, text {TEXT.decode()}: e = {block.distance}\n"
        f"one block of {block.threads} threads; frame: one diagonal a thread, at once",
        fontsize=7,
    )
    return fig


def _turns(axes, cells):
    """A frame around the diagonals that the threads of the block take in the same turn."""
    turns = {}
    for work in cells:
        turns.setdefault((work.score, work.turn), []).append(work.k)
    for (score, _), taken in turns.items():
        low, height = min(taken) - 0.46, max(taken) - min(taken) + 0.92
        axes.add_patch(
            plotting.plt.Rectangle(
                (score - 0.36, low), 0.72, height, facecolor="#f4f4f4", edgecolor="#9a9a9a", lw=0.6, zorder=0
            )
        )


main = plotting.command(draw)
if __name__ == "__main__":
    main()
