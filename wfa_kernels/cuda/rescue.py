"""Pairs of a batch that another aligner answers, and their answers among the batch's own."""

from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
from numba import njit

from wfa_kernels.pairs import gather_rows, offsets_of
from wfa_kernels.result import AlignmentResult


class Rescue:
    """Pairs that are aligned elsewhere, in a thread of its own while the GPU works on.

    rescue: callable that takes int64 row numbers and gives the AlignmentResult of those pairs. pool: pinned.Pool for
    the CIGARs of all.
    """

    def __init__(self, rescue, pool):
        self._pool, self._rescue, self._parts, self._thread, self._count = pool, rescue, [], None, 0
        self._lock, self._waiting = Lock(), []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)

    def hand_over(self, rows):
        """Let these rows be aligned: at once, or behind those that are, with all that have come by then."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1)
        self._count += len(rows)
        with self._lock:
            self._waiting.append(rows)
        self._parts.append(self._thread.submit(self._align_waiting).result)

    def _align_waiting(self):
        """(rows, their answers), of all that wait; None where those before have taken them."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        if not waiting:
            return None
        rows = np.concatenate(waiting)
        return rows, self._rescue(rows)

    def add(self, rows, found):
        """Take the answers of these rows as they are."""
        self._count += found.rescued
        self._parts.append(lambda: (rows, found))

    def splice_into(self, result):
        """The result with these pairs' answers in the place of its own."""
        parts = [part for answers in self._parts if (part := answers()) is not None]
        if not parts:
            return result
        count = result.rescued + self._count
        rows = np.concatenate([rows for rows, _ in parts])
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        scores, status = result.scores.copy(), result.status.copy()
        scores[rows] = np.concatenate([found.scores for _, found in parts])[order]
        status[rows] = np.concatenate([found.status for _, found in parts])[order]
        if result.cigars is None:
            return AlignmentResult(scores, status, timings=result.timings, rescued=count)
        lengths = np.concatenate([np.diff(found.cigar_offsets) for _, found in parts])
        flat = np.concatenate([found.cigars for _, found in parts])
        ends = offsets_of(lengths)
        new, new_offsets = gather_rows(flat, ends, order)
        # Memory that is used again: new pages would take longer than what is copied there.
        cigars = self._pool.take(len(result.cigars) + len(new), np.uint32)
        offsets = self._pool.take(len(result.cigar_offsets), np.int64)
        _splice(result.cigars, result.cigar_offsets, rows, new, new_offsets, cigars, offsets)
        return AlignmentResult(scores, status, cigars[: offsets[-1]], offsets, result.timings, count)


@njit(nogil=True, cache=True)
def _splice(cigars, offsets, rows, new, new_offsets, out, out_offsets):
    """Write CIGARs with those of the rows, in ascending order, replaced by the new ones.

    out: uint32[...] with room for all. out_offsets: int64[pairs + 1]; their last one is where ``out`` ends. Nothing is
    given back: Numba would run Python code for it, into which an interrupt could fall (cpu.interrupts).
    """
    out_offsets[0] = offsets[0]
    at, shift = 0, 0
    for row in range(len(offsets) - 1):
        if at < len(rows) and rows[at] == row:
            shift += (new_offsets[at + 1] - new_offsets[at]) - (offsets[row + 1] - offsets[row])
            at += 1
        out_offsets[row + 1] = offsets[row + 1] + shift
    out = out[: out_offsets[-1]]
    kept = 0  # the first of the elements that are still to be copied
    for at in range(len(rows)):
        row = rows[at]
        begin = out_offsets[row] - (offsets[row] - kept)
        out[begin : out_offsets[row]] = cigars[kept : offsets[row]]
        out[out_offsets[row] : out_offsets[row + 1]] = new[new_offsets[at] : new_offsets[at + 1]]
        kept = offsets[row + 1]
    out[out_offsets[-1] - (len(cigars) - kept) :] = cigars[kept:]
