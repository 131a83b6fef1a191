"""Speed-ups of one of our kernels over the other tools, round by round within one race."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from wfa_kernels import Affine, Edit
from workflow import aligners
from workflow.aligners import Job
from workflow.race import samples
from workflow.race.statistics import ratio_interval
from workflow.scripts import scaling
from workflow.scripts.doubts import (
    CPU_QUANTITY,
    MOST_COVERAGE,
    broken_promise,
    idle_threads,
    is_verified,
    race_identity,
    race_rank,
    refused_share,
)
from workflow.scripts.stale import at_other_penalties, changed_conditions, current_hashes, is_stale
from workflow.scripts.tools import tool_id

#: Ours that the others are compared with: the first of them that a race has.
REFERENCES = ("wavebench-auto:cpu", "wavebench-wfa:cpu")


@dataclass(frozen=True)
class Race:
    """One race file: its rows (list of dicts), its card (dict), its tools whose sources have changed since (ids), and
    whether it is one of those that are recorded. named: what its host is called, where not by its id: see apart()."""

    rows: list
    card: dict
    stale: frozenset = frozenset()
    recorded: bool = False
    named: str = ""

    @property
    def host(self):
        return self.named or self.rows[0]["host"]

    @property
    def dataset(self):
        return self.rows[0]["dataset"]

    @property
    def reference(self):
        """The id of our tool that the others are compared with."""
        tools = {tool_id(row) for row in self.rows}
        return next((tool for tool in REFERENCES if tool in tools), REFERENCES[-1])

    @property
    def valid(self):
        return bool(self.card.get("valid", True))

    @property
    def older(self):
        """It was measured by another procedure or bounds of memory than this checkout's."""
        return bool(changed_conditions(self.card))

    @property
    def rank(self):
        return race_rank(self.valid, self.stale or self.older, self.rows[0]["pairs_total"], self.rows[0]["time_utc"])


@dataclass(frozen=True)
class Speedup:
    """How many times faster the reference was than a tool, or why that is not known.

    median, low, high: of the ratios tool / reference over the rounds; low and high bound the 95 % interval.
    reason: "" when there is a ratio. row, own: the first sample row of the tool and of the reference, None where there
    is none. stale: the tool or the reference was measured with other sources than this checkout's. pace_s: median
    seconds of the tool a cell of the pairs' matrices: tools of one race may have run different numbers of pairs.
    """

    tool: str
    reference: str
    dataset: str
    host: str
    threads: int
    reason: str
    row: dict
    own: dict | None
    median: float | None = None
    low: float | None = None
    high: float | None = None
    rounds: int = 0
    stale: bool = False
    pace_s: float | None = None

    @property
    def wrong(self):
        """What the tool did not keep of what it says of its answers, else ""."""
        return broken_promise(self.row)

    @property
    def right(self):
        """The tool was right, as far as is known of any of its answers."""
        return is_verified(self.row) and not self.wrong


def read(paths):
    """Every race of the given files, once, however many of them hold it.

    Raises samples.SamplesError, a ValueError, for one that is no race file.
    """
    current = current_hashes()
    races = {}
    for path in paths:
        table, card = samples.read(path)
        rows = table.to_pylist()
        stale = {tool_id(row) for row in rows if is_stale(row, current)}
        races.setdefault(race_identity(rows[0]), Race(rows, card, frozenset(stale), is_recorded(path, rows[0])))
    return list(races.values())


def is_recorded(path, row):
    """Whether a race file of which this is a row lies as recorded ones do, <host>/<lane>/<experiment>/<dataset>."""
    return Path(path).parts[-4:-2] == (row["host"], row["lane"])


def apart(races, here):
    """The races, those that were recorded on a machine of one of these ids, this host's, under another name than its
    own: they are not what was measured here."""

    def named(race):
        return f"{race.host} (another run)" if race.recorded and race.host in here else ""

    return [replace(race, named=named(race)) for race in races]


def shown(races):
    """Of several races of one host, experiment and data set the one that the tables show; none at other penalties."""
    best = {}
    for race in (race for race in races if not at_other_penalties(race.rows[0])):
        key = (race.host, race.rows[0]["experiment"], race.dataset)
        if key not in best or race.rank > best[key].rank:
            best[key] = race
    return list(best.values())


