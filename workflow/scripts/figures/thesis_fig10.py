"""thesis Fig 10: speed-up per data set of reads; a panel for the thesis (from its Tab 9) and one or more for each host.

The thesis shows WFA-GPU over each tool. Where our GPU aligners have raced, a host's panel shows them over each CPU
tool: ratios of the medians of one race's times per cell, with bootstrap intervals. Elsewhere it shows our CPU kernel
over each tool: medians of ratios taken round by round within one race. Intervals are of 95 %.
"""

import textwrap
from itertools import pairwise

import click
from matplotlib.textpath import TextPath
from matplotlib.ticker import FuncFormatter

from workflow.race.planning import is_real
from workflow.scripts import gpu_ratios, papers, plotting, ratios, speedup_panels
from workflow.scripts.dataset_labels import axis_label, axis_labels, places
from workflow.scripts.doubts import figure_doubts
from workflow.scripts.format_numbers import percent
from workflow.scripts.technologies import TECHNOLOGIES, technology_of_real
from workflow.scripts.tools import TOOL_NAMES

NO_BREAK = "\u00a0"
#: Left edge of the notes under a panel, in widths of the panel: that of the picture.
NOTES_LEFT = -0.085
#: Height of a panel, and of one of our GPU aligners, whose ratios span more decades.
INCHES, GPU_INCHES = 2.3, 3.4
#: Width of a panel's axes, and least room between the names of two data sets, in points.
AXES_POINTS, NAMES_APART = 465, 2
#: Data sets side by side that a reader can tell apart; of more, simulated and real ones have axes of their own.
MOST_DATASETS = 8
#: Columns of the legend, and the height of one of its lines in lines of the notes.
LEGEND_COLUMNS, LEGEND_LINE = 4, 1.1
#: Letters of a panel's title in a line.
TITLE_LETTERS = 110
#: And of the notes, which are smaller: names of tools are of wide letters.
NOTE_LETTERS = 136
#: Marker faces of our GPU aligners, in the order of gpu_ratios.REFERENCES: a hollow one is white inside.
FACES = dict(zip(gpu_ratios.REFERENCES, ({}, {"markerfacecolor": "white"}), strict=True))
FACE_NAMES = dict(zip(gpu_ratios.REFERENCES, ("filled", "hollow"), strict=True))
#: Opacity of a ratio that rests on few pairs or a short call.
FAINT = 0.45
THESIS_NOTES = ["Errors and timeouts have no marker"]
#: Rows of thesis Tab 9 -> tool of plotting.TOOL_STYLE and its name.
THESIS_TOOLS = {
    "GASAL2 (GPU)": ("gasal2", "GASAL2"),
    "ADEPT (GPU)": ("adept", "ADEPT"),
    "NVBio (GPU)": ("nvbio", "NVBio"),
    "CudaAligner (GPU, edit distance only)": ("cudaaligner", "CudaAligner"),
    "Seqan (CPU)": ("seqan", "SeqAn"),
    "Parasail(strip) (CPU)": ("parasail:striped", TOOL_NAMES["parasail:striped"]),
    "Parasail(scan) (CPU)": ("parasail:scan", TOOL_NAMES["parasail:scan"]),
    "Parasail(diag) (CPU)": ("parasail:diag", TOOL_NAMES["parasail:diag"]),
    "Edlib (CPU, edit distance only)": ("edlib", TOOL_NAMES["edlib"]),
    "KSW2 (CPU)": ("ksw2", "KSW2"),
    "WFA (CPU)": ("wfa2-lib:unidirectional", TOOL_NAMES["wfa2-lib:unidirectional"]),
}
#: Tools of a host's panel in order.
OURS = (
    *(f"{tool}:{layout}" for tool in ("parasail", "parasail-native") for layout in ("striped", "scan", "diag")),
    *("edlib", "edlib-native", "ksw2", "seqan"),
    *(f"{tool}:{mode}" for tool in ("wfa2-lib", "wfa2-lib-native") for mode in ("unidirectional", "biwfa")),
)


def thesis_points(values):
    """{(tool, technology): speed-up of WFA-GPU over the tool} from the times of thesis Tab 9."""
    points = {}
    for row, (tool, _) in THESIS_TOOLS.items():
        for technology, (_, column, _) in TECHNOLOGIES.items():
            time, own = values[(row, column)]["time"].seconds, values[("WFA-GPU (GPU)", column)]["time"].seconds
            if time is not None and own is not None:
                points[(tool, technology)] = time / own
    return points


