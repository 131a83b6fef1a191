"""How much device memory a call takes, told without a GPU: arrays that are counted and not made."""

import mmap
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests import test_batches
from wfa_kernels import Affine, Edit, PairBatch, PaperDesign
from wfa_kernels.cuda import aligner, buffers, device, kept_streams, long_reads, memory, stream
from wfa_kernels.cuda.packing import LEAD, LEAD_WORDS, LETTERS, TAIL_WORDS
from wfa_kernels.cuda.pinned import PackedPairs
from wfa_kernels.result import AlignmentResult

WAYS = [
    (penalties, design, traced)
    for penalties in (Edit(), Affine(2, 3, 1))
    for design in ("fast", PaperDesign())
    for traced in (False, True)
]


class Counted:
    """In place of a device array, a CUDA stream or an event."""

    size = 1 << 40

    def __init__(self, shape=0, dtype=np.uint8):
        self.nbytes = np.prod(shape, dtype=np.int64) * np.dtype(dtype).itemsize

    def view(self, dtype):
        return self


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(memory.cuda, "device_array", Counted)
    monkeypatch.setattr(memory.cuda, "pinned_array", Counted)
    for module in (buffers, stream):
        for name in ("stream", "event"):
            monkeypatch.setattr(module.cuda, name, Counted)
    monkeypatch.setattr(device, "free_bytes", lambda: (140 << 30) - memory.held_bytes("device"))
    monkeypatch.setattr(device, "processors", lambda: 132)
    for name in ("give_back_freed", "attach"):
        monkeypatch.setattr(device, name, lambda: None)
    monkeypatch.setattr(kept_streams, "streams", {})


def pairs_of(length, count):
    """PairBatch of that many pairs, whose letters take no memory: they are in the hole of a file."""
    with tempfile.TemporaryFile() as file:
        file.truncate(count * length)
        letters = np.frombuffer(mmap.mmap(file.fileno(), count * length, access=mmap.ACCESS_READ), np.uint8)
    offsets = np.arange(count + 1) * length
    return PairBatch(letters, offsets, letters, offsets)


def sizes(pairs, way, limit):
    """Letters of a batch and bytes of its scratch memory of the stream for that, which is made where there is none."""
    kept, _ = kept_streams.stream_for(pairs, way_for(pairs, way, limit))
    return kept.letters, kept.slots[0].scratch.nbytes


def way_for(pairs, way, limit):
    """What a call goes: long reads have a way of their own."""
    usual = kept_streams.Way(*way, limit, None)
    return usual.of_long_reads if len(pairs.pattern) > long_reads.LETTERS * len(pairs) else usual


@pytest.mark.parametrize("limit", [256 << 20, 1 << 30, 32 << 30, None])
@pytest.mark.parametrize(("length", "count"), [(150, 1_000_000), (10_000, 20_000)])
def test_a_stream_keeps_within_its_limit_and_is_as_large_beside_others(limit, length, count):
    pairs, alone = pairs_of(length, count), {}
    for way in WAYS:
        kept_streams.streams.clear()
        alone[way] = sizes(pairs, way, limit)
        assert 0 < memory.held_bytes("device") <= (limit or 70 << 30)
        if limit == 256 << 20 and way[1] == "fast":  # long reads leave a part for longer ones
            least = 0.6 if way_for(pairs, way, limit).reads else 0.9
            assert memory.held_bytes("device") > least * limit, "of a limit that is less than it could use"
    for way in WAYS + WAYS[::-1]:
        assert sizes(pairs, way, limit) == alone[way]
        assert memory.held_bytes("device") <= (limit or 70 << 30)
    assert len(kept_streams.streams) > 1 or limit


def test_a_lower_limit_than_that_of_calls_before_is_kept():
    long, short = pairs_of(10_000, 20_000), pairs_of(150, 1_000_000)
    ways = (Affine(2, 3, 1), "fast", True), (Edit(), "fast", False)
    for limit, pairs, way in ((1 << 30, long, ways[0]), (None, short, ways[1]), (1 << 30, long, ways[0])):
        sizes(pairs, way, limit)
        assert memory.held_bytes("device") <= (limit or 70 << 30)


