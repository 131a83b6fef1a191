"""How a batch is shared out on the CPU: chunks, threads and their memory, pairs of like lengths, what falls back."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.test_api import ragged_pairs
from wfa_kernels import Affine, Edit, PairBatch, align
from wfa_kernels.cpu import crew, edit_wfa, schedule
from wfa_kernels.result import NO_SCORE, OK, OUT_OF_MEMORY, UNSUPPORTED


def test_chunks_cover_every_pair_once():
    pairs = ragged_pairs()
    for threads in (1, 2, 7):
        bounds = schedule.chunk_bounds(pairs, threads)
        assert bounds[0] == 0 and bounds[-1] == len(pairs) and (np.diff(bounds) > 0).all()
    empty = PairBatch.from_strings([""] * 5, [""] * 5)
    assert schedule.chunk_bounds(empty, 2).tolist() == [0, 5]


def test_chunks_of_a_slice_are_those_of_its_pairs_alone(monkeypatch):
    """Offsets of a slice do not begin at 0."""
    monkeypatch.setattr(schedule, "_CHUNK_BASES", 500)
    pairs = ragged_pairs()[40:]
    alone = PairBatch.from_strings(pairs.patterns(), pairs.texts())
    bounds = schedule.chunk_bounds(pairs, 1)
    assert len(bounds) > 4 and bounds.tolist() == schedule.chunk_bounds(alone, 1).tolist()


def test_chunks_of_pairs_of_few_letters_are_bounded_by_their_number(monkeypatch):
    monkeypatch.setattr(schedule, "_CHUNK_PAIRS", 10)
    pairs = PairBatch.from_strings(["A" * 5000] + [""] * 94, ["C" * 5000] + ["A"] * 94)
    for threads in (1, 2):
        bounds = schedule.chunk_bounds(pairs, threads)
        assert bounds[0] == 0 and bounds[-1] == 95 and np.diff(bounds).max() <= 10


def test_cores_are_those_that_this_process_may_run_on(monkeypatch):
    monkeypatch.setattr(schedule.os, "cpu_count", lambda: None)
    monkeypatch.setattr(schedule.os, "sched_getaffinity", lambda process: {2, 5, 7}, raising=False)
    assert schedule.usable_cores() == 3
    monkeypatch.delattr(schedule.os, "sched_getaffinity")
    assert schedule.usable_cores() == 1
    monkeypatch.setattr(schedule.os, "cpu_count", lambda: 6)
    assert schedule.usable_cores() == 6


def test_chunks_of_pairs_side_by_side_are_whole_multiples():
    pairs = PairBatch.from_strings([b"ACGT" * 2500] * 130, [b"ACGT" * 2500] * 130)
    for threads in (1, 2, 3):
        bounds = schedule.chunk_bounds(pairs, threads, 16)
        assert bounds[0] == 0 and bounds[-1] == 130 and (np.diff(bounds) > 0).all()
        assert len(bounds) > threads and (bounds[:-1] % 16 == 0).all()
    assert schedule.chunk_bounds(pairs[:9], 2, 16).tolist() == [0, 5, 9]


class Lanes:
    """A kernel that takes pairs side by side; notes the lengths of each range, and how many pairs the batch has that it
    is of. A pair's answers tell its length."""

    PAIRS_AT_ONCE = 4

    def __init__(self):
        self.ranges, self.batches = [], set()

    def align_range(self, pairs, penalties, scope, start, stop, budget_bytes):
        lengths = pairs.pattern_lengths[start:stop]
        self.batches.add(len(pairs))
        self.ranges.append(lengths.tolist())
        runs = (np.repeat(lengths, lengths % 3).astype(np.uint32), lengths % 3) if scope == "cigar" else (None, None)
        return lengths.astype(np.int32), np.zeros(len(lengths), np.uint8), *runs


def runs_of_pairs(found):
    """The packed elements of each pair."""
    ends = found.cigar_offsets.tolist()
    return [found.cigars[a:b].tolist() for a, b in zip(ends[:-1], ends[1:], strict=True)]


