"""align(), its scheduling over threads, and the command line."""

import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests import naive
from wfa_kernels import Affine, AlignError, Edit, PairBatch, PenaltyError, __version__, align
from wfa_kernels import __main__ as command_line
from wfa_kernels import result as results
from wfa_kernels.cpu import edit_wfa, schedule
from wfa_kernels.result import NO_SCORE, OUT_OF_MEMORY

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
    monkeypatch.setattr(schedule, "_SIDE_BY_SIDE_BASES", 500)
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


def test_chunks_of_pairs_side_by_side_are_whole_multiples():
    pairs = PairBatch.from_strings([b"ACGT" * 2500] * 130, [b"ACGT" * 2500] * 130)
    for threads in (1, 2, 3):
        bounds = schedule.chunk_bounds(pairs, threads, 16)
        assert bounds[0] == 0 and bounds[-1] == 130 and (np.diff(bounds) > 0).all()
        assert len(bounds) > threads and (bounds[:-1] % 16 == 0).all()
    assert schedule.chunk_bounds(pairs[:9], 2, 16).tolist() == [0, 5, 9]


def test_empty_batch():
    result = align(PairBatch.from_strings([], []), Edit(), "cigar", device="cpu")
    assert len(result) == 0 and result.cigar_strings() == []


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
        ({"threads": 2**63}, "threads must be an integer >= 1 and <= 4611686018427387904"),
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
    with pytest.raises(AlignError, match=f"{problem}.*pip install 'wfa-kernels.cuda.'"):
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


def test_views_with_other_letters_in_between_are_copied_once(monkeypatch):
    pairs, seen = ragged_pairs(), []
    spread = replace(pairs, pattern=np.repeat(pairs.pattern, 2)[::2], text=pairs.text[::-1].copy()[::-1])
    batch = schedule.align_batch
    monkeypatch.setattr(
        schedule, "align_batch", lambda kernel, given, *more: seen.append(given) or batch(kernel, given, *more)
    )
    assert align(spread, Edit(), device="cpu").scores.tolist() == align(pairs, Edit(), device="cpu").scores.tolist()
    assert seen[0].pattern.flags.c_contiguous and seen[0].text.flags.c_contiguous and seen[1] is pairs


def test_an_interrupt_while_a_kernel_runs_in_the_main_thread_is_one():
    def work(item):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:  # as Numba's dispatcher does
            raise SystemError("returned a result with an exception set") from interrupt

    with pytest.raises(KeyboardInterrupt):
        list(schedule._in_order(work, [1], 1))


def test_a_cost_past_int32_is_refused_before_work():
    pairs = PairBatch.from_strings(["A", "A" * 3000], ["C", "C" * 3000])
    with pytest.raises(AlignError, match="pair 1 .*past the int32 score limit"):
        align(pairs, Affine(10**6, 10**6, 10**6), device="cpu")
    assert align(pairs[:1], Affine(10**6, 10**6, 10**6), device="cpu").scores.tolist() == [10**6]


def command(*arguments, stdin=None, stdout=subprocess.PIPE, simulated=False):
    """Run the command line, with the simulator as its GPU or none; the finished process."""
    return subprocess.run(
        [sys.executable, "-m", "wfa_kernels", *map(str, arguments)],
        cwd=ROOT,
        input=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"} if simulated else None,
    )


@pytest.fixture
def seq(tmp_path):
    """A .seq file of three pairs."""
    path = tmp_path / "pairs.seq"
    path.write_text(">GATTACA\n<GAATA\n>acgt\n<ACGT\n>\n<AC\n")
    return path


def test_command_writes_a_table(seq, tmp_path):
    done = command("align", seq, "--edit", "--scope", "cigar", "--device", "cpu", "-o", tmp_path / "out.tsv")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split("\t") for line in (tmp_path / "out.tsv").read_text().splitlines()]
    assert rows[0] == ["index", "score", "cigar", "status"]
    assert [row[:2] + row[3:] for row in rows[1:]] == [["0", "3", "ok"], ["1", "0", "ok"], ["2", "2", "ok"]]
    assert naive.check_cigar(b"GATTACA", b"GAATA", rows[1][2], (1, 0, 1)) == 3 and rows[3][2] == "2I"


