"""Heat maps of the CPU page's grid, lengths against errors: four panels (metric and scope) for each host.

A cell shows a ratio, its colour and its value; without one it is hatched and has the letter of its reason.
"""

import string
from dataclasses import dataclass

import numpy as np
from matplotlib.colors import Normalize

from workflow.scripts import cpu_figures, cpu_races, plotting
from workflow.scripts.cpu_races import ERRORS_PERCENT, FEWEST_PAIRS, LENGTHS_BP, METRICS, PANELS, SCOPES
from workflow.scripts.format_numbers import significant

#: Below this luminance (of 1) a cell needs white letters.
DARK = 0.5
#: Of the hatching of cells without a ratio.
LINES = "#bdbdbd"
ACROSS = 2


@dataclass(frozen=True)
class Ratio:
    """A cell of a heat map.

    short: why there is no ratio, in a few words. raced: there is a race. median, low, high: of the ratio; low and high
    bound its 95 % interval. bold: it is shown so. pairs: that were timed. lane, stale, older, valid: of the race.
    """

    place: cpu_races.Place
    short: str = ""
    raced: bool = True
    median: float | None = None
    low: float | None = None
    high: float | None = None
    bold: bool = False
    pairs: int = 0
    lane: str = ""
    stale: bool = False
    older: bool = False
    valid: bool = True

    @property
    def text(self):
        """``1.85``; ``~1.02`` where the interval includes 1; ``1.85*`` of few pairs."""
        return "~" * (self.low <= 1 <= self.high) + significant(self.median) + "*" * self.few

    @property
    def few(self):
        """There is a ratio, of fewer pairs than a batch should have."""
        return self.median is not None and self.pairs < FEWEST_PAIRS


def measured(place, speedup, race, interval, bold):
    """The Ratio of a ratios.Speedup of a ratios.Race. interval: (low, median, high) that is shown."""
    low, median, high = interval
    row, doubts = speedup.row, {"stale": speedup.stale, "older": race.older, "valid": race.valid}
    return Ratio(place, "", True, median, low, high, bold, row["pairs"], row["lane"], **doubts)


@dataclass(frozen=True)
class Look:
    """How a figure's maps look.

    colours: name of a colour map. norm: of the ratios. ticks: of its scale. scale: its label. notes: sentences below
    the maps where there are any. further: the last sentence. nothing: what stands in the maps' place where there are
    none.
    """

    colours: str
    norm: Normalize
    ticks: tuple
    scale: str
    notes: tuple
    further: str
    nothing: str


def draw(hosts, here, look):
    """The figure. hosts: {id: [Ratio]}, this host (here) first."""
    shown = {host: cells for host, cells in hosts.items() if any(cell.median is not None for cell in cells)}
    unmeasured = [cell for cells in shown.values() for cell in cells if cell.median is None]
    letters = dict(zip(dict.fromkeys(cell.short for cell in unmeasured), string.ascii_lowercase, strict=False))
    told = [*(look.notes if shown else ()), *(f"{letter}: {short}" for short, letter in letters.items())]
    if any(cell.few for cells in shown.values() for cell in cells):
        told.append(f"*: timed on fewer than {FEWEST_PAIRS} pairs")
    told += _without_ratio({host: cells for host, cells in hosts.items() if host not in shown}, here)
    notes = cpu_figures.wrapped([*told, look.further])
    rows = max(1, len(shown) * len(PANELS) // ACROSS)
    height = 0.6 + 1.45 * rows + plotting.LINE_INCHES * (notes.count("\n") + 1)
    fig, axes = plotting.figure(plotting.ONE_COLUMN, height, nrows=rows, ncols=ACROSS, squeeze=False)
    cpu_figures.write_notes(fig, notes)
    if not shown:
        plotting.write_instead(axes, look.nothing)
        return fig
    panels = [(host, cells, *which) for host, cells in shown.items() for which in PANELS]
    for panel, (host, cells, metric, scope) in zip(axes.flat, panels, strict=True):
        here_only = [cell for cell in cells if (cell.place.metric, cell.place.scope) == (metric, scope)]
        image = _panel(panel, here_only, letters, look)
        above = _title(host, host == here, cells) + "\n" if (metric, scope) == PANELS[0] else ""
        panel.set_title(f"{above}{METRICS[metric]}, {SCOPES[scope]}", fontsize=7.5, loc="left")
    _label(axes)
    _scale(fig, axes, image, look)
    return fig


def _without_ratio(hosts, here):
    """A sentence for each of these hosts on why its races gave no ratio; none of this host where it has no race."""
    for host, cells in hosts.items():
        reasons = ", ".join(dict.fromkeys(cell.short for cell in cells if cell.raced))
        if reasons or host != here:
            yield f"No ratio on {'this host' if host == here else host}: {reasons or 'not raced'}"


def _panel(axes, cells, letters, look):
    """One heat map; its image."""
    values = np.full((len(LENGTHS_BP), len(ERRORS_PERCENT)), np.nan)
    for cell in cells:
        y, x = LENGTHS_BP.index(cell.place.length_bp), ERRORS_PERCENT.index(cell.place.percent)
        if cell.median is None:
            axes.add_patch(plotting.plt.Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor="white", edgecolor=LINES,
                                                  hatch="////", linewidth=0))  # fmt: skip
            axes.text(x, y, letters[cell.short], fontsize=7, ha="center", va="center",
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
            continue
        values[y, x] = cell.median
        axes.text(x, y, cell.text, fontsize=7, ha="center", va="center", color=_ink(cell.median, look),
                  fontweight="bold" if cell.bold else "normal")  # fmt: skip
    return axes.imshow(values, cmap=look.colours, norm=look.norm, aspect="auto")


def _ink(ratio, look):
    """Colour of the letters on a cell's own."""
    red, green, blue, _ = plotting.plt.get_cmap(look.colours)(look.norm(ratio))
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < DARK else "black"


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


def _scale(fig, axes, image, look):
    """The scale of colours above the maps."""
    bar = fig.colorbar(image, ax=axes, location="top", aspect=40, extend="both", ticks=look.ticks)
    bar.ax.set_xticklabels([f"{tick:g}" for tick in look.ticks])
    bar.ax.minorticks_off()
    bar.set_label(look.scale, fontsize=7.5)


def _title(host, is_here, cells):
    measured = [cell for cell in cells if cell.median is not None]
    stale, older = (any(getattr(cell, name) for cell in measured) for name in ("stale", "older"))
    invalid = not all(cell.valid for cell in measured)
    return cpu_figures.host_title(host, is_here, {cell.lane for cell in measured}, stale, older, invalid)
