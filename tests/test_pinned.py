"""Letters copied to page-locked memory: which of them, and whose they are then."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from wfa_kernels import PairBatch, PairsError
from wfa_kernels.cuda import aligner, memory, pinned


def test_only_the_letters_of_the_pairs_are_copied(monkeypatch):
    sizes = []
    monkeypatch.setattr(pinned, "pinned_array", lambda count, dtype: sizes.append(count) or np.empty(count, dtype))
    whole = PairBatch.from_strings(["GATTACA", "ACGT", "T"], ["GAATA", "ACGGT", "C"])
    found = pinned.pin(whole[1:2])
    assert sizes == [4, 5]
    assert found.patterns() == whole[1:2].patterns() and found.texts() == whole[1:2].texts()
    assert not np.shares_memory(found.pattern, whole.pattern)


def test_a_slice_of_page_locked_pairs_is_page_locked(monkeypatch):
    monkeypatch.setattr(pinned, "pinned_array", np.empty)
    whole = PairBatch.from_strings(["GATTACA", "ACGT", "T"], ["GAATA", "ACGGT", "C"])
    locked = pinned.pin(whole)
    for rows in (slice(2), slice(1, 3), slice(1, 1)):
        part = locked[rows]
        assert type(part) is pinned.PinnedPairs and part.pattern_offsets[0] == part.text_offsets[0] == 0
        assert part.patterns() == whole[rows].patterns() and part.texts() == whole[rows].texts()
        assert part.page_locked_bytes == sum(map(len, part.patterns() + part.texts()))
        assert np.shares_memory(part.pattern, locked.pattern) == bool(len(part))


def test_memory_that_has_come_back_is_given_to_one_array_alone(monkeypatch):
    monkeypatch.setattr(pinned, "host_array", np.empty)
    pool = pinned.Pool()
    held = [pool.take(1000, np.uint8) for _ in range(2)]
    held.clear()
    held = [pool.take(990, np.uint8) for _ in range(4)]
    assert not any(np.shares_memory(held[i], held[j]) for i in range(4) for j in range(i))


def test_buffers_that_are_too_small_make_way(monkeypatch):
    made = []
    monkeypatch.setattr(pinned, "host_array", lambda count, dtype: made.append(count) or np.empty(count, dtype))
    pool = pinned.Pool()
    for count in (10_000_000, 30_000_000, 70_000_000, 40_000_000):
        pool.take(count, np.uint8)
    assert made == [10_000_000, 30_000_000, 70_000_000], "70 million serve for 40"
    kept = pool.take(50_000_000, np.uint8), pool.take(1000, np.uint8)
    assert made[3:] == [1000]
    del kept
    pool.take(100_000_000, np.uint8)
    pool._take_back()
    assert sum(map(len, pool._free)) == 100_000_000, "not 170: what is smaller went before"


def test_the_garbage_collector_may_free_what_is_held_at_any_moment(monkeypatch):
    """Such as within the pool's and the count's own work: a result that is part of a cycle is freed by it."""
    monkeypatch.setattr(pinned, "host_array", np.empty)
    pool, owner, before = pinned.Pool(), Owner(), memory.held_bytes("pinned")
    memory.count_while_alive("pinned", 1000, owner)
    held = [pool.take(1000, np.uint8), owner]
    del owner
    assert memory.held_bytes("pinned") == before + 1000

    def work():
        with pool._lock, memory._lock:
            held.clear()

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(10)
    assert not worker.is_alive(), "it waits for a lock that it has"
    assert memory.held_bytes("pinned") == before
    monkeypatch.setattr(pinned, "host_array", None)
    assert len(pool.take(900, np.uint8)) == 900, "the one that has come back"


class Owner:
    """What bytes are counted for."""


def test_packed_letters_are_those_of_the_batch():
    sides = (*PairBatch.from_strings(["ACGT"], ["ACGA"]).__dict__.values(),)[:4]
    packed = pinned.PackedPairs(*sides, {}, packed_from=sides)
    assert replace(packed, metadata={"a": "b"}).patterns() == [b"ACGT"]
    with pytest.raises(PairsError, match="the letters of packed pairs can not be replaced"):
        replace(packed, text=packed.text.copy())


@pytest.mark.parametrize("texts_are_longer", [True, False])
def test_packed_pairs_tell_lengths_in_as_many_bits_as_the_longer_side_needs(texts_are_longer, monkeypatch):
    monkeypatch.setattr(pinned, "pinned_array", np.zeros)
    short, long = np.array([0, 3, 9]), np.array([0, 255, 511])
    told, bits, longest = pinned._records(*((short, long) if texts_are_longer else (long, short)))
    lengths = told[2:].view(np.uint32)[:2]
    assert bits == 16 and longest.tolist() == [256]
    assert sorted([(lengths & 0xFFFF).tolist(), (lengths >> 16).tolist()]) == [[3, 6], [255, 256]]


def test_where_there_are_no_letters_nothing_is_launched_and_no_memory_of_0_bytes_is_asked_for(monkeypatch):
    """The driver takes neither for an answer."""
    sizes, none = [], np.empty(0, np.uint8)
    for name in ("pinned_array", "device_array", "host_array"):
        monkeypatch.setattr(pinned, name, lambda size, dtype: sizes.append(size) or np.empty(size, dtype))
    monkeypatch.setattr(pinned.packing, "pack_letters", None)
    for pairs in PairBatch.from_strings(["", ""], ["", ""]), PairBatch.from_strings([], []):
        packed, copied = pinned.pack(pairs), pinned.pin(pairs)
        assert packed.texts() == copied.texts() == pairs.texts() and not len(packed.odd_rows)
    assert len(pinned.Pool().take(0, np.int64)) == 0
    assert min(sizes) > 0 and len(pinned._packed(none)[1]) == 0


def test_room_for_cigars_grows_by_what_was_needed_so_far(monkeypatch):
    monkeypatch.setattr(pinned, "host_array", np.empty)
    monkeypatch.setattr(aligner, "_pool", pinned.Pool())
    pairs = PairBatch.from_strings(["A" * 10] * 10 + ["A" * 30] * 10, ["C" * 10] * 10 + ["C" * 30] * 10)
    assert len(aligner._Room(pairs, 0.5).array) == 400, "by the letters: calls before may have had other lengths"
    room = aligner._Room(pairs, 0)
    room.array[:] = np.arange(160)
    room.grow(200, 10)  # a quarter of the letters
    assert len(room.array) == 840 and (room.array[:160] == np.arange(160)).all()
    room.grow(841, 20)
    assert len(room.array) == 1050, "a quarter more than there was at least"
    room.grow(2000, 20)
    assert len(room.array) == 2100
    empty = aligner._Room(PairBatch.from_strings(["", "A"], ["", "C"]), 0)
    empty.grow(3, 1)
    assert len(empty.array) >= 3
