"""What the CPU algorithms share: to take a batch, and to build packed CIGARs within a memory budget.

The helpers are compiled into the ``align_range`` of the algorithm that calls them; that one is cached.
"""

import numpy as np
from numba import njit

from wfa_kernels.cigar import MAX_RUN
from wfa_kernels.cpu.helper import helper
from wfa_kernels.cpu.intrinsics import peek, poke
from wfa_kernels.pairs import PairBatch

#: Bytes up to which a buffer may lie in the C library's pool of its thread, and from which on glibc maps a block apart
#: whatever came before (over 32 MiB). What is freed in a pool stays with the process beside what is asked for next:
#: a buffer that doubles leaves as much again there, on every thread.
_POOLED, _MAPPED = 1 << 20, (1 << 25) + 8


def read_only_arrays(pairs):
    """(pattern, pattern_offsets, text, text_offsets) of a PairBatch as read-only views.

    Numba compiles once per array type, and "read-only" is part of the type: memory-mapped batches are read-only anyway.
    """
    arrays = []
    for array in (pairs.pattern, pairs.pattern_offsets, pairs.text, pairs.text_offsets):
        view = array.view()
        view.flags.writeable = False
        arrays.append(view)
    return tuple(arrays)


def subset(pairs, rows):
    """The pairs of rows (int64[k], rising) as a PairBatch; faster than PairBatch.take for many short pairs."""
    pattern, pattern_offsets, text, text_offsets = read_only_arrays(pairs)
    return PairBatch(*_gathered(pattern, pattern_offsets, rows), *_gathered(text, text_offsets, rows))


@njit(nogil=True, cache=True)
def _gathered(letters, offsets, rows):
    ends = np.zeros(len(rows) + 1, np.int64)
    for i in range(len(rows)):
        ends[i + 1] = ends[i] + offsets[rows[i] + 1] - offsets[rows[i]]
    gathered = np.empty(ends[-1], np.uint8)
    for i in range(len(rows)):
        start, to = offsets[rows[i]], ends[i]
        for j in range(ends[i + 1] - to):  # not slices: making views of arrays takes longer than to copy short reads
            poke(gathered, to + j, peek(letters, start + j))
    return gathered, ends


@helper
def copy_run(source, source_at, target, target_at, count):
    """target[target_at:target_at + count] = source[source_at:source_at + count], which must not overlap.

    Not by slices: for their message of unlike shapes Numba compiles string functions, 5 s in every new process.
    """
    for i in range(count):
        poke(target, target_at + i, peek(source, source_at + i))


@helper
def apart(size, like):
    """A new buffer of ``size`` elements of like's dtype that goes back to the system as soon as it is given up.

    It begins a mapped block, the rest of which nobody writes to, so that it takes no memory. Small ones are pooled.
    """
    block = size if size * like.itemsize <= _POOLED else max(size, _MAPPED // like.itemsize)
    return np.empty(block, like.dtype)[:size]


@helper
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
    larger = apart(size, buffer)
    copy_run(buffer, 0, larger, 0, filled)
    return larger


@helper
def with_room(cigars, filled, more):
    """The CIGAR buffer with room for ``more`` elements after the first ``filled`` (output: not in the budget)."""
    if filled + more <= len(cigars):
        return cigars
    larger = np.empty(max(filled + more, 2 * len(cigars)), cigars.dtype)
    copy_run(cigars, 0, larger, 0, filled)
    return larger


@helper
def splits(letters):
    """Most elements that runs of so many letters take besides one each, as they are longer than MAX_RUN."""
    return letters // MAX_RUN


@helper
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


@helper
def reverse_runs(cigars, start, stop):
    """Reverse cigars[start:stop] in place: a CIGAR that was traced from the end."""
    stop -= 1
    while start < stop:
        cigars[start], cigars[stop] = cigars[stop], cigars[start]
        start += 1
        stop -= 1
