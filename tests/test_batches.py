"""Pairs cut into batches: what the GPU is told of them."""

from threading import Event
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

from tests.synthetic_pairs import random_pairs
from wfa_kernels import PairBatch
from wfa_kernels.cuda import batches, by_length, pinned
from wfa_kernels.cuda.buffers import SLOTS
from wfa_kernels.cuda.compaction import THREADS, record_words
from wfa_kernels.cuda.packing import LEAD, LETTERS
from wfa_kernels.cuda.pinned import PackedPairs, PinnedPairs

PAIRS = 5000


def batcher(longest=1000, most=PAIRS, **further):
    """A Batcher whose slots have no GPU. most: pairs of a batch. further: arguments of a Batcher."""
    arrived = SimpleNamespace(synchronize=lambda: None)
    slots = [SimpleNamespace(arrived=arrived, staged_records=np.zeros(3 * most, np.uint32)) for _ in range(SLOTS)]
    return batches.Batcher(slots, most, 1 << 30, longest, host_packs=False, **further)


def given(kind, pairs):
    """The batch as one of those kinds; the letters' own place is of no account here."""
    arrays = pairs.pattern, pairs.pattern_offsets, pairs.text, pairs.text_offsets, {}
    if kind is PinnedPairs:
        return kind(*arrays)
    with mock.patch.object(pinned, "pinned_array", np.zeros):
        told = pinned._records(pairs.pattern_offsets, pairs.text_offsets)
    return kind(*arrays, (pairs.pattern, pairs.text), np.empty(0, np.int64), *told, arrays[:4])


def told(batch):
    """(places of patterns, of texts, of each record; lengths of patterns, of texts, of each pair) that records tell."""
    table = batch.records.reshape(batch.blocks, record_words(batch.bits))
    lengths = table[:, 2:].view({8: np.uint16, 16: np.uint32, 32: np.uint64}[batch.bits]).reshape(-1)[: batch.pairs]
    patterns, texts = lengths & (1 << batch.bits) - 1, lengths >> batch.bits
    return *table[:, :2].T.astype(np.int64), patterns.astype(np.int64), texts.astype(np.int64)


def check_told(batch, pairs, packed):
    rows = slice(batch.start, batch.stop)
    *places, patterns, texts = told(batch)
    np.testing.assert_array_equal(patterns, pairs.pattern_lengths[rows])
    np.testing.assert_array_equal(texts, pairs.text_lengths[rows])
    assert batch.longest == max(patterns.max(), texts.max())
    for found, before, offsets in zip(places, batch.before, (pairs.pattern_offsets, pairs.text_offsets), strict=True):
        first = int(offsets[batch.start])
        np.testing.assert_array_equal(
            found.astype(np.int64) - before,
            offsets[rows][::THREADS] - first + LEAD + (first % LETTERS if packed else 0),
        )


@pytest.mark.parametrize("kind", [PinnedPairs, PackedPairs])
@pytest.mark.parametrize("long", [(), (0, 1, 700, 3000, PAIRS - 1)])
@pytest.mark.parametrize("letters", [60_000, 1_000])
def test_the_gpu_is_told_lengths_and_places(kind, long, letters, monkeypatch):
    monkeypatch.setattr(batches, "_LENGTHS_AT_A_TIME", 2 * THREADS)
    pairs = random_pairs(PAIRS, 90)
    patterns, texts = pairs.patterns(), pairs.texts()
    for row in long:
        texts[row] = b"A" * 1001
    pairs = given(kind, PairBatch.from_strings(patterns, texts))
    as_packed = kind is PackedPairs and not long and letters > 1_000  # of fewer letters not every batch is whole blocks
    skipped, done = [], []
    for batch in batcher().batches(pairs, letters, skipped):
        done += range(batch.start, batch.stop)
        check_told(batch, pairs, kind is PackedPairs)
        assert batch.bits == 8
        assert as_packed == (kind is PackedPairs and np.shares_memory(batch.records, pairs.records))
    assert skipped == list(long) and done == [row for row in range(PAIRS) if row not in long]


