"""Exact scores to verify against: one aligner for all pairs, a second, unlike it, on a sample and in case of doubt.

Edit distance: Myers' bit-parallel kernel, gap-affine: the wavefront kernel, for as many pairs as it does in ten
seconds; then the fastest kernel, and the other for every 16th pair, as it takes a minute for millions of pairs of 1000
letters, minutes for noisy ones. The second opinion is the plain O(nm) dynamic programming below, which shares no code
with any (thesis Eq. 2): on pairs spread over the batch, and on pairs that a tool fails, before the tool is blamed.
"""

import hashlib
import math
import os
import time
from functools import cache
from pathlib import Path

import numpy as np
from numba import njit

import wfa_kernels
from wfa_kernels import Affine, Edit, align, whole_file
from wfa_kernels.result import NO_SCORE

#: Cells of the second opinion's sample: some seconds of plain dynamic programming.
SAMPLE_CELLS = 4e8
SAMPLE_PAIRS = 2000
#: Bases that are aligned between two looks at the clock.
CHUNK_BASES = 1 << 25
#: What computes scores, and its name in messages; it is simpler than the fastest kernel, which many tools here are.
PLAIN = {Edit: ("bpm", "bit-parallel"), Affine: ("wfa", "wavefront")}
#: Seconds of that kernel, after which it computes every SPREAD-th pair only.
PLAIN_SECONDS = 10
SPREAD = 16
#: At most so many of the pairs that a tool fails are judged again.
FAILING_PAIRS = 100


class OracleError(RuntimeError):
    """The two exact aligners disagree: nothing can be verified. The text names the pair."""


def exact_scores(pairs, penalties, folder, key, seconds=math.inf):
    """(path, confirmed): a .npy file of the batch's exact scores, int32[n], NO_SCORE where no oracle answers; and the
    number of them that the second opinion found right when they were computed.

    folder, key: where scores of this data set are kept between races, under the sources that computed them. seconds:
    after which no further chunk of pairs is begun; the rest have NO_SCORE, and the next call goes on with them.
    Raises OracleError when the second opinion differs.
    """
    path = os.path.join(folder, f"{key}-{_name(penalties)}-{len(pairs)}-{_sources()}.npy")
    beside = f"{path}.confirmed"
    scores, done = np.full(len(pairs), NO_SCORE, np.int32), 0
    if os.path.exists(path) and os.path.exists(beside):
        confirmed, done = map(int, Path(beside).read_text().split())
        if done == len(pairs):
            return path, confirmed
        scores = np.load(path)
    done = _compute(pairs, penalties, scores, done, time.monotonic() + seconds)
    confirmed = confirm(pairs, penalties, scores)
    os.makedirs(folder, exist_ok=True)
    with whole_file.beside(path) as part, open(part, "wb") as file:
        np.save(file, scores)
    with whole_file.beside(beside) as part:
        Path(part).write_text(f"{confirmed} {done}\n")
    return path, confirmed


def _compute(pairs, penalties, scores, done, deadline):
    """Fill in scores from pair ``done`` on, chunk by chunk, at least one, until the deadline; the pairs done then."""
    ends = pairs.pattern_offsets + pairs.text_offsets
    begun, first = time.monotonic(), done
    while done < len(pairs) and (done == first or time.monotonic() < deadline):
        stop = max(done + 1, int(np.searchsorted(ends, ends[done] + CHUNK_BASES, side="right")) - 1)
        plain, chunk = time.monotonic() - begun <= PLAIN_SECONDS, pairs[done:stop]
        algorithm = PLAIN[type(penalties)][0] if plain else "auto"
        scores[done:stop] = align(chunk, penalties, device="cpu", algorithm=algorithm).scores
        if not plain:
            _compare_plain(chunk, penalties, scores[done:stop], done)
        done = stop
    return done


