"""Letters page-locked where they lie: what the driver is asked for, for how long, and what it refuses."""

import gc
import mmap
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests import gpu_cells
from wfa_kernels import AlignError, Edit, PairBatch, gpu_peak_memory, register_pairs
from wfa_kernels.cuda import device, mapped_files, memory, registered

READ_ONLY = 8


class Driver:
    """In place of CUDA's: keeps what is registered, refuses some flags."""

    CU_MEMHOSTREGISTER_READ_ONLY = READ_ONLY

    def __init__(self, refused=()):
        self.refused, self.asked, self.held = refused, [], {}

    def cuMemHostRegister(self, first, size, flags):
        self.asked.append((size, flags))
        if flags in self.refused:
            return (SimpleNamespace(name="CUDA_ERROR_INVALID_VALUE"),)
        self.held[first] = size
        return (0,)

    def cuMemHostUnregister(self, first):
        del self.held[first]
        return (0,)


@pytest.fixture
def driver(monkeypatch):
    """driver(refused): a Driver that registered.py speaks to, as on a GPU."""

    def driver(refused=()):
        fake = Driver(refused)
        monkeypatch.setattr(registered, "_driver", lambda: fake)
        monkeypatch.setattr(device, "simulated", lambda: False)
        return fake

    return driver


def batch():
    return PairBatch.from_strings(["GATTACA", "ACGT", ""], ["GAATA", "ACGGT", "C"])


def test_pages_are_locked_as_long_as_an_array_over_them_lives(driver):
    fake, held = driver(), memory.held_bytes("pinned")
    found = registered.register(batch())
    assert isinstance(found, registered.RegisteredPairs) and found.patterns() == batch().patterns()
    assert sorted(fake.held.values()) == [11, 11] and memory.held_bytes("pinned") - held == 22
    letters = found.pattern[2:3]
    del found
    gc.collect()
    assert list(fake.held.values()) == [11] and letters[0] == ord("T")
    del letters
    gc.collect()
    assert not fake.held and memory.held_bytes("pinned") == held


def test_only_the_letters_of_the_pairs_are_locked_and_where_they_lie(driver):
    fake, whole = driver(), batch()
    found = registered.register(whole[1:2])
    assert list(fake.held) == [whole.pattern.ctypes.data + 7, whole.text.ctypes.data + 5]
    assert (found.pair(0), found.pattern_offsets.tolist()) == ((b"ACGT", b"ACGGT"), [0, 4])


def test_a_part_of_what_is_locked_shares_it(driver):
    fake, whole = driver(), batch()
    first = registered.register(whole)
    second = registered.register(whole[1:3])
    assert len(fake.asked) == 2 and second.texts() == [b"ACGGT", b"C"]
    del first
    gc.collect()
    assert len(fake.held) == 2
    del second
    gc.collect()
    assert not fake.held


def test_what_lies_behind_a_part_that_is_locked_is_locked_too(driver):
    fake, whole = driver(), batch()
    held = [registered.register(whole[rows]) for rows in (slice(1), slice(1, 2))]
    assert [pairs.patterns() for pairs in held] == [[b"GATTACA"], [b"ACGT"]]
    assert [size for size, _ in fake.asked] == [7, 5, 4, 5]


@pytest.mark.parametrize(
    ("writeable", "refused", "asked"),
    [(True, (), [0]), (False, (), [READ_ONLY]), (False, (READ_ONLY,), [READ_ONLY, 0])],
)
def test_memory_that_can_only_be_read_is_asked_for_as_such_first(driver, writeable, refused, asked):
    fake = driver(refused)
    letters = np.frombuffer(b"ACGT", np.uint8).copy()
    letters.flags.writeable = writeable
    registered.register(PairBatch(letters, np.array([0, 4]), letters[:0], np.array([0, 0])))
    assert [flags for _, flags in fake.asked] == asked


def test_a_refusal_is_one_message_that_names_the_other_way(driver, monkeypatch):
    fake = driver(refused=(0, READ_ONLY))
    monkeypatch.setattr("wfa_kernels.api.gpu_problem", lambda simulator: None)
    with pytest.raises(AlignError, match=r"lock 11 bytes .*: CUDA_ERROR_INVALID_VALUE; pin_pairs\(\) copies"):
        register_pairs(batch())
    assert not fake.held and not list(registered._locked)


