"""thesis Tab 3 (ewfa Tab 6): eWFA-GPU on several devices; ours are thesis Tab 1's races on hosts with a GPU."""

from dataclasses import replace

import click

from workflow.scripts import papers, table_build, table_floor, table_notes, table_output, table_peers, table_plain
from workflow.scripts.doubts import FEW_PAIRS_GPU, SHORT_S
from workflow.scripts.table import Cell, Line, Row, Table
from workflow.scripts.table_cli import read_measurements, read_yaml
from workflow.scripts.table_plain import PlainTable, Text, TextLine
from workflow.scripts.table_text import hosts_notes, where_text
from workflow.scripts.tables import thesis_tab1
from workflow.scripts.tools import TOOL_NAMES

ID = "thesis_tab3"
TITLE = "thesis Tab 3 (ewfa Tab 6): eWFA-GPU on different devices"
CAPTION = (
    "Time of 10M pairs with full alignment, transfers included. The thesis' three devices, the original program on a "
    "later one, measured outside the race, and both of our designs on every GPU that has raced thesis Tab 1, from "
    "page-locked memory. Data: uniform random pairs, simulated."
)
PAPER_ROW = "eWFA-GPU (full alignment, GPU)"
#: The rows of thesis Tab 1 that the columns of ours are.
OURS = tuple(Row("", TOOL_NAMES[tool], "", "GPU", "cigar", tool) for tool in (thesis_tab1.PAPER, thesis_tab1.FAST))
NOTE = (
    "n of 10M pairs: fewer were timed, and the time is scaled. Of ours: medians of a race, ± the larger side of the "
    "95 % interval; kernels: the rate of the GPU's kernels alone, cells of the full matrices, computed or not, over "
    "the time during which one of them ran; pageable: from ordinary arrays; few pairs: fewer than "
    f"{FEW_PAIRS_GPU}; short call: scaled from less than {1000 * SHORT_S:.0f} ms; stale: measured with other sources; "
    "older way of measuring: by another procedure than today's; race invalid: its twins ran unevenly."
)
ORIGINAL = Row("", "eWFA-GPU", PAPER_ROW, "GPU", "cigar", "ewfa-gpu")


def paper_lines(values):
    """One Line a device of the thesis. values: papers.read_grid()."""
    for device in dict.fromkeys(device for _, device in values):
        cells = []
        for column in thesis_tab1.COLUMNS:
            told = values[(column.paper_column, device)]["time"]
            cells.append(Cell(column, pairs=column.pairs, time_s=told.seconds, note=told.note))
        yield Line(replace(ORIGINAL, label=device), "paper", device, None, cells)


def filled_table(measurements, values, experiment, lane, peers, bandwidths):
    """The table.Table with a Line for every column that is printed."""
    layout = replace(thesis_tab1.make_layout(experiment, "", measurements), rows=OURS)
    ours = table_build.build(layout, measurements, {}, experiment, lane, bandwidths=bandwidths)
    with_gpu = {m["host"] for m in measurements if m["gpu"]}
    hosts = dict.fromkeys((line.source, line.host) for line in ours.lines if line.host in with_gpu)
    own = [line for host in hosts for line in ours.lines if (line.source, line.host) == host]
    external = table_peers.lines(layout, ORIGINAL, peers)
    notes = [table_peers.provenance(layout, peer) for peer in peers if external and peer["tool"] == ORIGINAL.tool]
    notes += [*table_floor.notes(own), *table_notes.notes(own)]
    notes += [] if own else ["No GPU has raced thesis Tab 1 yet."]
    layout = replace(layout, id=ID, title=TITLE, caption=CAPTION)
    return Table(layout, [*paper_lines(values), *external, *own], notes)


def plain_table(filled, gpus):
    """The PlainTable: a line each data set. gpus: {host: name of its GPU}."""
    lines = [
        TextLine([Text(column.name), *(table_plain.of_cell(filled, line.cells[i]) for line in filled.lines)])
        for i, column in enumerate(filled.layout.columns)
    ]
    head = ["10M pairs", *(_head(filled, line, gpus) for line in filled.lines)]
    here = [] if any(line.source == "here" for line in filled.lines) else ["This host has no column: no GPU."]
    notes = [*_paper_notes(filled), NOTE, *filled.notes, *hosts_notes(filled), *here]
    return PlainTable(ID, TITLE, CAPTION, head, lines, notes)


def _head(filled, line, gpus):
    if line.source == "paper":
        return f"{line.host} (thesis)"
    device = "" if line.source == "external" else f"{gpus[line.host]}: "
    return f"{device}{line.row.label} ({where_text(filled, line)})"


def _paper_notes(filled):
    """Each doubt about the thesis' values once, with its devices."""
    devices = {}
    for line in filled.lines:
        for note in (cell.note for cell in line.cells if line.source == "paper" and cell.note):
            devices.setdefault(note, {})[line.host] = None
    return [f"{', '.join(found)}: {note}." for note, found in devices.items()]


@click.command()
@click.argument("races", nargs=-1)
@click.option("--measurements", required=True, help="Collected measurements of thesis_tab1 (Parquet).")
@click.option("--paper", required=True, help="config/papers/thesis_tab3.csv.")
@click.option("--config", required=True, help="config/experiments/thesis_tab1.yaml.")
@click.option("--lane", required=True, help="The lane: config/lanes/<lane>.yaml.")
@click.option("--peer", "peers", multiple=True, help="External figures: config/peers/<program>_<device>.yaml.")
@click.option("--out", required=True, help="Path without suffix: .csv .md .html .tidy.csv are written.")
def main(races, measurements, paper, config, lane, peers, out):
    """eWFA-GPU and our designs on every GPU; RACES are race files whose host cards tell its bandwidth."""
    rows, experiment, lane = read_measurements(measurements), read_yaml(config, "experiment"), read_yaml(lane, "lane")
    try:
        values, peers = papers.read_grid(paper), table_peers.read(peers)
        bandwidths = table_floor.bandwidths(races)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    filled = filled_table(rows, values, experiment, lane, peers, bandwidths)
    table = plain_table(filled, {m["host"]: m["gpu"] for m in rows})
    csv = table_output.csv_rows(filled)
    table_plain.write_all(table, out, table_output.CSV_COLUMNS, csv, table_output.tidy_rows(filled))


if __name__ == "__main__":
    main()