@pytest.mark.parametrize("kind", [PinnedPairs, PackedPairs])
@pytest.mark.parametrize("letters", [1 << 31, (1 << 32) + 150])
def test_sequences_of_more_letters_than_32_bits_tell_are_too_long(kind, letters):
    """Offsets alone: nothing reads their letters."""
    short = PairBatch.from_strings([b"ACG"] * 3, [b"ACG"] * 3)
    offsets = np.array([0, 3, 3 + letters, 6 + letters])
    with mock.patch.object(PairBatch, "__post_init__", lambda pairs: None):
        pairs = given(kind, PairBatch(short.pattern, offsets, short.text, short.text_offsets, {}))
        skipped = []
        found = [(batch.start, batch.stop, batch.longest) for batch in batcher().batches(pairs, 10 * letters, skipped)]
    assert skipped == [1] and found == [(0, 1, 3), (2, 3, 3)]


@pytest.mark.parametrize("kind", [PinnedPairs, PackedPairs])
def test_a_sequence_of_just_as_many_letters_as_there_may_be_is_done(kind):
    """Among others that are longer by one."""
    texts = [b"A" * length for length in (9, 200, 3, 201, 200, 201, 201, 200)]
    pairs, skipped = given(kind, PairBatch.from_strings(texts, texts)), []
    for batch in batcher(longest=200).batches(pairs, 1 << 20, skipped):
        check_told(batch, pairs, kind is PackedPairs)
    assert skipped == [3, 5, 6]


@pytest.mark.parametrize("row", [0, THREADS, 3 * THREADS - 1])
def test_the_longest_sequence_of_packed_pairs_may_be_in_any_record(row):
    texts = [b"ACGT"] * (3 * THREADS)
    texts[row] = b"A" * 200
    pairs = given(PackedPairs, PairBatch.from_strings([b"ACGT"] * len(texts), texts))
    (batch,) = batcher().batches(pairs, 1 << 20, [])
    assert batch.longest == 200 and np.shares_memory(batch.records, pairs.records)


@pytest.mark.parametrize("kind", ["pinned", "packed", "in another order"])
def test_a_batch_has_no_more_letters_of_either_side_nor_pairs_than_its_buffers(kind, monkeypatch):
    for least_letters in ("_LEAST_LETTERS", "_LEAST_LETTERS_PINNED"):
        monkeypatch.setattr(batches, least_letters, 0)
    short, long, empty = [b"AC"] * 300, [b"ACGT" * 5] * 300, [b""] * 600
    kinds = {"pinned": lambda pairs: given(PinnedPairs, pairs), "packed": lambda pairs: given(PackedPairs, pairs)}
    kinds |= {"in another order": lambda pairs: by_length.LongestFirst(pairs, np.arange(len(pairs)))}
    for patterns, texts, letters in (short, long, 100), (long, short, 100), (short, short, 800), (empty, empty, 100):
        pairs, stops = kinds[kind](PairBatch.from_strings(patterns, texts)), [0]
        cutter = batcher(most=100, at_once=lambda longest: 1000)
        while stops[-1] < len(pairs):
            stops.append(cutter._cut(pairs, stops[-1], len(stops), letters))
        assert max(np.diff(stops)) <= 100
        for offsets in (pairs.pattern_offsets, pairs.text_offsets):
            assert max(np.diff(offsets[stops])) <= letters


def test_lengths_are_told_by_the_caller_where_no_thread_is_free():
    pairs, free = given(PinnedPairs, random_pairs(PAIRS, 90)), Event()
    cutter = batcher()
    busy = [cutter.beside(free.wait, 60) for _ in range(2 * batches._THREADS)]
    found = list(cutter.batches(pairs, 60_000, []))
    assert not any(thread.done() for thread in busy)
    free.set()
    assert len(found) > 3 and found[-1].stop == PAIRS
    check_told(found[-1], pairs, False)


@pytest.mark.parametrize(("kind", "first", "least"), [(PinnedPairs, 4, 8), (PackedPairs, 4, 4)])
def test_the_first_and_the_last_batches_are_small_but_none_is_tiny(kind, first, least, monkeypatch):
    for least_letters in ("_LEAST_LETTERS", "_LEAST_LETTERS_PINNED"):
        monkeypatch.setattr(batches, least_letters, 0)
    letters, text = 40_000, b"A" * 9
    cut = len(text) * (THREADS if kind is PackedPairs else 1)  # packed pairs are cut between records
    for count in range(10_000, 18_000, 397):
        pairs = given(kind, PairBatch.from_strings([text] * count, [text] * count))
        sizes = [len(text) * batch.pairs for batch in batcher(most=count).batches(pairs, letters, [])]
        assert letters / first - cut < sizes[0] <= letters / first
        assert letters - cut < sizes[1] <= letters
        assert max(sizes) <= letters and sizes[-1] <= letters / 2
        assert min(sizes) > letters / least - 2 * cut


