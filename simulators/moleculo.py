"""Moleculo (TruSeq) synthetic long reads: assembled from short reads, very few errors.

Error rate: R. C. McCoy et al., "Illumina TruSeq Synthetic Long-Reads Empower De Novo Assembly and Resolve Complex,
Highly-Repetitive Transposable Elements", PLoS ONE 9(9):e106689 (2014): 0.03 % per base. How it divides is assumed: as
the Illumina reads they are assembled from (88 : 5 : 7).
"""

from simulators.profile import Profile

PROFILES = (
    Profile(
        "moleculo", "Moleculo", 42, 4352, 14463, 4.0,
        mismatch=0.000264, insertion=0.000015, deletion=0.000021, homopolymer=0.25,
        length_source="minimum, mean, maximum: thesis Tab 7; concentration assumed",
        error_source="total 0.03 %: McCoy et al. 2014 (PLoS ONE 9:e106689); division assumed as Illumina's",
    ),
)  # fmt: skip
