"""align(): the one way in. It checks what is asked, picks the kernel and joins the answers."""

import importlib
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from types import SimpleNamespace

import numpy as np

from wfa_kernels import designs, heuristics
from wfa_kernels.pairs import PairBatch
from wfa_kernels.penalties import MAX_SCORE, Affine, Edit, worst_cost

SCOPES = ("score", "cigar")
DEVICES = ("cpu", "cuda", "auto")
ALGORITHMS = ("auto", "wfa", "bits", "bpm", "ond")
SPANS = ("global",)
DEFAULT_MEMORY_LIMIT = 2 * 2**30
#: Least device memory: the buffers of a batch and of a block of every kernel.
LEAST_DEVICE_MEMORY = 256 * 2**20
#: Most threads, and most bytes of memory, that can be asked for.
MOST_THREADS, MOST_BYTES = 4096, 2**62

#: Pairs whose lengths stay in the processor's cache.
_BLOCK = 1 << 14
#: (algorithm, penalties) -> stem of the kernel file in cpu/.
_STEMS = {
    ("auto", Edit): "edit",
    ("auto", Affine): "affine",
    ("wfa", Edit): "edit_groups",
    ("wfa", Affine): "affine_wfa",
    ("bits", Edit): "affine_bits",
    ("bits", Affine): "affine_bits",
    ("bpm", Edit): "bpm",
    ("ond", Edit): "ond",
}


class AlignError(ValueError):
    """A request align() cannot serve: the message says what is allowed."""


def align(
    pairs,
    penalties,
    scope="score",
    span="global",
    device="auto",
    design="fast",
    algorithm="auto",
    threads=None,
    memory_limit=DEFAULT_MEMORY_LIMIT,
    device_memory=None,
    progress=None,
    heuristic=None,
):
    """Align every pair of a batch: exactly, unless a heuristic is asked for.

    pairs: PairBatch of n pairs. penalties: Edit() or Affine(mismatch, gap_open, gap_extend).
    scope: "score", or "cigar" for the alignment too. span: "global" (end to end).
    device: "cpu", "cuda", or "auto". "auto" is the CPU so far: before the GPU is the faster one its kernels take 15 to
    23 seconds to compile, and in later processes, from Numba's cache, one to two seconds to load.
    design: of the GPU kernels: "fast", or "paper", eWFA-GPU's way for edit distance and WFA-GPU's for gap-affine costs
    (one thread block a pair), to study them, or a PaperDesign.
    algorithm: "wfa", "bits" (dynamic programming in bit planes, many pairs at once), or for edit distance on the CPU
    "bpm" (Myers' bit-parallel) and "ond" (Myers' O(ND)); "auto" picks. threads: CPU threads, all usable cores by
    default. memory_limit: bytes of working memory over these threads; where a thread's share is too little for bit
    planes, which of several cheapest alignments is found depends on the threads. Whether a pair that just about fits is
    out_of_memory may depend on them, too, and on the pairs beside it.
    device_memory: bytes of device memory on the GPU, by default half of what is free.
    progress: callable that is told the number of pairs just done. An interrupt takes effect behind the pairs under way,
    of which a long one may take minutes.
    heuristic: None, StaticBand(width) or WavefrontReduction(min_length, max_distance), for gap-affine penalties by
    wavefronts: on the CPU algorithm "auto" or "wfa", on the GPU design "paper". Scores may be above the optimum, are
    those of the CIGARs, and do not depend on the device or on where a pair is rescued.
    On the GPU, which of several cheapest alignments is found may depend on the pairs beside it and on calls before.

    Returns an AlignmentResult in the order of the batch: a pair whose working memory does not fit has status
    out_of_memory and score -1; all others have an answer, without a heuristic the optimum. Raises AlignError.
    """
    _check(pairs, penalties, scope, span, device, threads, memory_limit, device_memory, progress)
    design = _design(design, device, isinstance(penalties, Affine))
    stem = _stem(algorithm, penalties)
    if heuristic is not None:
        stem = _check_heuristic(heuristic, pairs, penalties, algorithm, device == "cuda" and design == designs.FAST)
    on_cpu = partial(
        _align_cpu, stem, penalties=penalties, scope=scope, threads=threads, memory_limit=memory_limit,
        heuristic=heuristic,
    )  # fmt: skip
    if _on_gpu(device, algorithm):
        result = _align_cuda(pairs, penalties, scope, design, device_memory, heuristic, on_cpu)
        if progress is not None:
            progress(len(pairs))
        return result
    return on_cpu(pairs, progress=progress)


def gpu_problem(simulator=False):
    """Why device "cuda" cannot be used here, as text; None where it can. simulator: Numba's simulator will do."""
    from wfa_kernels.cuda import device

    usable = device.available() and (simulator or not device.simulated())
    return None if usable else device.describe()