def speedups(race, reference, scope, threads):
    """One Speedup, from end to end, for every other CPU tool of the race at that scope and number of threads.

    Both ran the same pairs in the same rounds: the engine runs the reference on every subset in use.
    """
    cells = cells_of(race, scope, threads, CPU_QUANTITY)
    return [
        _speedup(cells[(tool, pairs)], cells.get((reference, pairs), []), race, reference)
        for tool, pairs in most_pairs(cells).items()
        if tool != reference
    ]


def cells_of(race, scope, threads, quantity=None):
    """{(tool id, pairs): sample rows} of the race's cells, of one quantity where it is named; twins are left out."""
    cells = {}
    for row in race.rows:
        wanted = not row["twin"] and (row["scope"], row["threads"]) == (scope, threads)
        if wanted and quantity in (None, row["quantity"]):
            cells.setdefault((tool_id(row), row["pairs"]), []).append(row)
    return cells


def most_pairs(cells):
    """{tool id: pairs of its largest cell}. cells: cells_of()."""
    tools = {}
    for tool, pairs in cells:
        tools[tool] = max(pairs, tools.get(tool, 0))
    return tools


def is_ours(tool):
    """Whether the tool of that id is of this project."""
    return tool.startswith("wavebench")


def peers(race, reference, scope, threads):
    """Speedups over the CPU tools of others that solved the same problem rightly; those that have a ratio.

    An edit-distance tool is no peer where the costs are affine, nor is a heuristic, nor one that claims exactness and
    was wrong.
    """
    easier = _of_other_objectives(race)
    others = [s for s in speedups(race, reference, scope, threads) if not is_ours(s.tool) and s.tool not in easier]
    return [s for s in others if s.median is not None and s.right]


def fastest(speedups):
    """The one over the fastest tool; None of none. Not the least ratio: ours, too, may be slow on few pairs."""
    return min(speedups, key=lambda speedup: speedup.pace_s, default=None)


def _of_other_objectives(race):
    """Ids of the race's tools that optimise something else than its penalties, as their adapters or answers tell: on
    few pairs, or alike ones, edit distance may happen to find all optima."""
    known, penalties = aligners.load(), _penalties(race.rows[0])
    found = {tool_id(row) for row in race.rows if row["recall_affine"] is not None and row["recall_affine"] < 1}
    tools = {tool_id(row): row["scope"] for row in race.rows if tool_id(row) in known}
    return found | {tool for tool, scope in tools.items() if known[tool].objective(Job(scope, penalties)) != penalties}


def _penalties(row):
    return Affine(*map(int, row["penalties"].split(","))) if row["penalties"] else Edit()


def why_none(first, own, name):
    """Why a tool has no ratio, "" where it may have one: it solves the same problem, and our own answered, and rightly.

    first, own: the first sample row of its cell and of our tool's, None where there is none. name: of our tool.
    """
    if first["status"] != "ok":
        return first["status"].replace("_", " ")
    if not first["exact"]:
        return "a heuristic"
    for who, part in (("", first["coverage"]), (f"{name} ", own["coverage"] if own else None)):
        if part is not None and part < MOST_COVERAGE:
            return f"{who}{refused_share(part)} of the pairs"
    if own and broken_promise(own):
        return f"{name} {broken_promise(own)}"
    if own and not is_verified(own):
        return f"{name} not verified"
    return "fewer pairs than threads" if idle_threads(first) else ""


def origin(race, rows, own, reference):
    """Fields of a Speedup that tell what it is of. rows, own: sample rows of the tool and of the reference."""
    tool = tool_id(rows[0])
    return {
        "tool": tool,
        "reference": reference,
        "dataset": race.dataset,
        "host": race.host,
        "threads": rows[0]["threads"],
        "row": rows[0],
        "own": own[0] if own else None,
        "stale": not race.stale.isdisjoint({tool, reference}),
    }


def _speedup(rows, own, race, reference):
    where = origin(race, rows, own, reference)
    reason = why_none(where["row"], where["own"], "our kernel")
    own_times = {row["round"]: row["value_s"] for row in own if row["value_s"]}
    common = [(row["value_s"], own_times[row["round"]]) for row in rows if row["value_s"] and row["round"] in own_times]
    if reason or not common:
        return Speedup(**where, reason=reason or "no common rounds with our kernel")
    median, low, high = ratio_interval(*zip(*common, strict=True))
    pace_s = float(np.median([seconds for seconds, _ in common])) / scaling.work(rows[0])
    return Speedup(**where, reason="", median=median, low=low, high=high, rounds=len(common), pace_s=pace_s)
