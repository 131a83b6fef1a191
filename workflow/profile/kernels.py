"""``kernels``: thesis Tables 4 and 5 on this GPU, from the compiler, the GPU's clock and Nsight Compute."""

import sys

import numpy as np

from wfa_kernels import Edit, align, gpu_kernel_facts, release_gpu_memory
from workflow.profile import ncu
from workflow.profile.cells import CELLS, KERNEL_LIMITS, load
from workflow.profile.once import WARM_UP_CALLS

#: Timed calls of a cell, without a profiler.
CALLS = 5
NCU_TIMEOUT_S = 180
#: Pairs that ncu watches: it runs every launch several times, and took more than three minutes for a million.
NCU_PAIRS = 100_000


def measure(folder, count, say):
    """The content of kernels.json: {"ncu": {"version", "reason", "pairs"}, "cells": [...]}, see _cell().

    What ncu adds up over the first NCU_PAIRS is scaled to all. folder, count: see cells.load(). say: callable that is
    told of progress.
    """
    found = []
    for cell in CELLS:
        say(f"[profile] {cell.name}: {CALLS} calls")
        found.append(_cell(cell, folder, count))
        release_gpu_memory()
    path = ncu.find()
    if path is None:
        return {"ncu": {"version": None, "reason": "ncu (Nsight Compute) is not installed"}, "cells": found}
    say(f"[profile] the same under {path}")
    watched = min(count, NCU_PAIRS)
    child = [sys.executable, "-m", "workflow.profile", "once", "--data", folder, "--pairs", str(watched)]
    launches, reason = ncu.profile(path, child, NCU_TIMEOUT_S)
    for cell, of_it in zip(found, ncu.by_cell(launches, len(found)), strict=True):
        kernels = ncu.by_kernel(of_it)
        cell["ncu"] = {kernel: ncu.scaled(summary, count / watched) for kernel, summary in kernels.items()}
    return {"ncu": {"version": ncu.version(path), "reason": reason, "pairs": watched}, "cells": found}


def _cell(cell, folder, count):
    """One cell without ncu: timings in seconds, one a call; answered: the part of the pairs that each kernel did."""
    pairs, design = load(cell.dataset, folder, count), cell.design()
    timings = []
    for call in range(WARM_UP_CALLS + CALLS):
        result = align(pairs, Edit(), scope="cigar", device="cuda", design=design)
        if call >= WARM_UP_CALLS:
            timings.append(dict(result.timings))
    longest = int(max(pairs.pattern_lengths.max(), pairs.text_lengths.max()))
    facts, reason = _facts(longest, design)
    return {
        "table": cell.table,
        "dataset": cell.dataset.name,
        "pairs": count,
        "longest_bp": longest,
        "first_kernel": cell.first_kernel,
        "answered": answered(result.scores, cell.first_kernel),
        "timings_s": {name: [call[name] for call in timings] for name in timings[0]},
        "compiler": facts,
        "compiler_reason": reason,
        "ncu": {},
    }


def answered(scores, first_kernel=""):
    """{kernel: part of the pairs} that are within its limit and over that of the kernels before it."""
    names = list(KERNEL_LIMITS)
    names = names[names.index(first_kernel) if first_kernel else 0 :]
    taken = np.searchsorted([KERNEL_LIMITS[name] for name in names], scores)
    return {name: float(np.mean(taken == i)) for i, name in enumerate(names)}


def _facts(longest, design):
    """({kernel: what the compiler tells}, ""), or ({}, why not): the other values do not depend on it."""
    try:
        facts = gpu_kernel_facts(longest, design=design, scope="cigar")
    except Exception as error:  # drivers fail in many ways
        return {}, f"the compiler's facts failed: {error}"
    return {fact["kernel"]: fact for fact in facts}, ""
