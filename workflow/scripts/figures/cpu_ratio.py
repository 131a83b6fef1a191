"""CPU ratio: heat maps of our CPU kernels over the fastest native peer, on one thread; four for each host.

The cells are those of the table cpu_ratio: medians of ratios taken round by round within one race.
"""

import string
import textwrap

import click
import numpy as np
from matplotlib.colors import LogNorm

from workflow.scripts import cpu_ratios, plotting
from workflow.scripts.cpu_ratios import ERRORS_PERCENT, LENGTHS_BP, METRICS, SCOPES
from workflow.scripts.doubts import figure_doubts
from workflow.scripts.format_numbers import significant

#: Diverging, white in the middle, told apart by colour-blind readers: purple where ours is faster, orange where slower.
COLOURS = "PuOr"
#: The colours end at this ratio and at its inverse.
MOST = 4
NORM = LogNorm(1 / MOST, MOST)
TICKS = (0.25, 0.5, 1, 2, 4)
#: Below this luminance (of 1) a cell needs white letters.
DARK = 0.5
#: Of the hatching of cells without a ratio.
LINES = "#bdbdbd"
PANELS = [(metric, scope) for metric in METRICS for scope in SCOPES]
ACROSS = 2


def draw(hosts, here):
    """The figure. hosts: cpu_ratios.of_hosts(). here: id of this host."""
    shown = {host: cells for host, cells in hosts.items() if any(cell.best for cell in cells)}
    unmeasured = [cell for cells in shown.values() for cell in cells if cell.best is None]
    letters = dict(zip(dict.fromkeys(cell.short for cell in unmeasured), string.ascii_lowercase, strict=False))
    notes = _wrapped(_notes(letters, bool(shown), [host for host in hosts if host not in (*shown, here)]))
    rows = max(1, len(shown) * len(PANELS) // ACROSS)
    height = 0.6 + 1.45 * rows + plotting.LINE_INCHES * (notes.count("\n") + 1)
    fig, axes = plotting.figure(plotting.ONE_COLUMN, height, nrows=rows, ncols=ACROSS, squeeze=False)
    fig.supxlabel(notes, fontsize=7, x=0.02, ha="left", multialignment="left")
    if not shown:
        for panel in axes.flat:
            panel.axis("off")
        axes[0, 0].text(1, 0.5, "no race with our kernel\nand a peer yet", ha="center", transform=axes[0, 0].transAxes)
        return fig
    panels = [(host, cells, *which) for host, cells in shown.items() for which in PANELS]
    for panel, (host, cells, metric, scope) in zip(axes.flat, panels, strict=True):
        image = _panel(panel, [c for c in cells if (c.place.metric, c.place.scope) == (metric, scope)], letters)
        above = _title(host, host == here, cells) + "\n" if (metric, scope) == PANELS[0] else ""
        panel.set_title(f"{above}{METRICS[metric]}, {SCOPES[scope]}", fontsize=7.5, loc="left")
    _label(axes)
    bar = fig.colorbar(image, ax=axes, location="top", aspect=40, extend="both", ticks=TICKS)
    bar.ax.set_xticklabels([f"{tick:g}" for tick in TICKS])
    bar.ax.minorticks_off()
    bar.set_label("fastest peer's time / ours, 1 thread", fontsize=7.5)
    return fig


def _panel(axes, cells, letters):
    """One heat map; its image. A cell without a ratio is hatched and has the letter of its reason."""
    values = np.full((len(LENGTHS_BP), len(ERRORS_PERCENT)), np.nan)
    for cell in cells:
        y, x = LENGTHS_BP.index(cell.place.length_bp), ERRORS_PERCENT.index(cell.place.percent)
        if cell.best is None:
            axes.add_patch(plotting.plt.Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor="white", edgecolor=LINES,
                                                  hatch="////", linewidth=0))  # fmt: skip
            axes.text(x, y, letters[cell.short], fontsize=7, ha="center", va="center",
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
            continue
        values[y, x] = cell.best.median
        axes.text(x, y, value_text(cell), fontsize=7, ha="center", va="center", color=_ink(cell.best.median),
                  fontweight="bold" if cell.met else "normal")  # fmt: skip
    return axes.imshow(values, cmap=COLOURS, norm=NORM, aspect="auto")


def _ink(ratio):
    """Colour of the letters on a cell's own."""
    red, green, blue, _ = plotting.plt.get_cmap(COLOURS)(NORM(ratio))
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < DARK else "black"


def value_text(cell):
    """``1.85``; ``~1.02`` where the interval includes 1."""
    return "~" * (cell.best.low <= 1 <= cell.best.high) + significant(cell.best.median)


def _label(axes):
    """Lengths at the left of the grid, errors below it."""
    for panel in axes.flat:
        panel.set_xticks(range(len(ERRORS_PERCENT)), ERRORS_PERCENT if panel in axes[-1] else [])
        panel.set_yticks(range(len(LENGTHS_BP)), LENGTHS_BP if panel in axes[:, 0] else [])
        panel.tick_params(length=0)
        panel.spines[:].set_visible(False)
    for panel in axes[-1]:
        panel.set_xlabel("error (%)", fontsize=7.5)
    for panel in axes[:, 0]:
        panel.set_ylabel("length (nt)", fontsize=7.5)


def _title(host, is_here, cells):
    measured = [cell for cell in cells if cell.best]
    lanes = ", ".join(sorted({cell.best.row["lane"] for cell in measured}))
    stale = any(cell.best.stale for cell in measured)
    older, invalid = any(cell.race.older for cell in measured), not all(cell.race.valid for cell in measured)
    where = "this host" if is_here else "recorded on"
    return f"{where} {host}, lane {lanes}{figure_doubts(stale, older, invalid)}"


def _notes(letters, any_ratio, left_out):
    """Sentences below the maps. letters: {why cells have no ratio: letter}. left_out: other hosts without a ratio."""
    told = []
    if any_ratio:
        told += ["Above 1 ours is faster; ~: the 95 % interval includes 1"]
        told += ["Bold: the whole interval is at least the target"]
    told += [f"{letter}: {short}" for short, letter in letters.items()]
    told += [f"No ratio on {host}" for host in left_out]
    return told + ["The table cpu_ratio tells the peers, and more of why a ratio is missing"]


def _wrapped(notes):
    return "\n".join(line for note in notes for line in textwrap.wrap(note + ".", 68, subsequent_indent="   "))


@click.command(help=__doc__)
@cpu_ratios.options
@click.option("--out", required=True, help="Path without suffix: .svg and .png are written.")
def main(files, targets, configs, lane, host, out):
    """Draw the figure from FILES, race files, recorded ones too."""

    def drawn():
        hosts, _, _ = cpu_ratios.read(files, targets, configs, lane, host)
        return draw(hosts, host)

    plotting.draw_and_save(drawn, out)


if __name__ == "__main__":
    main()
