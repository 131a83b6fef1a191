"""The small door through which everything that is timed enters, our own kernels included.

An adapter file in this folder offers ``adapters()``: a list of Adapter objects, one per variant of its tool. It
imports without its tool being installed; ``version()`` says why it cannot run. Adding a tool is adding a file.
"""

import hashlib
import importlib
import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from wfa_kernels import Affine, AlignmentResult, Edit, PairBatch

ROOT = Path(__file__).resolve().parents[2]

#: Further folders of adapter files (separated as in PATH), for tools that are not part of the project.
EXTRA_VARIABLE = "WAVEBENCH_ALIGNERS"
#: Working memory for one pair in one worker: the same bound for every tool that takes or needs one.
WORKING_MEMORY_BYTES = 2**30


class ToolMissing(Exception):
    """The tool is not installed here; the text is the reason shown in the tables."""


class ToolConfigError(ValueError):
    """A mistake in the configuration of a tool; the text is all that the user needs to mend it."""


@dataclass(frozen=True)
class Job:
    """What is asked of a tool: global alignment under the experiment's penalties.

    scope: "score" or "cigar". penalties: Edit() or Affine(...).
    """

    scope: str
    penalties: Edit | Affine


class Adapter:
    """One variant of one tool. A worker process holds one and hands it one data set after the other.

    tool, variant: its name in tables. device: "cpu" or "cuda". quantity: what its time is called. exact: it claims to
    be optimal under its own objective. pool: its run spreads over ``threads`` threads of its own; every other adapter
    uses one, and the engine sets the number before prepare(). sources: files, relative to the project's root, whose
    content keys its samples (its own file is always among them). held_bytes_a_base, held_bytes_a_pair: what a prepared
    cell holds, by estimate; here those of the greediest, measured at 150 and 1000 bp and 10 % error, its answers
    included: 11 and 10 bytes a base in all. shared_bytes_a_base: what the cells of a process hold together besides.
    process: a name; tools of one name run in one process, where they may hold data together.
    """

    tool = ""
    variant = ""
    device = "cpu"
    quantity = "time_end_to_end"
    input = "ascii"
    exact = True
    pool = False
    threads = 1
    held_bytes_a_base, held_bytes_a_pair = 10, 500
    shared_bytes_a_base = 0
    sources: tuple[str, ...] = ()

    @property
    def process(self):
        """By default a tool has its own."""
        return self.id

    @property
    def id(self):
        """``tool`` or ``tool:variant``, as experiments name it."""
        return f"{self.tool}:{self.variant}" if self.variant else self.tool

    @property
    def sized_as(self):
        """Of a tool ``...@pageable`` the id of the one that does the same work from page-locked memory, else None: it
        takes as many pairs, as the two times stand side by side."""
        name, _, source = self.id.partition("@")
        return name if source == "pageable" else None

    def version(self) -> str:
        """Version of the installed tool. Raises ToolMissing with the reason."""
        raise NotImplementedError

    def objective(self, job: Job) -> Edit | Affine:
        """The penalties the tool itself optimises for this job: the job's own, or Edit() for an edit-distance tool."""
        return job.penalties

    def unsupported(self, job: Job) -> str | None:
        """Why the tool cannot do this job at all, or None."""
        return None

    def prepare(self, pairs: PairBatch, job: Job) -> None:
        """Untimed: bring the pairs into the form the tool takes from its caller."""
        raise NotImplementedError

    def run(self) -> None:
        """Timed: align every prepared pair and hold the raw answers."""
        raise NotImplementedError

    def forget(self) -> None:
        """Untimed, before each run of a race: free the raw answers of the last one, which adapters hold as ``_raw``."""
        self._raw = None

    def release(self) -> None:
        """Untimed, where no cell of the process is prepared: free what they share."""

    def own_seconds(self) -> float | None:
        """Seconds of the last run by the tool's own timer, which then counts; None: the engine's clock counts."""
        return None

    def timings(self) -> dict[str, float]:
        """Further quantities of the last run, {name: seconds}, such as a GPU's copies and kernels by its own clock."""
        return {}

    def counts(self) -> dict[str, int]:
        """Of the last run, where the tool can tell: "rescued", pairs that another device answered, "bytes_in" and
        "bytes_out", what crossed the wire to a device and back."""
        return {}

    def peak_memory(self, reset: bool) -> dict[str, int]:
        """Most memory held since the last reset beyond the process' own, {"peak_pinned_bytes": ..., ...}, on a GPU."""
        return {}

    def outputs(self) -> AlignmentResult:
        """Untimed: the raw answers of the last run in this project's scores, status and CIGARs."""
        raise NotImplementedError

    def build(self) -> str:
        """What tells its build on this machine from another of the same version, "" where nothing does: with another
        one a race is run again, while samples of it, which may be from elsewhere, are not stale."""
        return ""

    def source_hash(self) -> str:
        """Hex digest over the declared sources: a sample of other sources is another tool's sample."""
        digest = hashlib.sha256()
        own = Path(sys.modules[type(self).__module__].__file__)
        for path in [own, *(ROOT / name for name in sorted(self.sources))]:
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()[:16]


def load():
    """{id: Adapter} of every adapter file in this folder and in those of the variable WAVEBENCH_ALIGNERS."""
    found = {}
    for path in adapter_files():
        for adapter in _adapters(path):
            if adapter.id in found:
                raise ToolConfigError(f"two tools are called {adapter.id!r}; give one of them another name")
            found[adapter.id] = adapter
    return found


def adapter_files():
    """Paths of the adapter files, this folder's first. Raises ToolConfigError where a further folder is none."""
    extra = [Path(folder) for folder in os.environ.get(EXTRA_VARIABLE, "").split(os.pathsep) if folder]
    for folder in extra:
        if not folder.is_dir():
            raise ToolConfigError(f"{EXTRA_VARIABLE}: {folder}: no such folder")
    folders = [Path(__file__).parent, *extra]
    return [path for folder in folders for path in sorted(folder.glob("*.py")) if not path.name.startswith("_")]


def _adapters(path):
    """Those of an adapter file. Raises ToolConfigError where a user's file fails."""
    module = _module(path)
    if path.parent == Path(__file__).parent:
        return module.adapters()
    try:
        return list(module.adapters())
    except Exception as error:  # anything may be wrong with it
        raise ToolConfigError(f"{path}: adapters() fails ({type(error).__name__}: {error})") from None


def _module(path):
    if path.parent == Path(__file__).parent:
        return importlib.import_module(f"{__name__}.{path.stem}")
    path = path.resolve()
    name = f"{__name__}.extra_{hashlib.sha256(str(path.parent).encode()).hexdigest()[:8]}_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # it is a user's file: anything may be wrong with it
            del sys.modules[name]
            raise ToolConfigError(f"{path}: cannot be loaded ({type(error).__name__}: {error})") from None
    if not hasattr(sys.modules[name], "adapters"):
        raise ToolConfigError(f"{path}: has no function adapters(), which gives a list of its tools")
    return sys.modules[name]
