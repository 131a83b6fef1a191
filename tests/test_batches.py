"""Pairs cut into batches: what the GPU is told of them."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.synthetic_pairs import random_pairs
from wfa_kernels import PairBatch
from wfa_kernels.cuda import batches
from wfa_kernels.cuda.buffers import SLOTS
from wfa_kernels.cuda.compaction import THREADS
from wfa_kernels.cuda.packing import LEAD, LETTERS
from wfa_kernels.cuda.pinned import PackedPairs, PinnedPairs

PAIRS = 5000


def batcher(longest=1000):
    """A Batcher whose slots have no GPU."""
    arrived = SimpleNamespace(synchronize=lambda: None)
    slots = [
        SimpleNamespace(arrived=arrived, staged_shape=np.zeros(PAIRS + 2 * PAIRS, np.uint32)) for _ in range(SLOTS)
    ]
    return batches.Batcher(slots, PAIRS, 1 << 30, longest, host_packs=False)


def given(kind, pairs):
    """The batch as one of those kinds; the letters' own place is of no account here."""
    arrays = pairs.pattern, pairs.pattern_offsets, pairs.text, pairs.text_offsets, {}
    return kind(*arrays, (pairs.pattern, pairs.text)) if kind is PackedPairs else kind(*arrays)


@pytest.mark.parametrize("kind", [PinnedPairs, PackedPairs])
@pytest.mark.parametrize("long", [(), (0, 1, 700, 3000, PAIRS - 1)])
def test_the_gpu_is_told_lengths_and_places(kind, long, monkeypatch):
    monkeypatch.setattr(batches, "_LENGTHS_AT_A_TIME", 2 * THREADS)
    pairs = random_pairs(PAIRS, 90)
    patterns, texts = pairs.patterns(), pairs.texts()
    for row in long:
        texts[row] = b"A" * 1001
    pairs = given(kind, PairBatch.from_strings(patterns, texts))
    skipped, told = [], []
    for batch in batcher().batches(pairs, 40_000, skipped):
        told += range(batch.start, batch.stop)
        rows, shape = slice(batch.start, batch.stop), batch.slot.staged_shape
        m, n = pairs.pattern_lengths[rows], pairs.text_lengths[rows]
        np.testing.assert_array_equal(shape[: batch.pairs], m | n << 16)
        at = batch.pairs
        for offsets in (pairs.pattern_offsets, pairs.text_offsets):
            first = int(offsets[batch.start])
            places = offsets[batch.start : batch.stop : THREADS] - first + LEAD
            places += first % LETTERS if kind is PackedPairs else 0
            np.testing.assert_array_equal(shape[at : at + batch.blocks], places)
            at += batch.blocks
        assert batch.longest == max(m.max(), n.max())
    assert skipped == list(long) and told == [row for row in range(PAIRS) if row not in long]
