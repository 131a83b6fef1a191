"""WFA2-lib through its C library: unidirectional (it keeps every wavefront for a CIGAR) and BiWFA, also score-only.

No heuristic, end to end, one thread. ``!`` and ``?`` are its end marks: a pair that holds one is refused. Its memory
bound is looked at every 3000 steps of the score; BiWFA gives up on some pairs where penalties reach the thousands.
"""

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from workflow.aligners._native import NativeAdapter


class Wfa2LibNative(NativeAdapter):
    """One memory mode of WFA2-lib. A letter extra in the text is its I, as ours."""

    tool = "wfa2-lib-native"
    part = "wfa2lib"
    operations = {ord("M"): MATCH, ord("X"): MISMATCH, ord("I"): INSERTION, ord("D"): DELETION}
    reserved = b"!?"

    def __init__(self, variant):
        self.variant = variant


def adapters():
    """One for each memory mode raced."""
    return [Wfa2LibNative(variant) for variant in ("unidirectional", "biwfa")]