@pytest.mark.parametrize("more", [16, 32])
def test_lengths_are_told_in_as_few_bits_as_they_need(monkeypatch, more):
    monkeypatch.setattr(batches, "_LENGTHS_AT_A_TIME", 2 * THREADS)
    texts = [b"A" * (1 + row % 255) for row in range(PAIRS)]
    short = given(PinnedPairs, PairBatch.from_strings(texts, texts))
    texts[2000] = b"A" * (1 << more // 2)
    longer = given(PinnedPairs, PairBatch.from_strings(texts, texts))
    cutter = batcher(longest=1 << 17)

    def bits(pairs):
        found = []
        for batch in cutter.batches(pairs, 100_000, []):
            check_told(batch, pairs, False)
            found.append((batch.bits, batch.stop))
        assert found[-1][1] == PAIRS
        return found

    assert {told for told, _ in bits(short)} == {8}
    first = bits(longer)
    assert {told for told, stop in first if stop <= 2000} == {8}, "until the longer one is met"
    assert {told for told, stop in first if stop > 2000} == {more}
    assert {told for told, _ in bits(short)} == {more}, "as the call before needed"
    assert {told for told, _ in bits(short)} == {8}


@pytest.mark.parametrize("kind", ["ordinary", "page-locked", "packed", "in another order"])
@pytest.mark.parametrize("letters, most, sizes", [
    (60, 60, [60]), (400, 400, [400]), (900, 1600, [400, 500]), (1400, 1600, [400, 500, 500]), (300, 150, [150] * 2),
])  # fmt: skip
def test_few_letters_are_not_cut_into_batches_but_to_be_of_about_equal_lengths(letters, most, sizes, kind, monkeypatch):
    unit = 40 if kind == "page-locked" else 80
    monkeypatch.setattr(batches, "_LEAST_LETTERS", 400 * 80)
    monkeypatch.setattr(batches, "_LEAST_LETTERS_PINNED", 400 * 40)
    texts = [b"ACGT" * (unit // 4)] * letters
    pairs = PairBatch.from_strings(texts, texts)
    kinds = {"ordinary": lambda: pairs, "page-locked": lambda: given(PinnedPairs, pairs)}
    kinds |= {"packed": lambda: given(PackedPairs, pairs)}
    kinds |= {"in another order": lambda: by_length.LongestFirst(pairs, np.arange(len(pairs)))}
    pairs, found, start = kinds[kind](), [], 0
    while start < len(pairs):
        stop = batcher()._cut(pairs, start, len(found), most * unit)
        found.append(stop - start)
        start = stop
    if kind == "in another order":
        assert len(found) > len(sizes) and found[0] <= most // batches._FIRST_PART
    else:
        assert np.allclose(found, sizes, atol=2)


def test_pairs_in_order_of_length_come_as_many_at_a_time_as_there_is_room_for():
    """1223 reads of 20,000 letters went through in three turns, and five batches behind them waited for the last."""
    texts = [b"A" * (1000 - row % 900) for row in range(900)]
    pairs = PairBatch.from_strings(texts, texts)
    cutter = batcher(at_once=lambda longest: 20_000 // longest)
    ordered = by_length.LongestFirst(pairs, np.arange(len(pairs)))
    start = number = 0
    while start < len(pairs):
        stop = cutter._cut(ordered, start, number, 1 << 20)
        longest = len(texts[start])
        assert stop - start == min(20_000 // longest, len(pairs) - start)
        start, number = stop, number + 1
    assert cutter._cut(pairs, 0, 0, 1 << 20) > 100, "those in any order do not"


@pytest.mark.parametrize("host_packs", [True, False])
def test_letters_of_pairs_in_another_order_are_staged_in_that_order(host_packs):
    """The host packs what lies in the order of the batch."""
    pairs = PairBatch.from_strings([b"AC", b"GGGT", b"T", b"CATCAT"], [b"AAC", b"G", b"TT", b"CACAT"])
    cutter = batches.Batcher([], 4, 100, 100, host_packs)
    slot = SimpleNamespace(stage=lambda letters: [np.zeros(letters, np.uint8) for _ in range(2)])
    found = cutter._source(by_length.LongestFirst(pairs, np.array([3, 1, 0, 2])), 1, 4, slot)
    found.settle(lambda: False)
    assert [side.tobytes() for side in found.letters] == [b"GGGTACT", b"GAACTT"] and not found.locked
    assert not any(map(len, found.planes))