def test_all_streams_of_higher_limits_make_way_for_one_that_is_kept():
    pairs, lower = pairs_of(150, 100_000), kept_streams.Way(Affine(2, 3, 1), "fast", True, 256 << 20, None)
    kept, _ = kept_streams.stream_for(pairs, lower)
    for extend in 2, 3, 4:
        kept_streams.stream_for(pairs, kept_streams.Way(Affine(2, 3, extend), "fast", True, None, None))
    assert len(kept_streams.streams) == 4 and memory.held_bytes("device") > 256 << 20
    assert kept_streams.stream_for(pairs, lower)[0] is kept and memory.held_bytes("device") <= 256 << 20


@pytest.mark.parametrize("limit", [None, 300 << 30])
@pytest.mark.parametrize("way", WAYS)
def test_a_batch_has_no_more_letters_than_the_kernels_count(way, limit, monkeypatch):
    """Places of letters and numbers of runs are int32: of pairs of a million letters as many as there is memory for."""
    monkeypatch.setattr(device, "free_bytes", lambda: (400 << 30) - memory.held_bytes("device"))
    pairs, usual = pairs_of(1 << 20, 8000), kept_streams.Way(*way, limit, None)
    for of_length in filter(None, (usual, usual.longer)):
        kept, letters = kept_streams.stream_for(pairs, of_length)
        stops = [0]
        while stops[-1] < len(pairs):
            stops.append(kept.batcher._cut(pairs, stops[-1], 1, letters))
        most = int(np.diff(pairs.pattern_offsets[stops]).max())
        assert LEAD + most < 1 << 31, "where letters lie"
        assert 2 * most < 1 << 31, "runs, if each letter is one"


def test_the_papers_design_has_room_for_all_its_vectors_or_no_stream():
    """Its kernels put down 256 bits of each pair of a batch."""
    found = set()
    for limit in range(1 << 20, 32 << 20, 1 << 18):
        kept, _ = kept_streams.stream_for(
            pairs_of(150, 3000), kept_streams.Way(Edit(), PaperDesign(), True, limit, None)
        )
        assert kept is None or kept.slots[0].scratch.nbytes >= 32 * kept.slots[0].scores.nbytes // 4
        found.add(kept is None)
        aligner.release()
    assert found == {True, False}


def test_a_signals_handler_is_told_that_a_call_is_under_way():
    """It would wait for the call that it has interrupted, for ever."""
    with kept_streams.alone():
        for asked in (aligner.release, kept_streams.slots):
            with pytest.raises(kept_streams.GpuInUseError, match="is under way in this thread"):
                asked()
        other = threading.Thread(target=aligner.release)
        other.start()
        other.join(0.2)
        assert other.is_alive(), "another thread waits for its turn"
    other.join(60)
    assert not other.is_alive()


def test_pairs_that_are_all_the_hosts_count_once(monkeypatch):
    """Also those that were its own anyhow, for letters without a code."""
    monkeypatch.setattr(kept_streams, "stream_for", lambda *_: (None, 0))
    monkeypatch.setattr(aligner, "_pool", SimpleNamespace(take=np.empty))
    letters = PairBatch.from_strings(["ACGT"] * 5, ["ACNT", "ACGT", "ANNT", "ACGT", "ACGT"])
    packed = replace(test_batches.given(PackedPairs, letters), odd_rows=np.array([0, 2]))

    def rescue(rows, progress=None):
        return AlignmentResult((100 + rows).astype(np.int32), np.zeros(len(rows), np.uint8))

    for pairs in letters, packed:
        result = aligner.align_batch(pairs, Edit(), "score", "fast", rescue)
        assert result.scores.tolist() == [100, 101, 102, 103, 104] and result.rescued == 5


def test_no_stream_where_there_is_no_room():
    with memory.device_memory_within(1 << 20), pytest.raises(memory.GpuMemoryError, match="would be more than 1048576"):
        with ThreadPoolExecutor(1) as other:
            other.submit(memory.device_array, 1 << 20, np.uint16).result()
        memory.device_array(1 << 20, np.uint16)
    memory.device_array(1 << 20, np.uint16)
    assert kept_streams.new_stream(kept_streams.Way(Edit(), "fast", True, 1 << 20, None), 1 << 24, 150, False) is None


