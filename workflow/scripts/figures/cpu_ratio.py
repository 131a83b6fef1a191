"""CPU ratio: heat maps of our CPU kernels over the fastest peer, on one thread; four for each host.

The cells are those of the table cpu_ratio: medians of ratios taken round by round within one race.
"""

import click
from matplotlib.colors import LogNorm

from workflow.scripts import cpu_races, cpu_ratios, heat_maps, plotting

#: Diverging, white in the middle, told apart by colour-blind readers: purple where ours is faster, orange where slower.
LOOK = heat_maps.Look(
    colours="PuOr",
    norm=LogNorm(1 / 4, 4),
    ticks=(0.25, 0.5, 1, 2, 4),
    scale="fastest peer's time / ours, 1 thread",
    notes=(
        "Above 1 ours is faster; ~: the 95 % interval includes 1",
        f"Bold: the whole interval is at least the target, of {cpu_races.FEWEST_PAIRS} pairs or more, in a valid race",
    ),
    further="The table cpu_ratio tells the peers, and more of why a ratio is missing",
    nothing="no race with our kernel\nand a peer yet",
)


def draw(hosts, here):
    """The figure. hosts: cpu_ratios.of_hosts(). here: id of this host."""
    return heat_maps.draw({host: [_shown(cell) for cell in cells] for host, cells in hosts.items()}, here, LOOK)


def _shown(cell):
    if cell.best is None:
        return heat_maps.Ratio(cell.place, cell.short, cell.race is not None)
    interval = cell.best.low, cell.best.median, cell.best.high
    return heat_maps.measured(cell.place, cell.best, cell.race, interval, cell.met)


@click.command(help=__doc__)
@cpu_ratios.options
@click.option("--out", required=True, help="Path without suffix: .svg and .png are written.")
def main(files, targets, configs, lane, host, out):
    """Draw the figure from FILES, race files, recorded ones too."""

    def drawn():
        hosts, _ = cpu_ratios.read(files, targets, configs, lane, host)
        return draw(hosts, host)

    plotting.draw_and_save(drawn, out)


if __name__ == "__main__":
    main()
