"""Tools with a known character, to see what the race makes of them. Found through WAVEBENCH_ALIGNERS."""

import os
import signal
import subprocess
import tempfile
import time

import numpy as np

from wfa_kernels import AlignmentResult, align, pack_strings
from workflow.aligners import Adapter, ToolMissing


class Honest(Adapter):
    """Right answers, some milliseconds a run."""

    tool = "honest"
    seconds = 0.004

    def version(self):
        return "1"

    def prepare(self, pairs, job):
        self.answer = align(pairs, job.penalties, job.scope, device="cpu", algorithm="wfa", threads=1)

    def run(self):
        time.sleep(self.seconds)
        note("threads", f"{self.tool} {os.getpid()} {self.threads} {os.environ['OMP_NUM_THREADS']}")

    def outputs(self):
        return self.answer


class Liar(Honest):
    """One pair's score is one too low; the CIGAR is right."""

    tool = "liar"

    def outputs(self):
        scores = self.answer.scores.copy()
        scores[2:3] -= 1
        return AlignmentResult(scores, self.answer.status, self.answer.cigars, self.answer.cigar_offsets)


class Forger(Honest):
    """Right scores, but every CIGAR claims matches only."""

    tool = "forger"

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        self.lengths = pairs.pattern_lengths

    def outputs(self):
        if self.answer.cigars is None:
            return self.answer
        cigars, offsets = pack_strings([f"{n}=" if n else "" for n in self.lengths.tolist()])
        return AlignmentResult(self.answer.scores, self.answer.status, cigars, offsets)


class Fickle(Honest):
    """Right in its first run, wrong later."""

    tool = "fickle"

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        self.runs = 0

    def run(self):
        super().run()
        self.runs += 1

    def outputs(self):
        scores = self.answer.scores + np.int32(self.runs > 3)
        return AlignmentResult(scores, self.answer.status, self.answer.cigars, self.answer.cigar_offsets)


class Uneven(Honest):
    """Its second process, the twin, takes five times as long."""

    tool = "uneven"

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        mark = os.path.join(os.environ["FAKE_TOOLS_FOLDER"], "uneven-first")
        try:
            with open(mark, "x") as handle:
                handle.write(str(os.getpid()))
        except FileExistsError:
            pass
        with open(mark) as handle:
            self.seconds = 0.01 if handle.read() == str(os.getpid()) else 0.05


class Refuser(Honest):
    """Refuses every other pair."""

    tool = "refuser"

    def outputs(self):
        scores, status = self.answer.scores.copy(), self.answer.status.copy()
        scores[::2], status[::2] = -1, 3
        cigars = self.answer.cigars
        if cigars is None:
            return AlignmentResult(scores, status)
        keep = np.repeat(np.arange(len(status)) % 2 == 1, np.diff(self.answer.cigar_offsets))
        lengths = np.where(np.arange(len(status)) % 2 == 1, np.diff(self.answer.cigar_offsets), 0)
        return AlignmentResult(scores, status, cigars[keep], np.concatenate([[0], np.cumsum(lengths)]))


class Sleeper(Honest):
    """Never comes back, but for its first call."""

    tool = "sleeper"

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        self.seconds = 0 if len(pairs) == 8 else 1000


class Choker(Honest):
    """Comes back from a few pairs only."""

    tool = "choker"

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        self.seconds = 0 if len(pairs) <= 8 else 1000


class Plodder(Honest):
    """Takes longer than its slice of a round on any number of pairs."""

    tool = "plodder"
    seconds = 0.08


class Steady(Honest):
    """Takes ten milliseconds a pair."""

    tool = "steady"

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        self.seconds = 0.01 * len(pairs)


class GuessOnGpu(Steady):
    """In the block of the GPU, and claims no optimum."""

    tool = "guess-on-gpu"
    device = "cuda"
    exact = False


class Learner(Honest):
    """Takes longer than its slice of a round when it meets a number of pairs for the first time."""

    tool = "learner"
    known = set()

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        self.pairs = len(pairs)

    def run(self):
        if self.pairs not in self.known:
            time.sleep(0.1)
        self.known.add(self.pairs)
        super().run()


class Crasher(Honest):
    """Its process ends and leaves a file."""

    tool = "crasher"

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        note("left", tempfile.mkstemp()[1])

    def run(self):
        os._exit(7)


class Parent(Honest):
    """Its process is killed, as one that takes all memory is, and what it has started runs on."""

    tool = "parent"

    def run(self):
        note("children", str(subprocess.Popen(["sleep", "1000"]).pid))
        os.kill(os.getpid(), signal.SIGKILL)


class Hog(Honest):
    """Asks for more memory than there is."""

    tool = "hog"

    def run(self):
        np.ones(1 << 50, np.uint8)


