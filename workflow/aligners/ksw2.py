"""KSW2, minimap2's aligner, through its C code: ksw_extz2_sse over the whole matrix, 16 differences of 8 bits a vector.

Its global kernel ksw_gg2_sse is not in minimap2's source distribution, so it cannot be raced. No band and no drop, so
that its scores are exact; a CIGAR takes a byte a cell.
"""

import numpy as np

from wfa_kernels.cigar import DELETION, INSERTION
from workflow.aligners import WORKING_MEMORY_BYTES
from workflow.aligners._native import NativeAdapter

_INT8_MAX = 2**7 - 1
#: Bytes of one vector; its trace holds whole vectors of each anti-diagonal and one more.
_VECTOR = 16


class Ksw2(NativeAdapter):
    """The exact score at the far corner; with a trace, the CIGAR from there. Its M stands for match and mismatch."""

    tool = "ksw2"
    part = "ksw2"
    runs = True
    operations = {0: 0, 1: INSERTION, 2: DELETION}
    reserved = b"\x01"  # its wildcard letter, as the adapter sets it

    def unsupported(self, job):
        """Its differences of neighbouring cells hold 8 bits, and it never mismatches where two gaps cost less."""
        mismatch, gap_open, gap_extend = job.penalties.triple
        if 2 * (gap_open + gap_extend) > _INT8_MAX:
            return f"its 8-bit differences hold twice a gap's first letter up to {_INT8_MAX}"
        if mismatch > 2 * (gap_open + gap_extend):
            return "takes no mismatch that costs more than two gaps of one letter"
        return None

    def too_large(self, pattern_lengths, text_lengths, job):
        """Pairs whose trace is over the bound."""
        columns = (np.minimum(pattern_lengths, text_lengths) + _VECTOR - 1) // _VECTOR + 1
        trace_bytes = (pattern_lengths + text_lengths - 1) * columns * _VECTOR
        return (job.scope == "cigar") & (trace_bytes > WORKING_MEMORY_BYTES)


def adapters():
    """KSW2 has one variant here."""
    return [Ksw2()]
