"""thesis Fig 10: speed-up per data set of reads; a panel for the thesis (from its Tab 9) and one for each host.

The thesis shows WFA-GPU over each tool; a host's panel shows this project's CPU kernel over each tool, as medians of
ratios taken round by round within one race, with their 95 % intervals.
"""

import re
import textwrap

import click
from matplotlib.ticker import FuncFormatter

from workflow.scripts import papers, plotting, ratios
from workflow.scripts.doubts import MOST_COVERAGE, figure_doubts
from workflow.scripts.format_numbers import percent
from workflow.scripts.technologies import ALL, TECHNOLOGIES, is_real, technology_of_real
from workflow.scripts.tools import TOOL_NAMES

SCOPE = "cigar"
REFUSED_SHARE = re.compile(r"refused [0-9.]+ %")
NO_BREAK = "\u00a0"
#: Left edge of the notes under a panel, in widths of the panel: that of the picture.
NOTES_LEFT = -0.19
#: Columns of the legend, and the height of one of its lines in lines of the notes.
LEGEND_COLUMNS, LEGEND_LINE = 2, 1.1
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


def threads_of(race):
    """The most threads of the race: the thesis ran CPU tools on all cores."""
    return max(row["threads"] for row in race.rows)


def host_speedups(races):
    """{host: [Speedup]}, over tools that are not ours; hosts in order of their names."""
    found = {}
    for race in sorted(races, key=lambda race: race.host):
        over = ratios.speedups(race, race.reference, SCOPE, threads_of(race))
        found.setdefault(race.host, []).extend(s for s in over if not s.tool.startswith("wavebench"))
    return {host: speedups for host, speedups in found.items() if speedups}


def places(datasets, real):
    """{data set: x} in the thesis' order of technologies; real ones stand in the place of their technology."""
    known = list(ALL)

    def rank(dataset):
        technology = real.get(dataset, dataset)
        return known.index(technology) if technology in known else len(known), dataset

    return {dataset: x for x, dataset in enumerate(sorted(datasets, key=rank))}


def dataset_labels(datasets, real):
    """{data set: short lines under the axis}; real ones of one technology are numbered, the footnote names them."""
    labels = {}
    for dataset in datasets:
        technology = real.get(dataset, dataset)
        alike = sorted(d for d in datasets if is_real(d) and real.get(d, d) == technology)
        kind = "sim." if not is_real(dataset) else "real" + (f" {alike.index(dataset) + 1}" if len(alike) > 1 else "")
        labels[dataset] = label(technology, kind)
    return labels


def label(technology, kind):
    """Three lines: the technology's name in two, and whether its reads are real."""
    name = ALL.get(technology, (technology.removeprefix("real_").replace("_", " "),))[0]
    first, _, second = name.partition(" ")
    return f"{first}\n{second}\n{kind}" if second else f"{first}\n{kind}\n"


def host_notes(speedups, real):
    """Sentences under a host's panel: what has no marker, and what must not be taken at face value."""
    raced = list(places({s.dataset for s in speedups}, real))
    notes = names_of_real(raced, real) + unraced(raced, real)

    def where(chosen):
        tools = {d: [TOOL_NAMES.get(s.tool, s.tool) for s in chosen if s.dataset == d] for d in raced}
        return "; ".join(f"{listed(names)} on {_short(d, raced, real)}" for d, names in tools.items() if names)

    for reason in dict.fromkeys(_reason(s) for s in speedups if s.reason):
        notes.append(f"No ratio, {reason}: {where([s for s in speedups if _reason(s) == reason])}")
    if any(s.inexact for s in speedups):
        notes.append(f"Crossed out, not optimal on every pair: {where([s for s in speedups if s.inexact])}")
    stale = [d for d in raced if any(s.stale and s.median is not None for s in speedups if s.dataset == d)]
    if stale:
        which = "every data set" if stale == raced else ", ".join(_short(d, raced, real) for d in stale)
        notes.append(f"Stale, measured with other sources of our kernel or the tool: {which}")
    return notes


