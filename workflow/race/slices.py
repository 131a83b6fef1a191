"""Slices of a round: how many pairs a cell runs in one, and how short they must be for the fewest rounds to fit."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """Of a cell on some number of pairs, in seconds. run_s: a timed run. all_s: with preparing it and untimed calls."""

    run_s: float
    all_s: float


def pairs_within(runs, slice_s):
    """Most pairs that a cell runs within its slice; the fewest that it may where none fit. runs: {pairs: Run}."""
    return max((n for n, run in runs.items() if run.run_s <= slice_s), default=min(runs))


def cost_s(runs, n):
    """Seconds of a cell on n pairs, all in all; on more than were tried, in proportion."""
    known = min((tried for tried in runs if tried >= n), default=max(runs))
    return runs[known].all_s * max(1, n / known)


def shortened(slice_s, least_s, budget_s, round_s):
    """The slice, halved until a round fits the budget, or until it is no more than least_s, which no cell undercuts.

    round_s: function that gives the seconds of a round by its slice.
    """
    while slice_s > least_s and round_s(slice_s) > budget_s:
        slice_s /= 2
    return slice_s
