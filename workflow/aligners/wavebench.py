"""This project's own CPU kernels, one adapter for each algorithm, on one thread."""

import re

import wfa_kernels
from wfa_kernels import Affine
from workflow.aligners import ROOT, WORKING_MEMORY_BYTES, Adapter

#: Algorithm -> stems of its kernel files.
_KERNELS = {"wfa": ("edit_wfa", "affine_wfa"), "bpm": ("bpm",), "ond": ("ond",)}
_IMPORT = re.compile(r"^\s*from (wfa_kernels(?:\.\w+)+) import", re.MULTILINE)


class Wavebench(Adapter):
    """One algorithm of wfa_kernels.align()."""

    variant = "cpu"

    def __init__(self, algorithm):
        self.algorithm = algorithm
        self.tool = f"wavebench-{algorithm}"

    @property
    def sources(self):
        """The kernel's files, what schedules them, and all they import of the library; the GPU side is left out."""
        found, waiting = set(), ["api", "cpu/schedule", *(f"cpu/{stem}" for stem in _KERNELS[self.algorithm])]
        while waiting:
            name = f"wfa_kernels/{waiting.pop()}.py"
            if name in found or not (ROOT / name).is_file():
                continue
            found.add(name)
            for module in _IMPORT.findall((ROOT / name).read_text(encoding="utf-8")):
                path = module.removeprefix("wfa_kernels.").replace(".", "/")
                waiting += [] if path.startswith("cuda") else [path]
        return tuple(sorted(found))

    def version(self):
        """The library's version."""
        return wfa_kernels.__version__

    def unsupported(self, job):
        """Bit-parallel and O(ND) alignment know edit distance only."""
        if self.algorithm != "wfa" and isinstance(job.penalties, Affine):
            return "computes edit distance only"
        return None

    def prepare(self, pairs, job):
        """Nothing to do: the batch is the form align() takes."""
        self._pairs, self._job = pairs, job

    def run(self):
        """One call for the batch."""
        self._result = wfa_kernels.align(
            self._pairs,
            self._job.penalties,
            scope=self._job.scope,
            device="cpu",
            algorithm=self.algorithm,
            threads=1,
            memory_limit=WORKING_MEMORY_BYTES,
        )

    def outputs(self):
        """The result as it is."""
        return self._result


def adapters():
    """One for each algorithm."""
    return [Wavebench(algorithm) for algorithm in _KERNELS]
