"""RapidFuzz: bit-parallel Levenshtein distance and its edit operations."""

from wfa_kernels.result import OK
from workflow.aligners._library import LibraryAdapter

_LETTERS = {"equal": "=", "replace": "X", "insert": "I", "delete": "D"}


class RapidFuzz(LibraryAdapter):
    """RapidFuzz's Levenshtein functions. They take bytes, compare them literally and name gaps as we do."""

    tool = "rapidfuzz"
    module = package = "rapidfuzz"
    edit_only = True

    def ask(self, sequences, job):
        """Keep the pairs as bytes; a CIGAR job asks for the runs of operations."""
        from rapidfuzz.distance import Levenshtein

        self._sequences = sequences
        self._align = Levenshtein.distance if job.scope == "score" else Levenshtein.opcodes

    def run(self):
        """One call a pair."""
        align = self._align
        self._raw = [align(p, t) for p, t in self._sequences]

    def answers(self):
        """Distances, or CIGARs out of RapidFuzz's runs; the distance is then the letters in runs that are not equal."""
        if self._job.scope == "score":
            return [(OK, distance, "") for distance in self._raw]
        return [_answer(opcodes) for opcodes in self._raw]


def _answer(opcodes):
    runs = [(op.tag, max(op.src_end - op.src_start, op.dest_end - op.dest_start)) for op in opcodes]
    cost = sum(length for tag, length in runs if tag != "equal")
    return OK, cost, "".join(f"{length}{_LETTERS[tag]}" for tag, length in runs)


def adapters():
    """RapidFuzz has one variant."""
    return [RapidFuzz()]
