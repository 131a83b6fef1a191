"""From the races of the CPU page to curves: a block of panels for each host, and what is missing in them, in words."""

from dataclasses import dataclass, field

from workflow.scripts import cpu_figures, cpu_points, cpu_races, curves
from workflow.scripts.cpu_races import METRICS, OURS, SCOPES


@dataclass(frozen=True)
class Axes:
    """What a figure draws. panels: [(metric, scope)]. places: places(page, host, metric, scope) gives the Places of a
    panel. x, unit: of a Place, and what it is counted in. y: of a cpu_points.Point, (low, y, high) or None. title:
    title(metric, scope, places).
    """

    panels: list
    places: object
    x: object
    unit: str
    y: object
    title: object


def microseconds(point):
    """(low, median, high) of the time of a pair."""
    return tuple(1e6 * seconds for seconds in point.seconds)


@dataclass
class _Gathered:
    """What one host has: panels, points in use, races in use, {reason: {who: [x]}} of what is missing, and why what
    align() picks has no point, each reason once."""

    panels: list = field(default_factory=list)
    points: list = field(default_factory=list)
    races: list = field(default_factory=list)
    missing: dict = field(default_factory=dict)
    ours_missing: list = field(default_factory=list)

    def lack(self, reason, who, x):
        told = self.missing.setdefault(reason, {}).setdefault(who, [])
        if x not in told:
            told.append(x)

    def lack_ours(self, reason):
        if reason not in self.ours_missing:
            self.ours_missing.append(reason)

    def sentences(self, where, unit):
        """One for each reason. where: what follows its first words."""
        for reason, told in self.missing.items():
            places = [f"{who} at {', '.join(map(curves.short, xs))} {unit}" for who, xs in told.items()]
            yield f"No point{where}, {reason}: {'; '.join(places)}"


def draw(page, axes, look):
    """The figure of a cpu_races.Page. axes: Axes. look: curves.Look."""
    found, missing = blocks(page, axes)
    return curves.draw(found, look, missing)


def blocks(page, axes):
    """([curves.Block], sentences on what is missing) of a cpu_races.Page. axes: Axes.

    A host without a point of what align() picks has no block.
    """
    found, notes = [], []
    for host in page.hosts:
        gathered = _gather(page, host, axes)
        if any(point.tool == OURS for point in gathered.points):
            found.append(curves.Block(_title(page, host, gathered), gathered.panels))
            notes += gathered.sentences("" if host == page.here else f" on {host}", axes.unit)
        elif gathered.races or host != page.here:  # a host is not named for its want of any race
            why = ", ".join(gathered.ours_missing) or "not raced"
            notes.append(f"No curve on {'this host' if host == page.here else host}, what align() picks: {why}")
    return found, notes


def _gather(page, host, axes):
    gathered = _Gathered()
    for metric, scope in axes.panels:
        places = axes.places(page, host, metric, scope)
        panel = curves.Panel(axes.title(metric, scope, places))
        for place in places:
            _add(gathered, panel, page.found(host, place), axes, page.left_out(host, place))
        gathered.panels.append(panel)
    return gathered


def _add(gathered, panel, found, axes, left_out):
    """Put a place's points into a panel. left_out: ids of the tools that the lane leaves out of its race."""
    place, x = found.place, axes.x(found.place)
    if found.race is None:
        gathered.lack(found.short, METRICS[place.metric], x)
        return
    drawn, without = cpu_points.points(found)
    for tool in cpu_points.TOOLS[place.metric]:
        interval = axes.y(drawn[tool]) if tool in drawn else None
        if interval:
            panel.add(tool, x, interval, drawn[tool].few)
            gathered.points.append(drawn[tool])
            continue
        who, why = f"{cpu_races.name(tool)}, {METRICS[place.metric]}", without.get(tool, "memory not measured")
        if why != cpu_points.NOT_RACED:
            gathered.lack(why, f"{who}, {SCOPES[place.scope]}", x)
            if tool == OURS:
                gathered.lack_ours(why)
        elif tool in left_out:  # for scores and paths alike
            gathered.lack("tool not in this lane", who, x)
    gathered.races.append(found.race)


def _title(page, host, gathered):
    lanes = {point.row["lane"] for point in gathered.points}
    stale, older = any(point.stale for point in gathered.points), any(race.older for race in gathered.races)
    invalid = not all(race.valid for race in gathered.races)
    return cpu_figures.host_title(host, host == page.here, lanes, stale, older, invalid)
