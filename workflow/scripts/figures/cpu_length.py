"""CPU length: time a pair against length at 5 % errors, on one thread: align()'s pick, our kernels, native peers."""

from workflow.scripts import cpu_curves, cpu_figures, curves, heat_maps
from workflow.scripts.cpu_races import LENGTHS_BP, LONG_BP, LONG_PERCENT, LONG_SCOPE, METRICS, SCOPES, Place

LOOK = curves.Look("length (nt)", "time of a pair (µs)", (150, 1000, 10000, 100000), "no race with our kernels yet")
NOTES = (
    "Numbers at the right: the fitted slopes; time grows as length to that power",
    "One thread; medians over the rounds, bars: 95 % intervals, mostly smaller than the marks",
)


def _places(page, host, metric, scope):
    lengths = LENGTHS_BP + (LONG_BP if scope == LONG_SCOPE else ())
    return [Place(metric, scope, length, LONG_PERCENT) for length in lengths]


AXES = cpu_curves.Axes(
    panels=heat_maps.PANELS,
    places=_places,
    x=lambda place: place.length_bp,
    y=lambda point: tuple(1e6 * seconds for seconds in point.seconds),
    title=lambda metric, scope, places: f"{METRICS[metric]}, {SCOPES[scope]}",
    where=lambda metric, length: f"{metric} at {curves.short(length)} nt",
)


def draw(page):
    """Time of a pair against length, log-log."""
    blocks, missing = cpu_curves.blocks(page, AXES)
    return curves.draw(blocks, LOOK, [*NOTES, *missing])


main = cpu_figures.command(draw)
if __name__ == "__main__":
    main()
