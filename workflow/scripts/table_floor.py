"""The floor of a GPU's time from end to end: the letters of the pairs over the wire, and nothing else.

Where the letters were packed beforehand, what really crosses the wire, each way.
"""

from dataclasses import dataclass, field

from workflow.scripts import gpu_cards
from workflow.scripts.doubts import race_identity
from workflow.scripts.format_numbers import significant, spread
from workflow.scripts.table import NO_GPU, Cell, Line, Row

#: Stands for a tool in the rows of a table.
FLOOR = "floor"
LABEL = "floor: letters over the wire"


def row(block, scope):
    """The Row of the floor in a block."""
    return Row(block, LABEL, "", "GPU", scope, FLOOR)


@dataclass(frozen=True)
class Wire:
    """GB/s (10**9 bytes) between page-locked memory and a GPU, each way alone. outward: None where not told."""

    inward: float
    outward: float | None = None


@dataclass(frozen=True)
class Bandwidths:
    """The Wire of races and hosts, or None where a card does not tell.

    races: {doubts.race_identity(): as measured beside it}: machines of one id differ by some percent. hosts: {host: of
    its newest card}, for a race whose own card does not tell.
    """

    races: dict = field(default_factory=dict)
    hosts: dict = field(default_factory=dict)

    def of(self, host, race=None):
        """Of a race, by its identity, or of its host."""
        return self.races.get(race) or self.hosts.get(host)


def bandwidths(files):
    """The Bandwidths that race files tell. Raises samples.SamplesError, a ValueError."""
    told = [one for path in files for one in gpu_cards.cards(str(path))]
    races = {race_identity(row): wire(card) for row, card in told}
    return Bandwidths(races, {host.host: wire(host.card) for host in gpu_cards.of_hosts(files, here="")})


def wire(card):
    """The Wire that a host card tells of, or None."""
    told = card.get("pcie_gb_s") or {}
    return Wire(told["h2d_pinned"], told.get("d2h_pinned")) if told.get("h2d_pinned") else None


def seconds(length_bp, pairs, wire_):
    """Seconds that the letters of so many pairs need, by their nominal length; None where that or the Wire is None."""
    if not wire_ or length_bp is None:
        return None
    return 2 * length_bp * pairs / (wire_.inward * 1e9)


def own_seconds(record, wire_):
    """Seconds that the bytes of a run need over the wire, which takes both ways at once; None where they, or the GB/s,
    are not told."""
    bytes_in, bytes_out = record["bytes_in"], record["bytes_out"]
    if not wire_ or not wire_.outward or bytes_in is None or bytes_out is None:
        return None
    return max(bytes_in / wire_.inward, bytes_out / wire_.outward) / 1e9


def line(row_, source, host, columns, wires, has_gpu):
    """The Line of one host, in four digits: a bandwidth is not known better. wires: {data set: Wire or None}.

    has_gpu: whether the host has one.
    """
    short, reason = "not known", "the host's races are older than the measurement of its bandwidth"
    if not has_gpu:
        short, reason = NO_GPU
    cells = []
    for column in columns:
        floor = seconds(column.length_bp, column.pairs, wires[column.dataset]) if has_gpu else None
        time_s = floor and float(significant(floor, 4))
        cell = Cell(column, pairs=column.pairs, time_s=time_s, wire=wires[column.dataset])
        if cell.time_s is None:
            cell.short, cell.reason = short, reason
        cells.append(cell)
    return Line(row_, source, host, None, cells)


def notes(lines):
    """Sentences on the floors that the lines of a table show or are compared with."""
    inward, outward, below = {}, {}, ""
    for line_ in lines:
        for cell in line_.cells:
            if cell.floor_s or (line_.row.tool == FLOOR and cell.time_s):
                inward.setdefault(line_.host, []).append(cell.wire.inward)
                if cell.floor_s and line_.row.input == "packed2":
                    outward.setdefault(line_.host, []).append(cell.wire.outward)
                    if cell.time_s < cell.floor_s:
                        below = " Less than 1 of it: the wire was faster in the race than in the copies beside it."
    if inward:
        yield (
            "Floor: 2 x the nominal length bytes a pair over the bandwidth from page-locked memory, measured beside "
            f"each race ({_on_hosts(inward)}). Below a GPU's time stands how many times the floor it is; offsets, "
            "lengths and answers are in the time, not in the floor. Our fast design packs some of the letters to 2 "
            "bits on the host, sends fewer bytes and can take less; another design can where the wire was faster in "
            "the race than in the copies beside it."
        )
    if outward:
        yield (
            "Own floor: of input packed beforehand, the bytes that cross the wire to the GPU over that bandwidth, or "
            f"those that come back over the bandwidth to page-locked memory ({_on_hosts(outward)}), whichever takes "
            f"longer.{below}"
        )


def _on_hosts(speeds):
    """``50 to 60 GB/s on h200, ...`` of {host: [GB/s, ...]}."""
    return ", ".join(f"{spread(of_host)} GB/s on {host}" for host, of_host in speeds.items())
