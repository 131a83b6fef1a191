"""Edit distance by the wavefront algorithm (WFA) on a GPU: one thread block per pair, its threads over the diagonals.

Recurrence (thesis Eq. 4; Algorithms 3 to 5): W[e, k] is the furthest offset h on diagonal k = h - v that e edits reach.
    d       = min(max(W[e-1, k+1], W[e-1, k] + 1, W[e-1, k-1] + 1), n, m + k)
    W[e, k] = d + length of the common prefix of pattern[d-k:] and text[d:]
The distance is the first e with W[e, n-m] = n. cpu/edit_wfa.py says why clamping is exact.

Memory layout, all in global memory, each pair its own part: two int32 rows of m + n + 1 diagonals (diagonal k at
m + k), and for CIGARs one byte a cell for the step taken, the 2e + 1 cells of wavefront e from byte e * e on. A second
kernel, one thread per pair, traces the steps back and puts the matches between them (thesis Algorithm 6).

Limits: the steps of a pair take (limit + 1)**2 bytes, ``limit`` a guess at its distance. A pair over its limit is done
again with a larger one; a pair whose memory the device cannot hold is handed to the caller's ``rescue``.
Letters are compared one by one, so that any byte is exact.
"""

import warnings

import numpy as np
from numba import cuda

from wfa_kernels.cigar import DELETION, INSERTION, MATCH, MAX_RUN, MISMATCH
from wfa_kernels.cuda import device
from wfa_kernels.result import NO_SCORE, OK, OVER_LIMIT, AlignmentResult

_UNREACHED = -(2**30)
#: Part of the free device memory one launch may take; the rest is for the CUDA context and for others.
_SHARE_OF_FREE = 0.8
#: Bytes a pair takes beside its letters, rows and steps: offsets, limit, score, status.
_BYTES_PER_PAIR = 64


@cuda.jit(device=True, inline="always")
def _extend(pattern, pattern_at, text, text_at, k, h, limit):
    """Follow matches from offset h on diagonal k, at most to ``limit``."""
    while h < limit and pattern[pattern_at + h - k] == text[text_at + h]:
        h += 1
    return h


@cuda.jit
def _wavefronts(
    pattern, pattern_offsets, text, text_offsets, limits, rows, row_offsets, steps, step_offsets, traced, scores, status
):
    """One block per pair: its distance into scores, OK or OVER_LIMIT into status, every cell's step into steps."""
    i = cuda.blockIdx.x
    pattern_at = pattern_offsets[i]
    text_at = text_offsets[i]
    m = pattern_offsets[i + 1] - pattern_at
    n = text_offsets[i + 1] - text_at
    final = n - m
    new = row_offsets[i] + m
    old = new + m + n + 1
    if cuda.threadIdx.x == 0:
        rows[new] = _extend(pattern, pattern_at, text, text_at, 0, 0, min(m, n))
    cuda.syncthreads()
    e = 0
    while (abs(final) > e or rows[new + final] < n) and e < limits[i]:
        e += 1
        new, old = old, new
        old_lo = max(1 - e, -m)
        old_hi = min(e - 1, n)
        k = max(-e, -m) + cuda.threadIdx.x
        while k <= min(e, n):
            here = rows[old + k] + 1 if old_lo <= k <= old_hi else _UNREACHED
            left = rows[old + k - 1] + 1 if old_lo <= k - 1 <= old_hi else _UNREACHED
            right = rows[old + k + 1] if old_lo <= k + 1 <= old_hi else _UNREACHED
            h = max(here, left, right)
            if traced:
                steps[step_offsets[i] + e * e + e + k] = MISMATCH if h == here else INSERTION if h == left else DELETION
            limit = min(n, m + k)
            rows[new + k] = _extend(pattern, pattern_at, text, text_at, k, min(h, limit), limit)
            k += cuda.blockDim.x
        cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        reached = abs(final) <= e and rows[new + final] >= n
        scores[i] = e if reached else NO_SCORE
        status[i] = OK if reached else OVER_LIMIT