class Glutton(Honest):
    """Fills 64 MB in its first run, and keeps it."""

    tool = "glutton"
    held = None

    def run(self):
        if self.held is None:
            self.held = np.ones(64 * 10**6, np.uint8)
        super().run()


def note(name, line):
    """Append a line to a file of the tests' folder."""
    with open(os.path.join(os.environ["FAKE_TOOLS_FOLDER"], name), "a") as handle:
        handle.write(f"{line}\n")


class Keeper(Honest):
    """Notes how many of its cells are prepared at once, over all processes, warm-up aside."""

    tool = "keeper"
    mark = None

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        if len(pairs) > 8:
            folder = os.environ["FAKE_TOOLS_FOLDER"]
            self.mark = os.path.join(folder, f"held-{os.getpid()}-{id(self)}")
            open(self.mark, "w").close()
            note("most-held", sum(name.startswith("held-") for name in os.listdir(folder)))

    def __del__(self):
        if self.mark:
            os.unlink(self.mark)


class Sharer(Honest):
    """Notes when what its cells share is to be freed, and how many of them are prepared then."""

    tool = "sharer"
    shared_bytes_a_base = 1
    prepared, held = 0, False

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        self.held = len(pairs) > 8  # not the warm-up's
        Sharer.prepared += self.held

    def __del__(self):
        Sharer.prepared -= self.held

    def release(self):
        note("released", Sharer.prepared)


class Hoarder(Honest):
    """Notes at every run but the warm-up's how many cells of its process hold answers."""

    tool = "hoarder"
    full = set()

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        self.counts = len(pairs) > 8  # not the warm-up's

    def run(self):
        super().run()
        if self.counts:
            self.full.add(id(self))
            note("full", len(self.full))

    def forget(self):
        self.full.discard(id(self))

    def __del__(self):
        self.forget()


class Logbook(Honest):
    """Notes every run but the first of its process."""

    tool = "logbook"

    def __init__(self, variant=""):
        self.variant = variant

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        self.line = f"{self.id} {job.scope}" if len(pairs) > 8 else ""

    def run(self):
        super().run()
        if self.line:
            note("log", self.line)


class Pooled(Honest):
    """Has threads of its own."""

    tool = "pooled"
    variant = "pool"
    pool = True


class Stuck(Honest):
    """Never comes back from its first call."""

    tool = "stuck"

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        note("stuck", os.getpid())
        self.seconds = 1000


class OnGpu(Honest):
    """Races in the block of the GPU, and is none."""

    tool = "on-gpu"
    device = "cuda"

    def __init__(self, variant=""):
        self.variant = variant


class Rescued(OnGpu):
    """Had another device answer some of its pairs: of a cell's second run, the first that is timed, most."""

    tool = "rescued"
    runs = 0

    def run(self):
        super().run()
        self.runs += 1

    def counts(self):
        return {"rescued": 5 if self.runs == 2 else 2}


class Lodger(Honest):
    """In the block of the GPU, in a process with others."""

    tool = "lodger"
    device = "cuda"
    process = "lodgings"


class Sublodger(Lodger):
    """Another one there."""

    tool = "sublodger"


class Vandal(Lodger):
    """Ends the process, but not in its first call."""

    tool = "vandal"

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        self.ends = len(pairs) != 8

    def run(self):
        if self.ends:
            os._exit(7)
        super().run()


class UnevenOnGpu(Honest):
    """In the block of the GPU, the second of two cells that its process has prepared takes five times as long."""

    tool = "uneven-on-gpu"
    device = "cuda"
    prepared, held = 0, False

    def prepare(self, pairs, job):
        super().prepare(pairs, job)
        self.seconds, self.held = (0.05 if UnevenOnGpu.prepared else 0.01), True
        UnevenOnGpu.prepared += 1

    def __del__(self):
        UnevenOnGpu.prepared -= self.held


class Absent(Honest):
    """Not installed."""

    tool = "absent"

    def version(self):
        raise ToolMissing("not installed (absent)")


class AbsentOnGpu(Absent):
    """A GPU's tool, not installed."""

    tool = "absent-on-gpu"
    device = "cuda"


class ScoreOnly(Honest):
    """Computes scores only."""

    tool = "score-only"

    def unsupported(self, job):
        return "computes scores only" if job.scope == "cigar" else None


def adapters():
    """One of each."""
    kinds = (
        Honest, Liar, Forger, Fickle, Uneven, Refuser, Sleeper, Choker, Plodder, Steady, Learner, Crasher, Parent, Hog,
        Glutton, Keeper, Sharer, Hoarder, Logbook, Pooled, Absent, ScoreOnly, Stuck, OnGpu, Rescued, Lodger, Sublodger,
        Vandal, UnevenOnGpu, AbsentOnGpu, GuessOnGpu,
    )  # fmt: skip
    return [*(kind() for kind in kinds), Logbook("b"), OnGpu("b")]
