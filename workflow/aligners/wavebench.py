"""This project's own CPU kernels: each algorithm on one thread, WFA on a pool of them."""

import re

import wfa_kernels
from wfa_kernels import Affine, Edit, StaticBand, WavefrontReduction
from workflow.aligners import ROOT, WORKING_MEMORY_BYTES, Adapter

#: (module, names) of an import from the library; a syntax tree of every file took a second in each process.
_IMPORT = re.compile(r"^\s*from wfa_kernels\.([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)
_NAME = re.compile(r"\w+")
#: Algorithm -> stems of the files that its kernels begin with.
_KERNELS = {
    "auto": ("edit", "affine"),
    "wfa": ("edit_groups", "affine_wfa"),
    "bits": ("affine_bits",),
    "bpm": ("bpm",),
    "ond": ("ond",),
}
#: Heuristics that are raced: variants that claim no exactness, whose recall is shown.
HEURISTICS = {"band": StaticBand(32), "reduction": WavefrontReduction()}
_NO_HEURISTIC = "its heuristics are for gap-affine alignment"


class Wavebench(Adapter):
    """One algorithm of wfa_kernels.align() on the CPU.

    pool: in threads of one process, each with a worker's memory. heuristic: a name of HEURISTICS, or None.
    """

    held_bytes_a_base, held_bytes_a_pair = 0.5, 50  # runs; offsets and scores. The batch is the data set's mapping

    def __init__(self, algorithm, pool=False, heuristic=None):
        self.algorithm, self.pool, self.exact = algorithm, pool, heuristic is None
        self.variant = heuristic or ("pool" if pool else "cpu")
        self.heuristic = HEURISTICS.get(heuristic)
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


def imported(starts, device):
    """Paths of the library's files of these stems, and of all that they import of it but another device's side."""
    found, waiting = set(), list(starts)
    while waiting:
        stem = waiting.pop()
        name = f"wfa_kernels/{stem}.py"
        if name not in found and (ROOT / name).is_file() and (stem.startswith(f"{device}/") or "/" not in stem):
            found.add(name)
            waiting += _imports(ROOT / name)
    return tuple(sorted(found))


def _imports(path):
    """Stems of what a file may import of the library, from a module or from a folder of modules."""
    for module, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
        stem = module.replace(".", "/")
        yield stem
        yield from (f"{stem}/{name}" for name in _NAME.findall(names))


def adapters():
    """One for each algorithm, the pool's, and those with a heuristic."""
    kernels = [*(Wavebench(algorithm) for algorithm in _KERNELS), Wavebench("wfa", pool=True)]
    return kernels + [Wavebench("wfa", heuristic=name) for name in HEURISTICS]