@cuda.jit(device=True, inline="always")
def _append_run(cigars, start, filled, operation, run):
    """Append ``run`` times ``operation`` to cigars[start:filled], merging equal neighbours; the new ``filled``."""
    if run > 0 and filled > start and (cigars[filled - 1] & 15) == operation:
        cigars[filled - 1] += run << 4
        return filled
    if run > 0:
        cigars[filled] = run << 4 | operation
        return filled + 1
    return filled


@cuda.jit
def _trace(
    pattern,
    pattern_offsets,
    text,
    text_offsets,
    scores,
    rows,
    row_offsets,
    steps,
    step_offsets,
    cigar_offsets,
    cigars,
    lengths,
):
    """One thread per pair: its packed CIGAR from cigar_offsets[i] on, its number of elements into lengths.

    The rows are no longer needed and take the operations, which come last first.
    """
    i = cuda.grid(1)
    if i >= scores.shape[0] or scores[i] < 0:
        return
    pattern_at = pattern_offsets[i]
    text_at = text_offsets[i]
    m = pattern_offsets[i + 1] - pattern_at
    n = text_offsets[i + 1] - text_at
    operations = row_offsets[i]
    k = n - m
    for e in range(scores[i], 0, -1):
        operation = steps[step_offsets[i] + e * e + e + k]
        rows[operations + e] = operation
        if operation == INSERTION:
            k -= 1
        elif operation == DELETION:
            k += 1
    start = cigar_offsets[i]
    h = _extend(pattern, pattern_at, text, text_at, 0, 0, min(m, n))
    filled = _append_run(cigars, start, start, MATCH, h)
    k = 0
    for e in range(1, scores[i] + 1):
        operation = rows[operations + e]
        filled = _append_run(cigars, start, filled, operation, 1)
        if operation == INSERTION:
            k += 1
        elif operation == DELETION:
            k -= 1
        if operation != DELETION:
            h += 1
        end = _extend(pattern, pattern_at, text, text_at, k, h, min(n, m + k))
        filled = _append_run(cigars, start, filled, MATCH, end - h)
        h = end
    lengths[i] = filled - start


