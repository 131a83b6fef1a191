"""Occupancy of a GPU over time on long noisy pairs: warps and SMs at work, pairs left, each batch's kernels."""

import click
import numpy as np

from workflow.scripts import plotting, profiles
from workflow.scripts.format_numbers import count

#: Begin of a kernel's name -> (what it does, colour); the first that fits. The rest packs letters, looks for seeds and
#: gathers CIGARs.
KERNELS = {
    "affine_strips_back": ("way back of long pairs", plotting.SKY),
    "affine_strips": ("scores of long pairs", plotting.RED),
    "banded": ("narrow bands", plotting.YELLOW),
}
OTHERS = ("packing, seeds, gathering", plotting.GREY)
DATASETS = {"pacbio_clr": "PacBio CLR"}
#: Heights of a host's panels, in inches, and of what stands above them.
PANEL_INCHES = (1.25, 1.0, 0.85)
TITLE_INCHES = 0.95
#: Part of a batch's lane that its bar takes, and of the first panel a row of its legend.
BAR_HEIGHT, LEGEND_ROW = 0.8, 0.15


def draw(hosts, here):
    """The figure. hosts: profiles.of_hosts(); three panels a host. here: id of this host."""
    footnote = profiles.footnote(hosts, here)
    panels = max(1, len(hosts))
    height = (sum(PANEL_INCHES) + TITLE_INCHES) * panels + 0.2 + 0.14 * (footnote.count("\n") + 1)
    fig, axes = plotting.figure(
        plotting.ONE_COLUMN, height if hosts else 1.2, nrows=3 * panels if hosts else 1, squeeze=False,
        height_ratios=PANEL_INCHES * panels if hosts else None,
    )  # fmt: skip
    for number, profile in enumerate(hosts):
        _host(axes[3 * number : 3 * number + 3, 0], profile)
    if not hosts:
        plotting.write_instead(axes, "no host has an occupancy yet")
    fig.supxlabel(footnote, fontsize=7, x=0.02, ha="left", multialignment="left")
    return fig


def _host(axes, profile):
    """The three panels of a host, over the same time."""
    content = profile.content
    edges = 1e3 * content["bin_s"] * np.arange(len(content["processors_at_work"]) + 1)
    _warps(axes[0], content, edges)
    _left(axes[1], content, edges)
    _batches(axes[2], content["batches"])
    for panel in axes:
        panel.set_xlim(0, edges[-1])
        panel.grid(True, axis="x")
        panel.set_axisbelow(True)
    for panel in axes[:2]:
        panel.tick_params(labelbottom=False)
    axes[2].set_xlabel("time since the call's first event (ms)")
    axes[0].set_title(title(profile), fontsize=7.5, loc="left")


def title(profile):
    """Where, what and how long, in lines."""
    content, lengths = profile.content, profile.content["lengths_bp"]
    name = DATASETS.get(content["dataset"], content["dataset"])
    ms, plain = 1e3 * content["seconds"], 1e3 * content["seconds_without_stamps"]
    rescued = f", {content['rescued']} left to the CPU" if content["rescued"] else ""
    told = [
        f"{profile.where}:",
        f"{count(content['pairs'])} pairs like {name}, {lengths['shortest']:,} to {lengths['longest']:,} nt,",
        f"mean {lengths['mean']:,.0f}, {100 * content['error']:.3g} % errors{rescued}",
        f"({ms:.1f} ms by the host's clock; {plain:.1f} without stamps)",
        profile.doubt,
    ]
    return "\n".join(filter(None, told))


