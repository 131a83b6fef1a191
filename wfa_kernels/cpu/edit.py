"""Edit distance by whichever CPU kernel is likely to be the faster for a batch: wavefronts or bit planes.

See choice for how it is told. What bit planes do not take is left to the wavefronts, and a pair whose backtrace does
not fit the memory limit to ond, which needs 8 bytes a letter whatever the distance, and more time: 1 Mbp at 5 % errors
take 8 s, where wavefronts would want 300 MB.
"""

from wfa_kernels.cpu import edit_wfa, ond
from wfa_kernels.cpu.choice import Times, pick, with_linear_memory

#: Measured on an AMD EPYC with AVX-512, 100 to 10,000 letters, 0.1 to 20 % errors. The first numbers of
#: wavefronts were 1.1 and 1.4 before vectors took them; these are an estimate from an Intel Xeon, not fitted again.
TIMES = Times(
    wavefronts={"score": (0.7, 14.0, 0.014, 16.0), "cigar": (0.85, 54.0, 0.022, 45.0)},
    bits={"score": (0.8, 2.3, 0.24, 85.0), "cigar": (2.9, 30.0, 0.11, 135.0)},
)


def choose(pairs, penalties, scope):
    """The kernel for a batch: an object as schedule.align_batch takes it."""
    kernel = pick(pairs, penalties, scope, edit_wfa, TIMES, modelled=False)
    return with_linear_memory(kernel, scope, ond)
