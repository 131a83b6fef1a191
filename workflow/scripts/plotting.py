"""What all figures share: the style, one colour and marker per tool, and saving as SVG and PNG.

Figures are drawn at the width they are read at: one column is 3.5 inches, no text under 7 points.
"""

import click
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from workflow.scripts import out_file  # noqa: E402

ONE_COLUMN = 3.5
#: Both columns of a page, for what one has no room for.
TWO_COLUMNS = 7.2
#: Height of a line of the smallest text.
LINE_INCHES = 0.125
#: Okabe and Ito's palette, told apart by colour-blind readers too.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
GREY = "#6b6b6b"
#: tool id -> (colour, marker). A tool looks the same in every figure; the pair tells two tools apart in grey, too.
TOOL_STYLE = {
    "edlib": (ORANGE, "o"),
    "rapidfuzz": (YELLOW, "h"),
    "rapidfuzz:pool": (YELLOW, "H"),
    "parasail:striped": (SKY, "s"),
    "parasail:scan": (SKY, "^"),
    "parasail:diag": (SKY, "D"),
    "wfa2-lib:unidirectional": (BLUE, "v"),
    "wfa2-lib:biwfa": (BLUE, "P"),
    "edlib-native": (ORANGE, "s"),
    "parasail-native:striped": (SKY, "p"),
    "parasail-native:scan": (SKY, "v"),
    "parasail-native:diag": (SKY, "h"),
    "wfa2-lib-native:unidirectional": (BLUE, "^"),
    "wfa2-lib-native:biwfa": (BLUE, "X"),
    "ksw2": (PINK, "X"),
    "seqan": (PINK, "d"),
    "wavebench-auto:cpu": (RED, "o"),
    "wavebench-wfa:cpu": (RED, "*"),
    "wavebench-wfa:pool": (RED, "P"),
    "wavebench-bits:cpu": (RED, "X"),
    "wavebench-bpm:cpu": (RED, "p"),
    "wavebench-ond:cpu": (RED, "<"),
    "gasal2": (GREEN, "o"),
    "adept": (GREEN, "s"),
    "nvbio": (GREEN, "^"),
    "cudaaligner": (GREEN, "D"),
    "wfa-gpu": (BLACK, "*"),
}
STYLE = {
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.4,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "svg.hashsalt": "wavebench",  # the same figure is the same bytes
    "figure.constrained_layout.use": True,
}


def style(tool):
    """Keyword arguments (color, marker) of a tool's points; one that is not in the list has its first letter."""
    color, marker = TOOL_STYLE.get(tool, (GREY, f"${tool[0]}$"))
    return {"color": color, "marker": marker}


def figure(width, height, **subplots):
    """(figure, axes) in the project's style; sizes in inches."""
    plt.rcParams.update(STYLE)
    return plt.subplots(figsize=(width, height), **subplots)


def save(fig, out):
    """Write OUT.svg and OUT.png (300 dpi). What cannot be written is one message and exit code 2."""
    try:
        for suffix in ("svg", "png"):
            out_file.prepare(f"{out}.{suffix}")
    except out_file.OutError as error:
        raise click.UsageError(str(error)) from None
    fig.savefig(f"{out}.svg", metadata={"Date": None})
    fig.savefig(f"{out}.png", metadata={"Software": None})
    plt.close(fig)


def draw_and_save(draw, out):
    """Save the figure that draw() gives. What it cannot read, a ValueError, is one message and exit code 2."""
    try:
        fig = draw()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    save(fig, out)


def write_instead(axes, text):
    """Say in words why there is nothing to draw. axes: the array of a figure's panels."""
    for panel in axes.flat:
        panel.axis("off")
    first = axes[0, 0]
    first.text(axes.shape[1] / 2, 0.5, text, ha="center", va="center", transform=first.transAxes)


def command(draw):
    """A click command that draws one computed figure: draw() gives the matplotlib figure."""

    @click.command(help=draw.__doc__)
    @click.option("--out", required=True, help="Path without suffix: .svg and .png are written.")
    def main(out):
        save(draw(), out)

    return main


def matrix(axes, rows, columns, values=None, shade=None, font=8):
    """Draw a DP matrix: pattern letters down the left side, text letters along the top, cell (v, h) at x=h, y=v.

    values: {(v, h): text}. shade: {(v, h): colour}. Row and column 0 stand for the empty prefix.
    """
    height, width = len(rows) + 1, len(columns) + 1
    for (v, h), color in (shade or {}).items():
        axes.add_patch(plt.Rectangle((h - 0.5, v - 0.5), 1, 1, facecolor=color, edgecolor="none", zorder=0))
    for v in range(height + 1):
        axes.plot([-0.5, width - 0.5], [v - 0.5] * 2, color="#bdbdbd", linewidth=0.5, zorder=1)
    for h in range(width + 1):
        axes.plot([h - 0.5] * 2, [-0.5, height - 0.5], color="#bdbdbd", linewidth=0.5, zorder=1)
    for v, letter in enumerate(rows, 1):
        axes.text(-0.95, v, letter, ha="center", va="center", fontsize=font, fontweight="bold")
    for h, letter in enumerate(columns, 1):
        axes.text(h, -0.95, letter, ha="center", va="center", fontsize=font, fontweight="bold")
    for (v, h), text in (values or {}).items():
        axes.text(h, v, text, ha="center", va="center", fontsize=font, zorder=3)
    axes.set_xlim(-1.5, width - 0.4)
    axes.set_ylim(height - 0.4, -1.5)
    axes.set_aspect("equal")
    axes.axis("off")
