"""Numbers and commits as a reader sees them."""

import math


def significant(value, digits=3):
    """A positive number in plain notation with so many significant digits (all digits before the point are kept)."""
    if not value:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(rounded))))}f}"


def spread(values):
    """``50 to 60``: the least and the most of some numbers, or one where three digits agree."""
    return " to ".join(dict.fromkeys(f"{value:.3g}" for value in (min(values), max(values))))


def percent(fraction):
    """A fraction as per cent, cut (not rounded) so that only 1 reads 100 %."""
    if fraction == 1:
        return "100 %"
    step = 10_000 if fraction > 0.999 else 10
    return f"{int(fraction * 100 * step + 1e-6) / step:.7g} %"


def count(n):
    """A count of pairs as papers write it: 100M, 10M, 20K, 512."""
    for unit, size in (("M", 10**6), ("K", 10**3)):
        if n >= size and n * 10 % size == 0:
            return f"{n / size:g}{unit}"
    return str(n)


def short_commit(commit):
    """The first letters of a commit; the mark of a changed working tree is kept."""
    if not commit:
        return "unknown"
    name, changed, _ = commit.partition("+")
    return name[:10] + ("+changed" if changed else "")