@pytest.mark.parametrize("scope", ["score", "cigar"])
@pytest.mark.parametrize("mixed, limit", [(True, 1 << 30), (False, 1 << 30), (True, 1 << 10)])
def test_pairs_of_like_lengths_go_side_by_side(scope, mixed, limit):
    lengths = np.random.default_rng(3).integers(1 if mixed else 90, 100, 64).tolist()
    pairs, kernel = PairBatch.from_strings([b"A" * n for n in lengths], [b"A" * n for n in lengths]), Lanes()
    found = schedule.align_batch(kernel, pairs, Edit(), scope, 2, limit)
    assert found.scores.tolist() == lengths
    if scope == "cigar":
        assert runs_of_pairs(found) == [[n] * (n % 3) for n in lengths]
    parts = sorted(kernel.ranges, key=lambda part: (-max(part), -min(part)))
    given = [n for part in parts for n in part]
    assert len(parts) > 1 and sorted(given) == sorted(lengths)
    in_order = mixed and limit > sum(lengths)
    assert (given == sorted(lengths, reverse=True)) is in_order
    # Letters are brought into that order for a range at a time, by who aligns it.
    assert kernel.batches == ({len(part) for part in parts} if in_order else {len(pairs)})


def test_an_order_of_length_is_for_letters_that_all_threads_have_room_for(monkeypatch):
    lengths = np.random.default_rng(3).integers(1, 100, 64).tolist()
    pairs, letters = PairBatch.from_strings([b"A" * n for n in lengths], [b"A" * n for n in lengths]), 2 * sum(lengths)

    def in_order(limit):
        kernel = Lanes()
        schedule.align_batch(kernel, pairs, Edit(), "score", 2, limit)
        return len(pairs) not in kernel.batches

    assert in_order(8 * letters) and not in_order(8 * letters - 4)
    monkeypatch.setattr(schedule, "_CHUNK_BASES", 1)  # one chunk a run, or LONGEST_RUN
    ordered = schedule.LongestFirst(pairs)
    bounds = schedule.chunk_bounds(ordered, 2, Lanes.PAIRS_AT_ONCE, True)
    most = crew.LONGEST_RUN * int(np.diff(ordered.pattern_offsets[bounds] + ordered.text_offsets[bounds]).max())
    assert most < letters and in_order(8 * most) and not in_order(8 * most - 4)


def test_runs_in_order_of_length_begin_where_its_own_chunks_do(monkeypatch):
    """Those that the room for their letters was counted for."""
    monkeypatch.setattr(schedule, "_CHUNK_BASES", 1)  # one chunk a run, or LONGEST_RUN
    lengths, kernel = np.random.default_rng(3).permutation(np.arange(1, 65)), Lanes()
    pairs = PairBatch.from_strings([b"A" * n for n in lengths], [b"A" * n for n in lengths])
    schedule.align_batch(kernel, pairs, Edit(), "score", 2, 1 << 30)
    begun = np.cumsum([0, *(len(part) for part in sorted(kernel.ranges, reverse=True))])
    bounds = schedule.chunk_bounds(schedule.LongestFirst(pairs), 2, Lanes.PAIRS_AT_ONCE, True)
    assert len(begun) > 3 and set(begun.tolist()) <= set(bounds.tolist())


