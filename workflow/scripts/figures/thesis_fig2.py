"""thesis Fig 2: one pair aligned globally, semi-globally and locally; dotted: the ends that cost nothing."""

from workflow.scripts import dp_modes, plotting

PATTERN = "CGATTACG"
TEXT = "TTAGATTACTGA"
COLORS = dict(zip(dp_modes.MODES, (plotting.BLUE, plotting.GREEN, plotting.RED), strict=True))


def free_ends(path, mode):
    """[(from cell, to cell)] of the ends of the sequences outside the alignment: text along the top and the bottom,
    pattern down the left and the right side."""
    (v0, h0), (v1, h1) = path[0], path[-1]
    ends = []
    if mode != "global":
        ends = [((0, 0), (0, h0)), ((len(PATTERN), h1), (len(PATTERN), len(TEXT)))]
    if mode == "local":
        ends += [((0, 0), (v0, 0)), ((v1, len(TEXT)), (len(PATTERN), len(TEXT)))]
    return [(a, b) for a, b in ends if a != b]


def draw_mode(axes, mode):
    """One panel: the path of the best alignment and the free ends."""
    score, path = dp_modes.align(PATTERN, TEXT, mode)
    color = COLORS[mode]
    plotting.matrix(axes, PATTERN, TEXT, shade=dict.fromkeys(path, color + "38"), font=7)
    axes.plot([h for _, h in path], [v for v, _ in path], "-", color=color, linewidth=1.6)
    for (v0, h0), (v1, h1) in free_ends(path, mode):
        axes.plot([h0, h1], [v0, v1], ":", color=color, linewidth=2)
    axes.set_title(f"{mode}: score {score}", color=color, fontweight="bold", pad=2)


def draw():
    """Global, semi-global and local alignment of one pair: the path in the DP matrix."""
    fig, panels = plotting.figure(plotting.ONE_COLUMN, 2.9, nrows=2, ncols=2)
    for axes, mode in zip(panels.flat, dp_modes.MODES, strict=False):
        draw_mode(axes, mode)
    panels[1, 1].axis("off")
    panels[1, 1].text(
        0, 0.9,
        "solid: the alignment\n\ndotted: ends that\ncost nothing\n\n"
        f"match {dp_modes.MATCH:+d}\nmismatch {dp_modes.MISMATCH:+d}\ngap {dp_modes.GAP:+d} a letter\n\n"
        "pattern down,\ntext across",
        transform=panels[1, 1].transAxes, va="top", fontsize=7.5,
    )  # fmt: skip
    return fig


main = plotting.command(draw)
if __name__ == "__main__":
    main()
