"""Command line: ``python -m simulators uniform --pairs 1e6 --length 150 --error 0.05 --seed 1 -o x.arrow``."""

import json
import os
import sys

import click

from simulators import MODELS, MOST_THREADS, PROFILES, SimulationError, simulate
from simulators.count import count
from wfa_kernels.formats import require_writable, write_seq
from wfa_kernels.pairs import PairsError


def _count(_context, _parameter, text):
    try:
        return count(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _output(_context, _parameter, path):
    if os.path.splitext(path)[1] not in (".arrow", ".seq"):
        raise click.BadParameter(f"{path!r} must end in .arrow or .seq")
    return path


@click.command(context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.argument("model", type=click.Choice(MODELS), metavar="MODEL")
@click.option("--pairs", required=True, callback=_count, metavar="N", help="Number of pairs; 1e6 is accepted.")
@click.option("--length", type=int, metavar="BP", help="Pattern length; uniform only.")
@click.option("--error", type=float, metavar="FRACTION", help="Edits per letter of pattern, 0 to 1; uniform only.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same bytes.")
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), help="CPU threads [default: all cores].")
@click.option("-o", "--output", required=True, callback=_output, metavar="FILE", help="File to write: .arrow or .seq.")
def command(model, pairs, length, error, seed, threads, output):
    """Simulate pattern/text pairs of MODEL and write them to a file.

    MODEL is uniform (random patterns of one length, uniform edits) or a sequencing technology: illumina_150,
    illumina_250, moleculo, pacbio_ccs, pacbio_hifi, pacbio_clr, nanopore. An Arrow file carries its parameters and
    the realised error statistics in its metadata; a .seq file has no place for them.

    \b
    Examples:
      python -m simulators uniform --pairs 1e6 --length 150 --error 0.05 --seed 1 -o x.arrow
      python -m simulators illumina_150 --pairs 1e5 --seed 1 -o y.arrow
      python -m simulators nanopore --pairs 1000 -o z.seq
    """
    require_writable(output)
    batch = simulate(model, pairs, seed, length=length, error=error, threads=threads)
    if output.endswith(".arrow"):
        batch.to_arrow(output)
    else:
        write_seq(batch, output)
    realised = json.loads(batch.metadata["realised"])
    what = PROFILES[model].name if model in PROFILES else "uniform"
    click.echo(f"{output}: {len(batch)} {what} pairs, realised error {realised['error_rate']:.4%}", err=True)


def main():
    """Run the command line; a user's mistake is one line on stderr and exit code 2."""
    try:
        command(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (PairsError, SimulationError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except MemoryError:
        click.echo("error: so many pairs do not fit into memory; ask for fewer", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
