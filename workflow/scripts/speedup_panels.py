"""A host's panel of thesis Fig 10: our aligners over the other tools, and the sentences under it."""

import re
from dataclasses import dataclass
from itertools import groupby

from workflow.race.planning import REAL, is_real
from workflow.scripts import gpu_ratios, ratios
from workflow.scripts.dataset_labels import names_of_real, places, short, unraced
from workflow.scripts.doubts import FEW_TEXT, MOST_COVERAGE, SHORT_S, rescued_share
from workflow.scripts.tools import TOOL_NAMES, tool_id

SCOPE = "cigar"
#: Faint markers that are named; of more their names would be a third of the picture.
MOST_NAMED = 12
REFUSED_SHARE = re.compile(r"refused [0-9.]+ %")
BY_ROUNDS = "Medians of ratios taken round by round, with 95 % intervals"
BY_MEDIANS = (
    "Ratios of medians of times per cell, each tool's of the pairs it ran, ours from page-locked memory, with 95 % "
    "bootstrap intervals: GPU and CPU tools have no rounds in common"
)


@dataclass(frozen=True)
class Panel:
    """Speed-ups of one host. speedups: Speedup list. races: the host's, those that hold none of them too.

    on_gpu: the references are our GPU aligners, not our CPU kernel.
    """

    host: str
    speedups: list
    races: list
    on_gpu: bool

    @property
    def datasets(self):
        """Data sets with a place on the axis."""
        return {s.dataset for s in self.speedups}

    @property
    def shown_races(self):
        """The races of those data sets."""
        return [race for race in self.races if race.dataset in self.datasets]

    @property
    def references(self):
        """Ids of our aligners that are compared, those with a ratio, the first reference first."""
        compared = {s.reference for s in self.speedups if s.median is not None}
        return [tool for tool in (*gpu_ratios.REFERENCES, *ratios.REFERENCES) if tool in compared]

    def faint(self, speedup):
        """The ratio is of a time per cell of few pairs or of a short call. On a CPU both sides ran the same pairs."""
        return self.on_gpu and bool(gpu_ratios.scaled_from_little(speedup))


def panels(races):
    """One Panel for each host that has speed-ups, in order of their names.

    Our GPU aligners over each CPU tool where they have a time, else our CPU kernel over each tool. races:
    ratios.shown().
    """
    found = []
    for host, of_host in groupby(sorted(races, key=lambda race: race.host), key=lambda race: race.host):
        panel = _panel(host, list(of_host))
        found += [panel] if panel.speedups else []
    return found


def _panel(host, races):
    on_gpu = [s for race in races for s in gpu_ratios.speedups(race, SCOPE, threads_of(race))]
    if any(s.median is not None for s in on_gpu):
        return Panel(host, on_gpu, races, on_gpu=True)
    over = [s for race in races for s in ratios.speedups(race, race.reference, SCOPE, threads_of(race))]
    return Panel(host, [s for s in over if not ratios.is_ours(s.tool)], races, on_gpu=False)


def threads_of(race):
    """The most threads of the race: the thesis ran CPU tools on all cores."""
    return max(row["threads"] for row in race.rows)


def notes(panel, real, wanted):
    """Sentences under a panel: how it was made, what has no marker, what must not be taken at face value.

    real: technologies.technology_of_real(). wanted: {tool id: name} of the tools that the thesis shows.
    """
    shown = list(places(panel.datasets, real))
    raced = list(places({race.dataset for race in panel.races}, real))
    told = [BY_MEDIANS if panel.on_gpu else BY_ROUNDS]
    told += names_of_real(shown, real) + unraced(raced, real) + _without_gpu(panel, shown, raced)
    told += [] if gpu_ratios.raced(panel.races) else ["No GPU tool has raced on this host"]
    told += unraced_tools(panel.shown_races, wanted)
    for reason in dict.fromkeys(_reason(s) for s in panel.speedups if s.reason):
        told.append(f"No ratio, {reason}: {_where([s for s in panel.speedups if _reason(s) == reason], shown, real)}")
    drawn = [s for s in panel.speedups if s.median is not None]
    for wrong in dict.fromkeys(s.wrong for s in drawn if s.wrong):
        told.append(f"Crossed out, {wrong}: {_where([s for s in drawn if s.wrong == wrong], shown, real)}")
    return told + _by_the_cpu(drawn, shown, real) + _few(panel, shown, real) + _stale(panel, shown, real)


