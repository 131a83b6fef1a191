"""Edit distance by whichever CPU kernel is likely to be the faster for a batch: wavefronts or bit planes.

See choice for how it is told. What bit planes do not take is left to the wavefronts.
"""

from wfa_kernels.cpu import edit_wfa
from wfa_kernels.cpu.choice import Times, pick

#: Measured on an AMD EPYC with AVX-512, 100 to 10,000 letters, 0.1 to 20 % errors.
TIMES = Times(
    wavefronts={"score": (1.7, 9.0, 0.02, 16.0), "cigar": (2.4, 41.0, 0.03, 46.0)},
    bits={"score": (0.8, 2.3, 0.2, 90.0), "cigar": (2.7, 50.0, 0.05, 130.0)},
)


def choose(pairs, penalties, scope):
    """The kernel for a batch: an object as schedule.align_batch takes it."""
    return pick(pairs, penalties, scope, edit_wfa, TIMES, modelled=False)