def test_pages_of_a_private_mapping_are_locked_in_a_shared_one(driver, tmp_path):
    """A driver would not come back from the private one, and Arrow maps files so."""
    batch().to_arrow(tmp_path / "p.arrow")
    mapped = PairBatch.from_arrow(tmp_path / "p.arrow")
    fake, found = driver(), registered.register(mapped)
    assert found.patterns() == mapped.patterns() and found.texts() == mapped.texts()
    assert permissions_at(mapped.pattern.ctypes.data) == "r--p", "else this tests nothing"
    for letters in (found.pattern, found.text):
        assert fake.held[letters.ctypes.data] == 11 and permissions_at(letters.ctypes.data) == "r--s"
    assert registered.register(mapped[1:3]).patterns() == mapped[1:3].patterns() and len(fake.held) == 2
    del found, letters
    gc.collect()
    assert not fake.held


def test_a_mapping_of_a_files_later_pages_is_mapped_again_from_there(tmp_path):
    pages = np.repeat(np.arange(3, dtype=np.uint8), mmap.ALLOCATIONGRANULARITY)
    pages.tofile(tmp_path / "pages")
    with open(tmp_path / "pages", "rb") as file:
        private = {"flags": mmap.MAP_PRIVATE, "prot": mmap.PROT_READ}
        mapped = mmap.mmap(file.fileno(), len(pages) // 3 + 9, offset=mmap.ALLOCATIONGRANULARITY, **private)
    letters = np.frombuffer(mapped, np.uint8)[5:]
    found = mapped_files.lockable(letters)
    assert permissions_at(letters.ctypes.data) == "r--p" and permissions_at(found.ctypes.data) == "r--s"
    np.testing.assert_array_equal(found, letters)


def permissions_at(address):
    return mapped_files._mapping_at(address).permissions


@pytest.mark.parametrize("replaced", [False, True])
def test_a_mapped_file_that_is_not_there_any_more_is_refused(driver, tmp_path, monkeypatch, replaced):
    path, other = tmp_path / "p.arrow", tmp_path / "q.arrow"
    batch().to_arrow(path)
    batch().to_arrow(other)
    mapped, fake = PairBatch.from_arrow(path), driver()
    other.rename(path) if replaced else path.unlink()
    monkeypatch.setattr("wfa_kernels.api.gpu_problem", lambda simulator: None)
    with pytest.raises(AlignError, match=r"lock 11 bytes where they lie: .*p.arrow.*; pin_pairs\(\) copies"):
        register_pairs(mapped)
    assert not fake.asked


@pytest.mark.parametrize(
    ("change", "told"), [({"inode": 1}, "another file now"), ({"stop": 0}, "more than one private mapping")]
)
def test_what_is_not_the_mapped_file_is_never_locked_in_its_place(driver, tmp_path, monkeypatch, change, told):
    batch().to_arrow(tmp_path / "p.arrow")
    mapped, fake = PairBatch.from_arrow(tmp_path / "p.arrow"), driver()
    found = mapped_files._mapping_at(mapped.pattern.ctypes.data)
    monkeypatch.setattr(mapped_files, "_mapping_at", lambda address: replace(found, **change))
    with pytest.raises(registered.RegisterError, match=told):
        registered.register(mapped)
    assert not fake.asked


@pytest.mark.gpu
def test_gpu_agrees_with_the_cpu_on_a_mapped_file(tmp_path):
    """Which way the letters went is told by the type: there is no silent copy."""
    assert device.available() and not device.simulated(), device.describe()
    gpu_cells.uniform(200_000, 300, 0.05).to_arrow(tmp_path / "p.arrow")
    mapped = PairBatch.from_arrow(tmp_path / "p.arrow")
    gpu_peak_memory(reset=True)
    found = register_pairs(mapped)
    assert isinstance(found, registered.RegisteredPairs)
    assert permissions_at(found.pattern.ctypes.data) == "r--s"
    assert gpu_peak_memory()["pinned"] >= found.pattern.nbytes + found.text.nbytes
    gpu_cells.check(mapped, Edit(), ("registered", "pinned"))
