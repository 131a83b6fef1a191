"""CPU error: time a pair against the errors, on one thread: what align() picks, our kernels, the best native peers.

A panel shows the length at which its host was raced with the most errors, of several the longest.
"""

from workflow.scripts import cpu_curves, cpu_figures, curves
from workflow.scripts.cpu_races import ERRORS_PERCENT, LENGTHS_BP, PANELS, SCOPES, Place

LOOK = curves.Look(
    x="error (%)",
    y="time of a pair (µs)",
    ticks=ERRORS_PERCENT,
    notes=(
        "Numbers at the right: the fitted slopes; time grows as the errors to that power",
        "One thread; medians over the rounds, bars: their 95 % intervals",
    ),
    nothing="no race with our kernels yet",
)


def _places(page, host, metric, scope):
    of_lengths = [[Place(metric, scope, length, error) for error in ERRORS_PERCENT] for length in LENGTHS_BP]
    return max(reversed(of_lengths), key=lambda places: sum(page.found(host, p).race is not None for p in places))


AXES = cpu_curves.Axes(
    panels=PANELS,
    places=_places,
    x=lambda place: place.percent,
    unit="%",
    y=cpu_curves.microseconds,
    title=lambda metric, scope, places: f"{metric} {SCOPES[scope]}, {curves.short(places[0].length_bp)} nt",
)


def draw(page):
    """Time of a pair against the errors, log-log."""
    return cpu_curves.draw(page, AXES, LOOK)


main = cpu_figures.command(draw)
if __name__ == "__main__":
    main()
