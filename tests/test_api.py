"""align() and its scheduling over threads."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import naive
from wfa_kernels import Affine, AlignError, Edit, PairBatch, PenaltyError, StaticBand, align, api
from wfa_kernels.cpu import schedule
from wfa_kernels.result import NO_SCORE, AlignmentResult

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
