"""Designs of the GPU's kernels: "fast", or the papers' with what they vary."""

from dataclasses import dataclass
from numbers import Integral

FAST, PAPER = DESIGNS = ("fast", "paper")
#: Kernels of the papers' design, by the errors they can do (thesis section 3.2.3).
PAPER_KERNELS = ("E32", "E64", "E128")
_WARP, _MOST_THREADS = 32, 1024


class DesignError(ValueError):
    """A design that there is not: the message says what is allowed."""


@dataclass(frozen=True)
class PaperDesign:
    """eWFA-GPU's design, one thread block a pair, to study it (thesis chapter 3; journal Tables 2 to 4).

    block_threads: threads of a block, a multiple of 32 up to 1024, for all kernels; None: the papers' 32, 64 and 128.
    first_kernel: "E32", "E64" or "E128"; smaller ones are left out. Raises DesignError.
    """

    block_threads: int | None = None
    first_kernel: str = PAPER_KERNELS[0]

    def __post_init__(self):
        threads = self.block_threads
        if threads is not None:
            whole = isinstance(threads, Integral) and not isinstance(threads, bool)
            if not whole or not 0 < threads <= _MOST_THREADS or threads % _WARP:
                raise DesignError(f"block_threads must be a multiple of {_WARP} up to {_MOST_THREADS}, not {threads!r}")
            object.__setattr__(self, "block_threads", int(threads))
        if self.first_kernel not in PAPER_KERNELS:
            raise DesignError(f"unknown first_kernel {self.first_kernel!r}; allowed: {', '.join(PAPER_KERNELS)}")

    def __str__(self):
        return PAPER


def checked(design):
    """FAST or a PaperDesign for what a caller gives. Raises DesignError."""
    if isinstance(design, PaperDesign):
        return design
    if design not in DESIGNS:
        raise DesignError(f"unknown design {design!r}; allowed: {', '.join(DESIGNS)}, or a PaperDesign")
    return PaperDesign() if design == PAPER else FAST
