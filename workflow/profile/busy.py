"""What stamps of begin and end come to: how much was at work over time. Pure functions of arrays; times in any unit."""

import numpy as np


def mean_at_work(begins, ends, edges):
    """float64[bins]: how many of these intervals went on, on average, within each bin.

    begins, ends: [n], begins <= ends. edges: [bins + 1], ascending.
    """
    edges = np.asarray(edges, float)
    until = _time_since(begins, edges) - _time_since(ends, edges)
    return np.diff(until) / np.diff(edges)


def _time_since(moments, edges):
    """For each edge, the time since each of the moments before it, summed."""
    moments = np.sort(np.asarray(moments, float))
    sums = np.concatenate([[0.0], np.cumsum(moments)])
    before = np.searchsorted(moments, edges)
    return before * edges - sums[before]


def merged(begins, ends, places):
    """(begins, ends) of the times when at least one interval went on at each place: those of one place do not overlap.

    begins, ends, places: [n].
    """
    begins, ends, places = (np.asarray(values) for values in (begins, ends, places))
    if not len(begins):
        return begins, ends
    order = np.lexsort((begins, places))
    places = places[order]
    apart = (places - places[0]) * (ends.max() - begins.min() + 1)  # so that no place's times are among another's
    begins, ends = begins[order] + apart, np.maximum.accumulate(ends[order] + apart)
    first = np.append(True, begins[1:] > ends[:-1])
    return (begins - apart)[first], (ends - apart)[np.append(first[1:], True)]


def last_moment_with(begins, ends, least):
    """The last moment up to which at least ``least`` (1 or more) of these intervals went on; None if they never did."""
    moments = np.concatenate([begins, ends])
    changes = np.repeat([1, -1], [len(begins), len(ends)])
    order = np.lexsort((-changes, moments))  # what begins where another ends takes its place
    counts = np.cumsum(changes[order])
    enough = np.flatnonzero(counts >= least)
    return float(moments[order][enough[-1] + 1]) if len(enough) else None
