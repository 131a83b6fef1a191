"""CPU ratio: our CPU kernels over the fastest peer on one thread, beside what this project asks of them."""

import click

from workflow.scripts import cpu_races, cpu_ratios, ratios, table_plain
from workflow.scripts.cpu_races import OURS, SCOPES, THREADS
from workflow.scripts.format_numbers import significant
from workflow.scripts.table_plain import PlainTable, Text, TextLine

ID = "cpu_ratio"
TITLE = "CPU ratio: our kernels over the fastest peer, one thread"
CAPTION = (
    "The time of the fastest CPU tool of others over that of what align() picks, on the same pairs, from the races of "
    "thesis Tab 1 and of 10,000 nt (edit distance), of thesis Tab 8 and of 300 nt (gap-affine, {penalties}). Above 1 "
    "ours is faster. The fastest peer has the least time a cell of the matrices, on the pairs that it ran, of all "
    "native adapters and Python bindings in all their modes. Data: uniform random pairs, simulated."
)
HEAD = ["Measured by", "Problem", "Length (nt)", "Error (%)", "Ratio", "Asked", "Stretch", "Fastest peer",
        "Faster kernel of ours"]  # fmt: skip
NOTES = (
    "Ratios: medians over the rounds of a race, taken round by round, with their 95 % intervals. Bold: the whole "
    "interval is at least what is asked, in a valid race. Asked and stretch: this project's own "
    f"targets, for batches of at least {cpu_races.FEWEST_PAIRS} pairs (config/targets/cpu_ratio.csv).",
    "Left out as peers: tools that solve an easier problem (edit distance where gap-affine is asked), gave wrong "
    "answers or refused more than 1 % of the pairs.",
    "Faster kernel of ours: what align() could have picked, and how many times faster it was; empty where none was "
    "shown to be faster.",
)
COLUMNS = [
    "table", "source", "host", "lane", "metric", "scope", "dataset", "length_bp", "error", "pairs", "threads", "ratio",
    "ci_low", "ci_high", "rounds", "asked", "stretch", "met", "peer", "peer_name", "peer_version", "peers_compared",
    "faster_own", "faster_own_ratio", "status", "reason", "commit", "note",
]  # fmt: skip


def table(hosts, page):
    """The PlainTable. hosts: cpu_ratios.of_hosts(). page: the cpu_races.Page they are of."""
    here = page.here
    shown = {host: cells for host, cells in hosts.items() if host == here or any(cell.best for cell in cells)}
    lines = [_line(host, host == here, cell) for host, cells in shown.items() for cell in cells]
    notes = [*NOTES, *_left_out(page)]
    for host, cells in shown.items():
        notes += [f"{_where(host, host == here)}: {text}" for text in (*_reasons(cells), *_peers_without(cells))]
    for host in [host for host in hosts if host not in shown]:
        why = " and ".join(dict.fromkeys(cell.reason for cell in hosts[host]))
        notes.append(f"No line of recorded host {host}, which has no ratio: {why}")
    asked = [told["penalties"] for told in page.experiments.values() if told["penalties"] != "edit"]
    penalties = " or ".join(dict.fromkeys(", ".join(map(str, triple)) for triple in asked))
    return PlainTable(ID, TITLE, CAPTION.format(penalties=penalties), HEAD, lines, notes)


def _where(host, is_here):
    return "this host" if is_here else f"recorded: {host}"


def _line(host, is_here, cell):
    place = cell.place
    where = Text(_where(host, is_here) + (f" · {cell.best.row['lane']}" if cell.best else ""))
    problem = Text(f"{cpu_races.METRICS[place.metric]}, {SCOPES[place.scope]}")
    numbers = [Text(str(value), number=True) for value in (place.length_bp, place.percent)]
    targets = [Text(f"{value:.1f}", number=True) for value in (cell.asked, cell.stretch)]
    return TextLine([where, problem, *numbers, _ratio(cell), *targets, Text(cell.peer), Text(cell.own_text)], "ours")


def _ratio(cell):
    if cell.best is None:
        return Text(cell.short, why=True)
    low, median, high = (significant(value) for value in (cell.best.low, cell.best.median, cell.best.high))
    return Text(median, f"[{low}, {high}]", ", ".join(cell.marks), number=True, best=cell.met)


