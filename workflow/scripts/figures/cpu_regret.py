"""CPU regret: heat maps of the time of what align() picks over that of the fastest of our CPU kernels, on one thread.

Ratios are taken round by round within one race, on the same pairs; one needs two of our kernels beside align()'s.
"""

from dataclasses import replace

from matplotlib.colors import LogNorm

from workflow.scripts import cpu_figures, cpu_points, cpu_races, heat_maps, ratios
from workflow.scripts.cpu_races import EXPERIMENTS, METRICS, OURS, PLACES, THREADS

#: Kernels that align() must have been compared with: of one alone nothing was to be picked.
FEWEST_KERNELS = 2
#: Diverging, told apart by colour-blind readers: orange where another kernel would have been faster.
LOOK = heat_maps.Look(
    colours="PuOr_r",
    norm=LogNorm(1 / 2, 2),
    ticks=(0.5, 0.7, 1, 1.4, 2),
    scale="time of what align() picks / of our fastest kernel",
    notes=(
        "Above 1 another kernel of ours was faster, and bold where the whole 95 % interval is; ~: it includes 1. "
        "Below 1 align() was faster than any one of them; it tells the kernel what errors to expect, and for scores it "
        "can sort pairs out",
    ),
    further="The table cpu_ratio tells more of why a race is missing",
    nothing="no race with our kernels yet",
)


def draw(page):
    """Time of what align() picks over that of the fastest of our CPU kernels."""
    hosts = {host: [regret(page.found(host, place)) for place in PLACES] for host in page.hosts}
    return heat_maps.draw(hosts, page.here, replace(LOOK, notes=(*LOOK.notes, *_left_out(page))))


def _left_out(page):
    """A sentence for each metric on the kernels of ours that the lane leaves out of its races."""
    for metric, ids in EXPERIMENTS.items():
        without = {tool for id_ in ids for tool in page.lane.get("narrow", {}).get(id_, {}).get("without", ())}
        ours = filter(ratios.is_ours, sorted(without.intersection(cpu_points.TOOLS[metric])))
        told = " and ".join(map(cpu_races.name, ours))
        if told:
            yield f"{METRICS[metric].capitalize()}, not raced in lane {page.lane['name']}: {told}"


def regret(found):
    """The heat_maps.Ratio of a cpu_races.Found."""
    place, race = found.place, found.race
    if race is None:
        return heat_maps.Ratio(place, found.short, raced=False)
    why = cpu_races.why_ours_has_none(found)
    if why:
        return heat_maps.Ratio(place, why["short"])
    kernels = [s for s in ratios.speedups(race, OURS, place.scope, THREADS) if _is_kernel(s, place.metric)]
    if len(kernels) < FEWEST_KERNELS:
        return heat_maps.Ratio(place, f"fewer than {FEWEST_KERNELS} other kernels of ours raced")
    best = ratios.fastest(kernels)
    interval = 1 / best.high, 1 / best.median, 1 / best.low
    return heat_maps.measured(place, best, race, interval, bold=best.high < 1)


def _is_kernel(speedup, metric):
    """It is over one of our CPU kernels, whose time counts."""
    counts = speedup.median is not None and speedup.right
    return counts and ratios.is_ours(speedup.tool) and speedup.tool in cpu_points.TOOLS[metric]


main = cpu_figures.command(draw)
if __name__ == "__main__":
    main()
