"""CPU length: time a pair against length at 5 % errors, on one thread: align()'s pick, our kernels, native peers."""

from workflow.scripts import cpu_curves, cpu_figures, curves
from workflow.scripts.cpu_races import LENGTHS_BP, LONG_BP, LONG_PERCENT, LONG_SCOPE, METRICS, PANELS, SCOPES, Place

LOOK = curves.Look(
    x="length (nt)",
    y="time of a pair (µs)",
    ticks=(150, 1000, 10000, 100000),
    notes=(
        "Numbers at the right: the fitted slopes; time grows as length to that power",
        "One thread; medians over the rounds, bars: their 95 % intervals",
    ),
    nothing="no race with our kernels yet",
)


def _places(page, host, metric, scope):
    lengths = LENGTHS_BP + (LONG_BP if scope == LONG_SCOPE else ())
    return [Place(metric, scope, length, LONG_PERCENT) for length in lengths]


AXES = cpu_curves.Axes(
    panels=PANELS,
    places=_places,
    x=lambda place: place.length_bp,
    unit="nt",
    y=cpu_curves.microseconds,
    title=lambda metric, scope, places: f"{METRICS[metric]}, {SCOPES[scope]}",
)


def draw(page):
    """Time of a pair against length, log-log."""
    return cpu_curves.draw(page, AXES, LOOK)


main = cpu_figures.command(draw)
if __name__ == "__main__":
    main()
