"""This project's own kernels: each algorithm on one CPU thread, WFA on a pool of them, edit distance on the GPU."""

import re

import wfa_kernels
from wfa_kernels import Affine
from workflow.aligners import ROOT, WORKING_MEMORY_BYTES, Adapter, ToolMissing

#: Algorithm -> stems of its kernel files.
_KERNELS = {"wfa": ("edit_wfa", "affine_wfa"), "bpm": ("bpm",), "ond": ("ond",)}
_IMPORT = re.compile(r"^\s*from (wfa_kernels(?:\.\w+)+) import", re.MULTILINE)


class Wavebench(Adapter):
    """One algorithm of wfa_kernels.align() on the CPU; pool: in threads of one process, each with a worker's memory."""

    variant = "cpu"

    def __init__(self, algorithm, pool=False):
        self.algorithm, self.pool = algorithm, pool
        if pool:
            self.variant = "pool"
        self.tool = f"wavebench-{algorithm}"

    @property
    def sources(self):
        """The kernel's files, what schedules them, and all they import of the library but the other device's side."""
        kernels = [f"cpu/{stem}" for stem in _KERNELS[self.algorithm]]
        return imported(["api", "cpu/schedule", *kernels], "cpu")

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
        self._raw = wfa_kernels.align(
            self._pairs,
            self._job.penalties,
            scope=self._job.scope,
            device="cpu",
            algorithm=self.algorithm,
            threads=self.threads,
            memory_limit=WORKING_MEMORY_BYTES * self.threads,
        )

    def outputs(self):
        """The result as it is."""
        return self._raw


class WavebenchGpu(Adapter):
    """Edit distance of wfa_kernels.align() on the GPU by one of its designs.

    pinned: from page-locked memory; else from ordinary arrays, as a caller has them. Two ids, one tool: the samples of
    the two differ in their quantity only.
    """

    tool = "wavebench-edit"
    device = "cuda"

    def __init__(self, design, pinned):
        self.variant, self.pinned = design, pinned
        self.quantity = "time_end_to_end_pinned" if pinned else "time_end_to_end_pageable"

    @property
    def id(self):
        """The tool, its design, and ``@pageable`` for ordinary memory."""
        return f"{self.tool}:{self.variant}" + ("" if self.pinned else "@pageable")

    @property
    def sources(self):
        """Every file of the GPU's side, and what it imports of the library."""
        kernels = [path.stem for path in (ROOT / "wfa_kernels/cuda").glob("*.py") if path.stem != "__init__"]
        return imported(["api", *(f"cuda/{stem}" for stem in kernels)], "cuda")

    def version(self):
        """The library's version, where a GPU is usable."""
        problem = wfa_kernels.gpu_problem()
        if problem:
            raise ToolMissing(f"no usable GPU: {problem}")
        return wfa_kernels.__version__

    def unsupported(self, job):
        """Gap-affine kernels for the GPU are not built yet."""
        return "gap-affine alignment on the GPU is not built yet" if isinstance(job.penalties, Affine) else None

    def prepare(self, pairs, job):
        """Page-lock the letters where they shall be."""
        self._pairs, self._job = wfa_kernels.pin_pairs(pairs) if self.pinned else pairs, job

    def run(self):
        """One call for the batch."""
        self._raw = wfa_kernels.align(
            self._pairs, self._job.penalties, scope=self._job.scope, device="cuda", design=self.variant
        )

    def timings(self):
        """Copies and kernels by the GPU's clock; of the pinned run only, as they are the same work."""
        return self._raw.timings if self.pinned else {}

    def outputs(self):
        """The result as it is."""
        return self._raw


def imported(starts, device):
    """Paths of the library's files of these stems, and of all that they import of it but another device's side."""
    found, waiting = set(), list(starts)
    while waiting:
        name = f"wfa_kernels/{waiting.pop()}.py"
        if name in found or not (ROOT / name).is_file():
            continue
        found.add(name)
        for module in _IMPORT.findall((ROOT / name).read_text(encoding="utf-8")):
            path = module.removeprefix("wfa_kernels.").replace(".", "/")
            waiting += [path] if path.startswith(device) or "/" not in path else []
    return tuple(sorted(found))


def adapters():
    """One for each algorithm on the CPU, the pool's, and the GPU's two designs from two kinds of memory."""
    on_cpu = [*(Wavebench(algorithm) for algorithm in _KERNELS), Wavebench("wfa", pool=True)]
    return on_cpu + [WavebenchGpu(design, pinned) for design in ("fast", "paper") for pinned in (True, False)]
