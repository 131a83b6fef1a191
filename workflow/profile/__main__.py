"""``python -m workflow.profile``: read the kernels' counters, a call's timeline and occupancy from this host's GPU."""

import argparse
import sys

from workflow.race import kernel_cache

kernel_cache.use()  # before Numba is imported

from simulators import SimulationError  # noqa: E402
from simulators.count import count  # noqa: E402
from wfa_kernels import AlignError, PairsError, gpu_problem  # noqa: E402
from workflow.profile import kernels, occupancy, once, record, timeline  # noqa: E402
from workflow.profile.cells import ProfileError  # noqa: E402
from workflow.race.host import HostError, chosen_id  # noqa: E402
from workflow.race.lock import LockError, host_lock  # noqa: E402
from workflow.race.provenance import CommitError, commit  # noqa: E402

MEASURES = {"kernels": kernels.measure, "timeline": timeline.measure, "occupancy": occupancy.measure}
#: Pairs where their number is not told; `occupancy` takes long ones.
PAIRS, LONG_PAIRS = 1_000_000, 100_000


def _parser():
    parser = argparse.ArgumentParser(prog="python -m workflow.profile", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, told in (
        ("kernels", "thesis Tab 4 and 5: the three kernels' compiler facts, times and, with ncu, counters"),
        ("timeline", "thesis Fig 6: when the copies and kernels of a call ran"),
        ("occupancy", "how many warps and processors were at work when, on long noisy pairs of very different lengths"),
        ("once", "the calls that `kernels` lets ncu watch; by itself it prints nothing"),
    ):
        command = commands.add_parser(name, help=told)
        command.add_argument(
            "--data", default="results/data/profile", metavar="DIR",
            help="folder of <dataset>.arrow; what is not there is simulated into it [%(default)s]",
        )  # fmt: skip
        pairs = LONG_PAIRS if name == "occupancy" else PAIRS
        command.add_argument("--pairs", type=_count, default=pairs, metavar="N", help="the first N [%(default)s]")
        if name != "once":
            command.add_argument("--out", required=True, metavar="FILE.json")
            command.add_argument("--host", help="id of this host [derived]")
    return parser


def _count(text):
    try:
        return count(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def main(arguments=None):
    """Run one command; a user's mistake is one line on stderr and exit code 2."""
    asked = _parser().parse_args(arguments)
    try:
        problem = gpu_problem()
        if problem:
            raise ProfileError(f"{asked.command}: needs an NVIDIA GPU: {problem}")
        if asked.command == "once":
            once.run(asked.data, asked.pairs)
            return 0
        record.require_writable(asked.out)
        host = chosen_id(asked.host)
        commit()  # a bad one is told before the work
        with host_lock():
            content = MEASURES[asked.command](asked.data, asked.pairs, _say)
            record.write(asked.out, asked.command, content, host)
        _say(f"[profile] {asked.out} written")
    except (ProfileError, HostError, LockError, CommitError, AlignError, PairsError, SimulationError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _say(line):
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
