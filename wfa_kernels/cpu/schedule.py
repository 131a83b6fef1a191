"""Spread a batch over threads: chunks of pairs through one kernel, dynamically, in order of the batch.

The kernels release the GIL, so plain threads serve; chunks even out ragged lengths, give progress something to
count, and let an interrupt in between two of them. For a kernel that takes pairs side by side, each of which waits for
the longest, pairs of very different lengths are taken in order of these (see longest_first).
"""

import os
from itertools import chain

import numpy as np

from wfa_kernels.cpu import crew
from wfa_kernels.cpu.longest_first import LongestFirst
from wfa_kernels.pairs import offsets_of
from wfa_kernels.result import OUT_OF_MEMORY, AlignmentResult

#: A chunk holds at most this many bases: some milliseconds of work, against microseconds for a dispatch.
_CHUNK_BASES = 1 << 20
_CHUNK_PAIRS = 1 << 15
#: The same for a quick kernel, as one is that takes pairs side by side, which loses some time at a chunk's ends, too.
_QUICK_BASES = 1 << 22
#: Pairs of a chunk, on average, from which on there are enough of about each length, and how many times as long as the
#: mean the longest pair is where that matters.
_FEW_PAIRS, _RAGGED = 512, 1.5
#: Runs of chunks for each thread that what is left makes up, where the longest pairs come first, and part of the memory
#: that the letters of these runs may take.
_SHARES_BY_LENGTH, _FOR_LETTERS = 4, 0.25
#: Seconds that a letter takes at least, of the cleanest short reads, and a byte of an answer's new memory.
_BASE_SECONDS, _NEW_BYTE_SECONDS = 3e-10, 2e-10


