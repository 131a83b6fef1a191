"""thesis Fig 7 (ewfa Fig 5): copies, kernels and total time of eWFA-GPU's design against the nominal errors.

A panel for each host with a GPU that has raced the data sets. The columns are medians over the rounds of a race with
their 95 % intervals. Copies, both ways, and kernels, with packing and the way back, are by the GPU's clock the time
during which one went on at least: they overlap each other, and so do those of several batches.
"""

import textwrap

import click

from wfa_kernels.designs import PAPER_KERNELS
from workflow.race.statistics import median_interval
from workflow.scripts import plotting, ratios
from workflow.scripts.doubts import MOST_COVERAGE, broken_promise, figure_doubts, refused_share, rescued_share
from workflow.scripts.format_numbers import count
from workflow.scripts.tools import tool_id

TOOL = "wavebench-edit:paper"
PAIRS = 1_000_000
LENGTH_BP = 1000
ERRORS = (20, 35, 50, 75, 100)
#: Column -> its quantities, and its look: the first quantity that a race has. Older races have none of the parts that
#: overlap together; see _notes.
COLUMNS = {
    "copies": (("time_copies", "time_h2d"), plotting.SKY, ""),
    "kernels": (("time_compute", "time_kernel"), plotting.ORANGE, "////"),
    "total": (("time_end_to_end_pinned",), plotting.BLUE, ""),
}
WIDTH = 0.27
#: Letters of a line of the notes.
LETTERS = 60


def dataset(errors):
    """Id of the data set with so many nominal errors."""
    return f"uniform_{LENGTH_BP}_e{100 * errors / LENGTH_BP:g}"


def kernel(errors):
    """``E64``: the smallest of the papers' kernels that so many errors fit in."""
    return next(name for name in PAPER_KERNELS if errors <= int(name[1:]))


def shown(races):
    """{host: {data set: Race}}: of several races of a data set the valid, current one nearest to the paper's count."""
    hosts = {}
    for race in races:
        of_host = hosts.setdefault(race.host, {})
        if race.dataset not in of_host or _rank(race) > _rank(of_host[race.dataset]):
            of_host[race.dataset] = race
    return hosts


def _rank(race):
    first = race.rows[0]
    current = TOOL not in race.stale and not race.older
    return race.valid, current, -abs(first["pairs_total"] - PAIRS), first["time_utc"]


def breakdown(race):
    """({column: (median, low, high) in seconds of PAIRS pairs}, pairs that were timed), or why there is none, as text.

    race: ratios.Race, or None.
    """
    if race is None:
        return "not recorded"
    timed = _timed(race)
    if not timed:
        return next((row["status"].replace("_", " ") for row in _rows(race)), "not raced")
    first, pairs = timed[0], timed[0]["pairs"]
    if first["coverage"] is not None and first["coverage"] < MOST_COVERAGE:
        return refused_share(first["coverage"])
    if broken_promise(first):
        return "wrong answers"
    return _columns(timed, PAIRS / pairs), pairs


def _rows(race):
    """The tool's sample rows."""
    return [row for row in race.rows if tool_id(row) == TOOL and not row["twin"] and row["input"] == "ascii"]


def _timed(race):
    """Those with a time, of the most pairs that have one."""
    timed = [row for row in _rows(race) if row["status"] == "ok" and row["value_s"] is not None]
    most = max((row["pairs"] for row in timed), default=0)
    return [row for row in timed if row["pairs"] == most]


def _columns(rows, scale):
    """{column: median and interval}; a column that was not timed is left out."""
    found = {}
    for name, (quantities, _, _) in COLUMNS.items():
        of_each = ([row["value_s"] for row in rows if row["quantity"] == quantity] for quantity in quantities)
        seconds = next(filter(None, of_each), None)
        if seconds:
            found[name] = tuple(scale * value for value in median_interval(seconds))
    return found


def draw(races, here=""):
    """The figure. races: ratios.read() of the experiment's race files. here: id of this host."""
    hosts = {host: own for host, own in sorted(shown(races).items()) if any(_has_times(race) for race in own.values())}
    panels = max(1, len(hosts))
    notes = ["\n".join(_notes(own)) for own in hosts.values()]
    lines = sum(text.count("\n") + 1 for text in notes)
    fig, axes = plotting.figure(plotting.ONE_COLUMN, 0.4 + 2.5 * panels + plotting.LINE_INCHES * lines, nrows=panels,
                                squeeze=False)  # fmt: skip
    for panel, (host, own), text in zip(axes[:, 0], hosts.items(), notes, strict=False):
        _panel(panel, own)
        panel.set_title(_title(host, own, here), fontsize=7.5, loc="left")
        panel.set_xlabel(f"nominal errors, kernel that they need\n{text}", fontsize=7)
    if not hosts:
        axes[0, 0].text(0.5, 0.5, "not measured yet: needs a host with a GPU", ha="center")
        axes[0, 0].axis("off")
    handles = [plotting.plt.Rectangle((0, 0), 1, 1, **_look(name)) for name in COLUMNS]
    fig.legend(handles, list(COLUMNS), loc="outside upper center", ncols=len(COLUMNS))
    return fig


