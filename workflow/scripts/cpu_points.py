"""Time and memory of a pair, tool by tool: the points of the CPU page's curves, and why a tool has none."""

import json
from dataclasses import dataclass

from workflow.race.statistics import median_interval
from workflow.scripts import ratios
from workflow.scripts.cpu_races import FEWEST_PAIRS
from workflow.scripts.doubts import MOST_COVERAGE, broken_promise, refused_share
from workflow.scripts.tools import tool_id

#: Metric -> the tools that are drawn: what align() picks, our kernels, the best of the native peers.
TOOLS = {
    "edit": (
        "wavebench-auto:cpu", "wavebench-wfa:cpu", "wavebench-bits:cpu", "wavebench-bpm:cpu", "wavebench-ond:cpu",
        "wfa2-lib-native:unidirectional", "wfa2-lib-native:biwfa", "edlib-native", "rapidfuzz",
    ),
    "affine": (
        "wavebench-auto:cpu", "wavebench-wfa:cpu", "wavebench-bits:cpu",
        "wfa2-lib-native:unidirectional", "wfa2-lib-native:biwfa", "ksw2", "parasail-native:scan",
    ),
}  # fmt: skip
NOT_RACED = "not in this race"


@dataclass(frozen=True)
class Point:
    """A tool's cell. seconds: (low, median, high) a pair, over the rounds, with the median's 95 % interval.

    grown_bytes: the most that its process grew in a run that is not timed, beyond what it held with the pairs prepared;
    None where that was not measured. row: the cell's first sample. stale: measured with other sources than this
    checkout's.
    """

    tool: str
    seconds: tuple
    grown_bytes: int | None
    row: dict
    stale: bool

    @property
    def few(self):
        """It is of fewer pairs than a batch should have."""
        return self.row["pairs"] < FEWEST_PAIRS


def points(found):
    """({tool: Point}, {tool: why it has none}) of a cpu_races.Found, for the TOOLS of its metric."""
    drawn, without = {}, {}
    for tool in TOOLS[found.place.metric] if found.race else ():
        rows = [row for row in found.rows(tool) if row["quantity"] == ratios.CPU_QUANTITY]
        rows = [row for row in rows if row["pairs"] == max(row["pairs"] for row in rows)]
        why = _why_none(rows)
        if why:
            without[tool] = why
        else:
            drawn[tool] = _point(rows, found.race)
    return drawn, without


def _point(rows, race):
    first = rows[0]
    median, low, high = median_interval([row["value_s"] / row["pairs"] for row in rows])
    sizes = first["peak_rss_bytes"], first["base_rss_bytes"]
    grown = None if None in sizes else max(0, sizes[0] - sizes[1])
    return Point(tool_id(first), (low, median, high), grown, first, tool_id(first) in race.stale)


def _why_none(rows):
    """Why these rows of one cell make no point, "" where they do."""
    if not rows:
        return NOT_RACED
    first = rows[0]
    if first["status"] != "ok":
        return first["status"].replace("_", " ")
    if broken_promise(first):
        return "wrong answers"
    if first["coverage"] is not None and first["coverage"] < MOST_COVERAGE:
        names = ", ".join(name.replace("_", " ") for name in json.loads(first["refused"] or "{}"))
        return f"{refused_share(first['coverage'])} of the pairs" + f" ({names})" * bool(names)
    return ""
