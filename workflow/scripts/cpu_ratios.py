"""Our CPU kernels over the fastest CPU tool of others, cell by cell: what the table and the figure cpu_ratio show.

The ratio is the tool's time over that of what align() picks, on one thread, taken round by round within one race.
"""

from dataclasses import dataclass
from itertools import product

import click

from workflow.race import planning
from workflow.scripts import papers, ratios
from workflow.scripts.config_files import read_yaml
from workflow.scripts.format_numbers import significant
from workflow.scripts.tools import TOOL_NAMES, tool_id

OURS = "wavebench-auto:cpu"
THREADS = 1
#: Metric -> the experiment whose races are shown.
EXPERIMENTS = {"edit": "thesis_tab1", "affine": "thesis_tab8"}
METRICS = {"edit": "edit distance", "affine": "gap-affine"}
#: Scope of a race -> its name here.
SCOPES = {"score": "score", "cigar": "path"}
LENGTHS_BP = (150, 300, 1000, 10000)
ERRORS_PERCENT = (2, 5, 10)
#: The targets are for batches of at least so many pairs.
FEWEST_PAIRS = 64


@dataclass(frozen=True)
class Place:
    """One cell of the grid. metric: key of EXPERIMENTS. scope: key of SCOPES. percent: nominal error."""

    metric: str
    scope: str
    length_bp: int
    percent: int

    @property
    def dataset(self):
        return f"uniform_{self.length_bp}_e{self.percent}"

    @property
    def experiment(self):
        return EXPERIMENTS[self.metric]

    @property
    def target(self):
        """Key of the targets' file: (row, column)."""
        return f"{self.metric} {SCOPES[self.scope]}", f"{self.length_bp} nt at {self.percent} %"


PLACES = tuple(Place(*values) for values in product(EXPERIMENTS, SCOPES, LENGTHS_BP, ERRORS_PERCENT))


@dataclass(frozen=True)
class Cell:
    """What one host has in a place.

    asked, stretch: the targets, ratios. best: the ratios.Speedup over the fastest peer, or None, and then short (a few
    words) and reason (a sentence) say why. compared: number of peers with a ratio. without: Speedups of those that
    have none. own: the Speedup over the fastest other CPU kernel of ours, where that one was faster than what align()
    picked. race: ratios.Race or None.
    """

    place: Place
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
        """The whole interval is at least what is asked; None without a ratio."""
        return None if self.best is None else self.best.low >= self.asked

    @property
    def peer(self):
        """Name of the fastest peer, "" where there is none."""
        return TOOL_NAMES.get(self.best.tool, self.best.tool) if self.best else ""

    @property
    def own_text(self):
        """``wavebench O(ND) (CPU) 1.20×``: the faster kernel of ours and by how much, "" where align() picked best."""
        return f"{TOOL_NAMES.get(self.own.tool, self.own.tool)} {significant(1 / self.own.median)}×" if self.own else ""

    @property
    def marks(self):
        """Doubts, in words."""
        if self.best is None:
            return []
        found = ["stale"] * self.best.stale + ["older way of measuring"] * self.race.older
        found += ["race invalid"] * (not self.race.valid)
        pairs = self.best.row["pairs"]
        return found + [f"{pairs} pairs, fewer than {FEWEST_PAIRS}"] * (pairs < FEWEST_PAIRS)


def read_targets(path):
    """{Place: (asked, stretch)} of a file in the format of the papers' numbers. Raises papers.PapersError."""
    values = papers.read(path)
    found = {}
    for place in PLACES:
        told = values.get(place.target, {})
        numbers = [told[name].number if name in told else None for name in ("asked", "stretch")]
        if None in numbers:
            raise papers.PapersError(f"{path}: needs numbers 'asked' and 'stretch' of {' at '.join(place.target)}")
        found[place] = tuple(numbers)
    return found