def _warps(panel, content, edges):
    """Warps on a processor, a layer for each of KERNELS that ran."""
    layers = {}
    for kernel in content["kernels"]:
        layer = next((told for name, told in KERNELS.items() if kernel["name"].startswith(name)), OTHERS)
        layers[layer] = layers.get(layer, 0) + np.array(kernel["warps_at_work"]) / content["processors"]
    base = np.zeros(len(edges) - 1)
    for name, color in (*KERNELS.values(), OTHERS):
        if (name, color) in layers:
            top = base + layers[name, color]
            panel.stairs(top, edges, baseline=base, fill=True, color=color, linewidth=0, label=name)
            base = top
    main = max(content["kernels"], key=lambda kernel: sum(kernel["warps_at_work"]))
    held = main["at_once"] / content["processors"]
    panel.axhline(held, color=plotting.BLACK, linestyle="--", linewidth=0.8, label=f"room for long pairs: {held:g}")
    panel.set_ylabel("warps on an SM")
    legend = panel.legend(ncols=2, loc="upper left", borderaxespad=0.1, columnspacing=1, handlelength=1.2)
    rows = -(-len(legend.get_texts()) // 2)
    panel.set_ylim(0, max(held, base.max()) / (1 - LEGEND_ROW * rows))


def _left(panel, content, edges):
    """The load, processors at work and pairs left, in percent."""
    at_work = np.array(content["processors_at_work"]) / content["processors"]
    panel.stairs(100 * at_work, edges, color=plotting.SKY, linewidth=1, label="SMs at work")
    panel.stairs(100 * np.array(content["load"]), edges, color=plotting.BLACK, linewidth=1, label="load")
    ends = sorted((batch["end_s"] * 1e3, batch["pairs"]) for batch in content["batches"])
    done = np.cumsum([0, *(pairs for _, pairs in ends)])
    left = 100 * (1 - done / done[-1])
    times = [0, *(end for end, _ in ends)]
    panel.step(times, left, where="post", color=plotting.ORANGE, linewidth=1, label="pairs left")
    panel.set_ylim(0, 140)  # room for the legend
    panel.set_yticks([0, 50, 100])
    panel.set_ylabel("percent")
    panel.legend(ncols=3, loc="upper left", borderaxespad=0.1, columnspacing=1, handlelength=1.2)
    load, processors = 100 * content["mean_load"], 100 * content["mean_processors"]
    begin, end = content["kernels_s"]
    idle = f"below half for {idle_ms(content):.3g} of {1e3 * (end - begin):.3g} ms"
    told = f"mean load {load:.0f} %, {idle},\nthe last {tail_ms(content):.2g} of them at the end; "
    panel.set_title(f"{told}SMs at work: {processors:.1f} %", fontsize=7, loc="left")


def idle_ms(content):
    """Milliseconds between the kernels' begin and end that lie in bins with a load below a half."""
    begin, end = content["kernels_s"]
    edges = np.clip(content["bin_s"] * np.arange(len(content["load"]) + 1), begin, end)
    return 1e3 * float(np.diff(edges)[np.array(content["load"]) < 0.5].sum())


def tail_ms(content):
    """Milliseconds from the last bin with a load of a half until the kernels' end: what the curve shows.

    Of bins, not of moments: a kernel of microseconds, such as one that gathers CIGARs, can lift the load above a half
    for a moment when most of the GPU has long been idle.
    """
    begin, end = content["kernels_s"]
    busy = [(at + 1) * content["bin_s"] for at, load in enumerate(content["load"]) if load >= 0.5]
    return 1e3 * max(0.0, end - max(busy, default=begin))


def _batches(panel, batches):
    """A lane and a bar for each batch."""
    for lane, batch in enumerate(batches):
        left, width = 1e3 * batch["begin_s"], 1e3 * (batch["end_s"] - batch["begin_s"])
        panel.barh(lane, width, BAR_HEIGHT, left=left, color=plotting.RED, alpha=0.55 if lane % 2 else 1.0)
    panel.set_ylim(len(batches) - 0.4, -0.6)
    panel.set_yticks([])
    panel.set_ylabel(f"{len(batches)} batches")


@click.command(help=__doc__)
@click.argument("files", nargs=-1)
@click.option("--host", required=True, help="Id of this host.")
@click.option("--out", required=True, help="Path without suffix: .svg and .png are written.")
def main(files, host, out):
    """Draw the occupancies of FILES (occupancy.json)."""
    plotting.draw_and_save(lambda: draw(profiles.of_hosts(files, host, "occupancy"), host), out)


if __name__ == "__main__":
    main()
