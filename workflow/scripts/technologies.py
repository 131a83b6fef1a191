"""The six technologies of thesis Tab 7 and Tab 9, and which of our data sets stand for them."""

from workflow.race.planning import REAL, is_real
from workflow.scripts import real_data
from workflow.scripts.table import Column

#: id -> (name in the tables, column head as the thesis prints it, pairs of its times: as it prints them, but for
#: Moleculo, where it prints 100M, and its times fit 10M)
TECHNOLOGIES = {
    "illumina_150": ("Illumina 150", "Illumina 150", 100_000_000),
    "illumina_250": ("Illumina 250", "Illumina 250", 100_000_000),
    "moleculo": ("Moleculo", "Moleculo", 10_000_000),
    "pacbio_ccs": ("PacBio CCS", "PacBio CSS", 10_000_000),
    "pacbio_hifi": ("PacBio HiFi", "PacBio HiFi", 10_000_000),
    "nanopore": ("Nanopore", "Nanopore", 10_000_000),
}


#: Raced beside them; the thesis has none.
EXTRA = {"pacbio_clr": ("PacBio CLR", "", 10_000_000)}
ALL = TECHNOLOGIES | EXTRA


def technology_of_real(path, measured=()):
    """{"real_<name>": technology} of the table of real reads at path, and of measured rows of other hosts' reads.

    path may be empty. measured: dicts with "dataset" and "dataset_model". Raises RealDataError.
    """
    found = {m["dataset"]: m["dataset_model"] for m in measured if is_real(m["dataset"]) and m["dataset_model"] in ALL}
    return found | ({row.dataset: row.technology for row in real_data.read_table(path)} if path else {})


def datasets(measured, real):
    """[(technology, data set)]: real data sets in the place of their technology's simulator, which else stands in.

    measured: data sets that samples of any host hold. real: technology_of_real(). A technology whose only reads were
    measured elsewhere keeps its simulated column too; one that the thesis lacks has one only where it was measured.
    """
    found = []
    for technology in ALL:
        named = [name for name, of in real.items() if of == technology]
        found += [(technology, name) for name in named]
        if technology in measured or not named and technology in TECHNOLOGIES:
            found.append((technology, technology))
    return found


def label(dataset):
    """What a column head says of the data: real (with its name) or simulated."""
    return f"real: {dataset.removeprefix(REAL)}" if is_real(dataset) else "simulated"


def columns(experiment, real_table, measurements):
    """Columns of Tab 9 for the data sets in use."""
    rows = [m for m in measurements if m["experiment"] == experiment["id"]]
    own = technology_of_real(real_table)
    return tuple(
        Column(ALL[technology][0], label(dataset), ALL[technology][1], dataset, ALL[technology][2],
               paper_dataset=technology, real_here=dataset in own if is_real(dataset) else technology in own.values())
        for technology, dataset in datasets({m["dataset"] for m in rows}, technology_of_real(real_table, rows))
    )  # fmt: skip
