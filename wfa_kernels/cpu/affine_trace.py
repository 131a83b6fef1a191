"""Backtrace of the gap-affine WFA: from the origins of its cells to packed CIGARs (thesis section 2.4, Algorithm 6)."""

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cpu.affine_lanes import (
    EXTENDS_DELETION,
    EXTENDS_INSERTION,
    FROM_DELETION,
    FROM_INSERTION,
    SOURCE,
)
from wfa_kernels.cpu.affine_memory import PADDING
from wfa_kernels.cpu.backtrace import append_run
from wfa_kernels.cpu.helper import helper
from wfa_kernels.cpu.intrinsics import count_trailing_zeros, load_u64

#: Flag of a traced operation after which matches follow (the gap, if it is one, is complete).
_THEN_MATCHES = 16


@helper
def followed(sequences, text_at, h, k, limit):
    """Offset where the matches from offset h on diagonal k end, at most ``limit``."""
    while h < limit:
        differing = load_u64(sequences, h - k) ^ load_u64(sequences, text_at + h)
        if differing != 0:
            h += count_trailing_zeros(differing) >> 3
            break
        h += 8
    return min(h, limit)


@helper
def trace(memory, k, score, penalties, operations):
    """Operations from the end (k, score) to the start into ``operations``; returns their number."""
    mismatch, gap_open, gap_extend = penalties
    origins, bases = memory[3:]
    matrix = MATCH
    count = 0
    while score > 0:
        origin = origins[bases[score] + k]
        leaves = 0
        if matrix == MATCH:
            leaves = _THEN_MATCHES
            source = origin & SOURCE
            matrix = INSERTION if source == FROM_INSERTION else DELETION if source == FROM_DELETION else MISMATCH
        operations[count] = matrix | leaves
        count += 1
        if matrix == MISMATCH:
            score -= mismatch
            matrix = MATCH
            continue
        extends = origin & (EXTENDS_INSERTION if matrix == INSERTION else EXTENDS_DELETION)
        k -= 1 if matrix == INSERTION else -1
        score -= gap_extend
        if not extends:
            score -= gap_open
            matrix = MATCH
    return count


@helper
def rebuild(sequences, m, n, operations, count, cigars, filled):
    """Append the CIGAR: matches found again between the operations, which come last first (thesis Algorithm 6)."""
    text_at = m + PADDING
    start = filled
    h = followed(sequences, text_at, 0, 0, min(m, n))
    k = 0
    filled = append_run(cigars, start, filled, MATCH, h)
    for at in range(count - 1, -1, -1):
        operation = operations[at] & 15
        filled = append_run(cigars, start, filled, operation, 1)
        k += (operation == INSERTION) - (operation == DELETION)
        h += operation != DELETION
        if operations[at] & _THEN_MATCHES:
            end = followed(sequences, text_at, h, k, min(n, m + k))
            filled = append_run(cigars, start, filled, MATCH, end - h)
            h = end
    return filled
