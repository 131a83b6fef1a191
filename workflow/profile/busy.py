"""What stamps of begin and end come to: how much was at work over time. Pure functions of arrays; times in any unit."""

import numpy as np


def mean_at_work(begins, ends, edges, weights=None):
    """float64[bins]: how many of these intervals went on, on average, within each bin.

    begins, ends: [n], begins <= ends. edges: [bins + 1], ascending. weights: [n], what each counts for; by default 1.
    """
    edges = np.asarray(edges, float)
    weights = np.ones(len(begins)) if weights is None else np.asarray(weights)
    until = _time_since(begins, weights, edges) - _time_since(ends, weights, edges)
    return np.diff(until) / np.diff(edges)


def _time_since(moments, weights, edges):
    """For each edge, the time since each of the moments before it, summed with their weights."""
    order = np.argsort(moments)
    moments, weights = np.asarray(moments, float)[order], weights[order]
    before = np.searchsorted(moments, edges)
    counted, summed = (np.concatenate([[0.0], np.cumsum(values)])[before] for values in (weights, weights * moments))
    return edges * counted - summed


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
