"""Edlib through its C library: Myers' bit-vector edit distance, banded. Paths by Hirschberg's division."""

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from workflow.aligners._native import NativeAdapter


class EdlibNative(NativeAdapter):
    """Global distance or path. A column of its path is 0 to 3; 1 is a letter extra in the pattern."""

    tool = "edlib-native"
    part = "edlib"
    edit_only = True
    operations = {0: MATCH, 1: DELETION, 2: INSERTION, 3: MISMATCH}


def adapters():
    """Edlib has one variant."""
    return [EdlibNative()]
