"""Exact pairwise alignment of DNA: wavefront (WFA) and bit-parallel kernels in Numba, on CPU and GPU.

>>> from wfa_kernels import PairBatch, Edit, align
>>> align(PairBatch.from_strings(["GATTACA"], ["GAATA"]), Edit(), scope="cigar").scores.tolist()
[3]

Importing compiles nothing and needs no GPU.
"""

from wfa_kernels import cache_folder

cache_folder.ensure()  # before the kernels below are declared

# ruff: noqa: E402 (imports after a call)
from wfa_kernels.api import (
    AlignError,
    align,
    gpu_kernel_facts,
    gpu_peak_memory,
    gpu_problem,
    pack_pairs,
    pin_pairs,
    register_pairs,
    release_gpu_memory,
    watch_gpu_warps,
)
from wfa_kernels.cigar import CigarError, format_packed, pack_strings
from wfa_kernels.designs import DesignError, PaperDesign
from wfa_kernels.formats import read_pairs, write_seq
from wfa_kernels.heuristics import HeuristicError, StaticBand, WavefrontReduction
from wfa_kernels.pairs import PairBatch, PairsError
from wfa_kernels.penalties import Affine, Edit, PenaltyError
from wfa_kernels.result import STATUS_NAMES, AlignmentResult

__version__ = "0.1.0"
__all__ = [
    "STATUS_NAMES",
    "Affine",
    "AlignError",
    "AlignmentResult",
    "CigarError",
    "DesignError",
    "Edit",
    "HeuristicError",
    "PairBatch",
    "PaperDesign",
    "PairsError",
    "PenaltyError",
    "StaticBand",
    "WavefrontReduction",
    "align",
    "format_packed",
    "gpu_kernel_facts",
    "gpu_peak_memory",
    "gpu_problem",
    "pack_pairs",
    "pack_strings",
    "pin_pairs",
    "read_pairs",
    "register_pairs",
    "release_gpu_memory",
    "watch_gpu_warps",
    "write_seq",
]