def _has_times(race):
    return not isinstance(breakdown(race), str)


def _look(column):
    _, color, hatch = COLUMNS[column]
    return {"facecolor": color, "hatch": hatch, "edgecolor": plotting.BLACK, "linewidth": 0.5}


def _panel(axes, races):
    """Three columns a data set, or the reason for having none."""
    for x, errors in enumerate(ERRORS):
        told = breakdown(races.get(dataset(errors)))
        columns, why = ({}, told) if isinstance(told, str) else (told[0], "no time of its parts")
        for i, name in enumerate(COLUMNS):
            place = x + (i - 1) * WIDTH
            if name in columns:
                median, low, high = (1e3 * seconds for seconds in columns[name])
                axes.bar(place, median, WIDTH, yerr=[[median - low], [high - median]], capsize=1.5,
                         error_kw={"elinewidth": 0.8}, **_look(name))  # fmt: skip
        if len(columns) < len(COLUMNS):
            axes.text(x, 0.03, why, rotation=90, fontsize=7, ha="center", va="bottom",
                      transform=axes.get_xaxis_transform())  # fmt: skip
    kernels = [kernel(errors) for errors in ERRORS]
    axes.set_xticks(range(len(ERRORS)), [f"{n}\n{name}" for n, name in zip(ERRORS, kernels, strict=True)])
    for x in range(1, len(ERRORS)):
        if kernels[x] != kernels[x - 1]:
            axes.axvline(x - 0.5, color=plotting.GREY, linewidth=0.7, linestyle="--")
    axes.set_xlim(-0.5, len(ERRORS) - 0.5)
    axes.set_ylabel("1M pairs of 1000 nt (ms)")
    axes.grid(True, axis="y")
    axes.set_axisbelow(True)


def _title(host, races, here):
    first = next(iter(races.values()))
    gpus = first.card.get("host_card", {}).get("gpus") or [{}]
    days = sorted(race.rows[0]["time_utc"][:10] for race in races.values())
    days = " to ".join(dict.fromkeys([days[0], days[-1]]))
    where = "this host" if host == here else "recorded on"
    lanes = ", ".join(sorted({race.rows[0]["lane"] for race in races.values()}))
    told = f"{where} {host}\n{gpus[0].get('name', 'GPU not told')}, lane {lanes}, {days}"
    stale = any(TOOL in race.stale for race in races.values())
    older = any(race.older for race in races.values())
    return told + figure_doubts(stale, older, not all(race.valid for race in races.values()))


def _notes(races):
    """Lines under a host's panel: which data sets ran fewer or more pairs than the paper's, what is left out, and what
    the GPU did not do."""
    scaled = {}
    for errors in ERRORS:
        told = breakdown(races.get(dataset(errors)))
        if not isinstance(told, str) and told[1] != PAIRS:
            scaled.setdefault(told[1], []).append(str(errors))
    lines = [f"{', '.join(errors)} errors: scaled from {count(pairs)} pairs" for pairs, errors in scaled.items()]
    quantities = {row["quantity"] for race in races.values() for row in race.rows}
    if "time_kernel" in quantities and "time_compute" not in quantities:
        lines.append("copies: in only; kernels: without packing, beside them")
    return lines + _by_the_cpu(races)


def _by_the_cpu(races):
    """Lines that name the data sets of which the GPU left pairs to the CPU; none without."""
    shown = {errors: races.get(dataset(errors)) for errors in ERRORS}
    shares = {errors: list(map(rescued_share, _timed(race))) for errors, race in shown.items() if _has_times(race)}
    told = [f"{errors} errors ({next(filter(None, of_rows))})" for errors, of_rows in shares.items() if any(of_rows)]
    return textwrap.wrap(f"some pairs by the CPU: {', '.join(told)}", LETTERS) if told else []


@click.command(help=__doc__)
@click.argument("races", nargs=-1)
@click.option("--host", default="", help="Id of this host.")
@click.option("--out", required=True, help="Path without suffix: .svg and .png are written.")
def main(races, host, out):
    """Draw the figure from RACES, recorded race files too."""
    plotting.draw_and_save(lambda: draw(ratios.apart(ratios.read(races), {host}), host), out)


if __name__ == "__main__":
    main()
