"""Slices of a round: how many pairs a cell runs in one, and how short they must be for the fewest rounds to fit."""

from dataclasses import dataclass

#: A run that takes so large a part of the slice, and so many times what one on fewer pairs tells, is timed again: a
#: tool may compile for a size when it first meets it.
_NEAR, _OUT_OF_PROPORTION = 0.25, 2


@dataclass(frozen=True)
class Run:
    """Seconds of a cell on some number of pairs. run_s: a timed run. all_s: with untimed calls. prepare_s: before."""

    run_s: float
    all_s: float
    prepare_s: float


def calibrated(sizes, slice_s, run):
    """{pairs: Run} of what was run to find the most pairs within a slice, the fewest among them.

    sizes: numbers of pairs, ascending. run: gives the Run of a number of pairs, or None where the tool fails on them.
    Behind a size that fits, the next one is the largest that would fit if time grew as the pairs do: calls on few pairs
    mostly show what a call costs besides. From one that does not fit it goes back a size.
    """
    runs, at, fitting, over = {}, 0, -1, len(sizes)
    while fitting < at < over:
        n = sizes[at]
        found = run(n)
        expected = runs[sizes[fitting]].run_s * n / sizes[fitting] if fitting >= 0 else 0
        if found and found.run_s > max(_NEAR * slice_s, _OUT_OF_PROPORTION * expected):
            found = min(found, run(n) or found, key=lambda one: one.run_s)
        if found:
            runs[n] = found
        if found and found.run_s <= slice_s:
            fitting = at
            at = max((p for p in range(at + 1, over) if found.run_s * sizes[p] <= slice_s * n), default=over)
        else:
            over, at = at, at - 1
    return runs


def pairs_within(runs, slice_s):
    """Most pairs that a cell runs within its slice; the fewest that it may where none fit. runs: {pairs: Run}."""
    return max((n for n, run in runs.items() if run.run_s <= slice_s), default=min(runs))


def cost_s(runs, n, rounds, prepared):
    """Seconds of a cell on n pairs over some rounds, prepared so many times; on more than were tried, in proportion."""
    known = min((tried for tried in runs if tried >= n), default=max(runs))
    return (rounds * runs[known].all_s + prepared * runs[known].prepare_s) * max(1, n / known)


def shortened(slice_s, least_s, budget_s, costs_s):
    """{block: slice}: the slice, halved until all fits the budget, each time of the block that costs most.

    least_s: {block: seconds that none of its cells undercuts}; a slice that is no longer stays. costs_s: function that
    gives {block: seconds} by {block: slice}.
    """
    found = dict.fromkeys(least_s, slice_s)
    while True:
        costs = costs_s(found)
        long = [block for block in found if found[block] > least_s[block]]
        if sum(costs.values()) <= budget_s or not long:
            return found
        found[max(long, key=costs.get)] /= 2
