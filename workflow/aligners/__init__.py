"""The small door through which everything that is timed enters, our own kernels included.

An adapter file in this folder offers ``adapters()``: a list of Adapter objects, one per variant of its tool. It
imports without its tool being installed; ``version()`` says why it cannot run. Adding a tool is adding a file.
"""

import hashlib
import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path

from wfa_kernels import Affine, AlignmentResult, Edit, PairBatch

ROOT = Path(__file__).resolve().parents[2]


class ToolMissing(Exception):
    """The tool is not installed here; the text is the reason shown in the tables."""


@dataclass(frozen=True)
class Job:
    """What is asked of a tool: global alignment under the experiment's penalties.

    scope: "score" or "cigar". penalties: Edit() or Affine(...).
    """

    scope: str
    penalties: Edit | Affine


class Adapter:
    """One variant of one tool. A worker process holds one and hands it one data set after the other.

    tool, variant: its name in tables. exact: it claims to be optimal under its own objective.
    sources: files, relative to the project's root, whose content keys its samples (its own file is always among them).
    """

    tool = ""
    variant = ""
    exact = True
    sources: tuple[str, ...] = ()

    @property
    def id(self):
        """``tool`` or ``tool:variant``, as experiments name it."""
        return f"{self.tool}:{self.variant}" if self.variant else self.tool

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

    def outputs(self) -> AlignmentResult:
        """Untimed: the raw answers of the last run in this project's scores, status and CIGARs."""
        raise NotImplementedError

    def source_hash(self) -> str:
        """Hex digest over the declared sources: a sample of other sources is another tool's sample."""
        digest = hashlib.sha256()
        own = Path(importlib.import_module(type(self).__module__).__file__).relative_to(ROOT)
        for name in sorted({str(own), *self.sources}):
            digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
        return digest.hexdigest()[:16]


def load():
    """{id: Adapter} of every adapter file in this folder."""
    found = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        if module.name.startswith("_"):
            continue
        for adapter in importlib.import_module(f"{__name__}.{module.name}").adapters():
            found[adapter.id] = adapter
    return found
