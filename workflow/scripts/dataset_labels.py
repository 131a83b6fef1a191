"""How data sets of reads are ordered and called in a figure: under its axis and in its notes."""

from workflow.race.planning import REAL, is_real
from workflow.scripts.technologies import ALL, TECHNOLOGIES


def places(datasets, real):
    """{data set: x} in the thesis' order of technologies; real ones stand in the place of their technology.

    real: technologies.technology_of_real().
    """
    known = list(ALL)

    def rank(dataset):
        technology = real.get(dataset, dataset)
        return known.index(technology) if technology in known else len(known), dataset

    return {dataset: x for x, dataset in enumerate(sorted(datasets, key=rank))}


def axis_labels(datasets, real):
    """{data set: short lines under the axis}; real ones of one technology are numbered, a note names them."""
    labels = {}
    for dataset in datasets:
        technology = real.get(dataset, dataset)
        alike = sorted(d for d in datasets if is_real(d) and real.get(d, d) == technology)
        kind = "sim." if not is_real(dataset) else "real" + (f" {alike.index(dataset) + 1}" if len(alike) > 1 else "")
        labels[dataset] = axis_label(technology, kind)
    return labels


def axis_label(technology, kind):
    """Three lines: the technology's name in two, and whether its reads are real."""
    name = ALL.get(technology, (technology.removeprefix(REAL).replace("_", " "),))[0]
    first, _, second = name.partition(" ")
    return f"{first}\n{second}\n{kind}" if second else f"{first}\n{kind}\n"


def short(dataset, datasets, real):
    """A data set's label in a line; that it is real or simulated is said only where that tells two apart."""
    label = " ".join(axis_labels(datasets, real)[dataset].split())
    alike = {is_real(other) for other in datasets if real.get(other, other) == real.get(dataset, dataset)}
    return label if len(alike) > 1 else label.removesuffix(" real").removesuffix(" sim.")


def names_of_real(datasets, real):
    """Sentence that names the real data sets, or nothing."""
    labels = axis_labels(datasets, real)
    named = [f"{' '.join(labels[d].split())} = {d.removeprefix(REAL)}" for d in labels if is_real(d)]
    return [", ".join(named)] if named else []


def unraced(datasets, real):
    """Sentence that names the technologies of the thesis that none of the data sets stands for, or nothing."""
    held = {real.get(dataset, dataset) for dataset in datasets}
    names = [name for technology, (name, _, _) in TECHNOLOGIES.items() if technology not in held]
    return [f"No race, not in the lane or not run yet: {', '.join(names)}"] if names else []
