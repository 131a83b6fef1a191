"""Command line: ``python -m wfa_kernels align pairs.seq --edit``."""

import contextlib
import os
import signal
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import click
from tqdm import tqdm

from wfa_kernels import (
    Affine,
    AlignError,
    Edit,
    HeuristicError,
    PairBatch,
    PairsError,
    PenaltyError,
    StaticBand,
    WavefrontReduction,
    __version__,
    align,
    gpu_problem,
    whole_file,
)
from wfa_kernels.api import (
    ALGORITHMS,
    DEFAULT_MEMORY_LIMIT,
    DEVICES,
    LEAST_DEVICE_MEMORY,
    MOST_THREADS,
    SCOPES,
)
from wfa_kernels.designs import DESIGNS
from wfa_kernels.formats import read_pairs
from wfa_kernels.result import STATUS_NAMES

#: Pairs whose CIGARs are text at the same time: that of a whole batch may be many times the batch.
_PAIRS_AT_ONCE = 1 << 13
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
#: A smaller number lacks its unit.
_LEAST_MEMORY = 2**20


def _penalties(edit, affine):
    if edit == (affine is not None):
        raise click.UsageError("give one of --edit and --affine MISMATCH,GAP_OPEN,GAP_EXTEND")
    if edit:
        return Edit()
    return Affine(*_integers("--affine", affine, 3, "three integers such as 4,6,2"))


def _integers(option, text, count, wanted):
    try:
        values = [int(v) for v in text.split(",")]
        if len(values) != count:
            raise ValueError
    except ValueError:
        raise click.UsageError(f"{option} takes {wanted}, not {text!r}") from None
    return values


def _heuristic(static_band, wavefront_reduction):
    if static_band is not None and wavefront_reduction is not None:
        raise click.UsageError("give one of --static-band and --wavefront-reduction")
    if wavefront_reduction is not None:
        wanted = "two integers such as 10,50"
        return WavefrontReduction(*_integers("--wavefront-reduction", wavefront_reduction, 2, wanted))
    return None if static_band is None else StaticBand(static_band)


def _bytes(_context, _parameter, text):
    if text is None:
        return None
    number, unit = (text[:-1], text[-1].lower()) if text[-1:].isalpha() else (text, "")
    try:
        size = int(float(number) * _UNITS[unit])
    except (KeyError, ValueError, OverflowError):
        size = 0
    if size < 1:
        raise click.BadParameter(f"{text!r} is not a size such as 512M or 2G")
    if size >= 2**63:
        raise click.BadParameter(f"{text!r} is more than any machine has; a size is such as 512M or 2G")
    return size


def _memory_limit(context, parameter, text):
    size = _bytes(context, parameter, text)
    if size < _LEAST_MEMORY and text[-1:].isdigit():
        raise click.BadParameter(f"{text!r} is so many bytes; a size is such as 512M or 2G")
    return size


def _device_memory(context, parameter, text):
    size = _bytes(context, parameter, text)
    if size is not None and size < LEAST_DEVICE_MEMORY:
        raise click.BadParameter(f"{text!r} is less than {LEAST_DEVICE_MEMORY >> 20}M; a size is such as 512M or 2G")
    return size


def _check_output(output, inputs):
    """The table would take the place of what was read, or cannot be written."""
    for path in filter(None, inputs):
        if output != "-" and os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise click.UsageError(f"-o {output}: this file is read from, and would be overwritten; name another")
    if output != "-":
        try:
            whole_file.require_writable(output)
        except OSError as error:
            raise _unwritable(output, error) from None


def _unwritable(what, error):
    return click.ClickException(f"{what}: cannot be written ({error.strerror})")


def _check_options(penalties, scope, options):
    """Have align() tell what it refuses before any pair is read.

    Not where a GPU would do it: memory that is laid out there for no pairs is kept, and is too little for the others.
    """
    if options["device"] != "cuda" or gpu_problem(simulator=True):
        align(PairBatch.from_strings([], []), penalties, scope, **options)


def _read(pairs, texts, keep_case):
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always")
        batch = read_pairs(pairs, texts, uppercase=not keep_case)
    for doubt in doubts:
        click.echo(f"warning: {doubt.message}", err=True)
    return batch


@contextlib.contextmanager
def _output(path):
    """A text file to write to, tried before the work and whole or not there; standard output where path is "-"."""
    if path == "-":
        if sys.stdout is None:
            raise click.ClickException("standard output is closed")
        try:
            yield sys.stdout
            sys.stdout.flush()
        except BrokenPipeError:
            _leave_stdout()  # the reader went away (`| head`): not an error
        except OSError as error:
            _leave_stdout()
            raise _unwritable("standard output", error) from None
        return
    try:
        with whole_file.beside(path) as part, open(part, "w", encoding="ascii", newline="\n") as sink:
            yield sink
    except OSError as error:
        raise _unwritable(path, error) from None


