"""Edit distance by Myers' O(ND) difference algorithm in linear space, on one CPU thread.

Problem: global alignment of a pattern of m and a text of n bytes; mismatch, insertion and deletion cost 1 each.
Myers 1986 counts insertions and deletions only; here a substitution is a third step of cost 1, so that D is the edit
distance, as in the O(ND) row of thesis Tab 1.

Recurrence (Myers 1986, section 3, with that third step): F[d, k] is the furthest offset h on diagonal k = h - v that
d steps from (0, 0) reach.

    F[d, k] = max(F[d-1, k+1], F[d-1, k] + 1, F[d-1, k-1] + 1), then along the snake: while letters match

Linear space (section 4b): the same sweep runs backwards from (m, n). Forward and reverse steps alternate until on some
diagonal the two have met or passed each other. The cost along a diagonal never decreases, so the reverse sweep reaches
the forward point too, and F steps and R steps together are a path of F + R = D: had a shorter one existed, the sweeps
would have met before. The forward point (the end of the middle snake) splits the pair into two with distances
ceil(D/2) and floor(D/2), solved in turn from an explicit stack. The snakes at either end of a part are taken off
first, so a part of distance 0 is empty and one of distance 1 is a single gap or a single mismatch.

Offsets are clamped to min(n, m+k) and diagonals to those an optimal alignment can use, as in edit_wfa.

Memory: two int32 rows of offsets, forward and reverse, updated in place, m+n+8 each, of which a pair of distance D
touches 2D; no copy of the sequences. A stack of parts, 3 per halving of D.

Limits: lengths below 2**31 - 8 together; a pair whose rows exceed the budget gets OUT_OF_MEMORY.
"""

import numpy as np
from numba import int64, njit

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MISMATCH
from wfa_kernels.cpu.backtrace import append_run, grown, read_only_arrays, splits, with_room
from wfa_kernels.cpu.edit_wfa import UNREACHED, diagonals
from wfa_kernels.cpu.helper import helper
from wfa_kernels.cpu.intrinsics import count_leading_zeros, count_trailing_zeros, load_u64, peek, poke
from wfa_kernels.result import NO_SCORE, OK, OUT_OF_MEMORY

#: Parts on the stack: distances halve, at most 31 times, and each level leaves at most 2 parts waiting.
STACK_ROWS = 128


def align_range(pairs, penalties, scope, start, stop, budget_bytes):
    """Align pairs start..stop of a batch by edit distance.

    pairs: PairBatch. penalties: Edit() (the only ones this algorithm knows). scope: "score" or "cigar".
    budget_bytes: bound of the working memory, not counting the answers.
    Returns (scores int32[k], status uint8[k], cigars uint32[m] or None, lengths int64[k] or None), k = stop - start,
    lengths[i] the number of packed CIGAR elements of pair start + i.
    """
    traced = scope == "cigar"
    scores, status, cigars, lengths = _align_range(*read_only_arrays(pairs), start, stop, budget_bytes, traced)
    return (scores, status, cigars, lengths) if traced else (scores, status, None, None)


@helper
def _snake(pattern, v, text, h, direction, most):
    """Letters that match from pattern[v], text[h] in a direction (+1 or -1), at most ``most``: 8 at a time if left."""
    run = 0
    while run + 8 <= most:
        if direction > 0:
            different = load_u64(pattern, v + run) ^ load_u64(text, h + run)
            same = count_trailing_zeros(different) >> 3
        else:
            different = load_u64(pattern, v - run - 7) ^ load_u64(text, h - run - 7)
            same = count_leading_zeros(different) >> 3
        run += same
        if same < 8:
            return run
    while run < most and peek(pattern, v + direction * run) == peek(text, h + direction * run):
        run += 1
    return run


@helper
def _step(pattern, v0, m, text, h0, n, direction, row, d):
    """From the furthest points of d-1 steps to those of d; returns the most letters of both that one of them is past.

    Diagonal k lies at row[m + 3 + k]. The part is the m and n letters from pattern[v0] and text[h0] in the direction.
    """
    centre = m + 3
    lo, hi = diagonals(d - 1, m, n)
    for beyond in (1, 2):
        poke(row, centre + lo - beyond, UNREACHED)
        poke(row, centre + hi + beyond, UNREACHED)
    lo, hi = diagonals(d, m, n)
    left, here = int64(peek(row, centre + lo - 1)), int64(peek(row, centre + lo))
    furthest = 0
    for k in range(lo, hi + 1):
        right = int64(peek(row, centre + k + 1))
        end = min(n, m + k)
        h = min(max(max(left, here) + 1, right), end)
        left, here = here, right
        h += _snake(pattern, v0 + direction * (h - k), text, h0 + direction * h, direction, end - h)
        poke(row, centre + k, h)
        furthest = max(furthest, 2 * h - k)
    return furthest