def draw(values, races, real):
    """The figure. values: papers.read() of Tab 9. races: ratios.shown(). real: technologies.technology_of_real()."""
    panels = speedup_panels.panels(races)
    wanted = dict(THESIS_TOOLS.values())
    notes = [_wrapped(THESIS_NOTES)] + [_wrapped(speedup_panels.notes(panel, real, wanted)) for panel in panels]
    footnote = _wrapped(_footnote(panels))
    lines = sum(text.count("\n") + 1 for text in [*notes, footnote])
    shown = _shown({s.tool for panel in panels for s in panel.speedups})
    lines += LEGEND_LINE * -(-len(shown) // LEGEND_COLUMNS)
    parts = [parts_of(panel.datasets, real) for panel in panels]
    tall = [GPU_INCHES if panel.on_gpu else INCHES for panel, of_it in zip(panels, parts, strict=True) for _ in of_it]
    heights = [INCHES] + (tall or [INCHES])
    height = sum(heights) + plotting.LINE_INCHES * lines
    fig, axes = plotting.figure(plotting.TWO_COLUMNS, height, nrows=len(heights), height_ratios=heights)
    _thesis_panel(axes[0], thesis_points(values))
    free, noted = iter(axes[1:]), [axes[0]]
    for panel, of_it in zip(panels, parts, strict=True):
        own = [next(free) for _ in of_it]
        _host_panels(own, of_it, panel, real)
        noted.append(own[-1])
    for one, text in zip(noted, notes, strict=True):
        one.set_xlabel(text, fontsize=7, x=NOTES_LEFT, ha="left", multialignment="left", labelpad=5)
    if not panels:
        axes[1].text(0.5, 0.5, "no host has raced these data sets yet", ha="center", transform=axes[1].transAxes)
        axes[1].axis("off")
    _legend(fig, axes, shown)
    fig.supxlabel(footnote, fontsize=7, x=0.02, ha="left", multialignment="left")
    return fig


def _footnote(panels):
    """Sentences that hold for every host's panel."""
    affine = [s.row["recall_affine"] for panel in panels for s in panel.speedups if s.tool == "edlib"]
    affine = [recall for recall in affine if recall is not None]
    if not affine:
        return []
    spread = dict.fromkeys([percent(min(affine)), percent(max(affine))])
    return [f"Edlib optimises edit distance: recall under the affine penalties {' to '.join(spread)}"]


def _wrapped(notes):
    """The sentences as lines of a column, each behind a dot of its own."""
    lines = []
    for note in notes:
        words = note.removesuffix(".").replace(" %", NO_BREAK + "%") + "."
        lines += textwrap.wrap(words, NOTE_LETTERS, initial_indent="• ", subsequent_indent=3 * NO_BREAK)
    return "\n".join(lines)


def _thesis_panel(axes, points):
    names = list(TECHNOLOGIES)
    tools = [tool for tool, _ in THESIS_TOOLS.values()]
    for i, tool in enumerate(tools):
        shift = (i - (len(tools) - 1) / 2) * 0.07
        found = [(names.index(technology) + shift, y) for (of, technology), y in points.items() if of == tool]
        axes.plot(*zip(*found, strict=True), linestyle="none", markersize=4, **plotting.style(tool))
    labels = [axis_label(name, "real") for name in names]
    _finish(axes, labels, "thesis (from its Tab 9), RTX 3080:\nWFA-GPU over each tool, CPU tools on 10 threads")


def parts_of(datasets, real):
    """Lists of a host's data sets, each for axes of its own: one where they have room, else simulated and real ones."""
    order = list(places(datasets, real))
    if len(order) <= MOST_DATASETS:
        return [order]
    kinds = ([d for d in order if not is_real(d)], [d for d in order if is_real(d)])
    return [kind[at : at + MOST_DATASETS] for kind in kinds for at in range(0, len(kind), MOST_DATASETS)]


def _host_panels(axes, parts, panel, real):
    """A host's speed-ups on one scale. axes: a list, for each of parts."""
    labels = axis_labels(panel.datasets, real)
    for one, part in zip(axes, parts, strict=True):
        _mark_all(one, part, panel)
        title = _title(panel, part) if part is parts[0] else f"{panel.host}, {speedup_panels.data_text(part)}, as above"
        _finish(one, [labels[d] for d in part], title)
    limits = [limit for one in axes for limit in one.get_ylim()]
    for one in axes:
        one.set_ylim(min(limits), max(limits))


def _mark_all(axes, part, panel):
    raced = {s.tool for s in panel.speedups}
    tools = [tool for tool in OURS if tool in raced]
    tools += sorted(raced - set(tools))
    references = panel.references if panel.on_gpu else [None]
    marks = [(tool, reference) for tool in tools for reference in references]
    apart = min(0.1, 0.85 / len(marks))
    for s in panel.speedups:
        if s.median is not None and s.dataset in part:
            place = marks.index((s.tool, s.reference if panel.on_gpu else None))
            _mark(axes, part.index(s.dataset) + (place - (len(marks) - 1) / 2) * apart, s, panel.faint(s))


def _mark(axes, x, speedup, faint):
    """The marker of one ratio and its interval, struck through where the tool was wrong."""
    spread = [[speedup.median - speedup.low], [speedup.high - speedup.median]]
    look = plotting.style(speedup.tool) | FACES.get(speedup.reference, {}) | ({"alpha": FAINT} if faint else {})
    axes.errorbar(x, speedup.median, yerr=spread, linestyle="none", markersize=4, markeredgewidth=0.8, elinewidth=0.8,
                  capsize=1.5, **look)  # fmt: skip
    if speedup.wrong:
        axes.plot(x, speedup.median, "x", color=plotting.BLACK, markersize=7, zorder=4)


def _title(panel, part):
    """Lines that name the host, whose speed-up the panel shows, on which data, and every doubt of the races."""
    threads = max(s.threads for s in panel.speedups)
    count = f"{threads} thread{'s' * (threads > 1)}"
    names = [TOOL_NAMES[tool] for tool in panel.references]
    if panel.on_gpu:
        ours = [f"{FACE_NAMES[tool]}: {name}" for tool, name in zip(panel.references, names, strict=True)]
        over = f"over each CPU tool on {count}"
    else:
        ours, over = [], f"{' or '.join(names) or 'our CPU kernel'} over each tool, {count} each"
    lanes = ", ".join(sorted({s.row["lane"] for s in panel.speedups}))
    told = f"{over}, {speedup_panels.data_text(part)}, lane {lanes}"
    stale = any(s.stale and s.median is not None for s in panel.speedups)
    races = panel.shown_races
    doubts = figure_doubts(stale, any(race.older for race in races), not all(race.valid for race in races))
    return "\n".join([f"{panel.host}:", *ours, *textwrap.wrap(told, TITLE_LETTERS, break_on_hyphens=False)]) + doubts


def _side_by_side(labels):
    """Whether the names of data sets, of one line or more, have room beside each other."""
    size = plotting.STYLE["xtick.labelsize"]
    widths = [
        max(TextPath((0, 0), line, size=size).get_extents().width for line in text.splitlines() if line)
        for text in labels
    ]
    step = AXES_POINTS / (len(labels) + 0.2)
    return all((left + right) / 2 + NAMES_APART <= step for left, right in pairwise(widths))


def _finish(axes, labels, title):
    axes.axhline(1, color=plotting.GREY, linewidth=0.8)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda y, _: ""))
    if not _side_by_side(labels):
        names = [" ".join(text.split()) for text in labels]
        axes.set_xticks(range(len(labels)), names, rotation=35, ha="right", rotation_mode="anchor")
    else:
        axes.set_xticks(range(len(labels)), labels, linespacing=0.95)
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.set_ylabel("speed-up (×)")
    axes.set_title(title, fontsize=7.5, loc="left")
    axes.grid(True, axis="y")


