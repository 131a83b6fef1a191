"""This project's own kernels: each algorithm on one CPU thread, and edit-distance WFA on the GPU."""

import re

import wfa_kernels
from wfa_kernels import Affine
from workflow.aligners import ROOT, WORKING_MEMORY_BYTES, Adapter, ToolMissing

#: Algorithm -> stems of its kernel files.
_KERNELS = {"wfa": ("edit_wfa", "affine_wfa"), "bpm": ("bpm",), "ond": ("ond",)}
_IMPORT = re.compile(r"^\s*from (wfa_kernels(?:\.\w+)+) import", re.MULTILINE)


class Wavebench(Adapter):
    """One algorithm of wfa_kernels.align() on the CPU."""

    variant = "cpu"
    starts = ("api", "cpu/schedule")

    def __init__(self, algorithm):
        self.algorithm = algorithm
        self.tool = f"wavebench-{algorithm}"

    @property
    def sources(self):
        """The kernel's files, what schedules them, and all they import of the library but the other device's side."""
        kernels = [f"{self.device}/{stem}" for stem in _KERNELS[self.algorithm]]
        found, waiting = set(), [*self.starts, *kernels]
        while waiting:
            name = f"wfa_kernels/{waiting.pop()}.py"
            if name in found or not (ROOT / name).is_file():
                continue
            found.add(name)
            for module in _IMPORT.findall((ROOT / name).read_text(encoding="utf-8")):
                path = module.removeprefix("wfa_kernels.").replace(".", "/")
                waiting += [path] if path.startswith(self.device) or "/" not in path else []
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
            device=self.device,
            algorithm=self.algorithm,
            threads=1,
            memory_limit=WORKING_MEMORY_BYTES,
        )

    def outputs(self):
        """The result as it is."""
        return self._result


class WavebenchGpu(Wavebench):
    """Edit-distance WFA of wfa_kernels.align() on the GPU, from ordinary (pageable) arrays."""

    variant = "fast"
    device = "cuda"
    quantity = "time_end_to_end_pageable"
    starts = ("api", "cuda/device")

    def version(self):
        """The library's version, where a GPU is usable."""
        problem = wfa_kernels.gpu_problem()
        if problem:
            raise ToolMissing(f"no GPU here: {problem}")
        return super().version()

    def unsupported(self, job):
        """Gap-affine kernels for the GPU are not built yet."""
        return "gap-affine alignment on the GPU is not built yet" if isinstance(job.penalties, Affine) else None


def adapters():
    """One for each algorithm on the CPU, and the GPU's."""
    return [*(Wavebench(algorithm) for algorithm in _KERNELS), WavebenchGpu("wfa")]
