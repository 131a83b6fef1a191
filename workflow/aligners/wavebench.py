"""This project's own kernels: each algorithm on one CPU thread, WFA on a pool of them, and those of the GPU."""

import re

import wfa_kernels
from wfa_kernels import Affine, Edit, PaperDesign, StaticBand, WavefrontReduction
from workflow.aligners import DEVICE_MEMORY_BYTES, ROOT, WORKING_MEMORY_BYTES, Adapter, ToolMissing

#: Algorithm -> stems of its kernel files.
_KERNELS = {
    "auto": ("edit", "edit_wfa", "affine", "affine_bits", "affine_wfa", "clean"),
    "wfa": ("edit_wfa", "affine_wfa"),
    "bits": ("affine_bits", "affine_wfa"),
    "bpm": ("bpm",),
    "ond": ("ond",),
}
#: Threads per block of the papers' design that are raced (journal Table 4).
_BLOCK_THREADS = (32, 64, 128, 256, 512, 1024)
#: Heuristics that are raced: variants that claim no exactness, whose recall is shown.
_HEURISTICS = {"band": StaticBand(32), "reduction": WavefrontReduction()}
_NO_HEURISTIC = "its heuristics are for gap-affine alignment"
#: Penalties of the GPU's tools -> what only they need of the library, as parts of the names of files.
_GPU_TOOLS = {
    Edit: ("banded_bpm", "edit_design", "edit_wfa_global"),
    Affine: ("affine_bits", "affine_forward", "affine_design", "affine_wfa"),
}
#: What brings a batch where it shall lie.
_BRING = {
    "pinned": wfa_kernels.pin_pairs,
    "packed": wfa_kernels.pack_pairs,
    "registered": wfa_kernels.register_pairs,
}
_IMPORT = re.compile(r"^\s*from (wfa_kernels(?:\.\w+)+) import", re.MULTILINE)


class Wavebench(Adapter):
    """One algorithm of wfa_kernels.align() on the CPU.

    pool: in threads of one process, each with a worker's memory. heuristic: a name of _HEURISTICS, or None.
    """

    def __init__(self, algorithm, pool=False, heuristic=None):
        self.algorithm, self.pool, self.exact = algorithm, pool, heuristic is None
        self.variant = heuristic or ("pool" if pool else "cpu")
        self.heuristic = _HEURISTICS.get(heuristic)
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
        """Bit-parallel and O(ND) alignment know edit distance only, heuristics gap-affine costs only."""
        if self.heuristic and isinstance(job.penalties, Edit):
            return _NO_HEURISTIC
        if self.algorithm in ("bpm", "ond") and isinstance(job.penalties, Affine):
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
            heuristic=self.heuristic,
        )

    def outputs(self):
        """The result as it is."""
        return self._raw


class WavebenchGpu(Adapter):
    """wfa_kernels.align() on the GPU by one of its designs.

    penalties: Edit or Affine, what the tool computes. source: where the pairs lie when the clock starts: "pinned",
    page-locked; "pageable", in ordinary arrays, as a caller has them; "packed", page-locked and packed to 2 bits;
    "registered", page-locked in the data set's own mapping, in no experiment (docs/decisions/registered-input.md). One
    tool under several ids: the samples differ in their quantity only. block_threads: of the papers' design, in place of
    its own. heuristic: of the papers' design, a name of _HEURISTICS, or None.
    """

    device = "cuda"
    held_bytes_a_base, held_bytes_a_pair = 2, 50  # the letters page-locked once more, runs; offsets and scores

    def __init__(self, penalties, design, source="pinned", block_threads=None, heuristic=None):
        self.penalties, self.tool = penalties, f"wavebench-{penalties.__name__.lower()}"
        self.variant = design if block_threads is None else f"{design}-t{block_threads}"
        self.variant += f"-{heuristic}" if heuristic else ""
        self.heuristic, self.exact = _HEURISTICS.get(heuristic), heuristic is None
        self.design = design if block_threads is None else PaperDesign(block_threads)
        self.source, self.quantity = source, f"time_end_to_end_{source}"
        self.input = "packed2" if source == "packed" else "ascii"

    @property
    def id(self):
        """The tool, its design, and ``@pageable``, ``@packed`` or ``@registered``."""
        return f"{self.tool}:{self.variant}" + ("" if self.source == "pinned" else f"@{self.source}")

    @property
    def sources(self):
        """Every file of the GPU's side and what it imports of the library, but what only the other tool needs."""
        kernels = [path.stem for path in (ROOT / "wfa_kernels/cuda").glob("*.py") if path.stem != "__init__"]
        found = imported(["api", *(f"cuda/{stem}" for stem in kernels)], "cuda")
        others = [part for penalties, parts in _GPU_TOOLS.items() if penalties is not self.penalties for part in parts]
        return tuple(path for path in found if not any(part in path for part in others))

    def version(self):
        """The library's version, where a GPU is usable."""
        problem = wfa_kernels.gpu_problem()
        if problem:
            raise ToolMissing(f"no usable GPU: {problem}")
        return wfa_kernels.__version__

    def unsupported(self, job):
        """Each tool has kernels for its own penalties."""
        if isinstance(job.penalties, self.penalties):
            return None
        return "computes edit distance only" if self.penalties is Edit else "computes gap-affine alignment only"

    def prepare(self, pairs, job):
        """Page-lock the letters, or pack them, where they shall be."""
        bring = _BRING.get(self.source)
        self._pairs, self._job = bring(pairs) if bring else pairs, job

    def run(self):
        """One call for the batch."""
        self._raw = wfa_kernels.align(
            self._pairs,
            self._job.penalties,
            scope=self._job.scope,
            device="cuda",
            design=self.design,
            device_memory=DEVICE_MEMORY_BYTES,
            heuristic=self.heuristic,
        )

    def timings(self):
        """Copies and kernels by the GPU's clock; of the pinned run only, as they are the same work."""
        return self._raw.timings if self.source == "pinned" else {}

    def peak_memory(self, reset):
        """Page-locked and device memory of the library; see Adapter."""
        return {f"peak_{kind}_bytes": size for kind, size in wfa_kernels.gpu_peak_memory(reset).items()}

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
    """One for each algorithm on the CPU, the pool's, and on the GPU two designs, from several kinds of memory.

    Those with a heuristic come last; those of the GPU are in no experiment, as their recall is that of the CPU's.
    """
    on_cpu = [*(Wavebench(algorithm) for algorithm in _KERNELS), Wavebench("wfa", pool=True)]
    designs = (Edit, "fast"), (Edit, "paper"), (Affine, "fast"), (Affine, "paper")
    on_gpu = [WavebenchGpu(*design, source) for design in designs for source in ("pinned", "pageable")]
    swept = [WavebenchGpu(Edit, "paper", block_threads=threads) for threads in _BLOCK_THREADS]
    further = [WavebenchGpu(Edit, "fast", source) for source in ("packed", "registered")]
    reduced = [Wavebench("wfa", heuristic=name) for name in _HEURISTICS]
    reduced += [WavebenchGpu(Affine, "paper", heuristic=name) for name in _HEURISTICS]
    return on_cpu + on_gpu + further + swept + reduced
