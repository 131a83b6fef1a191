"""The way back through the codes that bit_lanes keeps (see wfa_kernels.reference.affine_bits).

Codes cover some double steps only where keeping all would take too much memory: a walk stops where they begin, and
goes on when the double steps before have been computed once more.
"""

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cpu.backtrace import append_run
from wfa_kernels.cpu.bit_groups import bit_of
from wfa_kernels.cpu.helper import helper
from wfa_kernels.cpu.intrinsics import BLOCK, address_of, count_leading_zeros, differing_letters, peek

_BEGINS_HERE = 3
#: Columns of walks: letters left of both, what the walk is in (MATCH, INSERTION or DELETION), end of the runs so far.
V, H, INSIDE, FILLED = range(4)


@helper
def walk_back(memory, at, group, first_step, a, sequences, walk, runs, start):
    """Follow the codes of a pair from where its walk is, to double step first_step or to an end of a sequence.

    at: of the codes in memory, for this lane. group: (words, lane, width, vectors of codes of a word). sequences:
    (pattern, its start, text, its start). walk: int64[4], changed. runs[start:walk[FILLED]]: packed CIGAR elements,
    the last one first.
    """
    words, lane, width, vectors = group
    digits = vectors >> 2  # of a code: those of left and above, of two antidiagonals
    pattern, pattern_at, text, text_at = sequences
    v, h, inside, filled = walk[V], walk[H], walk[INSIDE], walk[FILLED]
    while v > 0 and h > 0:
        if inside == MATCH:
            run = _equal_before(pattern, pattern_at, v, text, text_at, h)
            filled = append_run(runs, start, filled, MATCH, run)
            v, h = v - run, h - run
            if v == 0 or h == 0:
                break
        since = v + h - (a & 1)  # antidiagonals from the first one known
        step = (since - 1) >> 1
        if step < first_step:
            break
        here = at + ((step - first_step) * words * vectors + (0 if since & 1 else 2 * digits)) * width
        bit = (h - v + a) >> 1
        left = _code(memory, here, bit, lane, width, digits)
        above = _code(memory, here + digits * width, bit, lane, width, digits)
        if (inside == INSERTION and left != _BEGINS_HERE) or (inside == MATCH and left == 0):
            inside = taken = INSERTION
        elif (inside == DELETION and above != _BEGINS_HERE) or (inside == MATCH and above == 0):
            inside = taken = DELETION
        elif inside == MATCH:
            taken = MISMATCH
        else:
            inside = MATCH
            continue
        filled = append_run(runs, start, filled, taken, 1)
        v -= taken != INSERTION
        h -= taken != DELETION
    if v == 0 or h == 0:
        filled = append_run(runs, start, filled, DELETION, v)
        filled = append_run(runs, start, filled, INSERTION, h)
        v = h = 0
    walk[V], walk[H], walk[INSIDE], walk[FILLED] = v, h, inside, filled


@helper
def _code(memory, at, bit, lane, width, digits):
    stride = 4 * digits * width
    low = bit_of(memory, at, bit, lane, stride)
    return low | (bit_of(memory, at + width, bit, lane, stride) if digits == 2 else low) << 1


@helper
def _equal_before(pattern, pattern_at, v, text, text_at, h):
    """How many of the last of v letters of the pattern and of h of the text are the same."""
    run, most = 0, min(v, h)
    p, t = pattern_at + v, text_at + h  # of which a block before may lie in the pair before, but within the batch
    while run < most and min(p, t) - run >= BLOCK:
        differing = differing_letters(address_of(pattern) + p - run - BLOCK, address_of(text) + t - run - BLOCK)
        if differing != 0:
            return min(run + count_leading_zeros(differing), most)
        run += BLOCK
    while run < most and peek(pattern, p - run - 1) == peek(text, t - run - 1):
        run += 1
    return min(run, most)