def _reason(speedup):
    """Why there is no ratio, without the share of the pairs that was refused: Tab 9 tells it."""
    return REFUSED_SHARE.sub(f"refused more than {100 * (1 - MOST_COVERAGE):.0f} %", speedup.reason)


def unraced(datasets, real):
    """Sentence that names the technologies of the thesis that none of the data sets stands for, or nothing."""
    held = {real.get(dataset, dataset) for dataset in datasets}
    names = [name for technology, (name, _, _) in TECHNOLOGIES.items() if technology not in held]
    return [f"No race, not in the lane or not run yet: {', '.join(names)}"] if names else []


def names_of_real(datasets, real):
    """Sentence that names the real data sets, or nothing."""
    labels = dataset_labels(datasets, real)
    named = [f"{' '.join(labels[d].split())} = {d.removeprefix('real_')}" for d in labels if is_real(d)]
    return [", ".join(named)] if named else []


def listed(names):
    """``Parasail (striped, scan), Edlib``: names in a row, variants of one tool in one bracket."""
    variants = {}
    for name in names:
        tool, _, variant = name.partition(" (")
        variants.setdefault(tool, []).append(variant.removesuffix(")"))
    return ", ".join(
        part
        for tool, found in variants.items()
        for part in ([tool] if "" in found else [])
        + ([f"{tool} ({', '.join(filter(None, found))})"] if any(found) else [])
    )


def _short(dataset, datasets, real):
    """A data set's label in a line; that it is real is said only where a number tells two apart."""
    return " ".join(dataset_labels(datasets, real)[dataset].split()).removesuffix(" real").removesuffix(" sim.")