def pin_pairs(pairs):
    """A copy of a PairBatch in page-locked memory: align() on a GPU reads it at the full speed of the wire.

    Raises AlignError where there is no GPU, MemoryError where so much can not be page-locked.
    """
    _require_batch(pairs)
    _require_gpu()
    from wfa_kernels.cuda import pinned

    return pinned.pin(pairs)


def pack_pairs(pairs):
    """A PairBatch with its letters packed to 2 bits as well, in page-locked memory.

    align() on a GPU copies a quarter of the bytes then; everywhere else it serves as the PairBatch it is. Pairs with
    other letters than A, C, G and T are aligned on the CPU. Raises AlignError where there is no GPU to pack them,
    MemoryError where so much can not be page-locked.
    """
    _require_batch(pairs)
    _require_gpu()
    from wfa_kernels.cuda import pinned

    return pinned.pack(pairs)


def register_pairs(pairs):
    """A PairBatch over the same memory, page-locked as long as it lives: what pin_pairs() copies, without the copy.

    pairs: PairBatch, a memory-mapped one too, whose file must not change meanwhile. Raises AlignError where there is no
    GPU or its driver refuses to lock that memory; pin_pairs() is then the way.
    """
    _require_batch(pairs)
    _require_gpu()
    from wfa_kernels.cuda import registered

    try:
        return registered.register(pairs)
    except registered.RegisterError as error:
        raise AlignError(f"{error}; pin_pairs() copies them") from None


def gpu_peak_memory(reset=False):
    """{"device": bytes, "pinned": bytes}: the most that this library held at once on the GPU and page-locked.

    reset: count anew from now on. Raises AlignError where there is no GPU.
    """
    _require_gpu()
    from wfa_kernels.cuda import memory

    return memory.peak_bytes(reset)


def gpu_kernel_facts(longest_bp, design="paper", scope="cigar"):
    """What the compiler says of the papers' kernels of edit distance on the current GPU.

    longest_bp: letters of the longest sequence.
    Returns a dict for each kernel: kernel, max_errors, block_threads, registers (of a thread), shared_bytes (of a
    block), local_bytes (of a thread), active_warps_per_sm (at most). Raises AlignError where there is no GPU.
    """
    _require_gpu()
    if gpu_problem():
        raise AlignError(f"kernels can be asked on a GPU only: {gpu_problem()}")
    design = _design(design, "cuda", affine=False)
    if design == designs.FAST:
        raise AlignError("only the kernels of design 'paper' can be asked")
    from wfa_kernels.cuda import edit_wfa

    return edit_wfa.kernel_facts(longest_bp, design, scope == "cigar")


@contextmanager
def watch_gpu_warps(most_warps=1 << 22):
    """Within, each warp of align()'s kernels on a GPU leaves a stamp of when and where it ran, which takes some time.

    most_warps: that there is room for. Gives an object with clear(), which forgets the stamps so far, and read(), for
    the cuda.stamps.WarpStamps of the calls since then. What is watched is what the last calls have set up: call align()
    on pairs of the same kind before. Raises AlignError where there is no GPU, and where no call was before.
    """
    _require_gpu()
    from wfa_kernels.cuda import kept_streams, stamps

    slots = kept_streams.slots()
    if not slots:
        raise AlignError("nothing to watch yet: call align() on a GPU before, with pairs of the same kind")
    with stamps.watching(slots, most_warps) as watch:
        yield watch


def release_gpu_memory():
    """Give back the device and page-locked memory that align() on a GPU keeps for its next call.

    Raises RuntimeError in a signal's handler that such a call of this thread has let in: it uses that memory.
    """
    _require_gpu()
    from wfa_kernels.cuda import aligner

    aligner.release()


def _require_batch(pairs):
    if not isinstance(pairs, PairBatch):
        raise AlignError(f"pairs must be a PairBatch, not {type(pairs).__name__}; see PairBatch.from_strings")


def _check(pairs, penalties, scope, span, device, threads, memory_limit, device_memory, progress):
    _require_batch(pairs)
    if not isinstance(penalties, Edit | Affine):
        raise AlignError(f"penalties must be Edit() or Affine(...), not {penalties!r}")
    if progress is not None and not callable(progress):
        raise AlignError(f"progress must be a callable that takes a number of pairs, or None, not {progress!r}")
    for name, value, allowed in (
        ("scope", scope, SCOPES),
        ("span", span, SPANS),
        ("device", device, DEVICES),
    ):
        if value not in allowed:
            raise AlignError(f"unknown {name} {value!r}; allowed: {', '.join(allowed)}")
    for name, value, least, most, optional in (
        ("threads", threads, 1, MOST_THREADS, True),
        ("memory_limit", memory_limit, 1, MOST_BYTES, False),
        ("device_memory", device_memory, LEAST_DEVICE_MEMORY, MOST_BYTES, True),
    ):
        if value is None and optional:
            continue
        if isinstance(value, bool) or not isinstance(value, Integral) or not least <= value <= most:
            raise AlignError(f"{name} must be an integer >= {least} and <= {most}, not {value!r}")


