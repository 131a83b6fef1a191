"""CPU memory: how much a process grows in aligning, against length at 5 % errors, on one thread, with the paths."""

from workflow.scripts import cpu_curves, cpu_figures, curves
from workflow.scripts.cpu_races import LENGTHS_BP, LONG_BP, LONG_PERCENT, LONG_SCOPE, METRICS, SCOPES, Place

#: Of shorter pairs the answers of the many pairs in a batch would be seen.
SHORTEST_BP = 1000
LENGTHS = (*(length for length in LENGTHS_BP if length >= SHORTEST_BP), *LONG_BP)
#: Less than this is not told from what the interpreter does besides.
LEAST_MB = 0.1
LOOK = curves.Look(
    x="length (nt)",
    y="growth of the process (MB)",
    ticks=(1000, 10000, 100000),
    notes=(
        "Growth: the peak of a run that is not timed beyond what the process held with the pairs prepared; its imports "
        f"and compiled code are not in it, the answers are. What is under {LEAST_MB} MB is drawn there",
        "Up to 10K nt: of all pairs that a tool runs in a round, of which some kernels take many side by side; beyond: "
        "of a few pairs",
        "In linear memory: wavebench O(ND) and BiWFA. One thread",
    ),
    nothing="memory was not measured yet",
    slopes=False,
)


def _grown(point):
    if point.grown_bytes is None:
        return None
    grown = max(LEAST_MB, point.grown_bytes / 1e6)
    return grown, grown, grown


AXES = cpu_curves.Axes(
    panels=[(metric, LONG_SCOPE) for metric in METRICS],
    places=lambda page, host, metric, scope: [Place(metric, scope, length, LONG_PERCENT) for length in LENGTHS],
    x=lambda place: place.length_bp,
    unit="nt",
    y=_grown,
    title=lambda metric, scope, places: f"{METRICS[metric]}, {SCOPES[scope]}",
)


def draw(page):
    """Growth of the process against length, log-log."""
    return cpu_curves.draw(page, AXES, LOOK)


main = cpu_figures.command(draw)
if __name__ == "__main__":
    main()
