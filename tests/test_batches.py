"""Pairs cut into batches: what the GPU is told of them."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.synthetic_pairs import random_pairs
from wfa_kernels import PairBatch
from wfa_kernels.cuda import batches
from wfa_kernels.cuda.buffers import SLOTS
from wfa_kernels.cuda.compaction import NARROW, THREADS
from wfa_kernels.cuda.packing import LEAD, LETTERS
from wfa_kernels.cuda.pinned import PackedPairs, PinnedPairs

PAIRS = 5000


def batcher(longest=1000):
    """A Batcher whose slots have no GPU."""
    arrived = SimpleNamespace(synchronize=lambda: None)
    slots = [
        SimpleNamespace(arrived=arrived, staged_header=np.zeros(PAIRS + 2 * PAIRS, np.uint32)) for _ in range(SLOTS)
    ]
    return batches.Batcher(slots, PAIRS, 1 << 30, longest, host_packs=False)


def given(kind, pairs):
    """The batch as one of those kinds; the letters' own place is of no account here."""
    arrays = pairs.pattern, pairs.pattern_offsets, pairs.text, pairs.text_offsets, {}
    return kind(*arrays, (pairs.pattern, pairs.text)) if kind is PackedPairs else kind(*arrays)


def told(batch):
    """(lengths of patterns, of texts, places of patterns, of texts) that the GPU is told of a batch."""
    words = -(-batch.pairs // 2) if batch.narrow else batch.pairs
    bits, lengths = (
        (8, batch.header[:words].view(np.uint16)[: batch.pairs]) if batch.narrow else (16, batch.header[:words])
    )
    assert len(batch.header) == words + 2 * batch.blocks
    return lengths & (1 << bits) - 1, lengths >> bits, *batch.header[words:].reshape(2, batch.blocks)


def check_told(batch, pairs, packed):
    rows = slice(batch.start, batch.stop)
    expected = [pairs.pattern_lengths[rows], pairs.text_lengths[rows]]
    assert batch.longest == max(side.max() for side in expected)
    for offsets in (pairs.pattern_offsets, pairs.text_offsets):
        first = int(offsets[batch.start])
        expected.append(offsets[rows][::THREADS] - first + LEAD + (first % LETTERS if packed else 0))
    for found, wanted in zip(told(batch), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", [PinnedPairs, PackedPairs])
@pytest.mark.parametrize("long", [(), (0, 1, 700, 3000, PAIRS - 1)])
def test_the_gpu_is_told_lengths_and_places(kind, long, monkeypatch):
    monkeypatch.setattr(batches, "_LENGTHS_AT_A_TIME", 2 * THREADS)
    pairs = random_pairs(PAIRS, 90)
    patterns, texts = pairs.patterns(), pairs.texts()
    for row in long:
        texts[row] = b"A" * 1001
    pairs = given(kind, PairBatch.from_strings(patterns, texts))
    skipped, done = [], []
    for batch in batcher().batches(pairs, 40_000, skipped):
        done += range(batch.start, batch.stop)
        check_told(batch, pairs, kind is PackedPairs)
        assert batch.narrow
    assert skipped == list(long) and done == [row for row in range(PAIRS) if row not in long]


def test_lengths_are_told_in_8_bits_where_they_fit(monkeypatch):
    monkeypatch.setattr(batches, "_LENGTHS_AT_A_TIME", 2 * THREADS)
    texts = [b"A" * (1 + row % NARROW) for row in range(PAIRS)]
    short = given(PinnedPairs, PairBatch.from_strings(texts, texts))
    texts[2000] = b"A" * (NARROW + 1)
    longer = given(PinnedPairs, PairBatch.from_strings(texts, texts))
    cutter = batcher()

    def narrow(pairs):
        found = []
        for batch in cutter.batches(pairs, 100_000, []):
            check_told(batch, pairs, False)
            found.append((batch.narrow, batch.stop))
        assert found[-1][1] == PAIRS
        return found

    assert all(flag for flag, _ in narrow(short))
    first = narrow(longer)
    assert {flag for flag, stop in first if stop <= 2000} == {True}, "until the longer one is met"
    assert {flag for flag, stop in first if stop > 2000} == {False}
    assert not any(flag for flag, _ in narrow(short)), "as the call before needed"
    assert all(flag for flag, _ in narrow(short))