def _design(design, device, affine):
    try:
        design = designs.checked(design, affine)
    except designs.DesignError as error:
        raise AlignError(str(error)) from None
    if design != designs.FAST and device != "cuda":
        raise AlignError(f"design 'paper' is one of the GPU's kernels: it needs device 'cuda', not {device!r}")
    return design


def _stem(algorithm, penalties):
    if algorithm not in ALGORITHMS:
        raise AlignError(f"unknown algorithm {algorithm!r}; allowed: {', '.join(ALGORITHMS)}")
    stem = _STEMS.get((algorithm, type(penalties)))
    if stem is None:
        raise AlignError(
            f"algorithm {algorithm!r} computes edit distance only; use 'wfa' or 'bits' for gap-affine penalties"
        )
    return stem


def _check_heuristic(heuristic, pairs, penalties, algorithm, fast_gpu):
    """The stem of the CPU's kernel that has heuristics."""
    try:
        heuristics.check(heuristic, pairs, penalties, algorithm, fast_gpu)
    except heuristics.HeuristicError as error:
        raise AlignError(str(error)) from None
    return _STEMS["wfa", Affine]


def _check_worst_cost(pairs, penalties, numbers=None):
    """Raise AlignError where a pair can cost more than a score can be. numbers: of the pairs, or their places."""
    if not len(pairs):
        return
    sides = (pairs.pattern_offsets, pairs.text_offsets)
    if _all_gaps(penalties, max(int(ends[-1] - ends[0]) for ends in sides)) <= MAX_SCORE:
        return
    if _all_gaps(penalties, max(map(_longest, sides))) <= MAX_SCORE:
        return
    m, n = pairs.pattern_lengths, pairs.text_lengths
    mismatch, gap_open, gap_extend = (float(p) for p in penalties.triple)
    m, n = m.astype(float), n.astype(float)
    replace = np.minimum(m, n) * mismatch + np.abs(m - n) * gap_extend + gap_open * (m != n)
    worst = int(np.argmax(np.minimum(replace, 2 * gap_open + (m + n) * gap_extend)))
    cost = worst_cost(penalties, int(m[worst]), int(n[worst]))
    if cost > MAX_SCORE:
        number = worst if numbers is None else int(numbers[worst])
        raise AlignError(
            f"pair {number} ({int(m[worst])} x {int(n[worst])} bp) can cost up to {cost} under {penalties}, "
            f"past the int32 score limit of {MAX_SCORE}; divide the penalties by a common factor or split the pair"
        )


def _longest(ends):
    """Letters of the longest sequence; by blocks, as new memory for all lengths would take longer."""
    return max(int(np.diff(ends[at : at + _BLOCK + 1]).max()) for at in range(0, len(ends) - 1, _BLOCK))


def _all_gaps(penalties, letters):
    """A cost that no pair of up to so many letters a side goes beyond: two gaps replace it."""
    _, gap_open, gap_extend = penalties.triple
    return 2 * (gap_open + letters * gap_extend)


def _on_gpu(device, algorithm):
    if device != "cuda":
        return False
    _require_gpu()
    if algorithm != "auto":
        raise AlignError(f"device 'cuda': the design picks the algorithm, not {algorithm!r}; allowed: auto")
    return True


def _require_gpu():
    problem = gpu_problem(simulator=True)
    if problem:
        raise AlignError(
            f"device 'cuda' cannot be used: {problem}. It needs an NVIDIA GPU with its driver and numba-cuda "
            "(in the checkout: pip install '.[cuda]'); without them use device 'cpu'"
        )


def _align_cpu(stem, pairs, penalties, scope, threads, memory_limit, heuristic, progress=None, numbers=None):
    from wfa_kernels.cpu import interrupts, schedule

    _check_worst_cost(pairs, penalties, numbers)
    kernel = importlib.import_module(f"wfa_kernels.cpu.{stem}")
    if heuristic is not None:
        kernel = SimpleNamespace(align_range=partial(kernel.align_range, heuristic=heuristic))
    elif hasattr(kernel, "choose"):
        kernel = interrupts.hold(kernel.choose, pairs, penalties, scope)
    cores = int(threads or schedule.usable_cores())
    return schedule.align_batch(kernel, pairs, penalties, scope, cores, int(memory_limit), progress)


def _align_cuda(pairs, penalties, scope, design, device_memory, heuristic, on_cpu):
    from wfa_kernels.cuda import aligner
    from wfa_kernels.cuda.packing import MAX_LONG

    if _all_gaps(penalties, MAX_LONG) > MAX_SCORE:  # else only of longer pairs, of which the CPU is asked
        _check_worst_cost(pairs, penalties)

    def rescue(rows, going_on=None):
        return on_cpu(pairs.take(rows), numbers=rows, progress=going_on)

    bytes_ = None if device_memory is None else int(device_memory)  # a NumPy integer would end up as an array's size
    return aligner.align_batch(pairs, penalties, scope, design, rescue, bytes_, heuristic)
