"""What the adapters of peer tools share: which pairs a tool is asked, and how its answers join the batch again.

Tools stumble over an empty sequence (Edlib gives no CIGAR, Parasail raises, BiWFA gives no score), and the alignment
of one is a single gap: such pairs are answered here and never reach a tool.
"""

import importlib
import importlib.metadata

import numpy as np

from wfa_kernels import Affine, AlignmentResult, Edit, pack_strings
from wfa_kernels.result import NO_SCORE, OK
from workflow.aligners import Adapter, ToolMissing

#: Turns the CIGAR letters of a tool in whose eyes the text is the reference into ours.
SWAP_GAPS = str.maketrans("ID", "DI")


class PeerAdapter(Adapter):
    """An adapter of a tool that is asked pair by pair.

    A subclass gives ``ask`` (untimed), ``run`` (timed) and ``answers`` (untimed), and ``refusal`` where it cannot do
    every pair. edit_only: it computes edit distance whatever the job's penalties are.
    """

    edit_only = False
    sources = ("workflow/aligners/_library.py",)

    def objective(self, job):
        """Edit() for an edit-distance tool, else the job's penalties."""
        return Edit() if self.edit_only else job.penalties

    def unsupported(self, job):
        """An edit-distance tool has a CIGAR to re-score for a gap-affine job, but no score to give."""
        if self.edit_only and job.scope == "score" and isinstance(job.penalties, Affine):
            return "computes edit distance only: its score says nothing about a gap-affine cost"
        return None

    def refusal(self, pattern, text, job):
        """Status code of a pair (bytes, neither empty) that the tool cannot do, or OK."""
        return OK

    def ask(self, sequences, job):
        """Untimed: bring the pairs the tool is asked, a list of (pattern, text) bytes, into the form it takes."""
        raise NotImplementedError

    def answers(self):
        """Untimed: (status code, score as a cost, CIGAR string or bytes in our letters) of each pair asked."""
        raise NotImplementedError

    def prepare(self, pairs, job):
        """Untimed: sort out the pairs the tool is not asked, and bring the others into its form."""
        self._job = job
        self._lengths = np.stack([pairs.pattern_lengths, pairs.text_lengths])
        sequences = list(zip(pairs.patterns(), pairs.texts(), strict=True))
        statuses = [self.refusal(p, t, job) if p and t else OK for p, t in sequences]
        self._status = np.array(statuses, np.uint8)
        self._asked = np.flatnonzero((self._status == OK) & self._lengths.all(axis=0))
        self.ask([sequences[i] for i in self._asked.tolist()], job)

    def outputs(self):
        """Untimed: the tool's answers and those of the pairs with an empty side, in order of the batch."""
        status = self._status.copy()
        scores = np.full(len(status), NO_SCORE, np.int32)
        cigars = [b""] * len(status)
        _, gap_open, gap_extend = self.objective(self._job).triple
        for i in np.flatnonzero((status == OK) & ~self._lengths.all(axis=0)).tolist():
            m, n = self._lengths[:, i].tolist()
            scores[i] = gap_open + (m + n) * gap_extend if m + n else 0
            cigars[i] = f"{m}D" if m else f"{n}I" if n else ""
        for i, (code, score, cigar) in zip(self._asked.tolist(), self.answers(), strict=True):
            status[i] = code
            if code == OK:
                scores[i], cigars[i] = score, cigar
        if self._job.scope == "score":
            return AlignmentResult(scores, status)
        return AlignmentResult(scores, status, *pack_strings(cigars))


class LibraryAdapter(PeerAdapter):
    """A peer that is a Python package. module: what is imported. package: the distribution that tells its version."""

    module = ""
    package = ""
    #: Why it may be missing, for packages that have no wheel.
    build_note = ""

    def version(self):
        """The package's version. Raises ToolMissing when it is not installed or does not load."""
        try:
            version = importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            raise ToolMissing(f"not installed{self.build_note or f' ({self.package})'}") from None
        try:
            importlib.import_module(self.module)
        except Exception as error:  # a binding may raise anything when its shared library does not load
            raise ToolMissing(f"{self.package} {version} does not load: {error}") from None
        return version
