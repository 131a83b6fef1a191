"""ewfa Tab 4: time of eWFA-GPU's design against its threads per block, 10M pairs at 10 % nominal error."""

import click

from workflow.scripts import table_build, table_output, table_plain
from workflow.scripts.table import Column, Layout, Row, Table
from workflow.scripts.table_cli import read_measurements, read_yaml
from workflow.scripts.table_plain import PlainTable, Text, TextLine
from workflow.scripts.table_text import hosts_notes, where_text

ID = "ewfa_tab4"
TITLE = "ewfa Tab 4: threads per block"
CAPTION = (
    "Time of 10M pairs at 10 % nominal error with full alignment by our kernels of eWFA-GPU's design, all of them "
    "launched with so many threads per block: of the kernels for alignment and backtrace by the GPU's clock, and from "
    "end to end from page-locked memory. Data: uniform random pairs, simulated."
)
PAIRS = 10_000_000
THREADS = (32, 64, 128, 256, 512, 1024)
ROWS = tuple(Row("", str(n), "", "GPU", "cigar", f"wavebench-edit:paper-t{n}") for n in THREADS)
COLUMNS = tuple(
    Column(f"{length} nt", "", f"{length} nt", f"uniform_{length}_e10", PAIRS, length_bp=length, error=0.1)
    for length in (150, 300, 1000)
)
HEAD = ["Measured by", "Threads per block"]
HEAD += [f"{column.name}, {what}" for column in COLUMNS for what in ("kernels", "end to end")]
#: What is left of the paper's table: section D of its evaluation.
PAPER_NOTES = (
    "ewfa: the numbers of its table, and its row and column heads, are lost in the source's text. Its prose names 32, "
    "64 and 128 threads per block: 32 and 64 are very similar at 150 and 300 nt, more lose to idle threads, and 128 "
    "are the best at 1000 nt.",
    "Medians of a race, ± the larger side of the 95 % interval, scaled to 10M pairs where fewer were timed. Bold: the "
    "least median of a column on a host; a neighbour whose interval reaches it is not told apart from it. Stale: "
    "measured with other sources of the tool; older way of measuring: by another procedure than today's; race invalid: "
    "its twins ran unevenly.",
)
KERNEL_COLUMNS = ["threads_per_block", "kernel_s", "kernel_ci_low_s", "kernel_ci_high_s", "least_kernel", "least_time"]


def layout():
    """The Layout of the measured part."""
    return Layout(
        ID, TITLE, CAPTION, ROWS, COLUMNS, metric="edit", penalties="", paper="ewfa", paper_host={}, paper_threads=0
    )


def kernel(cell):
    """The cell with the time of the kernels in the place of that from end to end."""
    return table_build.other_time(cell, "time_kernel", "the race has no time of the kernels")


def least(lines):
    """{(source, host, column, "kernels" | "end to end"): the least seconds of one host}; wrong or uneven runs do not
    count.
    """
    found = {}
    for line in lines:
        for cell in line.cells:
            if cell.time_s is None or cell.struck or not cell.record["race_valid"]:
                continue
            for what, timed in (("kernels", kernel(cell)), ("end to end", cell)):
                key = (line.source, line.host, cell.column, what)
                if timed.time_s is not None:
                    found[key] = min(timed.time_s, found.get(key, timed.time_s))
    return found


def plain_table(filled):
    """The PlainTable: the paper's line, then each host's, one a number of threads."""
    best = least(filled.lines)
    lost = [Text("lost in the source's text", why=True)] * (2 * len(COLUMNS))
    lines = [TextLine([Text("ewfa"), Text("32, 64, 128"), *lost], "paper")]
    for own in _by_host(filled.lines):
        reasons = {cell.missing if cell.time_s is None else "" for line in own for cell in line.cells}
        if len(reasons) == 1 and reasons != {""}:
            why = [Text(reasons.pop(), why=True)] * (2 * len(COLUMNS))
            lines.append(TextLine([Text(where_text(filled, own[0])), Text(f"{THREADS[0]} to {THREADS[-1]}"), *why]))
        else:
            lines += [_line(filled, line, best) for line in own]
    return PlainTable(ID, TITLE, CAPTION, HEAD, lines, [*PAPER_NOTES, *filled.notes, *hosts_notes(filled)])


def _by_host(lines):
    hosts = {}
    for line in lines:
        hosts.setdefault((line.source, line.host), []).append(line)
    return hosts.values()


def _line(filled, line, best):
    cells = [Text(where_text(filled, line)), Text(line.row.label)]
    for cell in line.cells:
        for what, timed in (("kernels", kernel(cell)), ("end to end", cell)):
            is_best = timed.time_s is not None and timed.time_s == best.get((line.source, line.host, cell.column, what))
            cells.append(table_plain.of_cell(filled, timed, is_best))
    return TextLine(cells, "ours")


def csv_rows(filled):
    """The rows of every table of times, with the kernels' time beside the one from end to end."""
    best = least(filled.lines)
    for line in filled.lines:
        rows = table_output.csv_rows(Table(filled.layout, [line], []))
        for row, cell in zip(rows, line.cells, strict=True):
            inside, place = kernel(cell), (line.source, line.host, cell.column)
            yield row | {
                "threads_per_block": int(line.row.label),
                "kernel_s": inside.time_s,
                "kernel_ci_low_s": inside.low_s,
                "kernel_ci_high_s": inside.high_s,
                "least_kernel": inside.time_s is not None and inside.time_s == best.get((*place, "kernels")),
                "least_time": cell.time_s is not None and cell.time_s == best.get((*place, "end to end")),
            }


@click.command()
@click.option("--measurements", required=True, help="Collected measurements of ewfa_tab4 (Parquet).")
@click.option("--config", required=True, help="config/experiments/ewfa_tab4.yaml.")
@click.option("--lane", required=True, help="The lane: config/lanes/<lane>.yaml.")
@click.option("--out", required=True, help="Path without suffix: .csv .md .html .tidy.csv are written.")
def main(measurements, config, lane, out):
    """Time of eWFA-GPU's design against its threads per block."""
    rows, experiment, lane = read_measurements(measurements), read_yaml(config, "experiment"), read_yaml(lane, "lane")
    filled = table_build.build(layout(), rows, {}, experiment, lane)
    columns = [*table_output.CSV_COLUMNS, *KERNEL_COLUMNS]
    table_plain.write_all(plain_table(filled), out, columns, csv_rows(filled), table_output.tidy_rows(filled))


if __name__ == "__main__":
    main()