def unraced_tools(races, wanted):
    """Sentence on the tools of the thesis that no race holds, or nothing; a binding and its native library are one.

    wanted: as of notes().
    """
    held = {tool_id(row).replace("-native", "") for race in races for row in race.rows}
    absent = [name for tool, name in wanted.items() if tool not in held]
    return [f"Tools of the thesis not in these races: {listed(absent)}"] if absent else []


def listed(names):
    """``Parasail (striped, scan), Edlib``: names in a row, variants of one tool in one bracket."""
    variants = {}
    for name in names:
        tool, _, variant = name.partition(" (")
        variants.setdefault(tool, []).append(variant.removesuffix(")"))
    return ", ".join(
        part
        for tool, found in variants.items()
        for part in ([tool] if "" in found else [])
        + ([f"{tool} ({', '.join(filter(None, found))})"] if any(found) else [])
    )


def _where(speedups, datasets, real):
    """``Edlib, KSW2 on Nanopore; ...``: the tools of some speed-ups, data set by data set."""
    return _tools_where([(s.tool, s.dataset) for s in speedups], datasets, real)


def _tools_where(found, datasets, real):
    """The text of (tool id, data set) pairs; those with the same tools share a clause."""
    clauses = {}
    for dataset in datasets:
        tools = tuple(dict.fromkeys(TOOL_NAMES.get(tool, tool) for tool, of in found if of == dataset))
        if tools:
            clauses.setdefault(tools, []).append(short(dataset, datasets, real))
    return "; ".join(f"{listed(tools)} on {', '.join(names)}" for tools, names in clauses.items())


def _reason(speedup):
    """Why there is no ratio, without the share of the pairs that was refused: Tab 9 tells it."""
    return REFUSED_SHARE.sub(f"refused more than {100 * (1 - MOST_COVERAGE):.0f} %", speedup.reason)


def _without_gpu(panel, shown, raced):
    """Sentence that names the data sets that have no place, as their races lack our GPU aligners; or nothing."""
    left = [dataset.replace(REAL, "real ") for dataset in raced if dataset not in shown] if panel.on_gpu else []
    return [f"Not shown, raced without our GPU aligners: {', '.join(left)}"] if left else []


def _by_the_cpu(drawn, shown, real):
    """Sentence on the pairs that our GPU aligners left to the CPU, whose time is then not the GPU's alone; or nothing.

    drawn: Speedups with a ratio.
    """
    shares = {(s.reference, s.dataset): rescued_share(s.own) for s in drawn}
    places = {}
    for tool in gpu_ratios.REFERENCES:
        told = [f"{short(d, shown, real)} ({shares[tool, d]})" for d in shown if shares.get((tool, d))]
        if told:
            places.setdefault(", ".join(told), []).append(TOOL_NAMES[tool])
    told = [f"{listed(names)} on {where}" for where, names in places.items()]
    return [f"Some pairs by the CPU: {'; '.join(told)}"] if told else []


def _few(panel, shown, real):
    """Sentence on the faint markers, or nothing."""
    faint = [s for s in panel.speedups if s.median is not None and panel.faint(s)]
    few = [(tool, s.dataset) for s in faint for tool in gpu_ratios.scaled_from_little(s)]
    told = f"Faint, from under {FEW_TEXT} or {1000 * SHORT_S:.0f} ms"
    if len(faint) > MOST_NAMED:
        ratios_there_are = sum(s.median is not None for s in panel.speedups)
        return [f"{told}: {len(faint)} of {ratios_there_are} ratios; the table has the pairs of each time"]
    return [f"{told}: {_tools_where(few, shown, real)}"] if few else []


def _stale(panel, shown, real):
    """Sentence on the data sets of which a ratio is stale, or nothing."""
    stale = [d for d in shown if any(s.stale and s.median is not None for s in panel.speedups if s.dataset == d)]
    if not stale:
        return []
    which = "every data set" if stale == shown else ", ".join(short(d, shown, real) for d in stale)
    ours = "our aligners" if panel.on_gpu else "our kernel"
    return [f"Stale, measured with other sources of {ours} or the tool: {which}"]


def data_text(datasets):
    """Whether the reads of a panel are real."""
    simulated = sum(not is_real(dataset) for dataset in datasets)
    if simulated == len(datasets):
        return "simulated stand-ins"
    return "real and simulated" if simulated else "real reads"
