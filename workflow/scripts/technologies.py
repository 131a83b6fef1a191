"""The six technologies of thesis Tab 7 and Tab 9, and which of our data sets stand for them."""

from workflow.scripts import real_data
from workflow.scripts.table import Column

#: id -> (name in the tables, column head as the thesis prints it, pairs as the thesis prints them)
TECHNOLOGIES = {
    "illumina_150": ("Illumina 150", "Illumina 150", 100_000_000),
    "illumina_250": ("Illumina 250", "Illumina 250", 100_000_000),
    "moleculo": ("Moleculo", "Moleculo", 100_000_000),
    "pacbio_ccs": ("PacBio CCS", "PacBio CSS", 10_000_000),
    "pacbio_hifi": ("PacBio HiFi", "PacBio HiFi", 10_000_000),
    "nanopore": ("Nanopore", "Nanopore", 10_000_000),
}


def technology_of_real(path):
    """{"real_<name>": technology} of the table of real reads at path, {} without a path. Raises RealDataError."""
    return {row.dataset: row.technology for row in real_data.read_table(path)} if path else {}


def datasets(measured, real):
    """[(technology, data set)]: real data sets in the place of their technology's simulator, which else stands in.

    measured: data sets that samples of any host hold. real: technology_of_real(). A technology whose only reads were
    measured elsewhere keeps its simulated column too.
    """
    found = []
    for technology in TECHNOLOGIES:
        named = [name for name, of in real.items() if of == technology]
        found += [(technology, name) for name in named]
        if not named or technology in measured:
            found.append((technology, technology))
    return found


def is_real(dataset):
    return dataset.startswith("real_")


def label(dataset):
    """What a column head says of the data: real (with its name) or simulated."""
    return f"real: {dataset.removeprefix('real_')}" if is_real(dataset) else "simulated"


def columns(experiment, real_table, measurements):
    """Columns of Tab 9 for the data sets in use."""
    measured = {m["dataset"] for m in measurements if m["experiment"] == experiment["id"]}
    return tuple(
        Column(TECHNOLOGIES[technology][0], label(dataset), TECHNOLOGIES[technology][1], dataset,
               TECHNOLOGIES[technology][2], paper_dataset=technology)
        for technology, dataset in datasets(measured, technology_of_real(real_table))
    )  # fmt: skip
