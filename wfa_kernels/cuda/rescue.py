"""Pairs of a batch that another aligner answers, and their answers among the batch's own."""

from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
from numba import config, njit

from wfa_kernels.pairs import gather_rows, offsets_of
from wfa_kernels.result import AlignmentResult

#: Pairs whose CIGARs a thread puts in their place at once: fewer take less than to start one. Most threads, as they
#: wait for memory.
_PAIRS_AT_A_TIME, _THREADS = 1 << 15, max(1, min(16, config.NUMBA_DEFAULT_NUM_THREADS))


class _StoppedError(Exception):
    """Nobody waits for these answers any more."""


class Rescue:
    """Pairs that are aligned elsewhere, in a thread of its own while the GPU works on.

    rescue: callable that takes int64 row numbers and a callable, which it calls now and then as pairs are done, and
    gives the AlignmentResult of those pairs. pool: pinned.Pool for the CIGARs of all.
    """

    def __init__(self, rescue, pool):
        self._pool, self._rescue, self._parts, self._thread, self._count = pool, rescue, [], None, 0
        self._lock, self._waiting, self._stopped = Lock(), [], False

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        self._stopped = error is not None  # an interrupt must not wait for hours of work that is for nobody
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
        return rows, self._rescue(rows, self._go_on)

    def _go_on(self, _):
        if self._stopped:
            raise _StoppedError

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
        rows, scores, status = rows[order], result.scores, result.status  # nobody else has these arrays yet
        scores[rows] = np.concatenate([found.scores for _, found in parts])[order]
        status[rows] = np.concatenate([found.status for _, found in parts])[order]
        if result.cigars is None:
            return AlignmentResult(scores, status, timings=result.timings, rescued=count)
        lengths = np.concatenate([np.diff(found.cigar_offsets) for _, found in parts])
        flat = np.concatenate([found.cigars for _, found in parts])
        answers = gather_rows(flat, offsets_of(lengths), order)
        return AlignmentResult(scores, status, *self._spliced(result, rows, *answers), result.timings, count)

    def _spliced(self, result, rows, new, new_offsets):
        """(CIGARs, offsets) of the result with those of the rows, in ascending order, replaced by the new ones."""
        own, own_offsets, pairs = result.cigars, result.cigar_offsets, len(result)
        shifts = offsets_of(np.diff(new_offsets) - (own_offsets[rows + 1] - own_offsets[rows]))
        # Memory that is used again: new pages would take longer than what is copied there.
        cigars = self._pool.take(len(own) + len(new), np.uint32)
        offsets = self._pool.take(pairs + 1, np.int64)
        offsets[pairs] = own_offsets[pairs] + shifts[-1]

        def splice(start):
            stop = min(start + _PAIRS_AT_A_TIME, pairs)
            _splice(own, own_offsets, rows, shifts, new, new_offsets, cigars, offsets, start, stop)

        starts = range(0, pairs, _PAIRS_AT_A_TIME)
        if len(starts) == 1:
            splice(0)
        else:
            with ThreadPoolExecutor(min(_THREADS, len(starts))) as threads:
                list(threads.map(splice, starts))
        return cigars[: offsets[pairs]], offsets


@njit(nogil=True, cache=True)
def _splice(cigars, offsets, rows, shifts, new, new_offsets, out, out_offsets, start, stop):
    """Write CIGARs of the pairs from ``start`` on, before ``stop``, with those of the rows replaced by the new ones.

    rows: int64[k], in ascending order. shifts: int64[k + 1], how much further on the CIGARs behind so many of them
    begin. out: uint32[...] with room for all. out_offsets: int64[pairs + 1]. Nothing is given back: Numba would run
    Python code for it, into which an interrupt could fall (cpu.interrupts).
    """
    at, row = np.searchsorted(rows, start), start
    while row < stop:
        last, shift = min(stop, rows[at]) if at < len(rows) else stop, shifts[at]
        begins, own = out_offsets[row:last], offsets[row:last]
        for j in range(len(own)):
            begins[j] = own[j] + shift
        _copy(cigars, offsets[row], offsets[last], out, offsets[row] + shift)
        row = last
        if row < stop:
            out_offsets[row] = offsets[row] + shift
            _copy(new, new_offsets[at], new_offsets[at + 1], out, out_offsets[row])
            at, row = at + 1, row + 1


@njit(nogil=True, cache=True)
def _copy(source, start, stop, target, at):
    """Copy source[start:stop] to where ``at`` is. Element by element: Numba copies slices at a tenth of the speed."""
    some, there = source[start:stop], target[at : at + (stop - start)]
    for j in range(len(some)):
        there[j] = some[j]
