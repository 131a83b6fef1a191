"""Edlib: Myers' bit-vector edit distance, banded. CIGARs by Hirschberg's division."""

from wfa_kernels.result import OK
from workflow.aligners._library import SWAP_GAPS, LibraryAdapter


class Edlib(LibraryAdapter):
    """Edlib's Python binding. It takes bytes and compares them literally; a letter extra in the text is its ``D``."""

    tool = "edlib"
    module = package = "edlib"
    edit_only = True

    def ask(self, sequences, job):
        """Keep the pairs as bytes; a score-only job asks for the distance alone."""
        import edlib

        self._align, self._sequences = edlib.align, sequences
        self._task = "distance" if job.scope == "score" else "path"

    def run(self):
        """One call a pair."""
        align, task = self._align, self._task
        self._raw = [align(p, t, mode="NW", task=task) for p, t in self._sequences]

    def answers(self):
        """Edlib's dictionaries, with gaps named from the pattern's side."""
        return [(OK, raw["editDistance"], (raw["cigar"] or "").translate(SWAP_GAPS)) for raw in self._raw]


def adapters():
    """Edlib has one variant."""
    return [Edlib()]