def usable_cores():
    """Number of cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def chunk_bounds(pairs, threads, pairs_at_once=1, quick=False):
    """Boundaries int64[c + 1] of chunks that share the bases evenly, several for each thread.

    pairs_at_once: pairs that the kernel takes side by side; chunks are whole multiples of that, and not smaller on
    average, but for giving every thread one. quick: whether they are larger.
    """
    n, bases = len(pairs), _bases(pairs)
    fair = bases / (threads * 8) if threads > 1 else bases
    most = _QUICK_BASES if quick else _CHUNK_BASES
    chunks = max(1, int(np.ceil(bases / max(1, min(most, fair)))), -(-n // _CHUNK_PAIRS))
    if pairs_at_once > 1:
        chunks = min(chunks, max(threads, n // pairs_at_once))
    cuts = _first_with(pairs, np.linspace(0, bases, chunks + 1)[1:-1])
    if n > chunks * pairs_at_once:  # a pair left over at a chunk's end takes as long as those side by side
        cuts -= cuts % pairs_at_once
    by_count = np.arange(0, n, _CHUNK_PAIRS)
    return np.unique(np.concatenate([[0], cuts, by_count, [n]]))


def _bases(pairs):
    return int(sum(ends[-1] - ends[0] for ends in (pairs.pattern_offsets, pairs.text_offsets)))


def _first_with(pairs, bases):
    """Rows before which there are at least so many bases, int64[c]; by bisection, as sums of all rows take longer."""
    pattern, text = pairs.pattern_offsets, pairs.text_offsets
    bases = bases + pattern[0] + text[0]
    low, high = np.zeros(len(bases), np.int64), np.full(len(bases), len(pairs), np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        short = pattern[middle] + text[middle] < bases
        low, high = np.where(short, middle + 1, low), np.where(short, high, middle)
    return low


def align_batch(kernel, pairs, penalties, scope, threads, memory_limit, progress=None):
    """Align a batch with one CPU kernel.

    kernel: a module of wfa_kernels.cpu with ``align_range`` and, where it takes pairs side by side, ``PAIRS_AT_ONCE``.
    ``QUICK``: whether it takes less time a letter than wavefronts do; without it one that takes pairs side by side is.
    ``LINEAR_MEMORY``, where it has one, is a kernel that needs less memory.
    memory_limit: bytes of working memory over all threads; a pair that does not fit its thread's share, or not beside
    those that are taken with it, is tried again alone with all of it, then by LINEAR_MEMORY, and only then
    OUT_OF_MEMORY. So the kernel that a pair goes to, and with it which of several cheapest alignments is found, does
    not depend on the threads; but for pairs that bit planes take side by side: those that a thread's share is too
    little for go to wavefronts.
    progress: called with the number of pairs done since the last call. Returns an AlignmentResult.
    """
    if not len(pairs):
        return _joined([(0, 0)], [kernel.align_range(pairs, penalties, scope, 0, 0, memory_limit)], 1)
    at_once = getattr(kernel, "PAIRS_AT_ONCE", 1)
    quick = getattr(kernel, "QUICK", at_once > 1)
    bounds, how = chunk_bounds(pairs, threads, at_once, quick), (threads, memory_limit, progress)
    if at_once > 1 and _mixed(pairs, len(bounds) - 1):
        ordered = LongestFirst(pairs)
        in_order = chunk_bounds(ordered, threads, at_once, quick)
        if _letters_of_runs(ordered, in_order, threads) <= memory_limit * _FOR_LETTERS:
            kernel = ordered.kernel(kernel)
            return ordered.restored(_aligned(kernel, ordered, penalties, scope, in_order, _SHARES_BY_LENGTH, *how))
    return _aligned(kernel, pairs, penalties, scope, bounds, 1 if quick else 2, *how)


def _letters(pairs):
    return pairs.pattern_lengths + pairs.text_lengths


def _mixed(pairs, chunks):
    """Whether chunks have too few pairs to find enough of like lengths among them, as lanes wait for the longest."""
    few = chunks > 1 and len(pairs) < _FEW_PAIRS * chunks
    return few and bool(_letters(pairs).max() * len(pairs) > _RAGGED * _bases(pairs))


def _most_chunks(pairs, chunks):
    """Chunks of a run, but for those that take little time."""
    return max(1, int(_CHUNK_BASES * chunks / max(1, _bases(pairs))))


def _letters_of_runs(pairs, bounds, threads):
    """Letters that so many threads hold at most, each those of a run of chunks."""
    ends = pairs.pattern_offsets[bounds] + pairs.text_offsets[bounds]
    longest = crew.LONGEST_RUN * _most_chunks(pairs, len(bounds) - 1) * int(np.diff(ends).max())
    return threads * min(int(ends[-1]), longest)


def _aligned(kernel, pairs, penalties, scope, bounds, shares, threads, memory_limit, progress):
    """See align_batch. bounds: of the chunks. shares: of crew.in_order."""
    at_once, bounds = getattr(kernel, "PAIRS_AT_ONCE", 1), bounds.tolist()
    share = memory_limit // max(1, min(threads, len(bounds) - 1))

    def run(first, last):
        start, stop = bounds[first], bounds[last]
        return (start, stop), kernel.align_range(pairs, penalties, scope, start, stop, share)

    ranges, parts = [], []
    chunks = len(bounds) - 1
    most, unit_seconds = _most_chunks(pairs, chunks), _bases(pairs) / chunks * _BASE_SECONDS
    for covered, part in crew.in_order(run, chunks, threads, most, shares, unit_seconds):
        ranges.append(covered)
        parts.append(part)
        if progress is not None:
            progress(len(part[0]))
    linear = getattr(kernel, "LINEAR_MEMORY", None)
    alone = [(kernel, 1)] * (share < memory_limit or at_once > 1)
    for again, at_a_time in [*alone, *[(linear, threads), (linear, 1)] * bool(linear)]:
        _retry(again, pairs, penalties, scope, at_a_time, memory_limit, ranges, parts)
    return _joined(ranges, parts, threads)


def _retry(kernel, pairs, penalties, scope, threads, memory_limit, ranges, parts):
    """Align every pair that ran out of memory again, each by itself with its thread's share; amends parts."""
    starved = [start + np.flatnonzero(part[1] == OUT_OF_MEMORY) for (start, _), part in zip(ranges, parts, strict=True)]
    rows = np.concatenate(starved).tolist()
    if not rows:
        return
    share = memory_limit // min(threads, len(rows))

    def run(first, last):
        return [kernel.align_range(pairs, penalties, scope, row, row + 1, share) for row in rows[first:last]]

    answers = chain.from_iterable(list(crew.in_order(run, len(rows), threads)))
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


def _joined(ranges, parts, threads):
    """The answers of all parts, one behind the other; threads write them, as the first touch of memory takes time."""
    if len(parts) == 1:
        scores, status, cigars, lengths = parts[0]
        return AlignmentResult(scores, status, cigars, None if cigars is None else offsets_of(lengths))
    pairs, traced = ranges[-1][1], parts[0][2] is not None
    scores, status = np.empty(pairs, np.int32), np.empty(pairs, np.uint8)
    ends = offsets_of(np.array([len(part[2]) if traced else 0 for part in parts]))
    cigars, offsets = np.empty(ends[-1], np.uint32), np.zeros(pairs + 1 if traced else 1, np.int64)

    def place(first, last):
        for (start, stop), part, begin in zip(ranges[first:last], parts[first:last], ends[first:last], strict=True):
            scores[start:stop], status[start:stop] = part[:2]
            if traced:
                cigars[begin : begin + len(part[2])] = part[2]
                own = offsets[start + 1 : stop + 1]
                np.cumsum(part[3], out=own)
                own += begin

    part_bytes = (scores.nbytes + status.nbytes + cigars.nbytes + offsets.nbytes) / len(parts)
    for _ in crew.in_order(place, len(parts), threads, most=len(parts), unit_seconds=part_bytes * _NEW_BYTE_SECONDS):
        pass
    return AlignmentResult(scores, status, cigars, offsets) if traced else AlignmentResult(scores, status)
