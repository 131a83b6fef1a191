"""What the CPU algorithms share to build packed CIGARs within a memory budget.

The helpers are compiled into the ``align_range`` of the algorithm that calls them; that one is cached.
"""

import numpy as np
from numba import njit

from wfa_kernels.cigar import MAX_RUN


def read_only_arrays(pairs):
    """(pattern, pattern_offsets, text, text_offsets) of a PairBatch as contiguous read-only views.

    Numba compiles once per array type, and "read-only" is part of the type: memory-mapped batches are read-only anyway.
    """
    arrays = []
    for array in (pairs.pattern, pairs.pattern_offsets, pairs.text, pairs.text_offsets):
        view = np.ascontiguousarray(array).view()
        view.flags.writeable = False
        arrays.append(view)
    return tuple(arrays)


@njit
def grown(buffer, filled, needed, limit):
    """A buffer of at least ``needed`` elements that begins with buffer[:filled]; the same one if that is impossible.

    Sizes are ``limit`` halved a number of times, so that doubling ends exactly at ``limit`` and a copy in progress
    (old + the same number of new elements touched) never holds more than the new size.
    The caller compares len() of what it gets with ``needed``: less means out of memory.
    """
    if needed <= len(buffer) or needed > limit:
        return buffer
    size = limit
    while size // 2 >= max(needed, 2 * len(buffer), 1024):
        size //= 2
    larger = np.empty(size, buffer.dtype)
    larger[:filled] = buffer[:filled]
    return larger


@njit
def with_room(cigars, filled, more):
    """The CIGAR buffer with room for ``more`` elements after the first ``filled`` (output: not in the budget)."""
    if filled + more <= len(cigars):
        return cigars
    larger = np.empty(max(filled + more, 2 * len(cigars)), cigars.dtype)
    larger[:filled] = cigars[:filled]
    return larger


@njit
def append_run(cigars, start, filled, operation, run):
    """Append ``run`` times ``operation`` to the CIGAR cigars[start:filled]; returns the new ``filled``.

    A run is merged with the one before when the operation is the same, and split where it is longer than MAX_RUN.
    The caller has made room (with_room).
    """
    if run == 0:
        return filled
    if filled > start and cigars[filled - 1] & 15 == operation:
        filled -= 1
        run += cigars[filled] >> 4
    while run > MAX_RUN:
        cigars[filled] = (MAX_RUN << 4) | operation
        filled += 1
        run -= MAX_RUN
    cigars[filled] = (run << 4) | operation
    return filled + 1


@njit
def reverse_runs(cigars, start, stop):
    """Reverse cigars[start:stop] in place: a CIGAR that was traced from the end."""
    stop -= 1
    while start < stop:
        cigars[start], cigars[stop] = cigars[stop], cigars[start]
        start += 1
        stop -= 1
