"""``python -m workflow.race``: run races, name the host, export and import samples."""

import argparse
import errno
import json
import signal
import sys

from workflow.race import kernel_cache

kernel_cache.use()  # before Numba is imported

from wfa_kernels import AlignError, PairsError  # noqa: E402
from workflow.aligners import ToolConfigError  # noqa: E402
from workflow.race import bundle, engine, host  # noqa: E402
from workflow.race.lock import LockError  # noqa: E402
from workflow.race.oracle import OracleError  # noqa: E402
from workflow.race.provenance import CommitError  # noqa: E402

_MISTAKES = (
    engine.EngineError, bundle.BundleError, host.HostError, LockError, CommitError, AlignError, PairsError,
    ToolConfigError,
)  # fmt: skip
#: Of an OSError that no fault of ours raises.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def _parser():
    parser = argparse.ArgumentParser(prog="python -m workflow.race", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    run = commands.add_parser("run", help="race the data sets of one experiment")
    run.add_argument("--experiment", required=True, metavar="YAML")
    run.add_argument("--lane", required=True, metavar="YAML")
    run.add_argument("--data", required=True, metavar="DIR", help="folder of <dataset>.arrow")
    run.add_argument("--out", required=True, metavar="DIR", help="folder to write <dataset>.parquet to")
    run.add_argument("--store", default="results/store", metavar="DIR", help="finished races [%(default)s]")
    run.add_argument("--datasets", type=_names, metavar="A,B", help="only these")
    run.add_argument("--host", help="id of this host [derived]")
    run.add_argument("--time-limit", type=_seconds, metavar="SECONDS", help="start no race that would end later")

    show = commands.add_parser("host", help="print this host's id")
    show.add_argument("--card", action="store_true", help="print its whole card as JSON")

    export = commands.add_parser("export", help="bundle samples and profiles for another machine's tables")
    export.add_argument("--samples", default="results/samples", metavar="DIR")
    export.add_argument("--profiles", default="results/profile", metavar="DIR")
    export.add_argument("--recorded", default="results/recorded", metavar="DIR", help="further profiles of its hosts")
    export.add_argument("--out", required=True, metavar="FILE.zip")

    take = commands.add_parser("import", help="add a bundle's samples and profiles to the recorded hosts")
    take.add_argument("bundle", metavar="FILE.zip")
    take.add_argument("--recorded", default="results/recorded", metavar="DIR")
    return parser


def _seconds(text):
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"must be a number of seconds > 0, not {text}")
    return seconds


def _names(text):
    names = text.split(",")
    if not all(names):
        raise argparse.ArgumentTypeError(f"must be names of data sets with a comma between, not {text!r}")
    return names


def _leave(number, _frame):
    """End as by Ctrl-C, with no worker left and none of its files; the exit code is the shell's of that signal."""
    sys.exit(128 + number)


def main(arguments=None):
    """Run one command; a user's mistake is one line on stderr and exit code 2."""
    asked = _parser().parse_args(arguments)
    try:
        if asked.command == "run":
            signal.signal(signal.SIGTERM, _leave)
            left = engine.run(
                asked.experiment, asked.lane, asked.data, asked.out, asked.store, asked.datasets, asked.host,
                asked.time_limit,
            )  # fmt: skip
            return 3 if left else 0
        if asked.command == "host":
            print(json.dumps(host.host_card(), indent=1) if asked.card else host.host_id())
        elif asked.command == "export":
            races, profiles = bundle.export(asked.samples, asked.out, asked.profiles, asked.recorded)
            print(f"{races} races and {profiles} profiles written to {asked.out}")
        else:
            races, profiles, replaced = bundle.take(asked.bundle, asked.recorded)
            others = f", {replaced} of them in the place of others" if replaced else ""
            print(f"{races} races and {profiles} profiles added to {asked.recorded}{others}")
    except _MISTAKES as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        print(f"error: {error.filename or 'a file'}: cannot be written ({error.strerror})", file=sys.stderr)
        return 2
    except OracleError as error:
        print(f"error: the exact aligners disagree, nothing can be verified: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
