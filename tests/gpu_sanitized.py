"""``python -m tests.gpu_sanitized WORK``: few pairs through the kernels of one kind, for compute-sanitizer to watch.

WORK: a key of WORKS. Besides, by hand: ``compute-sanitizer --tool memcheck --report-api-errors no python -m ...``.
Without the last option memcheck also tells of the driver's refusal at the end of each list of a kernel's parameters.
"""

import sys

from tests import forced_strips, gpu_cells
from wfa_kernels import Affine, Edit, align

#: What is watched -> (penalties, design, what is called before).
WORKS = {
    "edit-fast": (Edit(), "fast", None),
    "edit-paper": (Edit(), "paper", None),
    "affine-fast": (Affine(2, 3, 1), "fast", None),
    "affine-paper": (Affine(2, 3, 1), "paper", None),
    "affine-wide": (Affine(2, 3, 1), "fast", forced_strips.wide),
    "affine-windows": (Affine(2, 3, 1), "fast", forced_strips.windows),
}
#: Of each kernel's memory: the sanitizer watches all of it.
DEVICE_MEMORY_BYTES = 1 << 28


def main():
    """Align ragged short pairs and a few long ones, for scores and for CIGARs."""
    penalties, design, before = WORKS[sys.argv[1]]
    if before:
        before()
    for pairs in (gpu_cells.ragged(200, 260, seed=7), gpu_cells.uniform(6, 1500, 0.1)):
        for scope in ("score", "cigar"):
            align(pairs, penalties, scope=scope, device="cuda", design=design, device_memory=DEVICE_MEMORY_BYTES)


if __name__ == "__main__":
    main()
