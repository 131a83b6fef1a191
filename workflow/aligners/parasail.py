"""Parasail: SIMD Needleman-Wunsch with affine gaps, in its striped, scan and diagonal layouts.

16-bit kernels, rerun at 32 bits where they saturate. A pair whose longer side as one gap comes near 16 bits goes to the
32-bit kernels at once: past that edge all kernels saturate, and close to it the diagonal one does not notice.

Its scores are negated costs (match 0); its ``open`` is the cost of a gap's first letter; a letter extra in the text is
its ``D``. Its matrices fold case unless told not to, and score a byte outside their alphabet as 0 against anything:
pairs of pure ACGT use a matrix of those four letters, other pairs one over every byte of the batch.
"""

from wfa_kernels.result import OK, OUT_OF_MEMORY, UNSUPPORTED
from workflow.aligners import WORKING_MEMORY_BYTES
from workflow.aligners._library import SWAP_GAPS, LibraryAdapter

_DNA = b"ACGT"
#: Costs from here on come too near the range of the 16-bit kernels.
_COST_LIMIT = 4096
_INT16_MAX = 2**15 - 1
#: Bytes of trace per cell of the 32-bit kernels, measured: striped and scan keep whole vectors.
_TRACE_BYTES = {"striped": 4, "scan": 4, "diag": 1}


class Parasail(LibraryAdapter):
    """One layout of Parasail's global alignment. Trace memory grows with the product of the lengths."""

    tool = "parasail"
    module = package = "parasail"

    def __init__(self, variant):
        self.variant = variant

    def unsupported(self, job):
        """Cases in which its scores are wrong without notice."""
        mismatch, gap_open, gap_extend = job.penalties.triple
        if max(mismatch, gap_open + gap_extend) >= _COST_LIMIT:
            return f"its 16-bit kernels hold costs below {_COST_LIMIT} for a mismatch or a gap's first letter"
        if self.variant == "striped" and gap_open == 0 and job.scope == "score":
            return "nw_striped gives wrong scores where opening a gap costs nothing extra (edit and linear penalties)"
        return None

    def refusal(self, pattern, text, job):
        """Refuse a zero byte, which ends its alphabet, and a trace over the memory bound."""
        if 0 in pattern or 0 in text:
            return UNSUPPORTED
        trace_bytes = len(pattern) * len(text) * _TRACE_BYTES[self.variant]
        return OUT_OF_MEMORY if job.scope == "cigar" and trace_bytes > WORKING_MEMORY_BYTES else OK

    def ask(self, sequences, job):
        """Build the matrices, and give every pair its own and its kernel."""
        import parasail

        mismatch, gap_open, gap_extend = job.penalties.triple
        self._gap = gap_open + gap_extend, gap_extend
        kind = f"nw_{self.variant}" if job.scope == "score" else f"nw_trace_{self.variant}"
        narrow, self._wide = getattr(parasail, f"{kind}_16"), getattr(parasail, f"{kind}_32")
        longest = (_INT16_MAX - mismatch - 2 * gap_open - gap_extend) // gap_extend

        pure = [not (p.translate(None, _DNA) or t.translate(None, _DNA)) for p, t in sequences]
        others = set().union(_DNA, *(p + t for (p, t), is_pure in zip(sequences, pure, strict=True) if not is_pure))
        dna, full = (
            parasail.matrix_create(letters, 0, -mismatch, case_sensitive=True)
            for letters in (_DNA, bytes(sorted(others)))
        )
        self._inputs = [
            (p, t, dna if is_pure else full, narrow if max(len(p), len(t)) <= longest else self._wide)
            for (p, t), is_pure in zip(sequences, pure, strict=True)
        ]

    def run(self):
        """One call a pair, two where 16 bits saturate; the trace is walked here and its table freed."""
        wide, trace = self._wide, self._job.scope == "cigar"
        first, extend = self._gap
        self._raw = raw = []
        for p, t, matrix, align in self._inputs:
            result = align(p, t, first, extend, matrix)
            if result.saturated:
                result = wide(p, t, first, extend, matrix)
            raw.append((result.score, result.get_cigar(case_sensitive=True) if trace else None))

    def answers(self):
        """Costs, and CIGARs with gaps named from the pattern's side."""
        return [
            (OK, -score, cigar.decode.decode().translate(SWAP_GAPS) if cigar is not None else "")
            for score, cigar in self._raw
        ]


def adapters():
    """One for each vector layout."""
    return [Parasail(variant) for variant in ("striped", "scan", "diag")]
