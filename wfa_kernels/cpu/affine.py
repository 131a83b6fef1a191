"""Gap-affine alignment by whichever CPU kernel is likely to be the faster for a batch: wavefronts or bit planes.

See choice. Where a few pairs of the batch show that many are settled by a look along their diagonals (see clean), all
pairs are looked at so first. A pair whose backtrace does not fit the memory limit is left to bit planes, which keep far
less: 100 kb at 10 % errors take 111 MB, where wavefronts want 475.
"""

from functools import partial
from types import SimpleNamespace

from wfa_kernels.cpu import affine_bits, affine_wfa, clean
from wfa_kernels.cpu.choice import Times, pick

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
    align, at_once = kernel.align_range, getattr(kernel, "PAIRS_AT_ONCE", 1)
    if settled >= _WORTH_A_LOOK:
        align, at_once = partial(clean.align_range, rest=kernel), affine_bits.PAIRS_AT_ONCE
    chosen = SimpleNamespace(align_range=align, PAIRS_AT_ONCE=at_once)
    if scope == "cigar":  # a score alone has nothing to trace back
        chosen.LINEAR_MEMORY = affine_bits
    return chosen
