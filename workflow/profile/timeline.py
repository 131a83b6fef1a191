"""``timeline``: thesis Fig 6 on this GPU, when each batch's copies and kernels ran, by the GPU's clock."""

import time

from wfa_kernels import Edit, align, release_gpu_memory
from workflow.profile.cells import SHORT, load

DESIGNS = ("fast", "paper")
WARM_UP_CALLS = 3
#: Timed calls, of which the one of median time is kept.
CALLS = 5


def measure(folder, count, say):
    """The content of timeline.json: {"dataset", "pairs", "scope", "input", "designs": [...]}, see _design().

    folder, count: see cells.load(). say: callable that is told of progress.
    """
    pairs, found = load(SHORT, folder, count), []
    for design in DESIGNS:
        say(f"[profile] timeline of {design}: {CALLS} calls")
        found.append(_design(pairs, design))
        release_gpu_memory()
    return {"dataset": SHORT.name, "pairs": count, "scope": "cigar", "input": "pinned", "designs": found}


def _design(pairs, design):
    """{"design", "seconds": of a call by the host's clock, "calls", "spans": [...] from its first event on}."""
    calls = []
    for call in range(WARM_UP_CALLS + CALLS):
        begin = time.perf_counter()
        result = align(pairs, Edit(), scope="cigar", device="cuda", design=design)
        seconds = time.perf_counter() - begin
        if call >= WARM_UP_CALLS:
            calls.append((seconds, result.timings.spans()))
    seconds, spans = sorted(calls, key=lambda call: call[0])[CALLS // 2]
    keys = ("part", "batch", "begin_s", "end_s")
    rows = [(part, int(batch), float(begin), float(end)) for part, batch, begin, end in spans]
    spans = [dict(zip(keys, row, strict=True)) for row in rows]
    return {"design": design, "seconds": seconds, "calls": CALLS, "spans": spans}
