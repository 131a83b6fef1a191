"""The floor of a GPU's time from end to end: the letters of the pairs over the wire, and nothing else."""

from dataclasses import dataclass, field

from workflow.scripts import gpu_cards
from workflow.scripts.format_numbers import significant
from workflow.scripts.table import Cell, Line, Row

#: Stands for a tool in the rows of a table.
FLOOR = "floor"
LABEL = "floor: letters over the wire"


def row(block, scope):
    """The Row of the floor in a block."""
    return Row(block, LABEL, "", "GPU", scope, FLOOR)


@dataclass(frozen=True)
class Bandwidths:
    """GB/s (10**9 bytes) from page-locked memory to the GPU, or None where a card does not tell.

    races: {(host, race_id): as measured before it}: machines of one id differ by some percent. hosts: {host: of its
    newest card}, for a race whose own card does not tell.
    """

    races: dict = field(default_factory=dict)
    hosts: dict = field(default_factory=dict)

    def of(self, host, race_id=None):
        """Of a race on a host, or of the host."""
        return self.races.get((host, race_id)) or self.hosts.get(host)


def bandwidths(files):
    """The Bandwidths that race files tell. Raises samples.SamplesError, a ValueError."""
    told = [one for path in files for one in gpu_cards.cards(str(path))]
    races = {(row["host"], row["race_id"]): pinned(card) for row, card in told}
    return Bandwidths(races, {host.host: pinned(host.card) for host in gpu_cards.of_hosts(files, here="")})


def pinned(card):
    """GB/s from page-locked memory to the GPU that a host card tells, or None."""
    return (card.get("pcie_gb_s") or {}).get("h2d_pinned")


def seconds(length_bp, pairs, bandwidth):
    """Seconds that the letters of so many pairs need, by their nominal length; None where that or the GB/s are None."""
    if not bandwidth or length_bp is None:
        return None
    return 2 * length_bp * pairs / (bandwidth * 1e9)


def line(row_, source, host, columns, wires, has_gpu):
    """The Line of one host, in four digits: a bandwidth is not known better. wires: {data set: GB/s or None}.

    has_gpu: whether the host has one.
    """
    short, reason = "not known", "the host's races are older than the measurement of its bandwidth"
    if not has_gpu:
        short, reason = "no GPU", "not measured on a host without one"
    cells = []
    for column in columns:
        floor = seconds(column.length_bp, column.pairs, wires[column.dataset]) if has_gpu else None
        cell = Cell(column, pairs=column.pairs, time_s=floor and float(significant(floor, 4)))
        if cell.time_s is None:
            cell.short, cell.reason = short, reason
        cells.append(cell)
    return Line(row_, source, host, None, cells)


def note(lines, known):
    """[sentence] on the floors that the lines of a table show or are compared with; known: the Bandwidths."""
    found = {}
    for line_ in lines:
        for cell in line_.cells:
            if cell.floor_s or (line_.row.tool == FLOOR and cell.time_s):
                race = cell.record["race_id"] if cell.record else None
                found.setdefault(line_.host, []).append(known.of(line_.host, race))
    told = ", ".join(f"{_range(speeds)} GB/s on {host}" for host, speeds in found.items())
    if not told:
        return []
    return [
        "Floor: 2 x the nominal length bytes a pair over the bandwidth from page-locked memory, measured before each "
        f"race ({told}). Below a GPU's time stands how many times the floor it is; offsets, lengths and answers are in "
        "the time, not in the floor. A design that packs some of the letters to 2 bits on the host sends "
        "fewer bytes and can take less."
    ]


def _range(speeds):
    """The least and the most of some numbers, once where they are the same in three digits."""
    return " to ".join(dict.fromkeys(f"{speed:.3g}" for speed in (min(speeds), max(speeds))))
