"""align() and its scheduling over threads."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests import naive
from wfa_kernels import Affine, AlignError, Edit, PairBatch, PenaltyError, StaticBand, align, api
from wfa_kernels.cpu import crew, edit_wfa, schedule
from wfa_kernels.result import NO_SCORE, OK, OUT_OF_MEMORY, UNSUPPORTED, AlignmentResult

ROOT = Path(__file__).resolve().parents[1]


def ragged_pairs(n=60, seed=2):
    """Pairs of 0 to 120 letters, half of them unrelated."""
    rng = np.random.default_rng(seed)
    patterns = [rng.choice(list(b"ACGTN"), rng.integers(0, 120)).astype(np.uint8).tobytes() for _ in range(n)]
    texts = [p[3:] + b"A" if i % 2 else patterns[i - 1] for i, p in enumerate(patterns)]
    return PairBatch.from_strings(patterns, texts)


ALGORITHMS = [(Edit(), "auto"), (Edit(), "wfa"), (Edit(), "bpm"), (Edit(), "ond"), (Edit(), "bits")]
ALGORITHMS += [(Affine(4, 6, 2), algorithm) for algorithm in ("wfa", "bits", "auto")]


@pytest.mark.parametrize(("penalties", "algorithm"), ALGORITHMS)
@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_threads_and_chunks_change_nothing(monkeypatch, penalties, algorithm, scope):
    pairs = ragged_pairs()
    whole = align(pairs, penalties, scope, device="cpu", algorithm=algorithm, threads=1)
    monkeypatch.setattr(schedule, "_CHUNK_BASES", 500)
    monkeypatch.setattr(schedule, "_QUICK_BASES", 500)
    split = align(pairs, penalties, scope, device="cpu", algorithm=algorithm, threads=3)
    assert whole.scores.tolist() == split.scores.tolist()
    for i, (p, t) in enumerate(zip(pairs.patterns(), pairs.texts(), strict=True)):
        assert whole.scores[i] == naive.affine_score(p, t, *penalties.triple)
    if scope == "cigar":
        assert whole.cigar_strings() == split.cigar_strings()


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


@pytest.mark.parametrize("scope", ["score", "cigar"])
@pytest.mark.parametrize("mixed, limit", [(True, 1 << 30), (False, 1 << 30), (True, 1 << 10)])
def test_pairs_of_like_lengths_go_side_by_side(scope, mixed, limit):
    lengths = np.random.default_rng(3).integers(1 if mixed else 90, 100, 64).tolist()
    pairs, kernel = PairBatch.from_strings([b"A" * n for n in lengths], [b"A" * n for n in lengths]), Lanes()
    found = schedule.align_batch(kernel, pairs, Edit(), scope, 2, limit)
    assert found.scores.tolist() == lengths
    if scope == "cigar":
        ends = found.cigar_offsets.tolist()
        texts = [found.cigars[a:b].tolist() for a, b in zip(ends[:-1], ends[1:], strict=True)]
        assert texts == [[n] * (n % 3) for n in lengths]
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


def test_the_longest_pair_has_the_most_letters_of_both_sequences():
    pairs = PairBatch.from_strings(["A" * n for n in (9, 5, 0, 6, 5)], ["C" * n for n in (0, 4, 20, 6, 4)])
    assert schedule.LongestFirst(pairs).rows.tolist() == [2, 3, 0, 1, 4], "of as many, the first one first"


def test_empty_batch():
    result = align(PairBatch.from_strings([], []), Edit(), "cigar", device="cpu")
    assert len(result) == 0 and result.cigar_strings() == []


def test_progress_that_cannot_be_called_is_told_before_the_work():
    with pytest.raises(AlignError, match="progress must be a callable that takes a number of pairs, or None, not 5"):
        align(ragged_pairs(), Edit(), progress=5)


def test_progress_counts_all_pairs():
    seen = []
    align(ragged_pairs(), Edit(), device="cpu", threads=2, progress=seen.append)
    assert sum(seen) == 60


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scope": "both"}, "unknown scope 'both'; allowed: score, cigar"),
        ({"span": "local"}, "unknown span 'local'; allowed: global"),
        ({"device": "tpu"}, "unknown device 'tpu'"),
        ({"design": "slow"}, "unknown design 'slow'"),
        ({"algorithm": "magic"}, "unknown algorithm 'magic'"),
        ({"design": "paper"}, "design 'paper' is one of the GPU's kernels: it needs device 'cuda', not 'cpu'"),
        ({"threads": 0}, "threads must be an integer >= 1"),
        ({"threads": 4097}, "threads must be an integer >= 1 and <= 4096"),
        ({"memory_limit": 1.5}, "memory_limit must be an integer >= 1"),
        ({"memory_limit": None}, "memory_limit must be an integer >= 1 .* not None"),
        ({"memory_limit": 2**64}, "memory_limit must be an integer >= 1 and <= "),
        ({"penalties": "edit"}, "penalties must be Edit"),
        ({"penalties": Affine(4, 6, 2), "algorithm": "bpm"}, "edit distance only"),
        ({"pairs": ["A", "C"]}, "must be a PairBatch"),
    ],
)
def test_requests_it_cannot_serve(arguments, message):
    request = {"pairs": ragged_pairs(), "penalties": Edit(), "device": "cpu", **arguments}
    with pytest.raises(AlignError, match=message):
        align(request.pop("pairs"), request.pop("penalties"), **request)


def test_cuda_without_a_gpu_is_one_clear_error():
    from wfa_kernels.cuda import device

    if device.available():
        pytest.skip("this host has a GPU")
    with pytest.raises(AlignError, match="device 'cuda' cannot be used: .*; without them use device 'cpu'"):
        align(ragged_pairs(), Edit(), device="cuda")


@pytest.mark.parametrize("problem", ["numba-cuda is not installed: No module", "no NVIDIA GPU or driver found"])
def test_what_cuda_lacks_is_said_and_what_to_do(monkeypatch, problem):
    from wfa_kernels.cuda import device

    monkeypatch.setattr(device, "_problem", lambda: problem)
    with pytest.raises(AlignError, match=f"{problem}.*pip install '..cuda.'"):
        align(ragged_pairs(), Edit(), device="cuda")


@pytest.mark.parametrize("penalties", [(0, 1, 1), (1, -1, 1), (1, 1, 0), (1.5, 1, 1), (True, 1, 1), (1, 2**31, 1)])
def test_bad_penalties(penalties):
    with pytest.raises(PenaltyError, match="must be an integer >= "):
        Affine(*penalties)


def test_a_cost_past_int32_is_found_whichever_pair_has_it():
    """Of as many letters on both sides no gap opens: pair 0 costs 1000 at the most, pair 1 more than int32 holds."""
    pairs = PairBatch.from_strings(["A" * 1000, "A"], ["C" * 1000, "C" * 30])
    with pytest.raises(AlignError, match="pair 1 .*past the int32 score limit"):
        align(pairs, Affine(1, 2**31 - 11, 1), device="cpu")


@pytest.mark.parametrize("gap_open", [32766, 32767, 40_000, 2**24])
def test_bit_planes_count_dear_gaps_in_lanes_that_hold_them(gap_open):
    pairs = PairBatch.from_strings(["ACGT" * 5] * 6, ["ACGT" * 5 + "A" * i for i in range(6)])
    scores = [0, *(gap_open + i for i in range(1, 6))]
    assert align(pairs, Affine(50_001, gap_open, 1), device="cpu", algorithm="bits").scores.tolist() == scores


def test_a_cost_past_int32_is_refused_before_work():
    pairs = PairBatch.from_strings(["A", "A" * 3000], ["C", "C" * 3000])
    with pytest.raises(AlignError, match="pair 1 .*past the int32 score limit"):
        align(pairs, Affine(10**6, 10**6, 10**6), device="cpu")
    assert align(pairs[:1], Affine(10**6, 10**6, 10**6), device="cpu").scores.tolist() == [10**6]


@pytest.mark.parametrize("at", [0, 3, 4, 6])
def test_a_cost_past_int32_is_found_at_the_edges_of_blocks_of_lengths(at, monkeypatch):
    monkeypatch.setattr(api, "_BLOCK", 4)
    texts = ["ACGT" * (500 if row == at else 1) for row in range(7)]
    with pytest.raises(AlignError, match=rf"^pair {at} \(4 x 2000 bp\) .*past the int32 score limit"):
        align(PairBatch.from_strings(["ACGT"] * 7, texts), Affine(1, 1, 2**21), device="cpu")


def test_slices_of_a_result():
    result = align(ragged_pairs(), Edit(), "cigar", device="cpu")
    for rows in (slice(2, 9), slice(-3, None), slice(9, 2), slice(None)):
        assert result[rows].cigar_strings() == result.cigar_strings()[rows]
        assert result[rows].scores.tolist() == result.scores.tolist()[rows]
    assert align(ragged_pairs(), Edit(), device="cpu")[3:5].cigars is None
    with pytest.raises(TypeError, match="takes a slice"):
        result[0]
    with pytest.raises(ValueError, match="step 1"):
        result[::2]


def test_what_has_no_answer_is_counted_by_why():
    status = np.array([0, 3, 1, 2, 1, 0], np.uint8)
    result = AlignmentResult(np.full(6, NO_SCORE, np.int32), status, np.empty(0, np.uint32), np.zeros(7, np.int64))
    assert result.refused() == {"over_limit": 2, "out_of_memory": 1, "unsupported": 1}
    assert result.cigar_strings() == ["", "*", "*", "*", "*", ""]


def test_library_stands_alone(tmp_path):
    """Importing compiles nothing, needs no GPU and nothing of the rest of the project."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import wfa_kernels\n"
        "assert not {'workflow', 'simulators', 'pandas'} & set(sys.modules), 'imports too much'\n"
        "from wfa_kernels import cigar\n"
        "assert not cigar._parse.signatures, 'compiles at import'\n"
    )
    (tmp_path / "wfa_kernels").symlink_to(ROOT / "wfa_kernels")
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, cwd=tmp_path)