def options(command):
    """The click arguments and options from which read() reads."""
    for option in (
        click.option("--host", required=True, help="Id of this host."),
        click.option("--lane", required=True, help="The lane: config/lanes/<lane>.yaml."),
        click.option("--config", "configs", multiple=True, help="Each experiment: config/experiments/<id>.yaml."),
        click.option("--targets", required=True, help="config/targets/cpu_ratio.csv."),
        click.argument("files", nargs=-1),
    ):
        command = option(command)
    return command


def read(files, targets, configs, lane, here):
    """(of_hosts(), {id: experiment}, lane) of files; see options(). Raises ValueError, naming the file."""
    lane = read_yaml(lane)
    experiments = {told["id"]: told for told in map(read_yaml, configs)}
    if set(experiments) != set(EXPERIMENTS.values()):
        raise ValueError(f"--config must name the files of {' and '.join(EXPERIMENTS.values())}")
    hosts = of_hosts(ratios.read(files), here, read_targets(targets), experiments, lane)
    return hosts, experiments, lane


def of_hosts(races, here, targets, experiments, lane):
    """{host: [Cell], in the order of PLACES}, this host first, which is there even without a race.

    races: ratios.read(). here: id of this host. targets: read_targets(). experiments: {id: its file as a dict}. lane:
    its file as a dict.
    """
    known = {(race.host, race.rows[0]["experiment"], race.dataset): race for race in ratios.shown(races)}
    found = {}
    for host in (here, *sorted({host for host, _, _ in known} - {here})):
        found[host] = []
        for place in PLACES:
            race = known.get((host, place.experiment, place.dataset))
            if race:
                found[host].append(_raced(place, race, targets[place]))
            else:
                why = _why_no_race(place, host == here, experiments, lane)
                found[host].append(Cell(place, *targets[place], **why))
    return found


def _why_no_race(place, is_here, experiments, lane):
    """The fields short and reason of a Cell."""
    if place.dataset not in experiments[place.experiment]["datasets"]:
        return {"short": "in no experiment", "reason": f"{place.experiment} has no such data set"}
    if not is_here:
        return {"short": "not recorded", "reason": "no sample recorded on this host"}
    raced = planning.narrowed(experiments[place.experiment], lane)["datasets"]
    if place.dataset not in raced or place.dataset not in lane["pairs"]:
        return {"short": "not in this lane", "reason": f"the data set is not in lane {lane['name']}"}
    return {"short": "no sample yet", "reason": f"lane {lane['name']} has not measured this cell yet"}


def _raced(place, race, targets):
    found = [s for s in ratios.speedups(race, OURS, place.scope, THREADS) if s.row["quantity"] == ratios.CPU_QUANTITY]
    others = tuple(s for s in found if not ratios.is_ours(s.tool) and s.median is None)
    why = _why_ours_has_none(place, race)
    if why:
        return Cell(place, *targets, race, without=others, **why)
    peers = ratios.peers(race, OURS, place.scope, THREADS)
    if not peers:
        told = "; ".join(f"{TOOL_NAMES.get(s.tool, s.tool)} {s.reason}" for s in others) or "none has raced"
        return Cell(place, *targets, race, without=others, short="no peer", reason=f"no other tool has a ratio: {told}")
    own = [s for s in found if ratios.is_ours(s.tool) and s.median is not None and s.high < 1 and s.right]
    best, faster = (min(some, key=lambda s: s.median, default=None) for some in (peers, own))
    return Cell(place, *targets, race, best, len(peers), others, faster)


def _why_ours_has_none(place, race):
    """The fields short and reason of a Cell where our time does not count, else an empty dict."""
    rows = [row for row in race.rows if tool_id(row) == OURS and not row["twin"]]
    rows = [row for row in rows if row["scope"] == place.scope and row["threads"] == THREADS]
    if not rows:
        return {"short": "ours not raced", "reason": f"{OURS} on one thread was not in this race"}
    if all(row["status"] != "ok" for row in rows):
        return {"short": rows[0]["status"].replace("_", " "), "reason": f"{OURS}: {rows[0]['reason']}"}
    if any(row["recall_native"] is not None and row["recall_native"] < 1 for row in rows):
        return {"short": "wrong answers", "reason": f"{OURS} was not optimal on every pair"}
    return {}
