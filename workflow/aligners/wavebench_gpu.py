"""This project's own GPU kernels: two designs for each kind of penalties, from several kinds of memory."""

import wfa_kernels
from wfa_kernels import Affine, Edit, PaperDesign
from workflow.aligners import ROOT, Adapter, ToolMissing
from workflow.aligners.wavebench import HEURISTICS, imported

#: Threads per block of the papers' design that are raced (journal Table 4).
_BLOCK_THREADS = (32, 64, 128, 256, 512, 1024)
#: Penalties of the GPU's tools -> what only they need of the library, as parts of the names of files.
_GPU_TOOLS = {
    Edit: ("banded_bpm", "edit_design", "edit_wfa_global"),
    Affine: ("affine_bits", "affine_design", "affine_wfa", "long_reads"),
}
#: What brings a batch where it shall lie.
_BRING = {
    "pinned": wfa_kernels.pin_pairs,
    "packed": wfa_kernels.pack_pairs,
    "registered": wfa_kernels.register_pairs,
}
#: Bytes of page-locked memory a base that the process of these tools holds, by estimate and at most: letters as they
#: are and packed, and what align() keeps for CIGARs, 0.4 at 10 % errors.
_HELD = 1.75


class Brought:
    """The most pairs of a data set that this process has brought to each of the places where they may lie.

    The cells of all tools and both scopes take the same ones: page-locking ten million pairs takes seconds, and 100M of
    150 letters are 30 GB.
    """

    def __init__(self):
        self.release()

    def release(self):
        """Free them."""
        self._held = {}  # {source: (pairs, the same where they shall lie)}

    def take(self, pairs, source):
        """The pairs where they shall lie; those of a cell before where it had the same ones."""
        if source not in _BRING:
            return pairs
        held, there = self._held.get(source, (None, None))
        alike = held is not None and _starts(pairs) == _starts(held)
        if alike and len(pairs) == len(held):
            return there
        if alike and len(pairs) < len(held):
            return _BRING[source](pairs) if source == "packed" else there[: len(pairs)]
        del held, there
        self._held.pop(source, None)  # its memory comes back before more is taken
        self._held[source] = pairs, _BRING[source](pairs)
        return self._held[source][1]

    def bytes_besides(self, pairs, source):
        """Bytes of page-locked memory that are held for others than these pairs, which were taken from the source."""
        held = {of: there for of, (_, there) in self._held.items()}
        besides = sum(there.page_locked_bytes for there in held.values())
        if source in held and (source != "packed" or held[source] is pairs):
            besides -= pairs.page_locked_bytes
        return besides


def _starts(pairs):
    """Where the arrays of a batch begin: as long as it is kept, no other data set's lie there."""
    arrays = pairs.pattern, pairs.pattern_offsets, pairs.text, pairs.text_offsets
    return tuple(array.__array_interface__["data"][0] for array in arrays)


_brought = Brought()


class WavebenchGpu(Adapter):
    """wfa_kernels.align() on the GPU by one of its designs.

    penalties: Edit or Affine, what the tool computes. source: where the pairs lie when the clock starts: "pinned",
    page-locked; "pageable", in ordinary arrays, as a caller has them; "packed", page-locked and packed to 2 bits;
    "registered", page-locked in the data set's own mapping, in no experiment (docs/decisions/registered-input.md). One
    tool under several ids: the samples differ in their quantity only. block_threads: of the papers' design, in place of
    its own. heuristic: of the papers' design, a name of HEURISTICS, or None.
    """

    device = "cuda"
    process = "wavebench_gpu"  # the letters, and what align() keeps for its next call, are there once for all
    held_bytes_a_base, held_bytes_a_pair, shared_bytes_a_base = 0, 0, _HELD

    def __init__(self, penalties, design, source="pinned", block_threads=None, heuristic=None):
        self.penalties, self.tool = penalties, f"wavebench-{penalties.__name__.lower()}"
        self.variant = design if block_threads is None else f"{design}-t{block_threads}"
        self.variant += f"-{heuristic}" if heuristic else ""
        self.heuristic, self.exact = HEURISTICS.get(heuristic), heuristic is None
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
        ours = tuple(path for path in found if not any(part in path for part in others))
        return (*ours, "workflow/aligners/wavebench.py") if self.heuristic else ours

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
        self._pairs, self._job = _brought.take(pairs, self.source), job

    def run(self):
        """One call for the batch."""
        self._raw = wfa_kernels.align(
            self._pairs,
            self._job.penalties,
            scope=self._job.scope,
            device="cuda",
            design=self.design,
            heuristic=self.heuristic,
        )

    def release(self):
        """Free the pairs that were brought, and what align() keeps: what comes next are other pairs."""
        _brought.release()
        wfa_kernels.release_gpu_memory()

    def timings(self):
        """Copies and kernels by the GPU's clock; of the pinned run only, as they are the same work."""
        return self._raw.timings if self.source == "pinned" else {}

    def counts(self):
        """Pairs that no kernel could do: the CPU did them, on all cores, while the clock ran; and bytes over the wire.

        Those in are told of packed letters alone: the library packs some of the others on the way.
        """
        found = {"rescued": self._raw.rescued, "bytes_out": bytes_out(self._raw)}
        # All of it crosses: planes of 2 bits a letter; records of 2 lengths of 8, 16 or 32 bits a pair, and 2 places of
        # 32 bits each 128 pairs (wfa_kernels/cuda/records.py).
        return found | ({"bytes_in": self._pairs.page_locked_bytes} if self.source == "packed" else {})

    def peak_memory(self, reset):
        """Page-locked and device memory of the library, with the tool's own letters; see Adapter.

        Before a reset, what align() kept of other tools' calls is given back.
        """
        if reset:
            wfa_kernels.release_gpu_memory()
        peaks = wfa_kernels.gpu_peak_memory(reset)
        peaks["pinned"] -= _brought.bytes_besides(self._pairs, self.source)
        return {f"peak_{kind}_bytes": size for kind, size in peaks.items()}

    def outputs(self):
        """The result as it is."""
        return self._raw


def bytes_out(result):
    """Bytes of an AlignmentResult on the wire from the GPU; a few more a batch are left out.

    wfa_kernels/cuda/buffers.py: scores cross as int32 and CIGARs as uint32 a run. Where each of them ends is uint32
    there and widened on the host, and statuses are the host's own.
    """
    if result.cigars is None:
        return 4 * len(result)
    return (4 + 4) * len(result) + 4 * len(result.cigars)


def adapters():
    """Two designs from page-locked and ordinary memory, further sources of the fast one, the papers' block sizes, and
    the papers' gap-affine one with a heuristic."""
    designs = (Edit, "fast"), (Edit, "paper"), (Affine, "fast"), (Affine, "paper")
    both = [WavebenchGpu(*design, source) for design in designs for source in ("pinned", "pageable")]
    further = [WavebenchGpu(Edit, "fast", source) for source in ("packed", "registered")]
    swept = [WavebenchGpu(Edit, "paper", block_threads=threads) for threads in _BLOCK_THREADS]
    return both + further + swept + [WavebenchGpu(Affine, "paper", heuristic=name) for name in HEURISTICS]
