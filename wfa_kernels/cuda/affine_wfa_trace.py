"""BT-blocks of the gap-affine wavefronts, and their way back into CIGAR runs (thesis section 4.3, Fig. 9).

A cell has beside its offset a BT-block: up to 16 operations of two bits, the last in the lowest bits, and the number of
the block before it, 0 for none. A full block goes to the BT-buffer of the thread block, uint32[2 * capacity], its
operations and the number of the block before side by side; blocks are numbered from 1. As in the authors' program, an X
inside a gap stands for no mismatch: it ends the gap.

When a pair is done, its thread block leaves the chain of its last cell, the earliest block first, at the end of the
room for the pair's runs; a second kernel, one thread per pair, makes the runs of it: it extends again between the
operations (thesis Algorithm 6), and no run is written where a block has not been read yet.
"""

from numba import cuda, int32, int64, uint32, uint64

from wfa_kernels.cigar import MATCH
from wfa_kernels.cuda.banded import put_run, write_run
from wfa_kernels.cuda.device import inlined
from wfa_kernels.cuda.edit_wfa import REPLACED, put_operation
from wfa_kernels.cuda.packing import matches_on
from wfa_kernels.cuda.queues import lengths_of

#: Operations of a block.
OPERATIONS = 16
#: A block at least as large as this, two bits an operation and none of them 0, has no room for another.
_FULL = 1 << (2 * OPERATIONS - 2)


@inlined
def push(block, previous, operation, buffer, first, capacity, used):
    """Append an operation to a BT-block: (block, number of the block before, whether the BT-buffer had room).

    buffer: from ``first`` on, ``capacity`` blocks. used: int32[...], how many were asked for in its element 1.
    """
    block = uint32((uint32(block) << uint32(2)) | uint32(operation))
    fits = True
    if block >= uint32(_FULL):
        number = cuda.atomic.add(used, 1, 1)
        fits = number < capacity
        if fits:
            at = uint64(first + int64(2) * int64(number))
            buffer[at] = block
            buffer[at + uint64(1)] = uint32(previous)
        block = uint32(0)
        previous = int32(number + 1)
    return int32(block), int32(previous), fits


@inlined
def leave_chain(block, previous, m, n, queues, runs, buffer, first):
    """Reserve room for the runs of a pair, with the blocks of its last cell at the end: (its start, operations)."""
    count = (int32(33) - int32(cuda.clz(uint32(block)))) >> int32(1)
    number = previous
    while number > int32(0):
        count += int32(OPERATIONS)
        number = int32(buffer[first + int64(2) * int64(number) - int64(1)])
    room = _room(count, m, n)
    start = int64(cuda.atomic.add(queues, (0, queues.shape[0] - 1), room))
    stop = start + int64(room)
    if block != int32(0):
        stop -= int64(1)
        runs[stop] = uint32(block)
    while previous > int32(0):
        at = first + int64(2) * int64(previous - int32(1))
        stop -= int64(1)
        runs[stop] = buffer[at]
        previous = int32(buffer[at + int64(1)])
    return start, count


@inlined
def _room(operations, m, n):
    """Most runs of so many operations."""
    return min(int32(2) * operations + int32(1), m + n)


@cuda.jit(cache=True)
def blocks_to_runs(pattern, text, pairs, shape, place, queues, scores, runs_at, counts, runs):
    """CIGAR runs of every pair with a score, one a thread, from its operations (see leave_chain), counts[i] of them.

    The block after the one at hand is read before a run is written: every block but the last has at least eight
    letters of the pair's, so that runs, of a letter at least, stay behind the blocks.
    """
    i = int64(cuda.blockIdx.x) * int64(cuda.blockDim.x) + int64(cuda.threadIdx.x)
    if i < pairs and scores[i] >= int32(0):
        m, n = lengths_of(shape, i)
        pattern_at, text_at = int32(place[0, i]), int32(place[1, i])
        operations, start = int32(counts[i]), int64(runs_at[i])
        blocks = (operations + int32(OPERATIONS - 1)) // int32(OPERATIONS)
        waiting = start + int64(_room(operations, m, n) - blocks)
        block, following = uint32(0), uint32(0)
        if blocks > int32(0):
            following = runs[waiting]
        at, run, h, k, done, in_gap = start, uint32(0), int32(0), int32(0), int32(0), False
        while done <= operations:
            if not in_gap:
                matches = matches_on(pattern, pattern_at + h - k, text, text_at + h, min(m + k, n) - h)
                at, run = put_run(runs, at, run, uint32(MATCH), matches, False)
                h += matches
            if done < operations:
                if done & int32(OPERATIONS - 1) == int32(0):
                    waiting += int64(1)
                    empty = max(int32(OPERATIONS) - (operations - done), int32(0))
                    block = uint32(following << uint32(2 * empty))
                    if done + int32(OPERATIONS) < operations:
                        following = runs[waiting]
                operation = int32(block >> uint32(30))
                block = uint32(block << uint32(2))  # Numba shifts with 64 bits
                if in_gap and operation == int32(REPLACED):
                    in_gap = False
                else:
                    in_gap = operation != int32(REPLACED)
                    at, run, h, k = put_operation(runs, at, run, operation, h, k)
            done += int32(1)
        at = write_run(runs, at, run, False)
        counts[i] = uint32(at - start)