def align_batch(pairs, penalties, scope, budget_bytes, rescue):
    """Align a batch by edit distance on the current GPU.

    pairs: PairBatch of n pairs. penalties: Edit() (the only ones this algorithm knows). scope: "score" or "cigar".
    budget_bytes: bound of the device memory of one launch, beside a share of what is free on the device.
    rescue: callable that takes int64 row numbers and gives the AlignmentResult of those pairs; it gets the pairs whose
    memory does not fit, and none else. Returns an AlignmentResult in the order of the batch.
    """
    traced = scope == "cigar"
    memory = min(budget_bytes, int(_SHARE_OF_FREE * device.free_bytes()))
    longest = np.maximum(pairs.pattern_lengths, pairs.text_lengths)
    limits = longest.copy()
    if traced:
        limits = np.minimum(longest, 32 + np.abs(pairs.pattern_lengths - pairs.text_lengths) + longest // 8)
    parts = []
    waiting = np.arange(len(pairs))
    while len(waiting):
        needed = _bytes_needed(pairs, limits, traced)[waiting]
        fits = (needed <= memory) & (longest[waiting] <= MAX_RUN)
        if not fits.all():
            parts.append((waiting[~fits], *_fields(rescue(waiting[~fits]))))
        waiting, needed = waiting[fits], needed[fits]
        over = []
        for rows in _chunks(waiting, needed, memory):
            part = _launch(pairs.take(rows), limits[rows], traced)
            done = part[1] == OK
            over.append(rows[~done])
            parts.append((rows[done], part[0][done], part[1][done], part[2], part[3][done] if traced else None))
        waiting = np.concatenate(over) if over else waiting[:0]
        limits[waiting] = np.minimum(longest[waiting], 4 * limits[waiting])
    return _in_order(parts, len(pairs), traced)


def _bytes_needed(pairs, limits, traced):
    """Device bytes per pair, float64[n]: letters, two rows, steps, and a CIGAR of at most 2 * limit + 1 elements."""
    letters = (pairs.pattern_lengths + pairs.text_lengths).astype(float)
    steps = (limits + 1.0) ** 2 + 8.0 * limits + 4.0 if traced else 0.0
    return letters + 8.0 * (letters + 1.0) + steps + _BYTES_PER_PAIR


def _chunks(rows, needed, memory):
    """Cut rows into pieces whose bytes needed sum to at most ``memory``; each single one fits."""
    ends = np.cumsum(needed)
    start, before = 0, 0.0
    while start < len(rows):
        stop = int(np.searchsorted(ends, before + memory, side="right"))
        stop = max(stop, start + 1)  # rounding of the sums
        yield rows[start:stop]
        start, before = stop, ends[stop - 1]


def _offsets(sizes):
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _launch(pairs, limits, traced):
    """(scores, status, packed CIGARs, elements per pair) of pairs that fit the device together."""
    count = len(pairs)
    sequences = [
        cuda.to_device(np.ascontiguousarray(array))
        for array in (_never_empty(pairs.pattern), pairs.pattern_offsets, _never_empty(pairs.text), pairs.text_offsets)
    ]
    row_offsets = _offsets(2 * (pairs.pattern_lengths + pairs.text_lengths + 1))
    step_offsets = _offsets((limits + 1) ** 2 if traced else np.zeros(count, np.int64))
    rows = cuda.device_array(int(row_offsets[-1]), np.int32)
    steps = cuda.device_array(max(1, int(step_offsets[-1])), np.uint8)
    shared = (rows, cuda.to_device(row_offsets), steps, cuda.to_device(step_offsets))
    scores = cuda.device_array(count, np.int32)
    status = cuda.device_array(count, np.uint8)
    threads = 4 if device.simulated() else 128
    _run(_wavefronts, count, threads, *sequences, cuda.to_device(limits), *shared, traced, scores, status)
    found = scores.copy_to_host()
    if not traced:
        return found, status.copy_to_host(), None, None
    cigar_offsets = _offsets(np.where(found < 0, 0, 2 * found.astype(np.int64) + 1))
    cigars = cuda.device_array(max(1, int(cigar_offsets[-1])), np.uint32)
    lengths = cuda.to_device(np.zeros(count, np.int64))
    places = cuda.to_device(cigar_offsets)
    _run(_trace, -(-count // threads), threads, *sequences, scores, *shared, places, cigars, lengths)
    lengths = lengths.copy_to_host()
    packed = cigars.copy_to_host()[_places(cigar_offsets[:-1], lengths)]
    return found, status.copy_to_host(), packed, lengths


def _run(kernel, blocks, threads, *arguments):
    """Launch; the last pairs of a batch may well be few, so Numba's warning of an idle GPU is no news to a user."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Grid size .* under-utilization")
        kernel[blocks, threads](*arguments)


def _never_empty(letters):
    """The device has no array of 0 bytes."""
    return letters if len(letters) else np.zeros(1, np.uint8)


def _places(starts, lengths):
    """Indices of the runs starts[i] : starts[i] + lengths[i], one after the other."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)


def _fields(result):
    lengths = None if result.cigars is None else np.diff(result.cigar_offsets)
    return result.scores, result.status, result.cigars, lengths


def _in_order(parts, count, traced):
    """AlignmentResult of parts (rows, scores, status, packed CIGARs, elements per pair), by row."""
    if not parts:
        nothing = np.zeros(0, np.int32), np.zeros(0, np.uint8)
        return AlignmentResult(*nothing, *((np.zeros(0, np.uint32), np.zeros(1, np.int64)) if traced else ()))
    rows, scores, status, cigars, lengths = zip(*parts, strict=True)
    order = np.argsort(np.concatenate(rows), kind="stable")
    scores, status = np.concatenate(scores)[order], np.concatenate(status)[order]
    if not traced:
        return AlignmentResult(scores, status)
    lengths = np.concatenate(lengths)
    starts = _offsets(lengths)[:-1]
    packed = np.concatenate(cigars)[_places(starts[order], lengths[order])]
    return AlignmentResult(scores, status, packed, _offsets(lengths[order]))
