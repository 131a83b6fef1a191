"""thesis Tab 6 (ewfa Tab 7): peak GCUPS reported in the literature, and our best over thesis Tab 1's data sets."""

import click

from workflow.scripts import papers, peaks, table_build, table_plain
from workflow.scripts.doubts import FEW_TEXT, SHORT_S
from workflow.scripts.format_numbers import count, significant
from workflow.scripts.table import Table
from workflow.scripts.table_cli import read_measurements, read_yaml
from workflow.scripts.table_notes import of_races
from workflow.scripts.table_plain import PlainTable, Text, TextLine
from workflow.scripts.table_text import hosts_notes, threads_text, tool_name, where_text
from workflow.scripts.tables import thesis_tab1

TITLE = "thesis Tab 6 (ewfa Tab 7): peak GCUPS against the literature"
CAPTION = (
    "Giga cell updates per second: the cells of the full matrices, computed or not, over the time. The thesis' rows "
    "are peaks as their papers report them, on the devices and data of those papers, which time different things. "
    "Ours are the best over the data sets of thesis Tab 1 on each host, end to end and, on a GPU, of the kernels "
    "alone; a rate with a doubt only where a host has none without."
)
#: What the thesis cites, by its name or its authors.
LITERATURE = {
    "Ours": "eWFA-GPU", "[59]": "Mitani et al.", "[35]": "Chacón et al.", "[42]": "NVBio", "[64]": "Ozsoy et al.",
    "[65]": "Ozsoy et al.", "[43]": "wmCudaTile (Tran et al.)", "[44]": "GASAL2", "[56]": "Nunes et al.",
    "[66]": "Nunes et al.", "[58]": "Kawanami, Fujimoto", "[67]": "NvPD", "[38]": "Yong, Ong", "[40]": "Edlib",
    "[68]": "Parasail", "[48]": "SeqAn", "[61]": "Cai et al.", "[47]": "BGSA",
}  # fmt: skip
SCOPES = {"score": "distance only", "cigar": "full alignment"}
HEAD = [
    "Class", "Tool", "From", "Year", "Device model", "Scope", "GCUPS as reported", "GCUPS end to end",
    "GCUPS of the kernels alone",
]  # fmt: skip
COLUMNS = [
    "table", "device_class", "tool", "variant", "label", "source", "host", "lane", "threads", "scope", "year",
    "device_model", "quantity", "gcups", "ci_low", "ci_high", "rounds", "dataset", "length_bp", "error", "pairs",
    "stale", "race_valid", "status", "commit", "note",
]  # fmt: skip
TIDY_KEPT = (
    "table", "tool", "variant", "threads", "host", "source", "lane", "dataset", "length_bp", "error", "pairs", "scope",
    "quantity", "ci_low", "ci_high", "rounds", "status", "commit",
)  # fmt: skip


def paper_rows(values):
    """One dict a row of the thesis, in its order."""
    cited = {}
    for (row, column), found in values.items():
        cited.setdefault(row, {})[column] = next(iter(found.values()))
    for row, printed in cited.items():
        gcups = printed["GCUPs"]
        yield {
            "table": "thesis_tab6",
            "device_class": printed["Device"].value,
            "tool": row,
            "label": LITERATURE.get(row, row),
            "source": "paper",
            "host": printed["Device Model"].value,
            "year": printed["Year"].value,
            "device_model": printed["Device Model"].value,
            "quantity": "gcups_reported",
            "gcups": gcups.number,
            "status": "ok" if gcups.number is not None else f"{gcups.value}: {papers.WORDS[gcups.value]}",
            "note": gcups.note,
        }


def our_rows(standings):
    """One dict a rate of ours: end to end of every tool, of the kernels alone of those on a GPU."""
    for standing in standings:
        yield _our_row(standing, "gcups_end_to_end", standing.end_to_end, standing.why)
        if standing.line.row.device == "GPU":
            why = standing.why or "no kernel time of all pairs"
            yield _our_row(standing, "gcups_kernel", standing.kernel, why)


def _our_row(standing, quantity, peak, why):
    line = peak.line if peak else standing.line
    tool, _, variant = line.row.tool.partition(":")
    shared = {
        "table": "thesis_tab6", "device_class": line.row.device, "tool": tool, "variant": variant,
        "label": tool_name(line), "source": line.source, "host": line.host,
        "threads": line.threads, "scope": line.row.scope, "quantity": quantity,
    }  # fmt: skip
    if peak is None:
        return shared | {"device_model": line.host, "status": why}
    record = peak.record
    kept = ("lane", "rounds", "dataset", "length_bp", "error", "pairs", "stale", "race_valid", "commit")
    return shared | {k: record[k] for k in kept} | {
        "year": record["time_utc"][:4], "gcups": peak.gcups, "ci_low": peak.low, "ci_high": peak.high, "status": "ok",
        "device_model": record["gpu"] if line.row.device == "GPU" else line.host, "note": ", ".join(peak.cell.marks),
    }  # fmt: skip


def tidy_rows(rows):
    """The same rows with the columns of every tidy file."""
    for row in rows:
        ours = {} if row["source"] == "paper" else {"metric": "edit", "input": "ascii"}
        note = "; ".join(filter(None, [row.get("device_model"), row.get("note")]))
        yield {k: row.get(k) for k in TIDY_KEPT} | ours | {"unit": "GCUPS", "value": row.get("gcups"), "note": note}


