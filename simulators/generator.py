"""What all models share: two passes over threads, the assembled PairBatch and its metadata."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from wfa_kernels.pairs import PairBatch

_CHUNKS_PER_THREAD = 4


def generate(edit_range, parameters, pattern_lengths, seed, threads=None):
    """Pairs of a model, and the edits made.

    edit_range, parameters: the model's kernel and its second argument. pattern_lengths: int64[n], in bp.
    Returns (PairBatch, int64[3] mismatches, insertions, deletions). The bytes do not depend on threads. The first pass
    measures the texts, so that the second one writes into buffers of exactly the right size.
    """
    pairs = len(pattern_lengths)
    pattern_offsets, text_offsets = np.zeros(pairs + 1, np.int64), np.zeros(pairs + 1, np.int64)
    np.cumsum(pattern_lengths, out=pattern_offsets[1:])
    text_lengths = np.empty(pairs, np.int64)
    nothing = np.empty(0, np.uint8)

    def walk(pattern, text, write):
        def chunk(span):
            return edit_range(
                seed, *span, parameters, pattern_offsets, pattern, text_offsets, text, text_lengths, write
            )  # fmt: skip

        return sum(pool.map(chunk, spans), np.zeros(3, np.int64))

    cores = threads or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    workers = min(cores, pairs)
    edges = np.linspace(0, pairs, workers * _CHUNKS_PER_THREAD + 1).astype(np.int64).tolist()
    spans = list(zip(edges[:-1], edges[1:], strict=True))
    with ThreadPoolExecutor(workers) as pool:
        walk(nothing, nothing, False)
        np.cumsum(text_lengths, out=text_offsets[1:])
        pattern, text = np.empty(pattern_offsets[-1], np.uint8), np.empty(text_offsets[-1], np.uint8)
        counts = walk(pattern, text, True)
    return PairBatch(pattern, pattern_offsets, text, text_offsets), counts


def realised_statistics(pairs, mismatches, insertions, deletions):
    """Realised statistics of a batch, for its metadata: counts, lengths in bp, error_rate per letter of pattern."""
    letters = int(pairs.pattern_lengths.sum())
    edits = int(mismatches) + int(insertions) + int(deletions)
    statistics = {
        "pairs": len(pairs),
        "mismatches": int(mismatches),
        "insertions": int(insertions),
        "deletions": int(deletions),
        "error_rate": edits / letters if letters else 0.0,
    }
    for name, lengths in (("pattern", pairs.pattern_lengths), ("text", pairs.text_lengths)):
        if len(lengths):
            statistics[f"{name}_length_min"] = int(lengths.min())
            statistics[f"{name}_length_mean"] = float(lengths.mean())
            statistics[f"{name}_length_max"] = int(lengths.max())
    return statistics


def with_metadata(pairs, **metadata):
    """The same pairs with metadata; values that are not str are written as JSON."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in metadata.items()}
    return PairBatch(pairs.pattern, pairs.pattern_offsets, pairs.text, pairs.text_offsets, texts)