def test_what_kernels_take_during_a_call_is_within_its_limit(monkeypatch):
    def align(stream, *_):
        others = memory.device_array((256 << 20) - memory.held_bytes("device"), np.uint8)
        with pytest.raises(memory.GpuMemoryError):
            memory.device_array(1, np.uint8)
        del others
        raise KeyError

    monkeypatch.setattr(stream.Stream, "align", align)
    monkeypatch.setattr(aligner, "_pool", SimpleNamespace(take=np.empty))
    with pytest.raises(KeyError):
        aligner.align_batch(pairs_of(150, 10), Edit(), "score", "fast", None, device_memory=256 << 20)


def test_memory_of_arrays_that_are_gone_is_given_back(monkeypatch):
    """Before more is taken, and when a caller asks for it: Numba would keep ten page-locked arrays of any size."""
    given_back = []
    monkeypatch.setattr(device, "give_back_freed", lambda: given_back.append(True))
    memory.pinned_array(1000, np.uint8)
    assert not given_back
    memory.pinned_array(1 << 26, np.uint8)
    memory.device_array(1 << 24, np.uint32)
    assert len(given_back) == 2
    aligner.release()
    assert len(given_back) > 2


def test_a_stream_that_makes_way_frees_its_memory_whoever_holds_it():
    way = kept_streams.Way(Affine(2, 3, 1), "fast", True, 300 << 20, None)
    held, _ = kept_streams.stream_for(pairs_of(10_000, 500), way)
    assert memory.held_bytes("device") > 200 << 20
    aligner.release()
    assert memory.held_bytes("device") == 0 and held is not None


def test_what_a_stream_that_makes_way_held_is_given_back_before_the_next_one_is_made(monkeypatch):
    """Numba would keep it, and what is made next would come on top of that."""
    given_back, way = [], kept_streams.Way(Edit(), "fast", True, 64 << 20, None)
    kept_streams.stream_for(pairs_of(150, 10), way)
    monkeypatch.setattr(device, "give_back_freed", lambda: given_back.append(memory.held_bytes("device")))
    kept_streams.let_go([way])
    assert given_back == [0]


def test_streams_of_many_penalties_make_way_the_one_used_longest_ago_first():
    ways = [kept_streams.Way(Affine(2, 3, extend), "fast", False, 256 << 20, None) for extend in range(1, 12)]
    for way in ways[:8]:
        kept_streams.stream_for(pairs_of(150, 10), way)
    kept = kept_streams.streams[ways[0]]
    for way in (ways[0], *ways[8:]):
        kept_streams.stream_for(pairs_of(150, 10), way)
    assert list(kept_streams.streams) == [*ways[4:8], ways[0], *ways[8:]] and kept_streams.streams[ways[0]] is kept


@pytest.mark.parametrize(("held", "some"), [(60 << 20, True), (240 << 20, True), (254 << 20, False)])
def test_what_others_hold_of_a_limit_makes_a_stream_smaller_to_the_end(held, some):
    """The smallest takes 5 MiB, of its batches."""
    others = memory.device_array(held, np.uint8)
    way = kept_streams.Way(Affine(2, 3, 1), "fast", True, 256 << 20, None)
    kept, _ = kept_streams.stream_for(pairs_of(1500, 6), way)
    assert (kept is not None) == some and others.nbytes <= memory.held_bytes("device") <= 256 << 20


def test_rows_that_a_stream_leaves_go_where_they_can_be_done(monkeypatch):
    """Too long for the way; longer than the scratch memory was laid out for; else to the rescue."""
    monkeypatch.setattr(aligner, "MAX_LENGTH", 400)
    letters = [10, 50, 500, 20, 60, 450]
    offsets = np.cumsum([0, *letters])
    pairs = PairBatch(np.zeros(offsets[-1], np.uint8), offsets, np.zeros(offsets[-1], np.uint8), offsets)
    usual = kept_streams.Way(Affine(2, 3, 1), "fast", True, None, None)
    for way, laid_out_for, partial, outgrown, longer, rescued in (
        (usual, 20, False, [1, 4], [2, 5], [0, 3]),
        (kept_streams.Way(Affine(2**29 - 1, 2**29, 7), "fast", True, None, None), 20, False, [1, 4], [], [2, 5, 0, 3]),
        (
            kept_streams.Way(Affine(2, 3, 1), "fast", True, None, None, long=True),
            500,
            False,
            [],
            [],
            [2, 5, 0, 1, 3, 4],
        ),
        (kept_streams.Way(Affine(2, 3, 1), "fast", True, None, None, long=True), 500, True, [0, 1, 2, 3, 4, 5], [], []),
    ):
        handed = []
        left = aligner._Left(pairs, way, SimpleNamespace(hand_over=handed.extend))
        left.laid_out_for, left.partial = laid_out_for, partial
        for rows in ([2, 5], [0, 1], [3, 4]):
            left.hand_over(np.array(rows))
        assert (sorted(left.outgrown), sorted(left.longer), handed) == (outgrown, longer, rescued)