def _reasons(cells):
    """Why cells have no ratio, each reason once with how many cells it holds for."""
    reasons = [f"{cell.short}: {cell.reason}" for cell in cells if cell.best is None]
    return [f"{reason} ({_cells(reasons.count(reason))})" for reason in dict.fromkeys(reasons)]


def _peers_without(cells):
    """One sentence on the peers that were raced and have no ratio."""
    found = [f"{cpu_races.name(s.tool)} {s.reason}" for cell in cells for s in cell.without]
    told = [f"{why} ({_cells(found.count(why))})" for why in dict.fromkeys(found)]
    return [f"peers without a ratio: {'; '.join(told)}"] if told else []


def _cells(n):
    return f"{n} cell{'' if n == 1 else 's'}"


def _left_out(page):
    """One sentence an experiment on the peers that the lane does not race."""
    for id_ in page.experiments:
        without = page.lane.get("narrow", {}).get(id_, {}).get("without", ())
        names = [cpu_races.name(tool) for tool in without if not ratios.is_ours(tool)]
        if names:
            yield f"Lane {page.lane['name']} does not race, in {id_}: {'; '.join(names)}"


def csv_rows(hosts, here):
    """One dict a cell of every host."""
    for host, cells in hosts.items():
        for cell in cells:
            yield _shared(cell) | {
                "source": "here" if host == here else "recorded",
                "host": host,
                "ratio": cell.best and cell.best.median,
                "asked": cell.asked,
                "stretch": cell.stretch,
                "met": cell.met,
                "peer": cell.best and cell.best.tool,
                "peer_name": cell.peer,
                "peer_version": cell.best and cell.best.row["tool_version"],
                "peers_compared": cell.compared,
                "faster_own": cell.own and cell.own.tool,
                "faster_own_ratio": cell.own and 1 / cell.own.median,
                "reason": cell.reason,
                "note": "; ".join(cell.marks),
            }


def _place(cell):
    """Fields of a cell's place."""
    return {
        "table": ID,
        "metric": cell.place.metric,
        "scope": cell.place.scope,
        "dataset": cell.place.dataset,
        "length_bp": cell.place.length_bp,
        "error": cell.place.percent / 100,
        "threads": THREADS,
    }


def _shared(cell):
    """Fields that csv and tidy rows of a measured cell have in common."""
    if cell.best is None:
        return _place(cell) | {"status": cell.short}
    row = {name: cell.best.row[name] for name in ("lane", "pairs", "commit")}
    interval = {"ci_low": cell.best.low, "ci_high": cell.best.high, "rounds": cell.best.rounds}
    return _place(cell) | row | interval | {"status": "ok"}


def tidy_rows(hosts, here):
    """One dict a value: every host's ratios, the peer first in the note; and the targets."""
    tool, _, variant = OURS.partition(":")
    for host, cells in hosts.items():
        for cell in cells:
            row, own = cell.best.row if cell.best else {}, f"{cell.own_text} as fast" if cell.own else ""
            yield _shared(cell) | {
                "tool": tool,
                "variant": variant,
                "host": host,
                "source": "here" if host == here else "recorded",
                "penalties": row.get("penalties"),
                "input": row.get("input"),
                "quantity": "ratio_vs_best_native_peer",
                "unit": "ratio",
                "value": cell.best and cell.best.median,
                "note": "; ".join(filter(None, [cell.peer or cell.reason, own, *cell.marks])),
            }
    for cell in hosts[here]:
        for name in ("asked", "stretch"):
            stated = {"source": "target", "quantity": f"ratio_{name}", "unit": "ratio", "value": getattr(cell, name)}
            yield _place(cell) | stated | {"status": "ok"}


@click.command()
@cpu_ratios.options
@click.option("--out", required=True, help="Path without suffix: .csv .md .html .tidy.csv are written.")
def main(files, targets, configs, lane, host, out):
    """Our CPU kernels over the fastest peer, from FILES, race files, recorded ones too."""
    try:
        hosts, page = cpu_ratios.read(files, targets, configs, lane, host)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    filled = table(hosts, page)
    table_plain.write_all(filled, out, COLUMNS, csv_rows(hosts, host), tidy_rows(hosts, host))


if __name__ == "__main__":
    main()
