"""Curves of the CPU page: log-log panels for each host, a line a tool, with the slope fitted to it at its right.

A curve's slope is that of a straight line through its points' logarithms, by least squares: y grows as x to that power.
"""

from dataclasses import dataclass, field

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from workflow.scripts import cpu_figures, cpu_races, plotting

ACROSS = 2
#: Below curves with open markers.
FEW = f"Open: timed on fewer than {cpu_races.FEWEST_PAIRS} pairs"
#: Of a panel's height: between two slopes.
APART = 0.085
#: An axis of y that spans less has ticks at 2 and 5, too.
FEW_DECADES = 100
#: Width of a line, of ours and of what align() picks.
THIN, THICK = 0.9, 1.8


@dataclass
class Panel:
    """One panel: its title, {tool: {x: (low, y, high)}}, and the (tool, x) of few pairs, whose markers are open."""

    title: str
    curves: dict = field(default_factory=dict)
    few: set = field(default_factory=set)

    def add(self, tool, x, interval, few=False):
        self.curves.setdefault(tool, {})[x] = interval
        if few:
            self.few.add((tool, x))


@dataclass(frozen=True)
class Block:
    """A host's panels, and what stands above them."""

    title: str
    panels: list


@dataclass(frozen=True)
class Look:
    """How a figure looks. x, y: labels of the axes. ticks: of x. notes: sentences below the curves. nothing: what
    stands where there is none. slopes: whether they are printed.
    """

    x: str
    y: str
    ticks: tuple
    notes: tuple
    nothing: str
    slopes: bool = True


def slope(curve):
    """The fitted power of a curve, {x: (low, y, high)}; None with fewer than two points."""
    if len(curve) < 2:
        return None
    x, y = np.log(list(curve)), np.log([middle for _, middle, _ in curve.values()])
    return float(np.polyfit(x, y, 1)[0])


def draw(blocks, look, missing):
    """The figure. blocks: [Block], each with the same number of panels. missing: sentences on what is not in it."""
    few = [FEW] if any(panel.few for block in blocks for panel in block.panels) else []
    text = cpu_figures.wrapped([*(look.notes if blocks else ()), *few, *missing])
    tools = list(dict.fromkeys(tool for block in blocks for panel in block.panels for tool in panel.curves))
    down = sum(-(-len(block.panels) // ACROSS) for block in blocks) or 1
    lines = -(-len(tools) // ACROSS) + text.count("\n") + 1
    height = 0.5 + 1.95 * down + 0.12 * len(blocks) + 1.1 * plotting.LINE_INCHES * lines
    fig, axes = plotting.figure(plotting.ONE_COLUMN, height, nrows=down, ncols=ACROSS, squeeze=False)
    fig.get_layout_engine().set(wspace=0.06)
    cpu_figures.write_notes(fig, text)
    if not tools:
        plotting.write_instead(axes, look.nothing)
        return fig
    of_panels = [(block, panel) for block in blocks for panel in block.panels]
    for at, (place, (block, panel)) in enumerate(zip(axes.flat, of_panels, strict=True)):
        _panel(place, panel, look)
        above = f"{block.title}\n" if panel is block.panels[0] else ""
        place.set_title(f"{above}{panel.title}", fontsize=7.5, loc="left")
        place.set_ylabel("" if at % ACROSS else look.y, fontsize=7.5)
    for place in axes[-1]:
        place.set_xlabel(look.x, fontsize=7.5)
    _legend(fig, tools)
    return fig


def _panel(axes, panel, look):
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(look.ticks[0] / 1.25, look.ticks[-1] * 1.25)
    axes.grid(True)
    for tool, curve in panel.curves.items():
        x, (low, y, high) = sorted(curve), np.array([curve[x] for x in sorted(curve)]).T
        bars = {"elinewidth": 0.6, "capsize": 1.2, "capthick": 0.6}
        axes.errorbar(x, y, yerr=(y - low, high - y), **_line(tool), **bars, zorder=_order(tool))
        few, above = [one for one in x if (tool, one) in panel.few], _order(tool) + 0.5  # the line's own is at + 0.1
        axes.plot(few, [curve[one][1] for one in few], **_open_marker(tool), zorder=above)
    axes.xaxis.set_major_locator(FixedLocator(look.ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    _mark_y(axes)
    if look.slopes:
        _write_slopes(axes, panel)
    if not panel.curves:
        axes.text(0.5, 0.5, "nothing to show", ha="center", fontsize=7, transform=axes.transAxes)


def _mark_y(axes):
    """Limits and ticks of y: at least a factor of 4, so that equal values do not make an axis of noise."""
    bottom, top = axes.get_ylim()
    if top / bottom < 4:
        bottom, top = bottom / 2, top * 2
        axes.set_ylim(bottom, top)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if top / bottom < FEW_DECADES else (1,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def short(value):
    """``0.1``, ``150``, ``50K``, ``1M``."""
    for unit, size in (("M", 10**6), ("K", 10**3)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def _write_slopes(axes, panel):
    """Each curve's marker and slope at the right of its last point, moved apart where they would overlap."""
    bottom, top = np.log(axes.get_ylim())
    ends = {tool: curve[max(curve)][1] for tool, curve in panel.curves.items() if slope(curve) is not None}
    at = {tool: (np.log(y) - bottom) / (top - bottom) for tool, y in ends.items()}
    for tool, place in zip(sorted(at, key=at.get), spread(sorted(at.values())), strict=True):
        color = plotting.BLACK if plotting.style(tool)["color"] == plotting.YELLOW else plotting.style(tool)["color"]
        axes.plot([1.07], [place], transform=axes.transAxes, clip_on=False, markersize=3.2, linestyle="none",
                  markeredgecolor="none", **plotting.style(tool))  # fmt: skip
        axes.text(1.12, place, _number(slope(panel.curves[tool])), fontsize=7, va="center", color=color,
                  transform=axes.transAxes)  # fmt: skip


def _number(slope):
    return f"{round(slope, 1) + 0.0:.1f}".replace("-", "−")  # adding 0 takes the sign of a zero away


def spread(places):
    """Places (ascending, of the height) moved so that neighbours are APART, within the panel where they fit."""
    moved = []
    for place in places:
        moved.append(max(place, moved[-1] + APART) if moved else max(place, 0.0))
    top = max(1.0, APART * (len(moved) - 1))
    for at in reversed(range(len(moved))):
        moved[at] = min(moved[at], top)
        top = moved[at] - APART
    return moved


def _line(tool):
    thick = tool == cpu_races.OURS
    return {
        **plotting.style(tool),
        "linewidth": THICK if thick else THIN,
        "linestyle": "-" if thick or not tool.startswith("wavebench") else ":",
        "markersize": 4 if thick else 3.5,
        "markeredgewidth": 0,
    }


def _open_marker(tool):
    line = _line(tool)
    edge = {"markeredgecolor": line["color"], "markeredgewidth": 0.8, "markerfacecolor": "white", "linestyle": "none"}
    return line | edge


def _order(tool):
    """What align() picks lies above the others."""
    return 4 if tool == cpu_races.OURS else 3


def _legend(fig, tools):
    handles = [Line2D([], [], label=cpu_races.name(tool), **_line(tool)) for tool in tools]
    fig.legend(handles=handles, loc="outside upper left", ncols=ACROSS, handlelength=1.8, columnspacing=1)
