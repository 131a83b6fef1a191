"""The processor that Numba compiles for: this one, or a lesser one by NUMBA_CPU_NAME and NUMBA_CPU_FEATURES."""

from functools import cache

from numba import config
from numba.core.codegen import get_host_cpu_features

#: What the names of instruction set levels stand for, as far as kernels ask for it.
_BY_NAME = {"x86-64-v3": {"avx2"}, "x86-64-v4": {"avx2", "avx512f", "avx512bw"}}


def vector_bits():
    """Bits of the widest vectors that the kernels use there: 512 (AVX-512), 256 (AVX2) or 128."""
    there = features(config.CPU_NAME, config.CPU_FEATURES)
    if {"avx512f", "avx512bw"} <= there:
        return 512
    return 256 if "avx2" in there else 128


@cache
def features(name, flags):
    """Names of instruction set extensions.

    name: of a processor as LLVM has it, None for this one. Names but those of x86-64 levels say nothing.
    flags: "+avx2,-avx512f,..." besides, None for those of this processor.
    """
    found = set(_BY_NAME.get(name, ()))
    for flag in (get_host_cpu_features() if flags is None else flags).split(","):
        if flag.startswith("+"):
            found.add(flag[1:])
        else:
            found.discard(flag[1:])
    return frozenset(found)
