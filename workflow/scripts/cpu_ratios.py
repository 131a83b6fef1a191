"""Our CPU kernels over the fastest CPU tool of others, cell by cell: what the table and the figure cpu_ratio show.

The ratio is the tool's time over that of what align() picks, on one thread, taken round by round within one race.
"""

from dataclasses import dataclass

import click

from workflow.scripts import cpu_races, papers, ratios
from workflow.scripts.cpu_races import FEWEST_PAIRS, OURS, PLACES, SCOPES, THREADS
from workflow.scripts.format_numbers import significant


@dataclass(frozen=True)
class Cell:
    """What one host has in a place.

    asked, stretch: the targets, ratios. best: the ratios.Speedup over the fastest peer, or None, and then short (a few
    words) and reason (a sentence) say why. compared: number of peers with a ratio. without: Speedups of those that
    have none. own: the Speedup over the fastest other CPU kernel of ours, where that one was faster than what align()
    picked. race: ratios.Race or None.
    """

    place: cpu_races.Place
    asked: float
    stretch: float
    race: ratios.Race | None = None
    best: ratios.Speedup | None = None
    compared: int = 0
    without: tuple = ()
    own: ratios.Speedup | None = None
    short: str = ""
    reason: str = ""

    @property
    def met(self):
        """The whole interval is at least what is asked; None without a ratio, of an invalid race, or of fewer pairs
        than asked."""
        if self.best is None or not self.race.valid or self.best.row["pairs"] < FEWEST_PAIRS:
            return None
        return self.best.low >= self.asked

    @property
    def peer(self):
        """Name of the fastest peer, "" where there is none."""
        return cpu_races.name(self.best.tool) if self.best else ""

    @property
    def own_text(self):
        """``wavebench O(ND) (CPU) 1.20×``: the faster kernel of ours and by how much, "" where align() picked best."""
        return f"{cpu_races.name(self.own.tool)} {significant(1 / self.own.median)}×" if self.own else ""

    @property
    def marks(self):
        """Doubts, in words."""
        if self.best is None:
            return []
        found = ["stale"] * self.best.stale + ["older way of measuring"] * self.race.older
        found += ["race invalid"] * (not self.race.valid)
        pairs = self.best.row["pairs"]
        return found + [f"{pairs} pair{'s' * (pairs > 1)}, fewer than {FEWEST_PAIRS}"] * (pairs < FEWEST_PAIRS)


def target(place):
    """Key of a place in the targets' file: (row, column)."""
    return f"{place.metric} {SCOPES[place.scope]}", f"{place.length_bp} nt at {place.percent} %"


def read_targets(path):
    """{Place: (asked, stretch)} of a file in the format of the papers' numbers. Raises papers.PapersError."""
    values = papers.read(path)
    found = {}
    for place in PLACES:
        told = values.get(target(place), {})
        numbers = [told[name].number if name in told else None for name in ("asked", "stretch")]
        if None in numbers:
            raise papers.PapersError(f"{path}: needs numbers 'asked' and 'stretch' of {' at '.join(target(place))}")
        found[place] = tuple(numbers)
    return found


def options(command):
    """The click arguments and options from which read() reads."""
    return click.option("--targets", required=True, help="config/targets/cpu_ratio.csv.")(cpu_races.options(command))


def read(files, targets, configs, lane, host):
    """(of_hosts(), cpu_races.Page) of what options() took. Raises ValueError, naming the file."""
    page = cpu_races.read(files, configs, lane, host)
    return of_hosts(page, read_targets(targets)), page


def of_hosts(page, targets):
    """{host: [Cell], in the order of PLACES} of a cpu_races.Page. targets: read_targets()."""
    return {host: [_cell(page.found(host, place), targets[place]) for place in PLACES] for host in page.hosts}


def _cell(found, targets):
    place, race = found.place, found.race
    if race is None:
        return Cell(place, *targets, short=found.short, reason=found.reason)
    speedups = ratios.speedups(race, OURS, place.scope, THREADS)
    others = tuple(s for s in speedups if not ratios.is_ours(s.tool) and s.median is None)
    why = cpu_races.why_ours_has_none(found)
    if why:
        return Cell(place, *targets, race, without=others, **why)
    peers = ratios.peers(race, OURS, place.scope, THREADS)
    if not peers:
        told = "; ".join(f"{cpu_races.name(s.tool)} {s.reason}" for s in others) or "none has raced"
        return Cell(place, *targets, race, without=others, short="no peer", reason=f"no other tool has a ratio: {told}")
    own = [s for s in speedups if ratios.is_ours(s.tool) and s.median is not None and s.high < 1 and s.right]
    return Cell(place, *targets, race, ratios.fastest(peers), len(peers), others, ratios.fastest(own))
