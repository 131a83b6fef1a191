"""What a kernel takes its pairs from: the queue that waits for it, or the whole batch.

queues, shape: see compaction.place_pairs. level: of the kernel; below 0 it takes all pairs but those of the host.
"""

from numba import int32, int64, uint64

from wfa_kernels.cuda.compaction import ODD
from wfa_kernels.cuda.device import inlined


@inlined
def waiting_pairs(queues, level, pairs):
    """Number of pairs to take."""
    waiting = int64(pairs)
    if level >= 0:
        waiting = int64(queues[0, level])
    return waiting


@inlined
def pair_at(queues, level, at, scores):
    """(the pair in place ``at`` of those to take, whether it is not the host's)."""
    i = int32(at)
    if level >= 0:
        i = queues[level + 1, at]
    return i, level >= 0 or scores[i] != int32(ODD)


@inlined
def lengths_of(shape, i):
    """(letters of the pattern, letters of the text) of a pair."""
    both = shape[i]
    return int32(both & uint64(0xFFFFFFFF)), int32(both >> uint64(32))
