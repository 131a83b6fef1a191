"""External rows: what other programs were measured to take outside this project's race, from config/peers."""

from dataclasses import replace

from workflow.scripts import config_files
from workflow.scripts.format_numbers import count
from workflow.scripts.table import Cell, Line


def read(paths):
    """The files as dicts, checked against their schema. Raises SettingsError, a ValueError."""
    found = []
    for path in paths:
        peer = config_files.read_yaml(path)
        config_files.check(peer, "peer", str(path))
        found.append(peer)
    return found


def lines(layout, row, peers):
    """The external Lines that belong below a row of a table: of its tool, scope, metric and kind of pairs."""
    wanted, kinds = (row.tool, row.scope, layout.metric), {_kind(column.dataset) for column in layout.columns}
    fitting = [
        p for p in peers if (p["tool"], p["scope"], p["metric"]) == wanted and kinds & set(map(_kind, p["times"]))
    ]
    return [_line(layout, row, peer) for peer in fitting]


def _kind(dataset):
    """The model that a data set was drawn from, such as "uniform": pairs of another length say little of a tool's time,
    but more than nothing."""
    return dataset.partition("_")[0]


def _line(layout, row, peer):
    cells, missing = [], _why_missing(layout, peer)
    for column in layout.columns:
        told = peer["times"].get(column.dataset)
        cell = Cell(column)
        if told is None:
            cell.short, cell.reason = "not measured", missing
        else:
            cell.pairs = told.get("extrapolated_from", told["pairs"])
            cell.time_s = told["ms"] / 1e3 * column.pairs / told["pairs"]
            scaled = f"{count(cell.pairs)} pairs, scaled to {count(column.pairs)}"
            cell.note = scaled if cell.pairs != column.pairs else ""
        cells.append(cell)
    return Line(replace(row, label=peer["label"]), "external", place(peer), None, cells)


def _why_missing(layout, peer):
    """Sentence on a cell without a time; what was measured, where the table has a column for none of it."""
    return "; ".join(filter(None, [f"{peer['label']} was not measured on this data set", _elsewhere(layout, peer)]))


def _elsewhere(layout, peer):
    """What was measured of a program, where the table has a column for none of it; else nothing."""
    if {column.dataset for column in layout.columns} & peer["times"].keys():
        return ""
    took = (f"{count(at['pairs'])} pairs of {name} took it {at['ms']:g} ms" for name, at in peer["times"].items())
    return ", ".join(took)


def place(peer):
    """What it ran on and when, in words."""
    return f"{peer['device']}, driver {peer['driver']}, {day(peer)}"


def day(peer):
    """The day of the measurement in words."""
    return "day not recorded" if peer["date"] == "unknown" else peer["date"]


def provenance(layout, peer):
    """Sentence on where an external row of a table is from, and what was measured beside the table's data sets."""
    elsewhere = _elsewhere(layout, peer)
    besides = f" {elsewhere}, of which the table has no column." if elsewhere else ""
    return (
        f"External, not raced here: {peer['label']} ({peer['version']}) on {place(peer)}: {peer['method']}.{besides} "
        "No ratio is taken with it."
    )
