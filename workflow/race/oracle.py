"""Exact scores to verify against: one aligner for all pairs, a second, unlike it, on a sample.

Edit distance: Myers' bit-parallel kernel for all pairs; gap-affine: the wavefront kernel. The second opinion is the
plain O(nm) dynamic programming below, which shares no code with either (thesis Eq. 2).
"""

import hashlib
import os
from functools import cache
from pathlib import Path

import numpy as np
from numba import njit

import wfa_kernels
from wfa_kernels import Edit, align
from wfa_kernels.result import NO_SCORE

#: Cells of the second opinion's sample: some seconds of plain dynamic programming.
SAMPLE_CELLS = 4e8
SAMPLE_PAIRS = 2000


class OracleError(RuntimeError):
    """The two exact aligners disagree: nothing can be verified."""


def exact_scores(pairs, penalties, folder, key, threads=None):
    """Path of a .npy file of the batch's exact scores, int32[n]; NO_SCORE where no oracle answers.

    folder, key: where scores of this data set are kept between races, under the sources that computed them.
    Raises OracleError when the second opinion differs.
    """
    path = os.path.join(folder, f"{key}-{_name(penalties)}-{len(pairs)}-{_sources()}.npy")
    if os.path.exists(path):
        return path
    algorithm = "bpm" if isinstance(penalties, Edit) else "wfa"
    scores = align(pairs, penalties, device="cpu", algorithm=algorithm, threads=threads).scores
    confirm(pairs, penalties, scores)
    os.makedirs(folder, exist_ok=True)
    beside = f"{path}.{os.getpid()}.part.npy"
    np.save(beside, scores)
    os.replace(beside, path)
    return path


def confirm(pairs, penalties, scores):
    """Compare scores with the second opinion on pairs spread over the batch, as many as fit its budget of cells but at
    least one; the number compared. Raises OracleError where they differ."""
    spread = np.random.default_rng(0).permutation(len(pairs))[:SAMPLE_PAIRS]
    cells = np.cumsum(pairs.pattern_lengths[spread].astype(float) * pairs.text_lengths[spread])
    rows = spread[: max(1, int(np.searchsorted(cells, SAMPLE_CELLS, side="right")))]
    sample = pairs.take(rows)
    second = _gotoh_batch(sample.pattern, sample.pattern_offsets, sample.text, sample.text_offsets, *penalties.triple)
    wrong = np.flatnonzero((second != scores[rows]) & (scores[rows] != NO_SCORE))
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