def table(printed, standings, filled):
    """The PlainTable: class by class ours, then the thesis'. filled: the table.Table that the standings are of."""
    lines = []
    for device in dict.fromkeys(row["device_class"] for row in printed):
        lines += _our_lines([standing for standing in standings if standing.line.row.device == device], filled)
        lines += [_paper_line(row) for row in printed if row["device_class"] == device]
    notes = [f"† {row['label']}, {row['tool']}: {row['note']}." for row in printed if row["note"]]
    notes.append(
        f"Ours: few pairs: of fewer than {FEW_TEXT}; short call: of less than "
        f"{1000 * SHORT_S:.0f} ms on a GPU; stale: measured with other sources of the tool; older way of measuring: by "
        "another procedure than today's; race invalid: its twins ran unevenly."
    )
    notes += _faster_notes(standings)
    ours = Table(filled.layout, [line for standing in standings for line in standing.lines], [])
    return PlainTable("thesis_tab6", TITLE, CAPTION, HEAD, lines, [*notes, *of_races(ours.lines), *hosts_notes(ours)])


def _faster_notes(standings):
    """Sentence a tool and scope on a host on the higher rates that are not shown for their doubts."""
    for standing in standings:
        faster = [(standing.faster_end_to_end, "end to end"), (standing.faster_kernel, "of the kernels alone")]
        told = [
            f"{significant(peak.gcups)} {what} ({peak.cell.column.name}, {', '.join(peak.cell.marks)})"
            for peak, what in faster
            if peak
        ]
        if told:
            name = f"{tool_name(standing.line)}, {SCOPES[standing.line.row.scope]}, on {standing.line.host}"
            yield f"Higher, but not shown for their doubts: {name}: {'; '.join(told)}."


def _paper_line(row):
    told, _, why = row["status"].partition(": ")
    shown = Text(told, small=why, why=True) if row["gcups"] is None else Text(f"{row['gcups']:g}", number=True)
    if row["note"]:
        shown = Text(f"{shown.text} †", shown.small, number=shown.number, why=shown.why)
    cited = "thesis" if row["tool"] == "Ours" else f"thesis, {row['tool']}"
    first = [row["device_class"], row["label"], cited, row["year"], row["device_model"], "not told"]
    return TextLine([*map(Text, first), shown, *[Text("not told apart", why=True)] * 2], "paper")


def _our_lines(standings, filled):
    """A line for each of ours with a rate; those of a host without one share a line for each reason."""
    without = {}
    for standing in standings:
        if standing.end_to_end is None:
            without.setdefault((where_text(filled, standing.line), standing.why), []).append(standing)
    lines = [_our_line(standing, filled) for standing in standings if standing.end_to_end]
    return lines + [_missing_line(where, why, alike) for (where, why), alike in without.items()]


def _our_line(standing, filled):
    line, record = standing.line, standing.end_to_end.record
    on_gpu = line.row.device == "GPU"
    model = record["gpu"] if on_gpu else line.host
    first = [line.row.device, tool_name(line), where_text(filled, line), record["time_utc"][:4], model]
    cells = [*map(Text, first), Text(SCOPES[line.row.scope]), Text("ours", why=True)]
    cells.append(_rate(standing.end_to_end, "", filled))
    kernel = _rate(standing.kernel, "no kernel time", filled)
    cells.append(kernel if on_gpu else Text("a CPU", why=True))
    return TextLine(cells, "ours")


def _missing_line(where, why, standings):
    line = standings[0].line
    names = ", ".join(dict.fromkeys(tool_name(standing.line) for standing in standings))
    scopes = ", ".join(dict.fromkeys(SCOPES[standing.line.row.scope] for standing in standings))
    cells = [*map(Text, (line.row.device, names, where, "–", line.host, scopes)), Text("ours", why=True)]
    cells += [Text(why, why=True), Text(why if line.row.device == "GPU" else "a CPU", why=True)]
    return TextLine(cells, "ours")


def _rate(peak, why, filled):
    if peak is None:
        return Text(why, why=True)
    threads = "" if peak.line.row.device == "GPU" else f", threads {threads_text(peak.line, filled.lines)}"
    small = f"{peak.cell.column.name}, {count(peak.record['pairs'])} pairs{threads}"
    return Text(significant(peak.gcups), small, ", ".join(peak.cell.marks), number=True)


@click.command()
@click.option("--measurements", required=True, help="Collected measurements of thesis_tab1 (Parquet).")
@click.option("--paper", required=True, help="config/papers/thesis_tab6.csv.")
@click.option("--config", required=True, help="config/experiments/thesis_tab1.yaml.")
@click.option("--lane", required=True, help="The lane: config/lanes/<lane>.yaml.")
@click.option("--out", required=True, help="Path without suffix: .csv .md .html .tidy.csv are written.")
def main(measurements, paper, config, lane, out):
    """Peak GCUPS of ours beside those reported in the literature."""
    rows, experiment, lane = read_measurements(measurements), read_yaml(config, "experiment"), read_yaml(lane, "lane")
    try:
        printed = list(paper_rows(papers.read_grid(paper)))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    layout = thesis_tab1.make_layout(experiment, "", rows)
    filled = table_build.build(layout, rows, {}, experiment, lane)
    standings = peaks.standings(filled)
    both = [*printed, *our_rows(standings)]
    table_plain.write_all(table(printed, standings, filled), out, COLUMNS, both, tidy_rows(both))


if __name__ == "__main__":
    main()