@pytest.mark.parametrize(("pairs", "at_once"), [(6, 3), (1, 1)])
def test_threads_share_the_memory_limit_and_a_pair_alone_has_all_of_it(pairs, at_once):
    asked = []

    def starved(name):
        def align_range(batch, penalties, scope, start, stop, budget_bytes):
            asked.append((name, stop - start, budget_bytes))
            return np.full(stop - start, NO_SCORE, np.int32), np.full(stop - start, OUT_OF_MEMORY, np.uint8), None, None

        return SimpleNamespace(align_range=align_range)

    kernel = starved("kernel")
    kernel.LINEAR_MEMORY = starved("linear")
    batch = PairBatch.from_strings(["ACGT" * 9] * pairs, ["ACGA" * 9] * pairs)
    found = schedule.align_batch(kernel, batch, Edit(), "score", 3, 1200)
    assert found.refused() == {"out_of_memory": pairs}
    told = {(name, budget) for name, _, budget in asked}
    assert told == {(name, budget) for name in ("kernel", "linear") for budget in (1200 // at_once, 1200)}
    assert all(count == 1 for _, count, budget in asked if budget == 1200)


def test_pairs_in_order_of_length_fall_back_as_others_do():
    lengths = np.random.default_rng(3).integers(1, 100, 64).tolist()
    pairs, kernel = PairBatch.from_strings([b"A" * n for n in lengths], [b"A" * n for n in lengths]), Lanes()

    class Starved(Lanes):
        def align_range(self, *arguments):
            scores, status, *runs = super().align_range(*arguments)
            return np.full_like(scores, NO_SCORE), np.full_like(status, OUT_OF_MEMORY), *runs

    starved = Starved()
    starved.LINEAR_MEMORY = kernel
    found = schedule.align_batch(starved, pairs, Edit(), "score", 2, 1 << 30)
    assert found.scores.tolist() == lengths and (found.status == OK).all()
    assert starved.batches > {1} and kernel.batches == {1}


def test_pairs_in_order_of_length_are_told_why_each_is_refused():
    lengths = np.random.default_rng(3).integers(1, 100, 64)
    pairs = PairBatch.from_strings([b"A" * n for n in lengths], [b"A" * n for n in lengths])

    class Choosy(Lanes):
        def align_range(self, *arguments):
            scores, status, *runs = super().align_range(*arguments)
            return scores, np.where(scores % 2, UNSUPPORTED, status).astype(np.uint8), *runs

    found = schedule.align_batch(Choosy(), pairs, Edit(), "score", 2, 1 << 30)
    assert found.status.tolist() == np.where(lengths % 2, UNSUPPORTED, OK).tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_cigars_beside_those_of_pairs_that_are_tried_again_stay_in_their_place(threads):
    lengths = [*range(80, 100)] * 2

    class Starved(Lanes):
        def align_range(self, pairs, penalties, scope, start, stop, budget_bytes):
            scores, status, _, counts = super().align_range(pairs, penalties, scope, start, stop, budget_bytes)
            starved = (scores // 2 % 2 == 1) & (stop - start > 1)
            counts = np.where(starved, 0, counts)
            scores, status = np.where(starved, NO_SCORE, scores), np.where(starved, OUT_OF_MEMORY, status)
            return scores.astype(np.int32), status.astype(np.uint8), np.repeat(scores, counts).astype(np.uint32), counts

    pairs = PairBatch.from_strings([b"A" * n for n in lengths], [b"A" * n for n in lengths])
    found = schedule.align_batch(Starved(), pairs, Edit(), "cigar", threads, 1 << 30)
    assert found.scores.tolist() == lengths and (found.status == OK).all()
    assert runs_of_pairs(found) == [[n] * (n % 3) for n in lengths]


def test_a_pair_that_is_refused_for_another_reason_is_not_tried_again():
    class Choosy(Lanes):
        LINEAR_MEMORY = Lanes()

        def align_range(self, *arguments):
            scores, status, *runs = super().align_range(*arguments)
            return np.full_like(scores, NO_SCORE), np.full_like(status, UNSUPPORTED), *runs

    kernel, pairs = Choosy(), PairBatch.from_strings(["ACGT"] * 20, ["ACGA"] * 20)
    found = schedule.align_batch(kernel, pairs, Edit(), "score", 2, 1 << 30)
    assert (found.status == UNSUPPORTED).all()
    assert sum(map(len, kernel.ranges)) == 20 and not kernel.LINEAR_MEMORY.ranges


def test_the_longest_pair_has_the_most_letters_of_both_sequences():
    pairs = PairBatch.from_strings(["A" * n for n in (9, 5, 0, 6, 5)], ["C" * n for n in (0, 4, 20, 6, 4)])
    assert schedule.LongestFirst(pairs).rows.tolist() == [2, 3, 0, 1, 4], "of as many, the first one first"


def test_a_pair_past_its_threads_share_gets_the_whole_limit():
    rng = np.random.default_rng(4)
    sequences = [rng.choice(list(b"ACGT"), 3000).astype(np.uint8).tobytes() for _ in range(4)]
    pairs = PairBatch.from_strings(sequences[:2] * 8, sequences[2:] * 8)
    alone = 600_000
    while edit_wfa.align_range(pairs, Edit(), "cigar", 0, 1, alone)[1][0] == OUT_OF_MEMORY:
        alone += 200_000
    shared = align(pairs, Edit(), "cigar", device="cpu", threads=2, memory_limit=alone + 200_000)
    assert shared.refused() == {}
    refused = align(pairs, Edit(), "cigar", device="cpu", threads=2, memory_limit=50_000)
    assert refused.refused() == {"out_of_memory": 16} and (refused.scores == NO_SCORE).all()
    assert refused.cigar_strings() == ["*"] * 16


def test_one_thread_refuses_no_pair_that_fits_alone():
    rng = np.random.default_rng(1)
    patterns = rng.choice(np.frombuffer(b"ACGT", np.uint8), (40, 3000))
    texts = np.where(rng.random(patterns.shape) < 0.1, np.uint8(ord("A")), patterns)
    pairs = PairBatch.from_strings([bytes(p) for p in patterns], [bytes(t) for t in texts])
    one, two = (align(pairs, Affine(4, 6, 2), device="cpu", algorithm="bits", threads=threads, memory_limit=40_000)
                for threads in (1, 2))  # fmt: skip
    assert one.refused() == two.refused() == {} and (one.scores == two.scores).all()