def test_letters_without_a_code_are_not_tried_again():
    pairs, handed = pairs_of(30, 6), []
    left = aligner._Left(
        pairs, kept_streams.Way(Edit(), "fast", True, None, None), SimpleNamespace(hand_over=handed.extend)
    )
    left.laid_out_for, left.partial = 20, True
    left.hand_over_odd(np.array([1, 5]))
    left.hand_over(np.array([2]))
    assert (list(left.again), list(left.outgrown), handed) == ([], [2], [1, 5])


def test_a_stream_is_laid_out_anew_for_longer_rows_that_one_has_left_and_no_smaller():
    way = kept_streams.Way(Affine(2, 3, 1), "fast", True, None, None)
    kept, _ = kept_streams.stream_for(pairs_of(100, 1_000_000), way)
    assert kept_streams.stream_for(pairs_of(150, 2), way)[0] is kept, "it is not known before its batches are seen"
    other, _ = kept_streams.stream_for(pairs_of(150, 2), way, short_of_memory=True)
    assert other.longest == 150 and other.letters == kept.letters
    assert kept_streams.stream_for(pairs_of(100, 1_000_000), way)[0] is other


@pytest.mark.parametrize("texts_are_longer", [True, False])
def test_a_stream_is_laid_out_for_the_longer_sequence_of_a_pair(texts_are_longer):
    """Else what it leaves for want of memory would be tried again and again in one just like it."""
    short, long = pairs_of(100, 10), pairs_of(150, 10)
    sides = (short, long) if texts_are_longer else (long, short)
    pairs = PairBatch(sides[0].pattern, sides[0].pattern_offsets, sides[1].text, sides[1].text_offsets)
    way = kept_streams.Way(Affine(2, 3, 1), "fast", True, None, None)
    assert kept_streams.stream_for(short, way)[0].longest == 100
    assert kept_streams.stream_for(pairs, way, short_of_memory=True)[0].longest == 150