@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_a_table_is_written_in_pieces(monkeypatch, scope):
    """The text of few CIGARs at a time, and the same table."""
    result = align(ragged_pairs(), Edit(), scope, device="cpu")
    whole, pieces = io.StringIO(), io.StringIO()
    command_line.write_tsv(result, whole)
    cigars = result.cigar_strings() if scope == "cigar" else ["*"] * 60
    rows = zip(range(60), result.scores.tolist(), cigars, ["ok"] * 60, strict=True)
    assert whole.getvalue().splitlines()[1:] == ["\t".join(map(str, row)) for row in rows]

    sizes, format_packed = [], results.format_packed
    monkeypatch.setattr(command_line, "_PAIRS_AT_ONCE", 7)
    monkeypatch.setattr(
        results, "format_packed", lambda *packed: sizes.append(len(packed[0])) or format_packed(*packed)
    )
    command_line.write_tsv(result, pieces)
    assert pieces.getvalue() == whole.getvalue()
    if scope == "cigar":
        assert len(sizes) == 9 and sum(sizes) == len(result.cigars) and max(sizes) < len(result.cigars) / 4


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


def test_command_takes_standard_input_and_keeps_case(seq):
    done = command("align", "-", "--affine", "4,6,2", "--keep-case", stdin=seq.read_text())
    assert done.returncode == 0
    assert [line.split("\t")[1:3] for line in done.stdout.splitlines()[1:]][1] == ["16", "*"]


def test_command_counts_refused_pairs_on_stderr(tmp_path):
    (tmp_path / "long.seq").write_text(f">{'ACGT' * 2000}\n<{'GTTA' * 2000}\n>A\n<A\n")
    done = command("align", tmp_path / "long.seq", "--edit", "--scope", "cigar", "--memory-limit", "60k")
    assert done.returncode == 0 and done.stdout.splitlines()[1:] == ["0\t-1\t*\tout_of_memory", "1\t0\t1=\tok"]
    assert "warning: 1 of 2 pairs have no alignment: out_of_memory" in done.stderr


def test_command_says_what_the_cpu_did_for_the_gpu(seq):
    """The papers' design has no kernel for such a gap: its rings would have more rows than it keeps."""
    options = ["--device", "cuda", "--design", "paper", "--device-memory", "1G"]
    done = command("align", seq, "--affine", "1,1000,1", *options, simulated=True)
    assert done.returncode == 0
    assert [row.split("\t")[1] for row in done.stdout.splitlines()[1:]] == ["1003", "0", "1002"]
    assert done.stderr == "note: 3 of 3 pairs are beyond the GPU's kernels: the CPU did them\n"


@pytest.mark.parametrize(
    ("penalties", "bp"),
    [
        pytest.param("4000,10,4000", (600_000, 600_000), id="too long for kernels of many pairs"),
        pytest.param("1,0,40000", (1000, 60_000), id="only gaps are dear"),
    ],
)
def test_a_pair_that_can_cost_too_much_is_named_before_the_gpu_works(tmp_path, penalties, bp):
    """The CPU, asked for it alone, would name pair 0."""
    pattern, text = ("ACGT" * (length // 4) for length in bp)
    (tmp_path / "long.seq").write_text(f">A\n<A\n>{pattern}\n<{text}\n")
    done = command("align", tmp_path / "long.seq", "--affine", penalties, "--device", "cuda", simulated=True)
    assert done.returncode == 2 and done.stderr.startswith(f"error: pair 1 ({bp[0]} x {bp[1]} bp) can cost up to")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.seq", "--edit"], "missing.seq: no such file"),
        (["SEQ"], "give one of --edit and --affine"),
        (["SEQ", "--edit", "--affine", "4,6,2"], "give one of --edit and --affine"),
        (["SEQ", "--affine", "4,6"], "--affine takes three integers"),
        (["SEQ", "--affine", "4,6,2.5"], "--affine takes three integers"),
        (["SEQ", "--affine", "0,6,2"], "mismatch must be an integer >= 1"),
        (["SEQ", "--affine", "4,6,0"], "gap_extend must be an integer >= 1"),
        (["SEQ", "--affine", "4,-1,2"], "gap_open must be an integer >= 0"),
        (["SEQ", "--edit", "--device", "tpu"], "'tpu' is not one of"),
        (["SEQ", "--edit", "-o", "nowhere/out.tsv"], "nowhere/out.tsv: cannot be written"),
        (["SEQ", "--edit", "--memory-limit", "lots"], "is not a size"),
        (["SEQ", "--edit", "--memory-limit", "1e30"], "'1e30' is more than any machine has"),
        (["SEQ", "--edit", "--device-memory", "1M"], "device_memory must be an integer >= 268435456"),
    ],
)
def test_a_users_mistake_is_one_message_and_exit_code_2(seq, arguments, message):
    done = command("align", *[seq if a == "SEQ" else a for a in arguments])
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr and done.stdout == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b">ACGT\n", "odd number"),
        (b">ACGT\n>ACGT\n", "line 2"),
        (b">AC\x00GT\n<AC\n", "line 1"),
        (b">ACGT\n<ACG\n>AC", "odd number"),
    ],
)
def test_broken_seq_files_name_the_file(tmp_path, content, message):
    (tmp_path / "broken.seq").write_bytes(content)
    done = command("align", tmp_path / "broken.seq", "--edit")
    assert done.returncode == 2 and "broken.seq" in done.stderr and message in done.stderr


