"""Letters that the host packs: what it makes of any bytes, and that they reach the GPU as those packed there do."""

import random
import time
from concurrent.futures import Future, wait
from functools import partial
from itertools import count
from threading import Timer
from types import SimpleNamespace

import numpy as np
import pytest

from simulators import simulate
from tests import cuda_simulator, naive
from tests.test_cuda_edit import LENGTHS, check, random_pairs
from wfa_kernels import Edit, PairBatch, align, pin_pairs
from wfa_kernels.cuda import batches, buffers, host_packing, source, stream
from wfa_kernels.cuda.affine_wfa_design import AffineWfa
from wfa_kernels.cuda.buffers import Slot

CODES = {ord("A"): 0, ord("C"): 1, ord("T"): 2, ord("G"): 3}


def packed(letters, marked=True):
    """(whether one has no code, planes, odd). marked: odd holds something before."""
    words = -(-len(letters) // 32)
    planes, odd = np.full(words, 7, np.uint64), np.full(words, 7 if marked else 0, np.uint32)
    flat = np.frombuffer(letters, np.uint8)
    return host_packing.pack(flat, planes, odd, marked), planes.tolist(), odd.tolist()


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000])
@pytest.mark.parametrize("alphabet", [b"ACGT", b"ACGT" * 30 + b"N", b"ACGTN", bytes(range(256))])
@pytest.mark.parametrize("marked", [True, False])
def test_a_letter_is_two_bits_and_a_mark_where_it_has_no_code(length, alphabet, marked):
    letters = bytes(random.Random(length).choices(alphabet, k=length))
    strange, planes, odd = packed(letters, marked)
    assert len(planes) == -(-length // 32)
    marks = [letter not in CODES for letter in letters]
    assert strange == any(marks)
    for at, letter in enumerate(letters):
        word, bit = divmod(at, 32)
        assert odd[word] >> bit & 1 == marks[at]
        assert marks[at] or (planes[word] >> bit & 1) + 2 * (planes[word] >> bit + 32 & 1) == CODES[letter]
    if length % 32:
        assert planes[-1] >> length % 32 & (1 << 32 - length % 32) - 1 == 0 and odd[-1] >> length % 32 == 0


def test_every_byte_that_is_no_letter_is_marked():
    strange, _, odd = packed(bytes(range(256)))
    marked = {at for at in range(256) if odd[at // 32] >> at % 32 & 1}
    assert strange and set(range(256)) - marked == set(CODES)


def test_pieces_for_many_threads_are_the_whole(monkeypatch):
    monkeypatch.setattr(batches, "_PACKED_AT_A_TIME", 1)
    for length in (1, 63, 64, 1000, 4096):
        letters = bytes(random.Random(length).choices(b"ACGTN", k=length))
        words = -(-length // 32)
        planes, odd = np.zeros(words, np.uint64), np.zeros(words, np.uint32)
        pieces = list(
            batches._pieces(np.frombuffer(letters, np.uint8), planes, odd, batches._letters_of_a_piece(length))
        )
        assert len(pieces) == min(batches._PIECES, -(-length // 64))
        assert sum(len(piece[0]) for piece in pieces) == length
        found = [host_packing.pack(*piece, True) for piece in pieces]
        assert (any(found), planes.tolist(), odd.tolist()) == packed(letters)


@pytest.mark.parametrize("kind", ["pageable", pytest.param("pinned", marks=pytest.mark.slow)])
def test_letters_without_a_code_are_found_wherever_they_are_packed(kind):
    """Of each batch the first letters are packed by the host, of page-locked ones the others on the GPU."""
    pairs = random_pairs(16, LENGTHS[7:], seed=5)
    strange = (1, 8, 15)
    for row in strange:
        pattern, text = pairs[row]
        pairs[row] = (pattern + b"N", text) if row % 2 else (pattern, b"n" + text)
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "score", "fast", kind, letters=300)
    letters = sum(len(pattern) + len(text) for pattern, text in pairs)
    by_host = 32 * sum(answer["host_packed"])
    assert len(answer["batches"]) > 3
    assert by_host >= letters if kind == "pageable" else 0 < by_host < letters
    check(pairs, answer, rescued=strange)


def test_letters_without_a_code_go_to_the_host_at_once_and_let_no_further_kernels_be_launched():
    """They are left by every batch: 16 kernels had been launched for all batches behind the first one."""
    pairs = random_pairs(24, (60,), seed=3, most_edits=2)
    strange = range(0, 24, 4)
    for row in strange:
        pairs[row] = (pairs[row][0], pairs[row][1] + b"N")
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "score", "fast", letters=300)
    assert len(answer["batches"]) > 3 and list(answer["answered"]) == ["band 32"]
    assert answer["rescued_at"][0] < len(answer["batches"]), "while others are still to be sent"
    check(pairs, answer, rescued=strange)


def test_letters_without_a_code_that_the_host_finds_in_a_slot_where_the_gpu_has_found_some():
    """Of the first batch all letters are packed on the GPU, of the one that has its slot next the first pair's not."""
    pairs = [(b"A" * 64, b"C" * 2 + b"A" * 62)] * 24
    for row in (0, 13):
        pairs[row] = b"A" * 64, b"C" * 2 + b"A" * 40 + b"N" + b"A" * 21
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "score", "fast", "pinned", letters=256)
    assert answer["batches"][:5] == [1, 4, 4, 4, 4] and answer["host_packed"][0] == 0 < answer["host_packed"][4]
    check(pairs, answer, rescued=[0, 13])


@pytest.mark.parametrize("late", [*(pytest.param(every, marks=pytest.mark.slow) for every in (1, 2)), 3])
def test_letters_that_the_host_packs_too_late_cross_the_wire_as_they_are(late):
    pairs = random_pairs(48, (150, 200, 251), seed=late, most_edits=3)
    pairs = [pair for row, pair in enumerate(pairs) if row % 4]  # none so unlike that it goes round twice
    strange = range(2, 36, 5)
    for row in strange:
        pattern, text = pairs[row]
        pairs[row] = (pattern + b"N", text) if row % 2 else (pattern, b"n" + text)
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "score", "fast", "pinned", letters=2000, late=late)
    share = sum(int(batches._SHARE * len(letters)) for pair in pairs for letters in pair)
    by_host = 32 * sum(answer["host_packed"])
    assert len(answer["batches"]) > 3
    assert by_host == 0 if late == 1 else 0 < by_host < share / 2
    assert answer["late"] == 0, "the letters are the caller's again"
    check(pairs, answer, rescued=strange)


def pieces(*states):
    """Futures: of True, done, with letters without a code found; of False, done; of None, begun."""
    found = [Future() for _ in states]
    for piece, state in zip(found, states, strict=True):
        piece.set_running_or_notify_cancel()
        if state is not None:
            piece.set_result(state)
    return found


def shared(*sides):
    """(letters of each side, their Source): of 400 a side the host packs 320, in pieces of 128."""
    letters = [np.arange(400, dtype=np.uint16).astype(np.uint8) + side for side in range(2)]
    planes, odd = ([np.arange(10, dtype=kind) for _ in sides] for kind in (np.uint64, np.uint32))
    shares = [source.Share(flat, pieces, 128) for flat, pieces in zip(letters, sides, strict=True)]
    staging = [piece for pieces in sides for piece in pieces]
    return letters, source.Source(planes, odd, [flat[320:] for flat in letters], staging, shares=shares)


@pytest.mark.parametrize(("first", "second", "strange"), [(True, False, True), (False, True, False)])
def test_only_the_first_pieces_are_kept_when_they_are_due(first, second, strange):
    patterns, texts, waiting = pieces(first, None, second), pieces(False, False, False), Future()
    letters, found = shared(patterns, texts)
    patterns.append(waiting)  # of which no thread has begun
    left = found.settle(lambda: True)
    assert [planes.tolist() for planes in found.planes] == [[0, 1, 2, 3], list(range(10))]
    assert [odd.tolist() for odd in found.odd] == [[0, 1, 2, 3], list(range(10))]
    for side, (kept, more) in enumerate([(128, 192), (320, 0)]):
        np.testing.assert_array_equal(found.letters[side], letters[side][kept:])
        np.testing.assert_array_equal(left[side], letters[side][kept : kept + more])
    assert found.strange == strange and found.marked, "those of the third piece are the GPU's to find"
    assert found.late == [patterns[1]] and waiting.cancelled()


def test_nothing_is_left_before_it_is_due():
    late, asked = Future(), []
    _, found = shared([*pieces(False, False), late], pieces(False, False, False))

    def due():
        asked.append(True)
        if len(asked) == 2:
            late.set_result(True)
        return False

    assert [len(side) for side in found.settle(due)] == [0, 0]
    assert len(asked) == 2 and found.strange and not found.late
    assert [len(planes) for planes in found.planes] == [10, 10]


def test_letters_that_are_not_there_as_ascii_are_waited_for():
    late = Future()
    _, found = shared([*pieces(False, False), late], pieces(False, False, False))
    found.shares = ()
    Timer(0.05, late.set_result, [False]).start()
    assert [len(side) for side in found.settle(lambda: True)] == [0, 0]
    assert late.done() and not found.strange and [len(planes) for planes in found.planes] == [10, 10]


def test_a_fault_of_a_thread_is_the_calls():
    failed = Future()
    failed.set_exception(MemoryError("no room"))
    _, found = shared([failed, *pieces(False, None)], pieces(False, False, False))
    with pytest.raises(MemoryError, match="no room"):
        found.settle(lambda: True)


@pytest.mark.parametrize("late", [True, False])
def test_only_what_is_left_follows(monkeypatch, late):
    """Behind the packed letters, and not once more what has crossed the wire."""
    sent, (letters, found) = [], shared(pieces(True, None if late else False, False), pieces(False, False, False))
    monkeypatch.setattr(stream.device, "is_done", lambda event: True)
    monkeypatch.setattr(stream.device, "copy_in", lambda *what, **where: sent.append((*what, *where.values())))
    ascii_there = [np.empty(0, np.uint64) for _ in range(2)]
    slot = SimpleNamespace(ascii=ascii_there, planes="pq", odd="st", arrived=None, late=(), marked=False)
    batch = SimpleNamespace(slot=slot, source=found)
    fed = SimpleNamespace(
        spans=SimpleNamespace(begin=lambda *what: lambda: "there"),
        inward="wire",
        batcher=SimpleNamespace(learn=lambda slot, source: None),
    )
    fed._send_letters, fed._send_planes = (
        partial(stream.Stream._send_letters, fed),
        partial(stream.Stream._send_planes, fed),
    )
    stream.Stream._send(fed, batch)
    kept = 128 if late else 320
    (_, some, _, first), (_, none, _, _), *others = sent
    np.testing.assert_array_equal(some, letters[0][kept:320])
    assert first == kept // 8 and len(none) == 0
    assert [(target, len(planes)) for target, planes, _, _ in others] == [
        ("p", kept // 32), ("q", 10), ("s", kept // 32), ("t", 10)
    ]  # fmt: skip
    assert slot.arrived == "there"


def test_a_host_that_is_late_has_less_to_pack_and_then_more_again():
    letters, words = np.full(1 << 22, ord("A"), np.uint8), 1 << 17
    staged = [(np.empty(words, np.uint64), np.zeros(words, np.uint32))] * 2
    slot = SimpleNamespace(stage_packed=lambda _: staged, marked=False, late=())
    batcher = batches.Batcher([], 1, len(letters), 1, host_packs=True)

    def cut():
        found = batcher._packed((letters, letters), slot, batcher._share)
        wait(found.staging)
        return found, sum(map(len, found.planes)) * 32 / (2 * len(letters))

    def shares(*lates):
        """Of batches, in 32nds. lates: whether nothing of a batch is packed in time; the next one is cut by then."""
        before, found = None, []
        for late in lates:
            batch, share = cut()
            found.append(share * 32)
            if before is not None:
                batcher.learn(slot, before)
            before = batch
            if late:
                before.planes, before.late = [planes[:0] for planes in before.planes], ["late"]
        batcher.learn(slot, before)
        return found

    assert shares(False, False, True, *[False] * 8) == [12, 12, 12, 12, 1, 2, 2, 3, 3, 4, 4]
    assert slot.late == ()
    shares(True)
    assert slot.late == ["late"]
    list(batcher.batches(PairBatch.from_strings([], []), 100, []))
    assert shares(*[True] * 5) == [12, 12, 1, 1, 1], "of the next call"
    assert shares(*[False] * 30)[-1] == 12


def test_marks_of_a_batch_are_not_those_of_a_later_one(monkeypatch):
    monkeypatch.setattr(buffers, "host_array", np.empty)
    slot = SimpleNamespace(staged_planes=None, late=(), marked=False)
    slot.stage_packed = lambda letters: Slot.stage_packed(slot, letters)
    batcher = batches.Batcher([], 1, 4096, 1, host_packs=True)
    for alphabet, most in (b"ACGT", 4096), (b"ACGTN", 4096), (b"ACGT", 500), (b"ACGT", 4096), (b"AN", 4096):
        letters = [np.frombuffer(bytes(random.Random(1).choices(alphabet, k=k)), np.uint8) for k in (most, 999)]
        found = batcher._packed(letters, slot, 1)
        found.settle(lambda: False)
        batcher.learn(slot, found)
        for side, planes, odd in zip(letters, found.planes, found.odd, strict=True):
            assert (found.strange, planes.tolist(), odd.tolist()) == (b"N"[0] in alphabet, *packed(bytes(side))[1:])
        assert slot.marked >= found.strange


def test_buffers_are_used_again_when_what_is_late_is_done():
    for end, marked in (
        (["set_result", False], False),
        (["set_result", True], True),
        (["set_exception", OSError()], True),
    ):
        late = Future()
        slot = SimpleNamespace(late=[late], staged_planes=[], marked=False)
        Timer(0.05, getattr(late, end[0]), end[1:]).start()
        assert Slot.stage_packed(slot, 100) == [] and late.done()
        assert slot.marked == marked, "by what was late, whose error is no other call's"


def test_what_is_late_is_not_forgotten_where_the_next_batch_is_not_packed():
    slot = SimpleNamespace(late=pieces(None), marked=False)
    batches.Batcher([], 1, 1, 1, host_packs=True).learn(slot, source.Source(locked=False, staging=pieces(None)))
    assert len(slot.late) == 1


def test_marks_are_0_before_the_first_letter_has_none(monkeypatch):
    monkeypatch.setattr(buffers, "host_array", lambda words, kind: np.full(words, 7, kind))
    slot = SimpleNamespace(late=(), staged_planes=None, marked=False)
    staged = Slot.stage_packed(slot, 100)
    assert [odd.tolist() for _, odd in staged] == [[0] * 4] * 2 and not slot.marked


@pytest.mark.gpu
def test_a_gpu_whose_host_is_late(monkeypatch):
    """Every third piece of letters takes 20 ms, some eight batches' time on the wire."""
    pairs = pin_pairs(simulate("uniform", 1_000_000, 1, length=1000, error=0.05))
    in_time, pack, settle = align(pairs, Edit(), scope="cigar", device="cuda"), host_packing.pack, source.Source.settle
    begun, left = count(1), []

    def late(*piece):
        if next(begun) % 3 == 0:
            time.sleep(0.02)
        return pack(*piece)

    def settled(letters, due):
        left.append(settle(letters, due))
        return left[-1]

    monkeypatch.setattr(host_packing, "pack", late)
    monkeypatch.setattr(source.Source, "settle", settled)
    found = align(pairs, Edit(), scope="cigar", device="cuda")
    assert sum(len(side) for sides in left for side in sides) > 0
    for name in ("scores", "status", "cigars", "cigar_offsets"):
        np.testing.assert_array_equal(getattr(found, name), getattr(in_time, name))


def test_the_papers_designs_pack_on_the_gpu():
    pairs = random_pairs(4, LENGTHS[:6], seed=6)
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "score", "paper")
    assert not any(answer["host_packed"]) and not AffineWfa.HOST_PACKS
    assert answer["scores"] == [naive.edit_distance(*pair) for pair in pairs]
