"""splitmix64: a stream of 64-bit random numbers for each pair, seeded by (seed, stream, pair) alone.

Source: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. A pair's
numbers depend on nothing else, so that neither the number of threads nor the number of pairs changes its bytes.
"""

import numpy as np
from numba import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)
LETTERS = np.frombuffer(b"ACGT", np.uint8)

#: Streams: what a pair's numbers are for.
EDITS, LENGTHS = np.uint64(1), np.uint64(2)


@njit(cache=True, nogil=True, inline="always")
def mix(z):
    """splitmix64's output function: uint64 -> uint64. The n-th number of a stream is mix(state + n * GOLDEN)."""
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@njit(cache=True, nogil=True)
def stream(seed, purpose, pair):
    """State (uint64) that a pair's stream starts from; each step hashes, so that neighbours share nothing."""
    state = mix(np.uint64(seed) + GOLDEN)
    state = mix(state ^ (purpose * GOLDEN))
    return mix(state + np.uint64(pair) * GOLDEN)