def _leave_stdout():
    """Keep Python from writing at exit what standard output did not take."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_tsv(result, sink):
    """Write ``index score cigar status``, tab-separated with a header; ``*`` = no CIGAR or no alignment."""
    sink.write("index\tscore\tcigar\tstatus\n")
    for start in range(0, len(result), _PAIRS_AT_ONCE):
        part = result[start : start + _PAIRS_AT_ONCE]
        cigars = part.cigar_strings() if part.cigars is not None else ["*"] * len(part)
        names = [STATUS_NAMES[code] for code in part.status.tolist()]
        rows = zip(part.scores.tolist(), cigars, names, strict=True)
        sink.write("".join(f"{i}\t{s}\t{c}\t{name}\n" for i, (s, c, name) in enumerate(rows, start)))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(version)s")
def cli():
    """Pairwise alignment of DNA by wavefront and bit-parallel kernels: exact, unless a heuristic is asked for."""


@cli.command("align", no_args_is_help=True, short_help="Align the pairs of a file and write a table.")
@click.argument("pairs")
@click.argument("texts", required=False)
@click.option("--edit", is_flag=True, help="Edit distance.")
@click.option(
    "--affine", metavar="X,O,E", help="Gap-affine costs: mismatch, gap open, gap extend. A gap of n costs O + n*E."
)
@click.option("--scope", type=click.Choice(SCOPES), default="score", show_default=True, help="What to compute.")
@click.option("--device", type=click.Choice(DEVICES), default="auto", show_default=True)
@click.option("--design", type=click.Choice(DESIGNS), default="fast", show_default=True, help="Of the GPU kernels.")
@click.option("--algorithm", type=click.Choice(ALGORITHMS), default="auto", show_default=True)
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), help="CPU threads [default: all cores].")
@click.option(
    "--memory-limit", default=f"{DEFAULT_MEMORY_LIMIT >> 30}G", show_default=True, callback=_memory_limit,
    help="Working memory over all threads, such as 512M or 4G.",
)  # fmt: skip
@click.option(
    "--device-memory", callback=_device_memory,
    help="Memory on the GPU, such as 4G, 256M or more [default: half of what is free].",
)  # fmt: skip
@click.option(
    "--static-band", metavar="WIDTH", type=int,
    help="Heuristic, gap-affine: stay within WIDTH diagonals of those from the first to the last.",
)  # fmt: skip
@click.option(
    "--wavefront-reduction", metavar="MIN_LENGTH,MAX_DISTANCE",
    help="Heuristic, gap-affine: of wavefronts of MIN_LENGTH diagonals on, drop those that are more than MAX_DISTANCE "
    "letters behind. With either, scores may be above the optimum.",
)  # fmt: skip
@click.option("--keep-case", is_flag=True, help="Compare letters as they are; without it they are upper-cased.")
@click.option("-o", "--output", default="-", show_default=True, help="TSV file to write; - is standard output.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def align_command(pairs, texts, edit, affine, scope, device, design, algorithm, threads, memory_limit, device_memory,
                  static_band, wavefront_reduction, keep_case, output, quiet):  # fmt: skip
    """Align the pairs of PAIRS and write index, score, CIGAR and status, tab-separated.

    PAIRS is a .seq file (a line ">PATTERN", a line "<TEXT", and so on), an Arrow pair file, or "-" for .seq on
    standard input. With a second file TEXTS, both are FASTA or FASTQ (gzip too), aligned record by record.

    \b
    Examples:
      python -m wfa_kernels align pairs.seq --edit -o out.tsv
      python -m wfa_kernels align pairs.seq --affine 4,6,2 --scope cigar --device cpu
      python -m wfa_kernels align refs.fa.gz reads.fq.gz --edit --scope cigar
      cat pairs.seq | python -m wfa_kernels align - --edit > out.tsv
    """
    penalties, heuristic = _penalties(edit, affine), _heuristic(static_band, wavefront_reduction)
    _check_output(output, (pairs, texts))
    options = {
        "device": device, "design": design, "algorithm": algorithm, "threads": threads, "memory_limit": memory_limit,
        "device_memory": device_memory, "heuristic": heuristic,
    }  # fmt: skip
    _check_options(penalties, scope, options)
    batch = _read(pairs, texts, keep_case)
    show = not quiet and sys.stderr is not None and sys.stderr.isatty()
    with _output(output) as sink:
        with tqdm(total=len(batch), unit="pair", disable=not show, delay=1, file=sys.stderr) as bar:
            result = _beside(align, batch, penalties, scope, progress=bar.update, **options)
        write_tsv(result, sink)
    if result.rescued:
        done = f"{result.rescued} of {len(result)} pairs"
        click.echo(f"note: {done} are beyond the GPU's kernels: the CPU did them", err=True)
    for name, count in result.refused().items():
        click.echo(f"warning: {count} of {len(result)} pairs have no alignment: {name}", err=True)


def _beside(work, *arguments, **options):
    """What ``work`` gives, in a thread of its own: a signal in a kernel waits, and one of a long pair takes minutes."""
    return ThreadPoolExecutor(1).submit(work, *arguments, **options).result()


def _terminated(number, _frame):
    """Go through all that Ctrl-C does, and leave no part of a file; the exit code is the shell's of that signal."""
    sys.exit(128 + number)


def _leave(code):
    """End the process, whatever its other threads do."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def _interrupted(error):
    """Whether it began as Ctrl-C: one that comes while a kernel makes its answers goes through Numba's code."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


def main():
    """Run the command line; a user's mistake is one line on stderr and exit code 2."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        cli(standalone_mode=False)
    except click.exceptions.Abort:
        _leave(130)
    except SystemExit as left:
        _leave(left.code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (AlignError, HeuristicError, PairsError, PenaltyError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except SystemError as error:
        if not _interrupted(error):
            raise
        sys.exit(130)
    except MemoryError:
        click.echo("error: out of memory; a smaller --memory-limit, fewer --threads or fewer pairs need less", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
