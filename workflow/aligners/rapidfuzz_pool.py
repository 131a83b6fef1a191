"""RapidFuzz's own thread pool: one process on all cores, as many threads as the engine says."""

from wfa_kernels.result import OK
from workflow.aligners.rapidfuzz import RapidFuzz


class RapidFuzzPool(RapidFuzz):
    """rapidfuzz.process.cpdist: the distances of all pairs in one call, in threads of its own."""

    variant = "pool"
    pool = True
    sources = (*RapidFuzz.sources, "workflow/aligners/rapidfuzz.py")

    def unsupported(self, job):
        """It gives distances only."""
        return "its thread pool computes distances only" if job.scope == "cigar" else super().unsupported(job)

    def ask(self, sequences, job):
        """Keep the pairs as two lists of bytes."""
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cpdist

        self._align, self._scorer = cpdist, Levenshtein.distance
        self._patterns, self._texts = [p for p, _ in sequences], [t for _, t in sequences]

    def run(self):
        """One call for all pairs."""
        self._raw = self._align(self._patterns, self._texts, scorer=self._scorer, workers=self.threads)

    def answers(self):
        """The distances."""
        return [(OK, distance, "") for distance in self._raw.tolist()]


def adapters():
    """One, beside RapidFuzz called pair by pair."""
    return [RapidFuzzPool()]
