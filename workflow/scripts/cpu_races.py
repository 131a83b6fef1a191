"""The races behind the report's CPU page: which experiment holds a place of its grid, and why a host has no race there.

All of it is on one thread, on uniform random pairs.
"""

from dataclasses import dataclass
from itertools import product

import click

from workflow.race import planning
from workflow.scripts import config_files, ratios
from workflow.scripts.doubts import MOST_COVERAGE, broken_promise, refused_share
from workflow.scripts.tools import TOOL_NAMES, tool_id

OURS = "wavebench-auto:cpu"
THREADS = 1
METRICS = {"edit": "edit distance", "affine": "gap-affine"}
#: Metric -> the experiments whose races are shown; a place belongs to the first that names its data set.
EXPERIMENTS = {
    "edit": ("thesis_tab1", "cpu_edit", "cpu_long_edit"),
    "affine": ("thesis_tab8", "cpu_affine", "cpu_long_affine"),
}
#: The targets, and the CPU kernels that take pairs side by side, are for batches of at least so many pairs.
FEWEST_PAIRS = 64
#: Scope of a race -> its name here.
SCOPES = {"score": "score", "cigar": "path"}
LENGTHS_BP = (150, 300, 1000, 10000)
ERRORS_PERCENT = (2, 5, 10)
#: Of the figures: (metric, scope).
PANELS = tuple(product(METRICS, SCOPES))
#: Beyond the grid: alignments of a few long pairs.
LONG_BP, LONG_PERCENT, LONG_SCOPE = (20000, 100000), 5, "cigar"


@dataclass(frozen=True)
class Place:
    """Where a kernel is asked. metric: key of METRICS. scope: key of SCOPES. percent: nominal error."""

    metric: str
    scope: str
    length_bp: int
    percent: int

    @property
    def dataset(self):
        return f"uniform_{self.length_bp}_e{self.percent}"


#: The grid that targets are set for.
PLACES = tuple(Place(*values) for values in product(METRICS, SCOPES, LENGTHS_BP, ERRORS_PERCENT))


@dataclass(frozen=True)
class Found:
    """What a host has in a place. race: ratios.Race, or None, and then short (a few words) and reason (a sentence) say
    why.
    """

    place: Place
    race: ratios.Race | None = None
    short: str = ""
    reason: str = ""

    def rows(self, tool=None):
        """Sample rows of the place's scope on one thread, of one tool or of all, twins left out."""
        rows = self.race.rows if self.race else []
        rows = [row for row in rows if row["scope"] == self.place.scope and row["threads"] == THREADS]
        return [row for row in rows if not row["twin"] and tool in (None, tool_id(row))]


@dataclass(frozen=True)
class Page:
    """All that the CPU page is drawn from. races: {(host, experiment, data set): ratios.Race}. experiments: {id: its
    file as a dict}. lane: its file as a dict. here: id of this host.
    """

    races: dict
    experiments: dict
    lane: dict
    here: str

    @property
    def hosts(self):
        """Ids of hosts, this one first, which is there even without a race."""
        return [self.here, *sorted({host for host, _, _ in self.races} - {self.here})]

    def experiment(self, place):
        """Id of the experiment that a place belongs to, or None."""
        names = EXPERIMENTS[place.metric]
        return next((id_ for id_ in names if place.dataset in self.experiments[id_]["datasets"]), None)

    def left_out(self, host, place):
        """Ids of the tools that this host's lane leaves out of the races of a place; of another host none is known."""
        narrow = self.lane.get("narrow", {}).get(self.experiment(place), {}) if host == self.here else {}
        return narrow.get("without", ())

    def found(self, host, place):
        """The Found of a host in a place."""
        race = self.races.get((host, self.experiment(place), place.dataset))
        return Found(place, race) if race else Found(place, **self._why_no_race(host, place))

    def _why_no_race(self, host, place):
        """The fields short and reason of a Found."""
        id_ = self.experiment(place)
        if id_ is None:
            told = " nor ".join(EXPERIMENTS[place.metric])
            return {"short": "in no experiment", "reason": f"neither {told} names the data set"}
        if host != self.here:
            return {"short": "not recorded", "reason": "no sample recorded on this host"}
        lane, raced = self.lane, planning.narrowed(self.experiments[id_], self.lane)["datasets"]
        if place.dataset not in raced or place.dataset not in lane["pairs"]:
            return {"short": "not in this lane", "reason": f"the data set is not in lane {lane['name']}"}
        return {"short": "no sample yet", "reason": f"lane {lane['name']} has not measured this cell yet"}


def why_ours_has_none(found):
    """The fields short and reason where the time of what align() picks does not count, else an empty dict.

    found: a Found with a race.
    """
    rows = found.rows(OURS)
    if not rows:
        return {"short": "ours not raced", "reason": f"{OURS} on one thread was not in this race"}
    if all(row["status"] != "ok" for row in rows):
        return {"short": rows[0]["status"].replace("_", " "), "reason": f"{OURS}: {rows[0]['reason']}"}
    wrong = next(filter(None, map(broken_promise, rows)), "")
    if wrong:
        return {"short": "wrong answers", "reason": f"{OURS} {wrong}"}
    answered = max((row["coverage"] for row in rows if row["coverage"] is not None), default=1)
    if answered < MOST_COVERAGE:  # of every number of pairs that it ran
        return {"short": refused_share(answered), "reason": f"{OURS} {refused_share(answered)} of the pairs"}
    return {}


def name(tool):
    """Name of the tool of that id."""
    return TOOL_NAMES.get(tool, tool)


def options(command):
    """The click arguments and options from which read() reads."""
    for option in (
        click.option("--host", required=True, help="Id of this host."),
        click.option("--lane", required=True, help="The lane: config/lanes/<lane>.yaml."),
        click.option("--config", "configs", multiple=True, help="Each experiment: config/experiments/<id>.yaml."),
        click.argument("files", nargs=-1),
    ):
        command = option(command)
    return command


def read(files, configs, lane, host):
    """The Page of what options() took. Raises ValueError, naming the file."""
    told = [config_files.read(path, "experiment") for path in configs]
    experiments = {experiment["id"]: experiment for experiment in told}
    wanted = [id_ for ids in EXPERIMENTS.values() for id_ in ids]
    if set(experiments) != set(wanted):
        raise ValueError(f"--config must name the files of {', '.join(wanted)}")
    return page(ratios.read(files), experiments, config_files.read(lane, "lane"), host)


def page(races, experiments, lane, here):
    """The Page of ratios.read()'s races: of several of a host, experiment and data set the one that tables show."""
    races = ratios.shown(ratios.apart(races, {here}))
    kept = {(race.host, race.rows[0]["experiment"], race.dataset): race for race in races}
    return Page(kept, experiments, lane, here)
