"""Oxford Nanopore R9 reads: many errors of all three kinds, about half of them in homopolymers.

Error rates: division 39 : 24 : 36 (mismatch : insertion : deletion) as PBSIM3 gives for ONT (Y. Ono, M. Hamada,
K. Asai, "PBSIM3", NAR Genomics and Bioinformatics 4:lqac092, 2022); total 12 % assumed, inside the 8-15 % of R9 reads
(Y.-T. Huang, P.-Y. Liu, P.-W. Shih, "Homopolish", Genome Biology 22:95, 2021: accuracy 85-92 %); half of the
insertions and deletions in runs: C. Delahaye, J. Nicolas, "Sequencing DNA with nanopores: Troubles and biases", PLoS
ONE 16(10):e0257521 (2021): homopolymers and short repeats are the source of about half of all errors.
"""

from simulators.profile import Profile

PROFILES = (
    Profile(
        "nanopore", "Nanopore", 104, 6249, 21708, 4.0,
        mismatch=0.0473, insertion=0.0291, deletion=0.0436, homopolymer=0.5,
        length_source="minimum, mean, maximum: thesis Tab 7; concentration assumed",
        error_source="division 39:24:36: PBSIM3 for ONT (Ono et al. 2022); total 12 % assumed, within the 8-15 % of R9 "
        "(Huang et al. 2021); half of the indels in runs (Delahaye and Nicolas 2021)",
    ),
)  # fmt: skip
