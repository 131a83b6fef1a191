"""``occupancy``: how busy this GPU was during a call on long noisy pairs of very different lengths, by stamps of warps.

A call ends when its last pair does: the kernels' tail, in which a few long pairs are left, must not idle the GPU. Every
warp of every kernel stamps when it began and ended and on which processor it was, by the GPU's clock.
"""

import statistics
import time

import numpy as np

from wfa_kernels import Affine, align, release_gpu_memory, watch_gpu_warps
from workflow.profile import busy
from workflow.profile.cells import LONG_TAILED, ProfileError, load

PENALTIES = (2, 3, 1)
#: Calls before those that are timed: the first compiles, the second knows which kernels these pairs need.
WARM_UP_CALLS = 2
#: Timed calls, without stamps and with them; of the latter the one of median time is kept.
CALLS = 3
BINS = 400
#: Room for stamps of so many warps, and of so many more a pair: 42 a pair were left by 100,000 pairs on an H200.
LEAST_WARPS, WARPS_A_PAIR = 1 << 20, 100


def measure(folder, count, say):
    """The content of occupancy.json: the data set and how() it went. folder, count: see cells.load(). say: callable."""
    pairs = load(LONG_TAILED, folder, count)
    say(f"[profile] occupancy: {WARM_UP_CALLS} + {CALLS} calls on {count} pairs")
    plain = [_call(pairs)[0] for _ in range(WARM_UP_CALLS + CALLS)][WARM_UP_CALLS:]
    with watch_gpu_warps(most_warps=room(count)) as watch:
        say(f"[profile] the same with stamps: 1 + {CALLS} calls")
        calls = [_watched(pairs, watch) for _ in range(1 + CALLS)][1:]
    release_gpu_memory()
    seconds, result, stamps, spans, batches = sorted(calls, key=lambda call: call[0])[CALLS // 2]
    lengths = pairs.pattern_lengths
    return {
        "dataset": LONG_TAILED.name,
        "pairs": count,
        "error": LONG_TAILED.error,
        "lengths_bp": {"shortest": int(lengths.min()), "mean": float(lengths.mean()), "longest": int(lengths.max())},
        "penalties": list(PENALTIES),
        "scope": "cigar",
        "design": "fast",
        "input": "pinned",
        "seconds": seconds,
        "seconds_without_stamps": statistics.median(plain),
        "calls": CALLS,
        "rescued": int(result.rescued),
    } | how(stamps, spans, batches)


def room(count):
    """Warps to have room for the stamps of, for so many pairs."""
    return LEAST_WARPS + WARPS_A_PAIR * count


def _call(pairs):
    """(seconds by the host's clock, the result)."""
    begin = time.perf_counter()
    result = align(pairs, Affine(*PENALTIES), scope="cigar", device="cuda")
    return time.perf_counter() - begin, result


def _watched(pairs, watch):
    """(seconds, the result, its stamps, its spans, its batches' kernels)."""
    watch.clear()
    seconds, result = _call(pairs)
    return seconds, result, watch.read(), result.timings.spans(), result.timings.kernels()


def how(stamps, spans, batches):
    """What the stamps and events of one call come to, as JSON.

    stamps: WarpStamps. spans: [(part, batch, begin, end)] in seconds since the call's first event. batches: [(batch,
    its pairs, begin, end)] of their kernels. Times are seconds since that event: the first kernel of a call packs the
    first batch, and begins when that part does.

    bin_s: of each bin; kernels: name, warps, at_once (that the GPU holds when it runs nothing else), warps_at_work, the
    mean of each bin; processors_at_work: mean of each bin, those with a warp at least; load: of each bin, the part of
    the GPU that the warps at work take, where one warp takes 1 / at_once, at most 1 (kernels that do not need the same
    resource could come to more); kernels_s: [begin of the first, end of the last]; in that time, mean_load and
    mean_processors, as parts.
    Raises ProfileError where there are no stamps, or not all.
    """
    if not len(stamps.begin) or stamps.unstamped:
        found = f"{len(stamps.begin)} warps left a stamp, {stamps.unstamped} found no room"
        raise ProfileError(f"occupancy: {found}; give fewer --pairs")
    packed = min((begin for part, _, begin, _ in spans if part == "time_pack"), default=0.0)
    begin, end = (1e-9 * (moments - stamps.begin.min()) + packed for moments in (stamps.begin, stamps.end))
    first, last = float(begin.min()), float(end.max())
    edges = np.linspace(0, max(last, *(end_s for *_, end_s in spans)), BINS + 1)
    bin_s, at_work = float(edges[1]), busy.merged(begin, end, stamps.processor)
    weights = 1 / stamps.at_once[stamps.kernel]
    load = np.minimum(busy.mean_at_work(begin, end, edges, weights), 1)
    return {
        "processors": stamps.processors,
        "bin_s": bin_s,
        "kernels": [_kernel(stamps, place, begin, end, edges) for place in range(len(stamps.kernels))],
        "processors_at_work": _rounded(busy.mean_at_work(*at_work, edges)),
        "load": _rounded(load),
        "kernels_s": [first, last],
        "mean_load": float(load.sum() * bin_s / (last - first)),
        "mean_processors": float((at_work[1] - at_work[0]).sum() / (last - first) / stamps.processors),
        "batches": [{"batch": int(number), "pairs": int(held), "begin_s": float(begin_s), "end_s": float(end_s)}
                    for number, held, begin_s, end_s in batches],
    }  # fmt: skip


def _kernel(stamps, place, begin, end, edges):
    """One kernel's part of how()."""
    of_it = stamps.kernel == place
    return {
        "name": stamps.kernels[place],
        "warps": int(of_it.sum()),
        "at_once": int(stamps.at_once[place]),
        "warps_at_work": _rounded(busy.mean_at_work(begin[of_it], end[of_it], edges)),
    }


def _rounded(values):
    return np.round(np.maximum(values, 0), 3).tolist()
