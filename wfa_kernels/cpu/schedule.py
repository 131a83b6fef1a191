"""Spread a batch over threads: chunks of pairs through one kernel, dynamically, in order of the batch.

The kernels release the GIL, so plain threads serve; chunks even out ragged lengths, give progress something to
count, and let an interrupt in between two of them.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from wfa_kernels.cpu import interrupts
from wfa_kernels.pairs import offsets_of
from wfa_kernels.result import OUT_OF_MEMORY, AlignmentResult

#: A chunk holds at most this many bases: some milliseconds of work, against microseconds for a dispatch.
_CHUNK_BASES = 1 << 20
_CHUNK_PAIRS = 1 << 15
#: The same for a kernel that takes pairs side by side: it takes less time, and loses some at a chunk's ends.
_SIDE_BY_SIDE_BASES = 1 << 22


def usable_cores():
    """Number of cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def chunk_bounds(pairs, threads, pairs_at_once=1):
    """Boundaries int64[c + 1] of chunks that share the bases evenly, several for each thread.

    pairs_at_once: pairs that the kernel takes side by side; chunks are larger then, whole multiples of that, and not
    smaller on average, but for giving every thread one.
    """
    n = len(pairs)
    ends = (pairs.pattern_offsets - pairs.pattern_offsets[0]) + (pairs.text_offsets - pairs.text_offsets[0])
    fair = ends[-1] / (threads * 8) if threads > 1 else ends[-1]
    bases = _CHUNK_BASES if pairs_at_once == 1 else _SIDE_BY_SIDE_BASES
    chunks = max(1, int(np.ceil(ends[-1] / max(1, min(bases, fair)))), -(-n // _CHUNK_PAIRS))
    if pairs_at_once > 1:
        chunks = min(chunks, max(threads, n // pairs_at_once))
    cuts = np.searchsorted(ends, np.linspace(0, ends[-1], chunks + 1)[1:-1])
    if n > chunks * pairs_at_once:  # a pair left over at a chunk's end takes as long as those side by side
        cuts -= cuts % pairs_at_once
    by_count = np.arange(0, n, _CHUNK_PAIRS)
    return np.unique(np.concatenate([[0], cuts, by_count, [n]]))


def align_batch(kernel, pairs, penalties, scope, threads, memory_limit, progress=None):
    """Align a batch with one CPU kernel.

    kernel: a module of wfa_kernels.cpu with ``align_range`` and, where it takes pairs side by side, ``PAIRS_AT_ONCE``;
    ``LINEAR_MEMORY``, where it has one, is a kernel that needs less memory.
    memory_limit: bytes of working memory over all threads; a pair that does not fit its thread's share, or not beside
    those that are taken with it, is tried again alone with all of it, then by LINEAR_MEMORY, and only then
    OUT_OF_MEMORY. So the kernel that a pair goes to, and with it which of several cheapest alignments is found, does
    not depend on the threads; but for pairs that bit planes take side by side: those that a thread's share is too
    little for go to wavefronts.
    progress: called with the number of pairs done since the last call. Returns an AlignmentResult.
    """
    if not len(pairs):
        return _join([kernel.align_range(pairs, penalties, scope, 0, 0, memory_limit)])
    at_once = getattr(kernel, "PAIRS_AT_ONCE", 1)
    bounds = chunk_bounds(pairs, threads, at_once).tolist()
    ranges = list(zip(bounds[:-1], bounds[1:], strict=True))
    share = memory_limit // max(1, min(threads, len(ranges)))

    def one(bounds_of_chunk):
        return kernel.align_range(pairs, penalties, scope, *bounds_of_chunk, share)

    parts = []
    for part in _in_order(one, ranges, threads):
        parts.append(part)
        if progress is not None:
            progress(len(part[0]))
    linear = getattr(kernel, "LINEAR_MEMORY", None)
    alone = [(kernel, 1)] * (share < memory_limit or at_once > 1)
    for again, at_a_time in [*alone, *[(linear, threads), (linear, 1)] * bool(linear)]:
        _retry(again, pairs, penalties, scope, at_a_time, memory_limit, ranges, parts)
    return _join(parts)


def _in_order(work, items, threads):
    if threads == 1 or len(items) == 1:
        yield from map(partial(interrupts.hold, work), items)
        return
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        try:
            yield from pool.map(work, items)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _retry(kernel, pairs, penalties, scope, threads, memory_limit, ranges, parts):
    """Align every pair that ran out of memory again, each by itself with its thread's share; amends parts."""
    starved = [start + np.flatnonzero(part[1] == OUT_OF_MEMORY) for (start, _), part in zip(ranges, parts, strict=True)]
    rows = np.concatenate(starved).tolist()
    if not rows:
        return
    share = memory_limit // min(threads, len(rows))

    def one(row):
        return kernel.align_range(pairs, penalties, scope, row, row + 1, share)

    answers = iter(list(_in_order(one, rows, threads)))
    for which, ((start, stop), part) in enumerate(zip(ranges, parts, strict=True)):
        inside = starved[which] - start
        cuts = np.unique(np.concatenate([[0], inside, inside + 1, [stop - start]])).tolist()
        pieces = [
            next(answers) if part[1][a] == OUT_OF_MEMORY else _cut(part, a, b)
            for a, b in zip(cuts[:-1], cuts[1:], strict=True)
        ]
        parts[which] = tuple(None if field[0] is None else np.concatenate(field) for field in zip(*pieces, strict=True))


def _cut(part, a, b):
    scores, status, cigars, lengths = part
    if cigars is None:
        return scores[a:b], status[a:b], None, None
    first = int(lengths[:a].sum())
    return scores[a:b], status[a:b], cigars[first : first + int(lengths[a:b].sum())], lengths[a:b]


def _join(parts):
    scores, status, cigars, lengths = zip(*parts, strict=True)
    if cigars[0] is None:
        return AlignmentResult(np.concatenate(scores), np.concatenate(status))
    offsets = offsets_of(np.concatenate(lengths))
    return AlignmentResult(np.concatenate(scores), np.concatenate(status), np.concatenate(cigars), offsets)