def _shown(raced):
    """The tools of the thesis, those of ours that a host has raced, and what else it has: a user's own programs."""
    ours = [tool for tool in OURS if tool in raced]
    return list(dict.fromkeys([*(tool for tool, _ in THESIS_TOOLS.values()), *ours, *sorted(raced)]))


def _legend(fig, axes, shown):
    names = dict(THESIS_TOOLS.values()) | TOOL_NAMES
    handles = [
        axes[0].plot([], [], linestyle="none", markersize=4, label=names.get(tool, tool), **plotting.style(tool))[0]
        for tool in shown
    ]
    fig.legend(handles=handles, loc="outside upper left", ncols=LEGEND_COLUMNS, handletextpad=0.2)


@click.command(help=__doc__)
@click.argument("files", nargs=-1)
@click.option("--paper", required=True, help="config/papers/thesis_tab9.csv.")
@click.option("--real-data", default="", help="config/real_data.tsv.")
@click.option("--host", default="", help="Id of this host.")
@click.option("--out", required=True, help="Path without suffix: .svg and .png are written.")
def main(files, paper, real_data, host, out):
    """Draw the figure from FILES, race files, recorded ones too."""

    def drawn():
        races = ratios.shown(ratios.apart(ratios.read(files), {host}))
        return draw(papers.read(paper), races, technology_of_real(real_data, [race.rows[0] for race in races]))

    plotting.draw_and_save(drawn, out)


if __name__ == "__main__":
    main()
