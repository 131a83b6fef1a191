"""What the figures of the CPU page share: their command line, a host's title, and the sentences below."""

import textwrap

import click

from workflow.scripts import cpu_races, plotting
from workflow.scripts.doubts import figure_doubts

#: Of a line below a figure of one column.
LETTERS = 64


def command(draw):
    """A click command that draws a figure from race files: draw(cpu_races.Page) gives the matplotlib figure."""

    @click.command(help=draw.__doc__)
    @cpu_races.options
    @click.option("--out", required=True, help="Path without suffix: .svg and .png are written.")
    def main(files, configs, lane, host, out):
        plotting.draw_and_save(lambda: draw(cpu_races.read(files, configs, lane, host)), out)

    return main


def host_title(host, is_here, lanes, stale, older, invalid):
    """What stands above a host's panels: its name, lanes (a set) and the doubts of any of its races (booleans)."""
    where = "this host" if is_here else "recorded on"
    return f"{where} {host}, lane {', '.join(sorted(lanes))}{figure_doubts(stale, older, invalid)}"


def wrapped(notes):
    """Sentences in lines of a figure's width."""
    return "\n".join(line for note in notes for line in textwrap.wrap(note + ".", LETTERS, subsequent_indent="   "))


def write_notes(fig, text):
    """The sentences below a figure."""
    fig.supxlabel(text, fontsize=7, x=0.02, ha="left", multialignment="left")
