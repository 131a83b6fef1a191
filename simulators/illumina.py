"""Illumina short reads: almost only mismatches.

Error rates: M. G. Ross et al., "Characterizing and measuring bias in sequence data", Genome Biology 14:R51 (2013),
Table 5, row "Human, Illumina HiSeq" (mismatches 0.0030, deletions 0.00023, insertions 0.00017 per base; true
differences between sample and reference are counted in, as they are in mapped pairs).
"""

from simulators.profile import Profile

_RATES = {"mismatch": 0.0030, "insertion": 0.00017, "deletion": 0.00023, "homopolymer": 0.25}
_RATES_SOURCE = "Ross et al. 2013 (Genome Biology 14:R51), Table 5, human HiSeq; no homopolymer preference (assumed)"
_LENGTHS_SOURCE = "minimum, mean, maximum: thesis Tab 7; concentration assumed"

PROFILES = (
    Profile("illumina_150", "Illumina 150", 134, 148, 162, 60.0, **_RATES,
            length_source=_LENGTHS_SOURCE, error_source=_RATES_SOURCE),
    Profile("illumina_250", "Illumina 250", 140, 248, 275, 100.0, **_RATES,
            length_source=_LENGTHS_SOURCE, error_source=_RATES_SOURCE),
)  # fmt: skip
