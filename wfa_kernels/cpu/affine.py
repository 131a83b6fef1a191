"""Gap-affine alignment by whichever CPU kernel is likely to be the faster for a batch: wavefronts or bit planes.

See choice. Where a few pairs of the batch show that many are settled by a look along their diagonals (see clean), all
pairs are looked at so first. A pair whose backtrace does not fit the memory limit is left to bit planes, which keep far
less: 100 kb at 10 % errors take 111 MB, where wavefronts want 475.
"""

from functools import partial
from types import SimpleNamespace

from wfa_kernels.cpu import affine_bits, affine_wfa, clean
from wfa_kernels.cpu.choice import Times, pick, with_linear_memory

#: Measured on an AMD EPYC with AVX-512, 100 to 10,000 letters, 0.1 to 20 % errors.
TIMES = Times(
    wavefronts={"score": (1.4, 57.0, 0.04, 280.0), "cigar": (1.4, 74.0, 0.05, 320.0)},
    bits={"score": (1.2, 3.7, 0.21, 46.0), "cigar": (2.3, 14.0, 0.0, 50.0)},
)
#: Share of settled pairs from which on the look, some 15 ns a pair, takes less than it saves, and from which on what is
#: left is too little for bit planes.
_WORTH_A_LOOK, _NEARLY_ALL = 0.35, 0.9


def choose(pairs, penalties, scope):
    """The kernel for a batch: an object as schedule.align_batch takes it."""
    settled = clean.share(pairs, penalties)
    kernel = affine_wfa
    if settled < _NEARLY_ALL:
        kernel = pick(pairs, penalties, scope, affine_wfa, TIMES, modelled=scope == "score")
    if settled >= _WORTH_A_LOOK:
        look = partial(clean.align_range, rest=kernel)
        kernel = SimpleNamespace(align_range=look, PAIRS_AT_ONCE=getattr(kernel, "PAIRS_AT_ONCE", 1), QUICK=True)
    return with_linear_memory(kernel, scope, affine_bits)
