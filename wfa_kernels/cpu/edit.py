"""Edit distance by whichever CPU kernel is likely to be the faster for a batch: wavefronts or bit planes.

See choice for how it is told. What bit planes do not take is left to the wavefronts, and a pair whose backtrace does
not fit the memory limit to ond, which needs 8 bytes a letter whatever the distance, and more time: 1 Mbp at 5 % errors
take 8 s, where wavefronts would want 300 MB.
"""

from wfa_kernels.cpu import edit_groups, ond
from wfa_kernels.cpu.choice import Times, pick, with_linear_memory

#: Measured on an Intel Xeon at 2.5 GHz with AVX-512: 100 to 10,000 letters, 0.5 to 15 % errors.
TIMES = Times(
    wavefronts={"score": (1.86, 22.6, 0.44, 0.0), "cigar": (2.34, 41.0, 0.58, 0.0)},
    bits={"score": (3.23, 6.6, 0.18, 300.0), "cigar": (7.4, 41.0, 0.18, 450.0)},
)


def choose(pairs, penalties, scope):
    """The kernel for a batch: an object as schedule.align_batch takes it."""
    kernel = pick(pairs, penalties, scope, edit_groups, TIMES, modelled=False)
    return with_linear_memory(kernel, scope, ond)
