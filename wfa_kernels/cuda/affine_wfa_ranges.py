"""Diagonals of the gap-affine wavefronts (affine_wfa): all that are in reach, or those that a heuristic leaves.

Without a heuristic and with a StaticBand the lowest and the highest diagonal follow from the score and the lengths.
With a WavefrontReduction they are kept for the last scores, in the shared memory of the thread block, and cut after
each wavefront (Marco-Sola et al. 2021): what is cut is never read, so no cell needs to be cleared.

shared: int32[shared_words()]. Elements 0 and 1 are affine_wfa's; then, with a reduction, five marks, the nearest
distance to the end, the lowest and the highest reached diagonal, and the lowest and the highest near one; then the
lowest and the highest diagonal of each row of M.
"""

from numba import cuda, int32, uint32

from wfa_kernels.cuda.device import inlined
from wfa_kernels.cuda.packing import MAX_LONG
from wfa_kernels.heuristics import StaticBand, WavefrontReduction

_NEAREST, _LOWEST, _HIGHEST, _NEAR_LOWEST, _NEAR_HIGHEST, _SPANS = range(2, 8)
#: Where no diagonal is: above all of them, and below with the sign turned.
_FAR = 2**28
#: Diagonals on either side of the widest band: no sequence on a GPU has more letters.
_WIDEST = MAX_LONG


def shared_words(ring, heuristic):
    """Elements of ``shared`` for a ring of so many rows."""
    return _SPANS + 2 * ring if isinstance(heuristic, WavefrontReduction) else 2


@inlined
def back(slot, distance, ring):
    """Row of a ring ``distance`` scores before row ``slot``."""
    return int32(slot - distance) if slot >= distance else int32(int32(slot - distance) + ring)


def make_ranges(triple, ring, heuristic):
    """(here, before): the lowest and the highest diagonal of score s, and of the score ``distance`` before it.

    They take (shared, s, slot, m, n) and (shared, s, slot, distance, m, n). Where there are none, the lowest is above
    the highest.
    """
    return _kept(triple, ring) if isinstance(heuristic, WavefrontReduction) else _computed(triple, heuristic)


def _computed(triple, heuristic):
    _, o, e = triple
    banded = isinstance(heuristic, StaticBand)
    width = min(heuristic.width, _WIDEST) if banded else 0

    @inlined
    def here(shared, s, slot, m, n):
        far = int32(0)
        if s >= int32(o + e):
            far = int32(uint32(s - o) // uint32(e))
        if s < int32(0):
            far = int32(-1)
        lo, hi = int32(-min(m, far)), min(n, far)
        if banded:
            lo = max(lo, int32(min(int32(0), int32(n - m)) - int32(width)))
            hi = min(hi, int32(max(int32(0), int32(n - m)) + int32(width)))
        return lo, hi

    @inlined
    def before(shared, s, slot, distance, m, n):
        return here(shared, s - distance, slot, m, n)

    return here, before


def _kept(triple, ring):
    x, o, e = triple

    @inlined
    def before(shared, s, slot, distance, m, n):
        at = int32(int32(_SPANS) + int32(int32(2) * back(slot, int32(distance), int32(ring))))
        return shared[at], shared[at + int32(1)]

    @inlined
    def here(shared, s, slot, m, n):
        low_x, high_x = before(shared, s, slot, x, m, n)
        low_o, high_o = before(shared, s, slot, o + e, m, n)
        low_e, high_e = before(shared, s, slot, e, m, n)
        lo = max(int32(-m), min(low_x, int32(min(low_o, low_e) - int32(1))))
        hi = min(n, max(high_x, int32(max(high_o, high_e) + int32(1))))
        if s == int32(0):
            lo, hi = int32(0), int32(0)
        return lo, hi

    return here, before


def make_reduction(ring, heuristic, read):
    """(empty, put, reduce): what keeps and cuts the diagonals of a WavefrontReduction, for all threads of a block.

    empty: before a pair. put: the range of a new wavefront, before the barrier behind its cells. reduce: after it.
    read: see affine_wfa.make_access.
    """
    min_length, max_distance = heuristic.min_length, heuristic.max_distance

    @inlined
    def empty(shared, thread, threads):
        at = int32(int32(_SPANS) + int32(int32(2) * thread))
        while at < int32(_SPANS + 2 * ring):
            shared[at], shared[at + int32(1)] = int32(_FAR), int32(-_FAR)
            at = int32(at + int32(2) * threads)
        cuda.syncthreads()

    @inlined
    def put(shared, slot, lo, hi, final, thread):
        if thread == int32(0):
            at = int32(int32(_SPANS) + int32(int32(2) * slot))
            shared[at], shared[at + int32(1)] = lo, hi
            shared[_NEAREST], shared[_LOWEST], shared[_HIGHEST] = int32(_FAR), int32(_FAR), int32(-_FAR)
            shared[_NEAR_LOWEST] = shared[_NEAR_HIGHEST] = final

    @inlined
    def find_nearest(chip, memory, where, shared, slot, lo, hi, m, n, thread, threads):
        nearest, lowest, highest, k = int32(_FAR), int32(_FAR), int32(-_FAR), int32(lo + thread)
        while k <= hi:
            h = read(chip, memory, where, slot, k)
            if h >= int32(0):
                nearest = min(nearest, max(int32(n - h), int32(int32(m + k) - h)))
                lowest, highest = min(lowest, k), max(highest, k)
            k = int32(k + threads)
        if lowest <= highest:
            cuda.atomic.min(shared, _NEAREST, nearest)
            cuda.atomic.min(shared, _LOWEST, lowest)
            cuda.atomic.max(shared, _HIGHEST, highest)
        cuda.syncthreads()

    @inlined
    def find_near(chip, memory, where, shared, slot, lo, hi, m, n, thread, threads):
        furthest, k = int32(shared[_NEAREST] + int32(max_distance)), int32(lo + thread)
        lowest, highest = int32(_FAR), int32(-_FAR)
        while k <= hi:
            h = read(chip, memory, where, slot, k)
            if h >= int32(0) and max(int32(n - h), int32(int32(m + k) - h)) <= furthest:
                lowest, highest = min(lowest, k), max(highest, k)
            k = int32(k + threads)
        if lowest <= highest:
            cuda.atomic.min(shared, _NEAR_LOWEST, lowest)
            cuda.atomic.max(shared, _NEAR_HIGHEST, highest)
        cuda.syncthreads()

    @inlined
    def reduce(chip, memory, where, shared, slot, lo, hi, m, n, thread, threads):
        if int32(hi - lo) >= int32(min_length - 1):
            find_nearest(chip, memory, where, shared, slot, lo, hi, m, n, thread, threads)
            if int32(shared[_HIGHEST] - shared[_LOWEST]) >= int32(min_length - 1):
                find_near(chip, memory, where, shared, slot, lo, hi, m, n, thread, threads)
                if thread == int32(0):
                    at = int32(int32(_SPANS) + int32(int32(2) * slot))
                    shared[at] = max(lo, shared[_NEAR_LOWEST])
                    shared[at + int32(1)] = min(hi, shared[_NEAR_HIGHEST])
            cuda.syncthreads()

    return empty, put, reduce