@helper
def _meeting(forward, reverse, df, dr, m, n):
    """A diagonal on which df forward and dr reverse steps have met, or m + n + 1 when there is none."""
    centre = m + 3
    final = n - m
    forward_lo, forward_hi = diagonals(df, m, n)
    reverse_lo, reverse_hi = diagonals(dr, m, n)
    for k in range(max(forward_lo, final - reverse_hi), min(forward_hi, final - reverse_lo) + 1):
        if peek(forward, centre + k) + peek(reverse, centre + final - k) >= n:
            return k
    return m + n + 1


@helper
def _middle(pattern, v0, v1, text, h0, h1, forward, reverse):
    """(distance, v, h) of the part pattern[v0:v1], text[h0:h1]; (v, h) the end of its middle snake."""
    m, n = v1 - v0, h1 - h0
    centre = m + 3
    poke(forward, centre, _snake(pattern, v0, text, h0, 1, min(m, n)))
    poke(reverse, centre, _snake(pattern, v1 - 1, text, h1 - 1, -1, min(m, n)))
    df, dr = 0, 0
    past, reverse_past = 2 * peek(forward, centre), 2 * peek(reverse, centre)
    while True:
        if past + reverse_past >= m + n:  # else no diagonal has all of its letters behind the two
            k = _meeting(forward, reverse, df, dr, m, n)
            if k <= m + n:
                break
        if df == dr:
            df += 1
            past = _step(pattern, v0, m, text, h0, n, 1, forward, df)
        else:
            dr += 1
            reverse_past = _step(pattern, v1 - 1, m, text, h1 - 1, n, -1, reverse, dr)
    h = peek(forward, centre + k)
    return df + dr, v0 + h - k, h0 + h


@helper
def _push(stack, depth, v0, v1, h0, h1):
    stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = v0, v1, h0, h1
    return depth + 1


@helper
def _align_parts(pattern, v0, v1, text, h0, h1, forward, reverse, stack, cigars, start):
    """Append the CIGAR of a pair, part by part from its beginning. Returns (distance, cigars, its new end)."""
    distance, filled = 0, start
    depth = _push(stack, 0, v0, v1, h0, h1)
    while depth:
        depth -= 1
        v0, v1, h0, h1 = stack[depth]
        cigars = with_room(cigars, filled, 4 + splits(v1 - v0 + h1 - h0))
        run = _snake(pattern, v0, text, h0, 1, min(v1 - v0, h1 - h0))
        filled = append_run(cigars, start, filled, MATCH, run)
        v0, h0 = v0 + run, h0 + run
        run = _snake(pattern, v1 - 1, text, h1 - 1, -1, min(v1 - v0, h1 - h0))
        m, n = v1 - v0 - run, h1 - h0 - run
        if m > 0 and n > 0 and m + n > 2:
            depth = _push(stack, depth, v1 - run, v1, h1 - run, h1)
            _, v, h = _middle(pattern, v0, v0 + m, text, h0, h0 + n, forward, reverse)
            depth = _push(stack, depth, v, v0 + m, h, h0 + n)
            depth = _push(stack, depth, v0, v, h0, h)
            continue
        distance += max(m, n)
        if m == 1 and n == 1:
            filled = append_run(cigars, start, filled, MISMATCH, 1)
        else:
            filled = append_run(cigars, start, filled, DELETION, m)
            filled = append_run(cigars, start, filled, INSERTION, n)
        filled = append_run(cigars, start, filled, MATCH, run)
    return distance, cigars, filled


@njit(nogil=True, cache=True)
def _align_range(pattern, pattern_offsets, text, text_offsets, start, stop, budget_bytes, traced):
    scores = np.full(stop - start, NO_SCORE, np.int32)
    status = np.full(stop - start, OUT_OF_MEMORY, np.uint8)
    lengths = np.zeros(stop - start, np.int64)
    forward, reverse = np.empty(0, np.int32), np.empty(0, np.int32)
    stack = np.empty((STACK_ROWS, 4), np.int64)
    limit = (budget_bytes - stack.nbytes) // 8
    cigars = np.empty(0, np.uint32)
    filled = 0
    for i in range(start, stop):
        v0, v1, h0, h1 = pattern_offsets[i], pattern_offsets[i + 1], text_offsets[i], text_offsets[i + 1]
        needed = v1 - v0 + h1 - h0 + 8
        forward, reverse = grown(forward, 0, needed, limit), grown(reverse, 0, needed, limit)
        if needed > len(forward):
            continue
        if traced:
            before = filled
            distance, cigars, filled = _align_parts(
                pattern, v0, v1, text, h0, h1, forward, reverse, stack, cigars, before
            )
            lengths[i - start] = filled - before
        else:
            distance, _, _ = _middle(pattern, v0, v1, text, h0, h1, forward, reverse)
        scores[i - start], status[i - start] = distance, OK
    return scores, status, cigars[:filled], lengths