def draw(values, races, real):
    """The figure. values: papers.read() of Tab 9. races: ratios.shown(). real: technologies.technology_of_real()."""
    hosts = host_speedups(races)
    panels = 1 + max(1, len(hosts))
    notes = [_wrapped(THESIS_NOTES)] + [_wrapped(host_notes(found, real)) for found in hosts.values()]
    footnote = _wrapped(_footnote(hosts))
    lines = sum(text.count("\n") + 1 for text in [*notes, footnote])
    shown = _shown({s.tool for found in hosts.values() for s in found})
    lines += LEGEND_LINE * -(-len(shown) // LEGEND_COLUMNS)
    fig, axes = plotting.figure(plotting.ONE_COLUMN, 2.3 * panels + plotting.LINE_INCHES * lines, nrows=panels)
    _thesis_panel(axes[0], thesis_points(values))
    for panel, (host, speedups) in zip(axes[1:], hosts.items(), strict=False):
        _host_panel(panel, host, speedups, real, [race for race in races if race.host == host])
    for panel, text in zip(axes, notes, strict=False):
        panel.set_xlabel(text, fontsize=7, x=NOTES_LEFT, ha="left", multialignment="left", labelpad=5)
    if not hosts:
        axes[1].text(0.5, 0.5, "no host has raced these data sets yet", ha="center", transform=axes[1].transAxes)
        axes[1].axis("off")
    _legend(fig, axes, shown)
    fig.supxlabel(footnote, fontsize=7, x=0.02, ha="left", multialignment="left")
    return fig


def _footnote(hosts):
    """Sentences that hold for every host's panel."""
    raced = {s.tool for found in hosts.values() for s in found if s.median is not None}
    absent = ", ".join(TOOL_NAMES[tool] for tool in ("ksw2", "seqan") if tool not in raced)
    told = [f"All hosts: {absent}{' and ' if absent else ''}GPU tools have not raced here yet"]
    affine = [s.row["recall_affine"] for found in hosts.values() for s in found if s.tool == "edlib"]
    affine = [recall for recall in affine if recall is not None]
    if affine:
        spread = dict.fromkeys([percent(min(affine)), percent(max(affine))])
        told.append(f"Edlib optimises edit distance: recall under the affine penalties {' to '.join(spread)}")
    return told


def _wrapped(notes):
    """The sentences as lines of a column, each behind a dot of its own."""
    lines = []
    for note in notes:
        words = note.replace(" %", NO_BREAK + "%") + "."
        lines += textwrap.wrap(words, 67, initial_indent="• ", subsequent_indent=3 * NO_BREAK)
    return "\n".join(lines)


def _thesis_panel(axes, points):
    names = list(TECHNOLOGIES)
    tools = [tool for tool, _ in THESIS_TOOLS.values()]
    for i, tool in enumerate(tools):
        shift = (i - (len(tools) - 1) / 2) * 0.07
        found = [(names.index(technology) + shift, y) for (of, technology), y in points.items() if of == tool]
        axes.plot(*zip(*found, strict=True), linestyle="none", markersize=4, **plotting.style(tool))
    labels = [label(name, "real") for name in names]
    _finish(axes, labels, "thesis (from its Tab 9), RTX 3080:\nWFA-GPU over each tool, CPU tools on 10 threads")


def _host_panel(axes, host, speedups, real, races):
    raced = {s.dataset for s in speedups}
    where = places(raced, real)
    tools = [tool for tool in OURS if any(s.tool == tool for s in speedups)]
    tools += sorted({s.tool for s in speedups} - set(tools))
    apart = min(0.1, 0.8 / len(tools))
    for s in speedups:
        if s.median is None:
            continue
        x = where[s.dataset] + (tools.index(s.tool) - (len(tools) - 1) / 2) * apart
        spread = [[s.median - s.low], [s.high - s.median]]
        axes.errorbar(x, s.median, yerr=spread, linestyle="none", markersize=4, elinewidth=0.8, capsize=1.5,
                      **plotting.style(s.tool))  # fmt: skip
        if s.inexact:
            axes.plot(x, s.median, "x", color=plotting.BLACK, markersize=7, zorder=4)
    threads = max(s.threads for s in speedups)
    stale = any(s.stale and s.median is not None for s in speedups)
    doubts = figure_doubts(stale, any(race.older for race in races), not all(race.valid for race in races))
    simulated = sum(not is_real(dataset) for dataset in raced)
    data = "simulated stand-ins" if simulated == len(raced) else "real reads" if not simulated else "real and simulated"
    lanes = ", ".join(sorted({s.row["lane"] for s in speedups}))
    title = f"{host}:\nour CPU kernel over each tool, {threads} thread{'s' * (threads > 1)} each,\n{data}, lane {lanes}"
    labels = dataset_labels(where, real)
    _finish(axes, [labels[d] for d in where], title + doubts)


def _finish(axes, labels, title):
    axes.axhline(1, color=plotting.GREY, linewidth=0.8)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda y, _: ""))
    if len(labels) > len(TECHNOLOGIES):  # no room side by side
        names = [" ".join(text.split()) for text in labels]
        axes.set_xticks(range(len(labels)), names, rotation=35, ha="right", rotation_mode="anchor")
    else:
        axes.set_xticks(range(len(labels)), labels, linespacing=0.95)
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.set_ylabel("speed-up (×)")
    axes.set_title(title, fontsize=7.5, loc="left")
    axes.grid(True, axis="y")


def _shown(raced):
    """The tools of the thesis, and those of ours that a host has raced."""
    return list(dict.fromkeys([tool for tool, _ in THESIS_TOOLS.values()] + [tool for tool in OURS if tool in raced]))


def _legend(fig, axes, shown):
    names = dict(THESIS_TOOLS.values()) | TOOL_NAMES
    handles = [
        axes[0].plot([], [], linestyle="none", markersize=4, label=names[tool], **plotting.style(tool))[0]
        for tool in shown
    ]
    fig.legend(handles=handles, loc="outside upper left", ncols=LEGEND_COLUMNS, handletextpad=0.2)


@click.command(help=__doc__)
@click.argument("files", nargs=-1)
@click.option("--paper", required=True, help="config/papers/thesis_tab9.csv.")
@click.option("--real-data", default="", help="config/real_data.tsv.")
@click.option("--out", required=True, help="Path without suffix: .svg and .png are written.")
def main(files, paper, real_data, out):
    """Draw the figure from FILES, race files, recorded ones too."""

    def drawn():
        races = ratios.shown(ratios.read(files))
        return draw(papers.read(paper), races, technology_of_real(real_data, [race.rows[0] for race in races]))

    plotting.draw_and_save(drawn, out)


if __name__ == "__main__":
    main()
