"""``python -m tests.gpu_sanitized WORK``: few pairs through the kernels of one kind, for compute-sanitizer to watch.

WORK: a key of WORKS. Besides, by hand: ``compute-sanitizer --tool memcheck --report-api-errors no python -m ...``.
Without the last option memcheck also tells of the driver's refusal at the end of each list of a kernel's parameters.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tests import forced_strips, gpu_cells
from wfa_kernels import Affine, Edit, StaticBand, WavefrontReduction, align

USUAL = Affine(2, 3, 1)
#: Of each kernel's memory: the sanitizer watches all of it.
DEVICE_MEMORY_BYTES = 1 << 28


def near():
    """Ragged short pairs, and a few long ones, some 100 and 145 edits: all are within the widest band, the former
    within the longest vector of eWFA-GPU's design."""
    return gpu_cells.ragged(200, 260, seed=7), gpu_cells.uniform(6, 1000, 0.1), gpu_cells.uniform(6, 1500, 0.1)


def far():
    """Pairs beyond every band, 350 to 400 edits: some that try the bands, and some too long to."""
    return gpu_cells.uniform(4, 1500, 0.3), gpu_cells.uniform(4, 2500, 0.15)


def noisy():
    """Pairs beyond the bands, so many that several share a warp on their way back where each has few threads."""
    return gpu_cells.ragged(40, 1500, seed=8), gpu_cells.uniform(12, 1500, 0.2)


def few_threads(windows=False):
    """Make a pair's way back one of four threads."""
    forced_strips.back_together(4)
    if windows:
        forced_strips.windows()


def reads():
    """Of lengths from which on reads are long: few errors, and more than wavefronts are tried for."""
    return gpu_cells.uniform(6, 2000, 0.02), gpu_cells.uniform(3, 2000, 0.3)


def long():
    """A pair of more letters than 16 bits hold."""
    return (gpu_cells.uniform(1, 66_000, 0.02),)


@dataclass(frozen=True)
class Work:
    """What is watched. pairs: function that gives batches. source: where they lie, see gpu_cells.BRING. before: called
    before all else."""

    penalties: object
    design: str = "fast"
    pairs: Callable = near
    source: str = "pageable"
    heuristic: object = None
    before: Callable | None = None


WORKS = {
    "edit-fast": Work(Edit()),
    "edit-pinned": Work(Edit(), source="pinned"),
    "edit-packed": Work(Edit(), source="packed"),
    "edit-strips": Work(Edit(), pairs=far),
    "edit-wide": Work(Edit(), pairs=far, before=forced_strips.wide),
    "edit-windows": Work(Edit(), pairs=far, before=forced_strips.windows),
    "edit-long": Work(Edit(), pairs=long),
    "edit-paper": Work(Edit(), "paper"),
    "affine-fast": Work(USUAL),
    "affine-pinned": Work(USUAL, source="pinned"),
    "affine-packed": Work(USUAL, source="packed"),
    "affine-wide": Work(USUAL, before=forced_strips.wide),
    "affine-windows": Work(USUAL, before=forced_strips.windows),
    "affine-few-threads": Work(USUAL, pairs=noisy, before=few_threads),
    "affine-few-threads-windows": Work(USUAL, pairs=noisy, before=partial(few_threads, windows=True)),
    "affine-reads": Work(USUAL, pairs=reads),
    "affine-long": Work(USUAL, pairs=long),
    "affine-paper": Work(USUAL, "paper"),
    "affine-paper-long": Work(USUAL, "paper", pairs=long),
    "affine-paper-band": Work(USUAL, "paper", heuristic=StaticBand(16)),
    "affine-paper-reduction": Work(USUAL, "paper", heuristic=WavefrontReduction()),
}


def main():
    """Align the pairs of a work, for scores and for CIGARs: the GPU, not the CPU in its place."""
    work = WORKS[sys.argv[1]]
    if work.before:
        work.before()
    for pairs in work.pairs():
        given = gpu_cells.BRING[work.source](pairs)
        for scope in ("score", "cigar"):
            result = align(
                given, work.penalties, scope=scope, device="cuda", design=work.design, heuristic=work.heuristic,
                device_memory=DEVICE_MEMORY_BYTES,
            )  # fmt: skip
            assert result.rescued == gpu_cells.strange(pairs), f"{scope}: {result.rescued} pairs by the CPU"


if __name__ == "__main__":
    main()
