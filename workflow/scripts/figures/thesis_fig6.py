"""thesis Fig 6 (ewfa Fig 4): copies and kernels of batches over time, from the GPU's events of one call a design."""

import itertools

import click

from workflow.scripts import plotting, profiles
from workflow.scripts.format_numbers import count

#: Parts of a call, top to bottom: name, colour.
LANES = {
    "time_h2d": ("copies in", plotting.SKY),
    "time_pack": ("packing", plotting.YELLOW),
    "time_kernel": ("kernels", plotting.RED),
    "time_d2h": ("copies out", plotting.GREEN),
}
DESIGNS = {"fast": "our fast design", "paper": "the papers' design"}
PANEL_INCHES = 1.5
#: Part of a lane's height; parts of the axis' length from which on a bar has its batch's number of one, two or three
#: digits inside, where no other bar of its lane lies over it.
BAR_HEIGHT, NUMBERED = 0.72, (0.035, 0.05, 0.065)


def draw(hosts, here):
    """The figure. hosts: profiles.of_hosts(); a panel a host and design. here: id of this host."""
    panels = [(profile, design) for profile in hosts for design in profile.content["designs"]]
    footnote = profiles.footnote(hosts, here)
    height = PANEL_INCHES * max(1, len(panels)) + 0.35 + 0.14 * (footnote.count("\n") + 1)
    fig, axes = plotting.figure(plotting.ONE_COLUMN, height, nrows=max(1, len(panels)), squeeze=False, sharex=True)
    whole = 1e3 * max((span["end_s"] for _, design in panels for span in design["spans"]), default=1e-3)
    axes[0, 0].set_xlim(0, whole)
    for panel, (profile, design) in zip(axes[:, 0], panels, strict=False):
        _panel(panel, profile, design, whole)
    if not panels:
        plotting.write_instead(axes, "no host has a timeline yet")
    else:
        axes[-1, 0].set_xlabel("time since the call's first event (ms)")
    fig.supxlabel(footnote, fontsize=7, x=0.02, ha="left", multialignment="left")
    return fig


def _panel(axes, profile, design, whole):
    """One call: a lane for each part that it has, a bar for each batch; neighbours differ in shade. whole: ms."""
    spans = design["spans"]
    lanes = [part for part in LANES if any(span["part"] == part for span in spans)]
    for span in spans:
        name, color = LANES[span["part"]]
        y, left, width = lanes.index(span["part"]), span["begin_s"] * 1e3, (span["end_s"] - span["begin_s"]) * 1e3
        axes.barh(y, width, BAR_HEIGHT, left=left, color=color, alpha=1.0 if span["batch"] % 2 else 0.55,
                  edgecolor=plotting.BLACK, linewidth=0.3)  # fmt: skip
        begin, end = _alone(span, [other for other in spans if other["part"] == span["part"]])
        number = str(span["batch"] + 1)
        if (end - begin) * 1e3 > NUMBERED[min(len(number), 3) - 1] * whole:
            axes.text((begin + end) / 2 * 1e3, y, number, fontsize=7, ha="center", va="center")
    axes.set_yticks(range(len(lanes)), [LANES[part][0] for part in lanes])
    axes.invert_yaxis()
    axes.tick_params(labelbottom=True)
    axes.grid(True, axis="x")
    axes.set_axisbelow(True)
    name, pairs = DESIGNS.get(design["design"], design["design"]), count(profile.content["pairs"])
    _, length, error = profile.content["dataset"].split("_")
    told = [
        f"{profile.where}:",
        f"{name}, {pairs} pairs of {length} nt at {error[1:]} %",
        f"({design['seconds'] * 1e3:.1f} ms by the host's clock)",
        profile.doubt,
    ]
    axes.set_title("\n".join(filter(None, told)), fontsize=7.5, loc="left")


def _alone(span, lane):
    """(begin, end) in seconds of the first part of a span during which no other of its lane goes on; empty without."""
    times = sorted({span["begin_s"], span["end_s"], *(other[key] for other in lane for key in ("begin_s", "end_s"))})
    for begin, end in itertools.pairwise(t for t in times if span["begin_s"] <= t <= span["end_s"]):
        if all(other is span or other["end_s"] <= begin or end <= other["begin_s"] for other in lane):
            return begin, end
    return span["begin_s"], span["begin_s"]


@click.command(help=__doc__)
@click.argument("files", nargs=-1)
@click.option("--host", required=True, help="Id of this host.")
@click.option("--out", required=True, help="Path without suffix: .svg and .png are written.")
def main(files, host, out):
    """Draw the timelines of FILES (timeline.json)."""
    plotting.draw_and_save(lambda: draw(profiles.of_hosts(files, host, "timeline"), host), out)


if __name__ == "__main__":
    main()
