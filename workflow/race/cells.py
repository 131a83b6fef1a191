"""Cells of a race: what is timed, in which order, and all that is known of it."""

import random
from dataclasses import dataclass, field, replace

from wfa_kernels import Affine, Edit
from workflow.race.verify import Verdict

#: Subsets are the first N, N/4, N/16, ... pairs: few different sizes, so that slow tools share them.
SUBSET_STEP = 4


@dataclass(frozen=True)
class Plan:
    """What to race: an experiment under a lane.

    penalties: the experiment's. scopes: of "score", "cigar". threads: of 1 and the host's core count. tools: adapter
    ids; twin: the one that runs twice, which is also the reference that runs on every subset in use; the block of
    another device has a twin of its own (twin_keys).
    round_seconds: a cell's slice of a round, at most (race.Race shortens it where the fewest rounds would pass the time
    of a step); gpu_round_seconds: of a GPU's exact tool. race_seconds: budget of a race from its start, calibration,
    exact scores and verification included; only the fewest rounds may pass it. timeout_seconds: of one run. most_pairs:
    of a data set, the first ones; None: all.
    """

    experiment: str
    lane: str
    penalties: Edit | Affine
    scopes: tuple
    threads: tuple
    tools: tuple
    twin: str
    min_rounds: int
    max_rounds: int
    round_seconds: float
    gpu_round_seconds: float
    race_seconds: float
    timeout_seconds: float
    most_pairs: int | None = None

    @property
    def slices_s(self):
        """{device: seconds of a cell's slice of a round}."""
        return {"cpu": self.round_seconds, "cuda": self.gpu_round_seconds}


@dataclass(frozen=True, order=True)
class Key:
    """A cell: a tool (or its twin) at a scope, on so many threads, on the first n pairs."""

    tool: str
    scope: str
    threads: int
    n: int
    twin: bool = False

    @property
    def name(self):
        """Name of the cell within its worker."""
        return f"{self.tool}/{self.scope}/{self.threads}/{self.n}" + "/twin" * self.twin


@dataclass
class Record:
    """What a cell gave: seconds round by round, or the status and reason why not; and the verdict on its answers."""

    times: list = field(default_factory=list)
    further: dict = field(default_factory=dict)  # of other quantities: {name: seconds round by round}
    counts: dict = field(default_factory=dict)  # of its runs, {"rescued": ..., ...}: the most of all rounds
    status: str = "ok"
    reason: str = ""  # of a status, or with times why it failed on more pairs
    verdict: Verdict | None = None
    output_hash: str = ""
    jit_s: float | None = None  # of the first call
    jit_compiled: bool | None = None
    base_rss_bytes: int | None = None  # before a run that is not timed, after preparing it
    peak_rss_bytes: int | None = None
    peak_memory: dict = field(default_factory=dict)  # beyond the processes' own, {"peak_device_bytes": ...}


def subset_sizes(n):
    """Sizes of the subsets of n pairs, smallest first: ..., n/16, n/4, n."""
    sizes = [n]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // SUBSET_STEP))
    return sizes[::-1]


def round_order(seed, number, cells):
    """The cells in the order of a round: a function of the race's seed, the round's number (from 1) and the cells.

    cells: Keys of all cells of the race that were ever run, in any order. Those of another device's block, and those
    that have failed, are left out of the order without a change to the others'.
    """
    order = sorted(cells)
    random.Random(f"{seed}/{number}").shuffle(order)
    return order


def thread_counts(plan, adapter):
    """Threads that an adapter is timed with: the plan's; the most of them for a thread pool; 1 for a GPU tool."""
    if adapter.device != "cpu":
        return (1,)
    return (max(plan.threads),) if adapter.pool else plan.threads


def reference_keys(records, plan, block):
    """Further cells of the reference tool: on each subset another tool of its block runs, so that a ratio compares the
    same pairs.

    block: ids of the tools that race in the same block as the reference.
    """
    wanted = []
    live = {k: r for k, r in records.items() if r.status == "ok" and k.tool in block}
    for scope in plan.scopes:
        for threads in plan.threads:
            alike = {k: r for k, r in live.items() if (k.scope, k.threads) == (scope, threads)}
            own = [k.n for k in alike if k.tool == plan.twin]
            if own:
                wanted.extend(Key(plan.twin, scope, threads, n) for n in sorted({k.n for k in alike} - set(own)))
    return wanted


def twin_keys(records, plan, device_of):
    """Cells that run under a second name, in each block: of one of its tools at the fewest threads at every scope, and
    at the most threads at the last one.

    records: those of the cells that the plan asks for. device_of: gives the device, that is the block, of a tool's id.
    The tool is plan.twin in its own block, and the first one that runs in another.
    """
    live = [key for key, record in records.items() if record.status == "ok"]
    wanted = []
    for device in sorted({device_of(key.tool) for key in live}):
        running = {key.tool for key in live if device_of(key.tool) == device}
        tool = min(running, key=lambda name: (name != plan.twin, plan.tools.index(name)))
        own = sorted((key for key in live if key.tool == tool), key=lambda key: plan.scopes.index(key.scope))
        fewest, most = (choose(key.threads for key in own) for choose in (min, max))
        wanted += [replace(key, twin=True) for key in own if key.threads == fewest]
        wanted += [replace(key, twin=True) for key in own if key.threads == most > fewest][-1:]
    return wanted
