"""Parasail through the shared library of its wheel; its faults and how they are met stand in parasail.py beside this.

One matrix for the batch, over ACGT and whatever other bytes it holds: Parasail scores a byte outside its alphabet as 0
against anything, and a zero byte ends the alphabet.
"""

import importlib.metadata
import importlib.util
from pathlib import Path

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from workflow.aligners import WORKING_MEMORY_BYTES, ToolMissing
from workflow.aligners._native import NativeAdapter
from workflow.aligners.parasail import _TRACE_BYTES, Parasail


class ParasailNative(NativeAdapter):
    """One layout of Parasail's global alignment. A letter extra in the text is its D."""

    tool = "parasail-native"
    part = "parasail"
    runs = True
    operations = {1: DELETION, 2: INSERTION, 7: MATCH, 8: MISMATCH}
    reserved = b"\x00"

    def __init__(self, variant):
        self.variant = variant

    @property
    def sources(self):
        """The binding's adapter tells which jobs it takes."""
        return (*super().sources, "workflow/aligners/parasail.py")

    def version(self):
        """The wheel's version and our compiler. Raises ToolMissing."""
        if self.shared_library() is None:
            raise ToolMissing("not installed: the package parasail with its shared library")
        return f"{importlib.metadata.version('parasail')}, {super().version()}"

    def shared_library(self):
        """Path of libparasail in the wheel as bytes, or None."""
        found = importlib.util.find_spec("parasail")
        paths = sorted(Path(found.origin).parent.glob("libparasail.*")) if found else []
        return bytes(paths[0]) if paths else None

    def unsupported(self, job):
        """Cases in which its scores are wrong without notice."""
        return Parasail(self.variant).unsupported(job)

    def too_large(self, pattern_lengths, text_lengths, job):
        """Pairs whose trace is over the bound."""
        trace_bytes = pattern_lengths * text_lengths * _TRACE_BYTES[self.variant]
        return (job.scope == "cigar") & (trace_bytes > WORKING_MEMORY_BYTES)


def adapters():
    """One for each vector layout."""
    return [ParasailNative(variant) for variant in _TRACE_BYTES]
