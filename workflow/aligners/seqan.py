"""SeqAn 2 through its C++ headers, where Debian's libseqan2-dev is installed: global gap-affine alignment.

Scores come from its batch interface, a pair in each 16-bit lane; a pair whose matrix does not fit 16 bits for sure goes
through its plain one, as all alignments do.
"""

from wfa_kernels.cigar import DELETION, INSERTION
from workflow.aligners import WORKING_MEMORY_BYTES
from workflow.aligners._native import NativeAdapter


class SeqAn(NativeAdapter):
    """The whole matrix, with a trace of a byte a cell."""

    tool = "seqan"
    part = "seqan"
    operations = {0: 0, 1: INSERTION, 2: DELETION}

    def too_large(self, pattern_lengths, text_lengths, job):
        """Pairs whose trace is over the bound."""
        return (job.scope == "cigar") & (pattern_lengths * text_lengths > WORKING_MEMORY_BYTES)


def adapters():
    """SeqAn has one variant here."""
    return [SeqAn()]
