"""Slices of a round: how many pairs a cell runs in one, and how short they must be for the fewest rounds to fit."""

from dataclasses import dataclass

import numpy as np

#: Seconds that the untimed call of a run takes longer than the timed one, above which something was compiled in it, or
#: very much memory taken.
COMPILED_S = 1
#: Slices that a run takes, and seconds that it takes longer than one: from either on no pause of a host explains that
#: it does not fit.
SLOW_SLICES, PAUSE_S = 8, 1
#: A round's seconds over (cells x slice), as seen: a cell takes 1/4 to 1 of its slice; preparing and hashing add to it.
PACE = 0.9


@dataclass(frozen=True)
class Run:
    """Seconds of a cell on some number of pairs. run_s: a timed run. all_s: with untimed calls. prepare_s: before.
    compiled: some of it went into kernels that Numba compiled."""

    run_s: float
    all_s: float
    prepare_s: float
    compiled: bool = False

    def least(self, other):
        """The least of each of both: what one of them took longer, it took once, such as memory of the system."""
        return Run(
            min(self.run_s, other.run_s),
            min(self.all_s, other.all_s),
            min(self.prepare_s, other.prepare_s),
            self.compiled and other.compiled,
        )


def calibrated(work, slice_s, run):
    """{pairs: Run} of what was run to find the most pairs within a slice, the fewest among them.

    work: {pairs: cells of the dynamic-programming matrices of so many}, ascending: ten mapped reads may be fifty times
    as many as the first three. run: gives the Run of a number of pairs, or None where the tool fails on them.
    Behind a size that fits, the next one is the largest that would fit if time grew as the work does: calls on few
    pairs mostly show what a call costs besides. Where none would, the next size is tried that fits if time goes on to
    grow as it did from less; a call on ten long pairs may take as long as one on a thousand. From one that does not fit
    it goes back a size. A run that does not lead to more pairs is made again: a tool may compile for a size when it
    first meets it, and a host may pause. All pairs within the slice are run once: there are no more to find, and to
    bring and run them all takes a GPU's tool longest. So are those that take far longer than a slice.
    """
    sizes, cells = list(work), list(work.values())
    runs, at, fitting, over = {}, 0, -1, len(sizes)

    def next_behind(found):
        if found.run_s > slice_s:
            return at
        larger = range(at + 1, over)
        in_proportion = max((p for p in larger if found.run_s * cells[p] <= slice_s * cells[at]), default=at)
        fewer = max((p for p in range(at) if sizes[p] in runs), default=None)
        if in_proportion > at or at + 1 == over or fewer is None:
            return in_proportion
        a_cell = max(0, found.run_s - runs[sizes[fewer]].run_s) / (cells[at] - cells[fewer])
        return at + (found.run_s + a_cell * (cells[at + 1] - cells[at]) <= slice_s)

    def tells_all(found):
        most = at == len(sizes) - 1 and found.run_s <= slice_s
        far_over = found.run_s > min(SLOW_SLICES * slice_s, slice_s + PAUSE_S)
        return (most or far_over) and not found.compiled and found.all_s <= 2 * found.run_s + COMPILED_S

    while fitting < at < over:
        found = run(sizes[at])
        if found and next_behind(found) == at and not tells_all(found):
            found = found.least(run(sizes[at]) or found)
        if found:
            runs[sizes[at]] = found
        if found and found.run_s <= slice_s:
            fitting, at = at, next_behind(found)
            if at == fitting and at + 1 < over and len(runs) == 1:  # nothing tells yet how time grows
                at += 1
        else:
            over, at = at, at - 1
    return runs


def pairs_within(runs, sizes, slice_s):
    """Most pairs, of these sizes, that a cell runs within its slice; the fewest that it may where none fit.

    runs: {pairs: Run}, from which the time of a size between two of them is told.
    """
    least, most = min(runs), max(runs)
    return max((n for n in sizes if least <= n <= most and _told(runs, n, "run_s") <= slice_s), default=least)


def cost_s(runs, n, rounds, prepared):
    """Seconds of a cell on n pairs over some rounds, prepared so many times."""
    return rounds * _told(runs, n, "all_s") + prepared * _told(runs, n, "prepare_s")


def _told(runs, n, quantity):
    """A quantity of a cell on n pairs: in between those of two runs, beyond the last in proportion."""
    tried = sorted(runs)
    seconds = [getattr(runs[one], quantity) for one in tried]
    return float(np.interp(n, tried, seconds)) * max(1, n / tried[-1])


def shortened(slices_s, least_s, budget_s, costs_s):
    """{block: slice}: the slices, halved until all fits the budget, each time of the block that costs most.

    least_s: {block: seconds that none of its cells undercuts}; a slice that is no longer stays. costs_s: function that
    gives {block: seconds} by {block: slice}.
    """
    found = dict(slices_s)
    while True:
        costs = costs_s(found)
        long = [block for block in found if found[block] > least_s[block]]
        if sum(costs.values()) <= budget_s or not long:
            return found
        found[max(long, key=costs.get)] /= 2