def test_a_stream_for_long_pairs_is_laid_out_anew_for_longer_ones():
    """Else these had too little memory, and were the CPU's."""
    way = kept_streams.Way(Affine(2, 3, 1), "fast", True, None, None).longer
    kept, _ = kept_streams.stream_for(pairs_of(70_000, 300), way)
    other, _ = kept_streams.stream_for(pairs_of(100_000, 3), way)
    assert (kept.longest, other.longest) == (70_000, 100_000)
    assert kept_streams.stream_for(pairs_of(70_000, 300), way)[0] is other


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("length", [150, 10_000])
def test_a_batch_is_no_larger_than_its_buffers(length, traced):
    """Of a limit that is less than it could use; its letters may begin within a word, and each may be a run."""
    pairs = pairs_of(length, 200_000_000 // length)
    way = way_for(pairs, (Affine(2, 3, 1), "fast", traced), 256 << 20)
    kept, letters = kept_streams.stream_for(pairs, way)
    assert letters <= kept.letters < kept_streams._wanted_letters(pairs, way, len(pairs.pattern), kept)
    for slot in kept.slots:
        assert slot.planes[0].nbytes // 8 >= LEAD_WORDS + kept.letters // LETTERS + 1 + TAIL_WORDS
        assert slot.ascii[1].nbytes >= kept.letters
        assert not traced or min(slot.runs.nbytes, slot.cigars.nbytes) // 4 >= 2 * kept.letters
        assert slot.shape.nbytes // 8 == slot.scores.nbytes // 4 == kept.batcher.pairs


@pytest.mark.parametrize("penalties", [Affine(2, 3, 1), Edit()])
def test_long_pairs_that_a_part_of_the_memory_is_too_little_for_have_all_of_it(penalties):
    usual = kept_streams.Way(penalties, "fast", True, 1 << 30, None)
    kept_streams.stream_for(pairs_of(10_000, 500), usual.of_long_reads)
    part, _ = kept_streams.stream_for(pairs_of(100_000, 20), usual.longer)
    some = part.slots[0].scratch.nbytes
    assert part.partial and len(kept_streams.streams) == 2
    whole, _ = kept_streams.stream_for(pairs_of(100_000, 3), usual.longer, short_of_memory=True)
    assert not whole.partial and whole.slots[0].scratch.nbytes > 3 * some and len(kept_streams.streams) == 1
    assert kept_streams.stream_for(pairs_of(100_000, 20), usual.longer)[0] is whole


def test_a_stream_that_had_to_be_smaller_is_kept():
    others = memory.device_array(60 << 20, np.uint8)
    way = kept_streams.Way(Affine(2, 3, 1), "fast", True, 256 << 20, None)
    kept, _ = kept_streams.stream_for(pairs_of(150, 300_000), way)
    assert kept_streams.stream_for(pairs_of(150, 300_000), way)[0] is kept and others is not None


@pytest.mark.parametrize(("length", "limit", "least", "together"), [
    (10_000, 1 << 30, 30 << 20, True), (1000, 300 << 20, 30 << 20, False), (10_000, None, 1 << 30, True),
])  # fmt: skip
def test_a_pair_longer_than_the_others_has_memory(monkeypatch, length, limit, least, together):
    """Its stream is used within the call of theirs. Beside that of long reads it has room; other ones make way."""
    given = {}

    def align(stream, pairs, letters, scores, status, ends, room, spans, left, *_):
        given[len(pairs)] = stream.slots[0].scratch.nbytes
        timed.append(spans)
        if len(pairs) > 1:
            left.hand_over(np.array([0]))
        status[:], ends[:], scores[:] = 0, 0, 7
        return np.empty(0, np.int64)

    monkeypatch.setattr(stream.Stream, "align", align)
    monkeypatch.setattr(aligner, "_pool", SimpleNamespace(take=np.empty))
    letters = [70_000, *[length] * 500]
    offsets = np.cumsum([0, *letters])
    pairs = PairBatch(np.zeros(offsets[-1], np.uint8), offsets, np.zeros(offsets[-1], np.uint8), offsets)
    streams, timed = [], []
    for _ in range(2):
        result = aligner.align_batch(pairs, Affine(2, 3, 1), "cigar", "fast", None, device_memory=limit)
        assert result.rescued == 0 and (result.scores == 7).all() and min(given.values()) > least
        streams.append({way: id(kept) for way, kept in kept_streams.streams.items()})
    assert timed[0] is timed[1] is not timed[2] is timed[3], "a call's times are of all its streams"
    assert (len(streams[0]) == 2 and streams[0] == streams[1]) == together


@pytest.mark.parametrize(("left", "learns"), [(1, False), (20, True)])
def test_few_pairs_that_a_call_has_left_tell_nothing_of_the_others(monkeypatch, left, learns):
    turns = []

    def align(stream, pairs, letters, scores, status, ends, room, spans, _, *turn):
        turns.append((len(pairs), *turn))
        status[:], scores[:], ends[:] = 0, 7, np.arange(1, len(pairs) + 1) * (500 if len(turns) > 1 else 5)
        room.grow(int(ends[-1]), len(pairs))
        return np.arange(left) if len(turns) == 1 else np.empty(0, np.int64)

    monkeypatch.setattr(stream.Stream, "align", align)
    monkeypatch.setattr(aligner, "_pool", SimpleNamespace(take=np.empty))
    aligner.align_batch(pairs_of(2000, 100), Affine(2, 3, 1), "cigar", "fast", None)
    assert turns == [(100, False, True), (left, True, learns)]
    (kept,) = kept_streams.streams.values()
    assert (kept.elements_per_letter > 0.05) == learns, "nor how many runs their CIGARs have"


@pytest.mark.parametrize(("threads", "most"), [(None, None), (256, None), (512, 128), (992, 64), (1024, 64)])
def test_registers_leave_room_for_a_block_of_so_many_threads(threads, most):
    assert device.registers_of(threads) == most
