"""The floor of a GPU's time from end to end: the letters of the pairs over the wire, and nothing else."""

from workflow.scripts import gpu_cards
from workflow.scripts.format_numbers import significant
from workflow.scripts.table import Cell, Line, Row

#: Stands for a tool in the rows of a table.
FLOOR = "floor"
LABEL = "floor: letters over the wire"


def row(block, scope):
    """The Row of the floor in a block."""
    return Row(block, LABEL, "", "GPU", scope, FLOOR)


def bandwidths(files):
    """{host: GB/s (10**9 bytes) from page-locked memory to its GPU, or None where its host card does not tell}.

    files: race files. Raises samples.SamplesError, a ValueError.
    """
    hosts = gpu_cards.of_hosts(files, here="")
    return {host.host: (host.card.get("pcie_gb_s") or {}).get("h2d_pinned") for host in hosts}


def seconds(column, bandwidth):
    """Seconds that the letters of a column's pairs need, by their nominal length; None where either is not known."""
    if not bandwidth or column.length_bp is None:
        return None
    return 2 * column.length_bp * column.pairs / (bandwidth * 1e9)


def line(row_, source, host, columns, bandwidth, has_gpu):
    """The Line of one host, in four digits: a bandwidth is not known better. bandwidth: GB/s or None.

    has_gpu: whether the host has one.
    """
    short, reason = "not known", "the host's races are older than the measurement of its bandwidth"
    if not has_gpu:
        short, reason = "no GPU", "not measured on a host without one"
    cells = []
    for column in columns:
        floor = seconds(column, bandwidth) if has_gpu else None
        cell = Cell(column, pairs=column.pairs, time_s=floor and float(significant(floor, 4)))
        if cell.time_s is None:
            cell.short, cell.reason = short, reason
        cells.append(cell)
    return Line(row_, source, host, None, cells)


def note(lines, known):
    """[sentence] on the floors that the lines of a table show or are compared with; known: bandwidths()."""
    hosts = dict.fromkeys(line.host for line in lines if known.get(line.host) and _shows(line))
    told = ", ".join(f"{known[host]:g} GB/s on {host}" for host in hosts)
    if not told:
        return []
    return [
        "Floor: 2 x the nominal length bytes a pair over the bandwidth from page-locked memory, measured before a race "
        f"({told}). Below a GPU's time stands how many times the floor it is; offsets, lengths and answers are in the "
        "time, not in the floor."
    ]


def _shows(line):
    return line.row.tool == FLOOR or any(cell.floor_s for cell in line.cells)
