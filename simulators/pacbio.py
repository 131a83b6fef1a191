"""PacBio long reads: circular consensus (CCS, HiFi) with few errors, continuous (CLR) with many insertions.

Error rates:
- CCS: A. M. Wenger et al., "Accurate circular consensus long-read sequencing ...", Nature Biotechnology 37:1155 (2019):
  reads of HG002 that are 99.8 % accurate. The division is assumed after that paper's finding that homopolymer indels
  dominate: 4 % mismatches, the rest insertions and deletions in equal parts, 92 % of them in runs.
- HiFi: the same division; total 0.1 % (Q30) assumed for the later Sequel II reads.
- CLR: division 10 : 60 : 30 (mismatch : insertion : deletion), length range and mean: defaults of PBSIM for CLR
  (Y. Ono, K. Asai, M. Hamada, "PBSIM: PacBio reads simulator", Bioinformatics 29:119, 2013); total 15 %:
  M. J. Chaisson, G. Tesler, "Mapping single molecule sequencing reads using ... BLASR", BMC Bioinformatics 13:238
  (2012).
These are sequencing errors only; mapped pairs also hold the true differences between sample and reference.
"""

from simulators.profile import Profile

_TABLE_7 = "minimum, mean, maximum: thesis Tab 7; concentration assumed"

PROFILES = (
    Profile(
        "pacbio_ccs", "PacBio CCS", 263, 9561, 18317, 12.0,
        mismatch=0.00008, insertion=0.00096, deletion=0.00096, homopolymer=0.92, length_source=_TABLE_7,
        error_source="total 0.2 %: Wenger et al. 2019 (Nat Biotechnol 37:1155); division assumed, mostly in runs",
    ),
    Profile(
        "pacbio_hifi", "PacBio HiFi", 201, 12847, 24640, 22.0,
        mismatch=0.00004, insertion=0.00048, deletion=0.00048, homopolymer=0.92, length_source=_TABLE_7,
        error_source="total 0.1 % (Q30) assumed; division assumed, mostly in runs",
    ),
    Profile(
        "pacbio_clr", "PacBio CLR", 100, 3000, 25000, 10.0,
        mismatch=0.015, insertion=0.09, deletion=0.045, homopolymer=0.25,
        length_source="minimum, mean, maximum: PBSIM's defaults for CLR (Ono et al. 2013); concentration assumed",
        error_source="total 15 %: Chaisson and Tesler 2012; division 10:60:30: PBSIM's default (Ono et al. 2013)",
    ),
)  # fmt: skip
