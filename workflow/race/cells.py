"""Cells of a race: what is timed, and all that is known of it."""

from dataclasses import dataclass, field

from wfa_kernels import Affine, Edit
from workflow.race.verify import Verdict

#: Subsets are the first N, N/4, N/16, ... pairs: few different sizes, so that slow tools share them.
SUBSET_STEP = 4


@dataclass(frozen=True)
class Plan:
    """What to race: an experiment under a lane.

    penalties: the experiment's. scopes: of "score", "cigar". threads: of 1 and the host's core count. tools: adapter
    ids; twin: the one that runs twice, which is also the reference that runs on every subset in use.
    round_seconds: a cell's slice of a round. race_seconds: budget of the rounds. timeout_seconds: of one run.
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
    race_seconds: float
    timeout_seconds: float


@dataclass(frozen=True)
class Key:
    """A cell: a tool (or its twin) at a scope, over so many single-thread shards, on the first n pairs."""

    tool: str
    scope: str
    shards: int
    n: int
    twin: bool = False

    @property
    def name(self):
        """Name of the cell within its worker."""
        return f"{self.scope}/{self.shards}/{self.n}"


@dataclass
class Record:
    """What a cell gave: seconds round by round, or the status and reason why not; and the verdict on its answers."""

    times: list = field(default_factory=list)
    status: str = "ok"
    reason: str = ""
    verdict: Verdict | None = None
    output_hash: str = ""
    jit_s: float | None = None
    peak_rss_bytes: int | None = None


def subset_sizes(n):
    """Sizes of the subsets of n pairs, smallest first: ..., n/16, n/4, n."""
    sizes = [n]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // SUBSET_STEP))
    return sizes[::-1]


def shard_counts(plan, adapter):
    """Shards an adapter is timed with: the plan's thread counts; one process for a GPU tool."""
    return plan.threads if adapter.device == "cpu" else (1,)


def reference_keys(records, plan, block):
    """Further cells of the reference tool: on each subset another tool of its block runs (so that a ratio compares the
    same pairs), and its twin at the fewest threads.

    block: ids of the tools that race in the same block as the reference.
    """
    wanted = []
    live = {k: r for k, r in records.items() if r.status == "ok" and k.tool in block}
    for scope in plan.scopes:
        for shards in plan.threads:
            alike = {k: r for k, r in live.items() if (k.scope, k.shards) == (scope, shards)}
            own = [k.n for k in alike if k.tool == plan.twin]
            if own:
                wanted.extend(Key(plan.twin, scope, shards, n) for n in sorted({k.n for k in alike} - set(own)))
                if shards == min(plan.threads):
                    wanted.append(Key(plan.twin, scope, shards, own[0], twin=True))
    return wanted
