"""A real_data.tsv for a ``--real-data`` directory that is laid out as reads/, refs/, genomes/ and MANIFEST.tsv.

``python -m tests.real_data DIR TABLE`` writes it for a run of the workflow.
"""

import csv
import os
import sys

from workflow.scripts.real_data import COLUMNS

#: (name, technology, preset, reads, reference), paths inside the directory.
ROWS = (
    ("ecoli_hiseq", "illumina_150", "sr", "reads/ecoli_mg1655_hiseq_150.fa.gz", "genomes/ecoli_MG1655_NC_000913.fa.gz"),
    ("na12878_hiseqx", "illumina_150", "sr", "reads/na12878_chr22_hiseqx_151.fastq.gz", "refs/na12878_chr22_q.fa.gz"),
    (
        "chm13_hifi", "pacbio_hifi", "map-hifi",
        "reads/chm13_chr20_hifi_deepconsensus.fastq.gz", "refs/chm13_chr20_0_200000.fa.gz",
    ),
    ("ecoli_clr", "pacbio_clr", "map-pb", "reads/ecoli_clr_sequel_long.fa.gz", "genomes/ecoli_MG1655_NC_000913.fa.gz"),
    ("lambda_clr", "pacbio_clr", "map-pb", "reads/lambda_clr_sequel2_short.fa.gz", "refs/lambda_NEB3011.fa.gz"),
    ("lambda_ont", "nanopore", "map-ont", "reads/lambda_ont_r73.fastq.gz", "refs/lambda_NC_001416.fasta.gz"),
    ("sarscov2_ont", "nanopore", "map-ont", "reads/sarscov2_ont_trimmed.fasta.gz", "refs/sarscov2_MN908947.3.fa.gz"),
)  # fmt: skip


def write_table(directory, path):
    """Write the table of directory's read sets to path, with the checksums of its MANIFEST.tsv."""
    with open(os.path.join(directory, "MANIFEST.tsv"), encoding="utf-8") as source:
        sha256 = {row["file"]: row["sha256"] for row in csv.DictReader(source, delimiter="\t")}
    with open(path, "w", encoding="utf-8") as sink:
        sink.write("\t".join(COLUMNS) + "\n")
        for name, technology, preset, reads, reference in ROWS:
            paths = [os.path.join(os.path.abspath(directory), part) for part in (reads, reference)]
            row = (name, technology, preset, paths[0], sha256[reads], paths[1], sha256[reference])
            sink.write("\t".join(row) + "\n")


if __name__ == "__main__":
    write_table(*sys.argv[1:])
