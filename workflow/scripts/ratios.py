"""Speed-ups of one of our kernels over the other tools, round by round within one race."""

from dataclasses import dataclass

import pyarrow as pa

from workflow.race import samples
from workflow.race.statistics import ratio_interval
from workflow.scripts.table import tool_id

#: Below this coverage the two tools did not do the same work, and there is no ratio.
MOST_COVERAGE = 0.99


@dataclass(frozen=True)
class Race:
    """One race file: its rows (list of dicts) and its card (dict)."""

    rows: list
    card: dict

    @property
    def host(self):
        return self.rows[0]["host"]

    @property
    def dataset(self):
        return self.rows[0]["dataset"]

    @property
    def valid(self):
        return bool(self.card.get("valid", True))


@dataclass(frozen=True)
class Speedup:
    """How many times faster the reference was than a tool, or why that is not known.

    median, low, high: of the ratios tool / reference over the rounds; low and high bound the 95 % interval.
    reason: "" when there is a ratio. pairs: raced by both in each round. rows: the tool's first sample row.
    """

    tool: str
    dataset: str
    host: str
    threads: int
    reason: str
    row: dict
    median: float | None = None
    low: float | None = None
    high: float | None = None
    rounds: int = 0

    @property
    def inexact(self):
        """The tool claims exactness and was wrong."""
        return bool(self.row["exact"]) and self.row["recall_native"] is not None and self.row["recall_native"] < 1


def read(paths):
    """The races of the given files; of several of one host and data set the valid, then largest, then latest one.

    Raises ValueError, naming the file, for one that is no race file.
    """
    best = {}
    for path in paths:
        try:
            table, card = samples.read(path)
        except (OSError, pa.ArrowException) as error:
            raise ValueError(f"{path}: cannot be read as a race file ({error})") from None
        rows = table.to_pylist()
        if not rows:
            continue
        race = Race(rows, card)
        rank = (race.valid, rows[0]["pairs_total"] or 0, rows[0]["time_utc"] or "")
        key = (race.host, rows[0]["experiment"], race.dataset)
        if key not in best or rank > best[key][0]:
            best[key] = (rank, race)
    return [race for _, race in best.values()]


def speedups(race, reference, scope, threads):
    """One Speedup for every other tool of the race at that scope and number of threads.

    Both ran the same pairs in the same rounds: the engine runs the reference on every subset in use.
    """
    cells = {}
    for row in race.rows:
        if not row["twin"] and row["scope"] == scope and row["threads"] == threads:
            cells.setdefault((tool_id(row), row["pairs"]), []).append(row)
    tools = {}
    for tool, pairs in cells:
        tools[tool] = max(pairs, tools.get(tool, 0))
    found = []
    for tool, pairs in tools.items():
        if tool != reference:
            found.append(_speedup(cells[(tool, pairs)], cells.get((reference, pairs), []), race, threads))
    return found


def _speedup(rows, own, race, threads):
    tool, first = tool_id(rows[0]), rows[0]
    own_times = {row["round"]: row["value_s"] for row in own if row["value_s"]}
    common = [(row["value_s"], own_times[row["round"]]) for row in rows if row["value_s"] and row["round"] in own_times]
    where = {"tool": tool, "dataset": race.dataset, "host": race.host, "threads": threads, "row": first}
    if first["status"] != "ok":
        return Speedup(**where, reason=first["status"].replace("_", " "))
    for name, part in (("", first["coverage"]), ("our kernel ", own[0]["coverage"] if own else None)):
        if part is not None and part < MOST_COVERAGE:
            return Speedup(**where, reason=f"{name}refused {1 - part:.0%} of the pairs")
    if not common:
        return Speedup(**where, reason="no common rounds with our kernel")
    median, low, high = ratio_interval(*zip(*common, strict=True))
    return Speedup(**where, reason="", median=median, low=low, high=high, rounds=len(common))
