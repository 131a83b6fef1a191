"""thesis Fig 2: one pair aligned globally, semi-globally and locally; dotted: the letters that count."""

from workflow.scripts import dp_modes, plotting

PATTERN = "CGATTACG"
TEXT = "TTAGATTACTGA"
COLORS = dict(zip(dp_modes.MODES, (plotting.BLUE, plotting.GREEN, plotting.RED), strict=True))


def counted(path):
    """((first, last) letter of the pattern, of the text) that the alignment takes in, numbered from 1."""
    (v0, h0), (v1, h1) = path[0], path[-1]
    return (v0 + 1, v1), (h0 + 1, h1)


def draw_mode(axes, mode):
    """One panel: the path of the best alignment, and dotted lines along the letters that count."""
    score, path = dp_modes.align(PATTERN, TEXT, mode)
    color = COLORS[mode]
    plotting.matrix(axes, PATTERN, TEXT, shade=dict.fromkeys(path, color + "38"), font=7)
    axes.plot([h for _, h in path], [v for v, _ in path], "-", color=color, linewidth=1.6)
    (v0, v1), (h0, h1) = counted(path)
    axes.plot([-1.65, -1.65], [v0 - 0.4, v1 + 0.4], ":", color=color, linewidth=1.8, clip_on=False)
    axes.plot([h0 - 0.4, h1 + 0.4], [-1.65, -1.65], ":", color=color, linewidth=1.8, clip_on=False)
    axes.set_title(f"{mode}: score {score}", color=color, fontweight="bold", pad=5)


def draw():
    """Global, semi-global and local alignment of one pair: the path in the DP matrix."""
    fig, panels = plotting.figure(plotting.ONE_COLUMN, 2.9, nrows=2, ncols=2)
    for axes, mode in zip(panels.flat, dp_modes.MODES, strict=False):
        draw_mode(axes, mode)
    panels[1, 1].axis("off")
    panels[1, 1].text(
        0, 0.9,
        "solid: the alignment\n\ndotted: the letters\nthat count\n\n"
        f"match {dp_modes.MATCH:+d}\nmismatch {dp_modes.MISMATCH:+d}\ngap {dp_modes.GAP:+d} a letter\n\n"
        "pattern down,\ntext across",
        transform=panels[1, 1].transAxes, va="top", fontsize=7.5,
    )  # fmt: skip
    return fig


main = plotting.command(draw)
if __name__ == "__main__":
    main()