def test_the_gpu_is_given_its_memory_as_a_plain_integer(monkeypatch):
    """Of it come sizes of arrays, which numba-cuda takes from no NumPy integer."""
    from wfa_kernels.cuda import aligner

    given = []
    monkeypatch.setattr(api, "_require_gpu", lambda: None)
    monkeypatch.setattr(aligner, "align_batch", lambda *arguments: given.append(arguments[5]))
    for asked in (np.int64(1 << 30), 1 << 30, None):
        align(PairBatch.from_strings(["A"], ["A"]), Edit(), device="cuda", device_memory=asked)
    assert given == [1 << 30, 1 << 30, None] and type(given[0]) is int


def test_the_gpu_is_given_the_heuristic_that_is_asked_for_and_none_by_default(monkeypatch):
    from wfa_kernels.cuda import aligner

    given = []
    monkeypatch.setattr(api, "_require_gpu", lambda: None)
    monkeypatch.setattr(aligner, "align_batch", lambda *arguments: given.append(arguments[6]))
    for asked in {"heuristic": StaticBand(3)}, {}:
        align(PairBatch.from_strings(["A"], ["A"]), Affine(2, 3, 1), device="cuda", design="paper", **asked)
    assert given == [StaticBand(3), None]


@pytest.mark.parametrize("algorithm", ["wfa", "bits", "bpm", "ond"])
def test_an_algorithm_of_the_cpu_is_not_taken_for_the_gpus(algorithm, monkeypatch):
    monkeypatch.setattr(api, "_require_gpu", lambda: None)
    with pytest.raises(AlignError, match=f"the design picks the algorithm, not '{algorithm}'"):
        align(ragged_pairs(), Edit(), device="cuda", algorithm=algorithm)