def _compare_plain(pairs, penalties, scores, first):
    """Raise OracleError where the plain kernel has another score for one of every SPREAD pairs.

    first: number of the first pair. Where a kernel has no answer nothing is compared.
    """
    algorithm, name = PLAIN[type(penalties)]
    rows = np.arange(0, len(pairs), SPREAD)
    found = align(pairs.take(rows), penalties, device="cpu", algorithm=algorithm).scores
    for i, other in zip(rows.tolist(), found.tolist(), strict=True):
        if NO_SCORE not in (other, scores[i]) and other != scores[i]:
            raise OracleError(f"pair {first + i}: {penalties} costs {other} by the {name} kernel, not {scores[i]}")


def confirm(pairs, penalties, scores):
    """Compare scores with the second opinion on pairs spread over the batch, as many as fit its budget of cells but at
    least one; the number compared. Raises OracleError where they differ."""
    spread = np.random.default_rng(0).choice(len(pairs), min(SAMPLE_PAIRS, len(pairs)), replace=False)
    return _compare(pairs, penalties, scores, spread)


def judge_again(pairs, penalties, path, failing):
    """Ask the second opinion on pairs that a tool fails, the first FAILING_PAIRS within its budget of cells; the number
    compared.

    path: of the exact scores that it was judged by. failing: numbers of the pairs. Raises OracleError when a pair's
    exact score is wrong: then the fault is not the tool's.
    """
    rows = np.array(failing[:FAILING_PAIRS], np.int64)
    try:
        return _compare(pairs, penalties, np.load(path, mmap_mode="r"), rows)
    except OracleError as error:
        raise OracleError(f"{error} (kept in {path})") from None


def _compare(pairs, penalties, scores, rows):
    rows = rows[scores[rows] != NO_SCORE]
    cells = np.cumsum(pairs.pattern_lengths[rows].astype(float) * pairs.text_lengths[rows])
    rows = rows[: max(1, int(np.searchsorted(cells, SAMPLE_CELLS, side="right")))]
    sample = pairs.take(rows)
    second = _gotoh_batch(sample.pattern, sample.pattern_offsets, sample.text, sample.text_offsets, *penalties.triple)
    wrong = np.flatnonzero(second != scores[rows])
    if len(wrong):
        i = int(wrong[0])
        first = int(rows[i])
        raise OracleError(
            f"pair {first}: {penalties} costs {int(second[i])} by plain dynamic programming, not {scores[first]}"
        )
    return len(rows)


@cache
def _sources():
    """Digest of the files that compute exact scores: a mended kernel is not judged by what the faulty one gave."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(Path(wfa_kernels.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _name(penalties):
    return str(penalties).replace("(", "").replace(")", "").replace(",", "_")


@njit(nogil=True, cache=True)
def _gotoh_batch(pattern, pattern_offsets, text, text_offsets, mismatch, gap_open, gap_extend):
    scores = np.empty(len(pattern_offsets) - 1, np.int32)
    for i in range(len(scores)):
        p = pattern[pattern_offsets[i] : pattern_offsets[i + 1]]
        t = text[text_offsets[i] : text_offsets[i + 1]]
        scores[i] = _gotoh(p, t, mismatch, gap_open, gap_extend)
    return scores


@njit(nogil=True, cache=True)
def _gotoh(p, t, mismatch, gap_open, gap_extend):
    far = 2**40
    n = len(t)
    best = np.empty(n + 1, np.int64)  # M of the row above, then of this row
    deletion = np.full(n + 1, far, np.int64)  # D: a gap that consumes pattern ends here
    best[0] = 0
    for j in range(1, n + 1):
        best[j] = gap_open + j * gap_extend
    for i in range(1, len(p) + 1):
        diagonal = best[0]
        best[0] = gap_open + i * gap_extend
        insertion = far
        for j in range(1, n + 1):
            deletion[j] = min(best[j] + gap_open, deletion[j]) + gap_extend
            insertion = min(best[j - 1] + gap_open, insertion) + gap_extend
            replaced = diagonal + (0 if p[i - 1] == t[j - 1] else mismatch)
            diagonal = best[j]
            best[j] = min(replaced, min(deletion[j], insertion))
    return best[n]
