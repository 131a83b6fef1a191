"""WFA2-lib through its pywfa binding: the unidirectional wavefront (its default memory mode) and BiWFA.

No heuristic, end to end, one thread. It names gaps as we do and writes a match as ``M``; its gap-affine scores are
negated costs, its edit distances are not. The binding upper-cases its strings, so a pair that holds a letter in both
cases is refused, as is one with ``!`` or ``?``, the library's end marks (it can crash on them), or a byte past ASCII.
A wavefront with its backtrace takes memory in the square of the score; it stops at a bound looked at every 3000 steps
of the score, so it can pass it by a fifth. BiWFA gives up on some pairs where penalties reach the thousands.
"""

from wfa_kernels import Edit
from wfa_kernels.result import OK, OUT_OF_MEMORY, UNSUPPORTED
from workflow.aligners import WORKING_MEMORY_BYTES
from workflow.aligners._library import LibraryAdapter

_MEMORY_MODES = {"unidirectional": "high", "biwfa": "biwfa"}
_LETTERS = {0: "=", 1: "I", 2: "D", 8: "X"}
_END_MARKS = b"!?"
_OUT_OF_MEMORY = -200  # WF_STATUS_OOM


class Wfa2Lib(LibraryAdapter):
    """One memory mode of WFA2-lib."""

    tool = "wfa2-lib"
    module = package = "pywfa"
    build_note = ": pywfa needs a C compiler to build"

    def __init__(self, variant):
        self.variant = variant

    def version(self):
        """The binding's version, which holds its own copy of the library."""
        return f"pywfa {super().version()}"

    def refusal(self, pattern, text, job):
        """Refuse what the binding would not compare literally."""
        both = pattern + text
        if not both.translate(None, b"ACGT"):
            return OK
        letters = set(both)
        literal = both.isascii() and len(letters) == len(set(both.upper())) and letters.isdisjoint(_END_MARKS)
        return OK if literal else UNSUPPORTED

    def ask(self, sequences, job):
        """Make the aligner, and strings of the bytes."""
        from pywfa import WavefrontAligner

        mismatch, gap_open, gap_extend = job.penalties.triple
        self._aligner = WavefrontAligner(
            distance="levenshtein" if isinstance(job.penalties, Edit) else "affine",
            mismatch=mismatch,
            gap_opening=gap_open,
            gap_extension=gap_extend,
            scope="score" if job.scope == "score" else "full",
            span="end-to-end",
            heuristic=None,
            memory_mode=_MEMORY_MODES[self.variant],
            max_memory=WORKING_MEMORY_BYTES,
        )
        self._inputs = [(t.decode(), p.decode()) for p, t in sequences]

    def run(self):
        """One call a pair."""
        aligner, align = self._aligner, self._aligner.wavefront_align
        if self._job.scope == "score":
            self._raw = [(align(t, p), aligner.status, ()) for t, p in self._inputs]
        else:
            self._raw = [(align(t, p), aligner.status, aligner.cigartuples) for t, p in self._inputs]

    def answers(self):
        """Costs and CIGARs; a status of the library that is not done is a pair without an answer."""
        return [_answer(*raw) for raw in self._raw]


def _answer(score, status, runs):
    if status:
        return OUT_OF_MEMORY if status == _OUT_OF_MEMORY else UNSUPPORTED, None, None
    return OK, abs(score), "".join(f"{length}{_LETTERS[code]}" for code, length in runs)


def adapters():
    """One for each memory mode raced."""
    return [Wfa2Lib(variant) for variant in _MEMORY_MODES]