def test_progress_on_a_gpu_counts_all_pairs(monkeypatch):
    from wfa_kernels.cuda import aligner

    pairs, seen = ragged_pairs(), []
    monkeypatch.setattr(api, "_require_gpu", lambda: None)
    monkeypatch.setattr(aligner, "align_batch", lambda *arguments: align(pairs, Edit(), device="cpu"))
    align(pairs, Edit(), device="cuda", progress=seen.append)
    assert sum(seen) == 60


def test_a_cost_past_int32_is_refused_before_the_gpu_works(monkeypatch):
    from wfa_kernels.cuda import aligner

    monkeypatch.setattr(api, "_require_gpu", lambda: None)
    monkeypatch.setattr(aligner, "align_batch", lambda *arguments: pytest.fail("the GPU is asked"))
    pairs = PairBatch.from_strings(["A", "A" * 3000], ["C", "C" * 3000])
    with pytest.raises(AlignError, match="pair 1 .*past the int32 score limit"):
        align(pairs, Affine(10**6, 10**6, 10**6), device="cuda")


def test_a_pair_that_the_gpu_leaves_to_the_cpu_is_named_by_its_own_number(monkeypatch):
    from wfa_kernels.cuda import aligner

    letters = 20_000_000  # more than a GPU takes, which is why nothing looks at it before
    offsets = np.array([0, 4, 8, 12, 12 + letters])
    pattern, text = (np.full(12 + letters, letter, np.uint8) for letter in b"AC")
    monkeypatch.setattr(api, "_require_gpu", lambda: None)
    monkeypatch.setattr(aligner, "align_batch", lambda *arguments: arguments[4](np.array([3])))
    with pytest.raises(AlignError, match=rf"^pair 3 \({letters} x {letters} bp\) can cost up to"):
        align(PairBatch(pattern, offsets, text, offsets), Affine(120, 0, 60), device="cuda")