def test_a_file_that_may_be_cut_off_is_a_warning_in_one_line(tmp_path):
    (tmp_path / "cut.seq").write_bytes(b">ACGT\n<AC")
    done = command("align", tmp_path / "cut.seq", "--edit")
    assert done.returncode == 0 and done.stdout.splitlines()[1:] == ["0\t2\t*\tok"]
    (line,) = done.stderr.splitlines()
    assert line.startswith("warning: ") and "cut.seq: line 2: no line end" in line


def test_a_closed_pipe_is_no_error(seq):
    done = subprocess.run(
        f"{sys.executable} -m wfa_kernels align {seq} --edit | head -1",
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "index\tscore\tcigar\tstatus\n" and "Traceback" not in done.stderr


@pytest.mark.slow
def test_kernels_cached_by_different_processes_do_not_mix(tmp_path):
    """Two variants of one kernel, each compiled in a process of its own, keep their own symbols in the cache."""
    script = (
        "import sys; from wfa_kernels import *; b = PairBatch.from_strings(['ACGT'], ['AGT'])\n"
        "for scope in sys.argv[1:]: result = align(b, Edit(), scope, device='cpu')\n"
        "print(result.cigar_strings() if result.cigars is not None else result.scores)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    for scopes in (["score"], ["cigar"], ["score", "cigar"]):
        command = [sys.executable, "-c", script, *scopes]
        printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    assert printed == "['1=1D2=']"


@pytest.mark.slow
def test_kernels_run_where_no_folder_can_hold_them(tmp_path):
    """As another user without a home, where Numba would fail at import; the folder in its stead goes away."""
    script = (
        "import os\n"
        "from numba.core import caching\n"
        "caching.CacheImpl._locator_classes = [caching.UserProvidedCacheLocator]\n"
        "from wfa_kernels import *\n"
        "print(align(PairBatch.from_strings(['ACGT'], ['AGT']), Edit(), device='cpu').scores.tolist())\n"
        "assert os.listdir(os.environ['TMPDIR']), 'not used'\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout == "[1]\n"
    assert list(tmp_path.iterdir()) == []


def test_command_tells_its_version():
    assert command("--version").stdout == f"{__version__}\n"


def test_output_over_the_input_and_a_full_disk(tmp_path):
    path = tmp_path / "pairs.arrow"
    PairBatch.from_strings(["ACGT"], ["AGT"]).to_arrow(path)
    assert command("align", path, "--edit", "-o", path).returncode == 0
    assert path.read_text().splitlines()[1] == "0\t1\t*\tok" and list(tmp_path.iterdir()) == [path]
    done = command("align", "-", "--edit", "-o", "/dev/full", stdin=">A\n<A\n")
    assert done.returncode == 2 and "/dev/full: cannot be written" in done.stderr and "Traceback" not in done.stderr
    with open("/dev/full", "w") as full:
        done = command("align", "-", "--edit", stdin=">A\n<A\n", stdout=full)
    said = "Error: standard output: cannot be written (No space left on device)\n"
    assert (done.returncode, done.stderr) == (2, said)


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
