"""Speed-ups of our GPU aligners over the CPU tools of one race: ratios of the medians of times per cell.

A GPU's tools race in a block of their own and may take other numbers of pairs than a CPU's: no round of the one belongs
to a round of the other, as ratios.speedups() needs. Each time is divided by the cells of its pairs.
"""

import numpy as np

from workflow.scripts import doubts, ratios, scaling
from workflow.scripts.ratios import Speedup
from workflow.scripts.tools import TOOL_NAMES, tool_id

#: Ours that the CPU tools are compared with, each where it was raced.
REFERENCES = ("wavebench-affine:fast", "wavebench-affine:paper")
#: From page-locked memory, the papers' setting.
QUANTITY = "time_end_to_end_pinned"
#: Draws of the bootstrap.
DRAWS = 10_000


def raced(races):
    """Whether any GPU tool, of whatever name, has a time in one of the races."""
    rows = (row for race in races for row in race.rows)
    return any(row["quantity"].startswith(doubts.GPU_TIME) and row["value_s"] is not None for row in rows)


def speedups(race, scope, threads):
    """One Speedup for each of REFERENCES in the race and every CPU tool of others at that scope and number of threads.

    median, low, high are of the ratio of medians, its interval by median_ratio_interval(); rounds are the tool's. Where
    there is a ratio, row and own have median_s, too.
    """
    own = _largest(ratios.cells_of(race, scope, 1, QUANTITY))
    others = _largest(ratios.cells_of(race, scope, threads, ratios.CPU_QUANTITY))
    return [
        _speedup(rows, own[reference], race, reference)
        for reference in REFERENCES
        if reference in own
        for tool, rows in others.items()
        if not ratios.is_ours(tool)
    ]


def median_ratio_interval(numerators, denominators):
    """(ratio of the medians, low, high) of times without common rounds; low and high bound its 95 % interval.

    A percentile bootstrap that draws the values of each side anew; from few values it is rather too narrow.
    """
    draw = np.random.default_rng(0)  # the same samples give the same figure
    drawn = [np.median(draw.choice(side, (DRAWS, len(side))), axis=1) for side in (numerators, denominators)]
    low, high = np.percentile(drawn[0] / drawn[1], [2.5, 97.5])
    return float(np.median(numerators) / np.median(denominators)), float(low), float(high)


def scaled_from_little(speedup):
    """Ids of the two tools of a ratio, of those whose time per cell is of few answered pairs or of a short call."""
    sides = speedup.row, speedup.own
    return [tool_id(row) for row in sides if doubts.few_pairs(row) or doubts.short_call(row)]


def _largest(cells):
    """{tool id: sample rows of its largest cell}."""
    return {tool: cells[(tool, pairs)] for tool, pairs in ratios.most_pairs(cells).items()}


def _speedup(rows, own, race, reference):
    where = ratios.origin(race, rows, own, reference)
    reason = _why_none(where["row"], where["own"], TOOL_NAMES[reference])
    if reason:
        return Speedup(**where, reason=reason)
    times = []
    for side, samples in (("row", rows), ("own", own)):
        seconds = [row["value_s"] for row in samples if row["value_s"]]
        where[side] = where[side] | {"median_s": float(np.median(seconds))}
        times.append(np.array(seconds) / scaling.work(where[side]))
    median, low, high = median_ratio_interval(*times)
    return Speedup(**where, reason="", median=median, low=low, high=high, rounds=len(times[0]))


def _why_none(first, own, name):
    """Why there is no ratio, as ratios.why_none(); our aligner must have run."""
    if own["status"] != "ok":
        return f"{name} {own['status'].replace('_', ' ')}"
    return ratios.why_none(first, own, name)
