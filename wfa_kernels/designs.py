"""Designs of the GPU's kernels: "fast", or the papers' with what they vary."""

from dataclasses import dataclass
from numbers import Integral

FAST, PAPER = DESIGNS = ("fast", "paper")
#: Kernels of the papers' design, by the errors they can do (thesis section 3.2.3).
PAPER_KERNELS = ("E32", "E64", "E128")
#: Fields of a PaperDesign for gap-affine costs only, and the one for edit distance only.
AFFINE_ONLY, EDIT_ONLY = ("central_diagonals", "bt_blocks"), "first_kernel"
_WARP, _MOST_THREADS = 32, 1024
#: BT-blocks of a pair: they are counted in int32, and a wavefront that begins within them goes on to its end.
MOST_BT_BLOCKS = 2**30


class DesignError(ValueError):
    """A design that there is not: the message says what is allowed."""


@dataclass(frozen=True)
class PaperDesign:
    """The papers' designs, one thread block a pair, to study them: eWFA-GPU for edit distance (thesis chapter 3;
    journal Tables 2 to 4), WFA-GPU for gap-affine costs (thesis chapter 4).

    block_threads: threads of a block, a multiple of 32 up to 1024, for all kernels; None: for edit distance the papers'
    32, 64 and 128, else by the width of the wavefronts.
    Edit distance only: first_kernel: "E32", "E64" or "E128"; smaller ones are left out.
    Gap-affine only: central_diagonals: how many diagonals of a wavefront lie in shared memory, as far as they fit;
    None: what 32 KiB hold. bt_blocks: BT-blocks that the BT-buffer of a pair holds; None: enough for the pair, within
    the device memory. Raises DesignError.
    """

    block_threads: int | None = None
    first_kernel: str = PAPER_KERNELS[0]
    central_diagonals: int | None = None
    bt_blocks: int | None = None

    def __post_init__(self):
        threads = self.block_threads
        if threads is not None:
            if not _whole(threads) or not 0 < threads <= _MOST_THREADS or threads % _WARP:
                raise DesignError(f"block_threads must be a multiple of {_WARP} up to {_MOST_THREADS}, not {threads!r}")
            object.__setattr__(self, "block_threads", int(threads))
        if self.first_kernel not in PAPER_KERNELS:
            raise DesignError(f"unknown first_kernel {self.first_kernel!r}; allowed: {', '.join(PAPER_KERNELS)}")
        for name in AFFINE_ONLY:
            value = getattr(self, name)
            if value is not None:
                if not _whole(value) or not 0 < value <= MOST_BT_BLOCKS:
                    raise DesignError(f"{name} must be an integer from 1 to {MOST_BT_BLOCKS}, not {value!r}")
                object.__setattr__(self, name, int(value))

    def __str__(self):
        return PAPER


def checked(design, affine=None):
    """FAST or a PaperDesign for what a caller gives. affine: whether costs are gap-affine. Raises DesignError."""
    if isinstance(design, PaperDesign):
        _check_fields(design, affine)
        return design
    if design not in DESIGNS:
        raise DesignError(f"unknown design {design!r}; allowed: {', '.join(DESIGNS)}, or a PaperDesign")
    return PaperDesign() if design == PAPER else FAST


def _check_fields(design, affine):
    given = [name for name in AFFINE_ONLY if getattr(design, name) is not None]
    if affine is False and given:
        raise DesignError(f"{given[0]} is for gap-affine penalties; edit distance has block_threads and {EDIT_ONLY}")
    if affine and design.first_kernel != PAPER_KERNELS[0]:
        allowed = ", ".join(("block_threads", *AFFINE_ONLY))
        raise DesignError(f"{EDIT_ONLY} is for edit distance; gap-affine penalties have {allowed}")


def _whole(value):
    return isinstance(value, Integral) and not isinstance(value, bool)
