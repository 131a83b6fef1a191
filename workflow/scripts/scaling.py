"""How the time of a data set's first pairs is scaled: by the cells of their matrices, not by their number.

Where lengths differ few pairs tell little of the mean one: the first three of 148 mapped CLR reads of E. coli have a
25th of its cells each.
"""


def work(record):
    """What a time of the measured pairs is in proportion to: cells, and a pair without letters counts, too."""
    return record["cells"] + record["pairs"]


def data_cells(table, card):
    """Cells of a race's data set, or None where neither its card nor a tool that took all pairs tells.

    table: pyarrow Table of its samples. card: dict (see samples.read()).
    """
    told = card.get("data", {}).get("cells")
    if told is None:
        rows = table.select(["pairs", "pairs_total", "cells"]).to_pylist()
        told = next((row["cells"] for row in rows if row["pairs"] == row["pairs_total"]), None)
    return told


def mean_pairs(record):
    """Of how many mean pairs of their data set the measured ones have the cells; their number where those of the data
    set are not known. record: a collected measurement."""
    if record["data_cells"] is None:
        return record["pairs"]
    return record["pairs_total"] * work(record) / (record["data_cells"] + record["pairs_total"])
