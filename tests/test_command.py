"""The command line: its table, its errors, files and pipes, and the kernels it compiles."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import click
import numpy as np
import pytest

from tests import naive
from tests.test_api import ragged_pairs
from wfa_kernels import Affine, AlignError, AlignmentResult, Edit, PairBatch, StaticBand, __version__, align
from wfa_kernels import __main__ as command_line
from wfa_kernels import result as results

ROOT = Path(__file__).resolve().parents[1]


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
def test_a_pair_that_can_cost_too_much_is_named(tmp_path, penalties, bp):
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
        (["SEQ", "--edit", "--memory-limit", "4"], "'4' is so many bytes; a size is such as 512M or 2G"),
        (["SEQ", "--edit", "--memory-limit", "1e30"], "'1e30' is more than any machine has"),
        (["SEQ", "--edit", "--device-memory", "1M"], "'1M' is less than 256M; a size is such as 512M or 2G"),
        (["SEQ", "--edit", "--memory-limit", "-1G"], "'-1G' is not a size such as 512M or 2G"),
        (["SEQ", "--edit", "--device-memory", "0"], "'0' is not a size such as 512M or 2G"),
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


def test_a_closed_pipe_is_no_error(tmp_path):
    (tmp_path / "many.seq").write_text(">A\n<C\n" * 200_000)
    line = f"{sys.executable} -m wfa_kernels align {tmp_path / 'many.seq'} --edit | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("index\tscore\tcigar\tstatus\n0\n", "")


@pytest.mark.parametrize(
    ("closed", "message"),
    [("- <&-", "error: standard input is closed"), ("SEQ >&-", "Error: standard output is closed")],
)
def test_closed_streams_are_one_message(seq, closed, message):
    line = f"{sys.executable} -m wfa_kernels align {closed.replace('SEQ', str(seq))} --edit"
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"{message}\n")


def test_too_little_memory_is_one_message(monkeypatch, seq, capsys):
    monkeypatch.setattr(command_line, "align", mock.Mock(side_effect=MemoryError))
    monkeypatch.setattr(sys, "argv", ["wfa-kernels", "align", str(seq), "--edit"])
    with pytest.raises(SystemExit, match="2"):
        command_line.main()
    assert capsys.readouterr().err.startswith("error: out of memory; a smaller --memory-limit")


def test_what_is_asked_for_is_what_align_is_given(monkeypatch, seq, tmp_path):
    told = {}

    def given(pairs, penalties, scope, *, progress=None, **how):
        told.update(how, penalties=penalties, scope=scope)
        return AlignmentResult(np.zeros(len(pairs), np.int32), np.zeros(len(pairs), np.uint8))

    monkeypatch.setattr(command_line, "align", given)
    asked = "--affine 4,6,2 --scope cigar --device cpu --algorithm wfa --threads 3 --memory-limit 2G --static-band 9"
    asked += " --device-memory 300M --design paper"
    command_line.cli(["align", str(seq), *asked.split(), "-o", str(tmp_path / "out.tsv")], standalone_mode=False)
    assert told == {
        "penalties": Affine(4, 6, 2), "scope": "cigar", "device": "cpu", "algorithm": "wfa", "design": "paper",
        "threads": 3, "memory_limit": 2 << 30, "device_memory": 300 << 20, "heuristic": StaticBand(9),
    }  # fmt: skip


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


def test_a_file_that_is_read_is_not_written_over(tmp_path):
    path, texts = tmp_path / "pairs.arrow", tmp_path / "texts.fa"
    PairBatch.from_strings(["ACGT"], ["AGT"]).to_arrow(path)
    texts.write_text(">a\nACGT\n")
    patterns = tmp_path / "patterns.fa"
    patterns.write_text(">a\nACGA\n")
    (tmp_path / "again.arrow").symlink_to(path)
    held = path.read_bytes()
    for inputs, output in (([path], path), ([path], tmp_path / "again.arrow"), ([patterns, texts], texts)):
        done = command("align", *inputs, "--edit", "-o", output)
        assert done.returncode == 2 and f"-o {output}: this file is read from" in done.stderr
    assert path.read_bytes() == held and texts.read_text() == ">a\nACGT\n"


def test_a_full_disk(tmp_path):
    done = command("align", "-", "--edit", "-o", "/dev/full", stdin=">A\n<A\n")
    assert done.returncode == 2 and "/dev/full: cannot be written" in done.stderr and "Traceback" not in done.stderr
    with open("/dev/full", "w") as full:
        done = command("align", "-", "--edit", stdin=">A\n<A\n", stdout=full)
    said = "Error: standard output: cannot be written (No space left on device)\n"
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.parametrize(
    "arguments", [["--device-memory", "300M", "--device", "cuda"], ["--static-band", "3"], ["-o", "none/out.tsv"]]
)
def test_what_is_refused_is_told_before_pairs_are_read(arguments, monkeypatch):
    monkeypatch.setattr(command_line, "_read", mock.Mock(side_effect=AssertionError("read")))
    for module in ("wfa_kernels.api", "wfa_kernels.__main__"):
        monkeypatch.setattr(f"{module}.gpu_problem", lambda **_: "none here")
    with pytest.raises((AlignError, click.ClickException)):
        command_line.cli(["align", "-", "--edit", *arguments], standalone_mode=False)


def test_a_gpu_lays_out_no_memory_for_an_empty_batch(seq, monkeypatch, capsys):
    """It would be kept for the pairs that follow, and be too little."""
    given = []

    def note(pairs, *_, **__):
        given.append(len(pairs))
        return AlignmentResult(np.zeros(len(pairs), np.int32), np.zeros(len(pairs), np.uint8))

    monkeypatch.setattr(command_line, "align", note)
    monkeypatch.setattr(command_line, "gpu_problem", lambda **_: None)
    for device, batches in (("cuda", [3]), ("cpu", [0, 3])):
        given.clear()
        command_line.cli(["align", str(seq), "--edit", "--device", device], standalone_mode=False)
        assert given == batches


@pytest.mark.parametrize("began_as", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interruption_within_numbas_code_is_one_too(monkeypatch, began_as):
    """It comes out as a SystemError, or as several, one the cause of the next."""

    def interrupted(**_):
        try:
            try:
                raise began_as
            except began_as as error:
                raise SystemError("returned a result with an exception set") from error
        except SystemError as error:
            raise SystemError("returned a result with an exception set") from error

    monkeypatch.setattr(command_line, "cli", interrupted)
    with pytest.raises(SystemExit if began_as is KeyboardInterrupt else SystemError) as ended:
        command_line.main()
    assert began_as is not KeyboardInterrupt or ended.value.code == 130


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_does_not_wait_for_a_long_pair(tmp_path, number, code):
    script = """
import signal, sys, time
from wfa_kernels import __main__ as command_line
from wfa_kernels.cpu import interrupts

def align(pairs, *_, **__):
    if len(pairs):
        print("begun", flush=True)
        interrupts.hold(time.sleep, 60)  # as a kernel runs: within the main thread signals would wait for it

command_line.align = align
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs ignore
command_line.main()
"""
    (tmp_path / "one.seq").write_text(">ACGT\n<ACT\n")
    command = [sys.executable, "-c", script, "align", "one.seq", "--edit", "-o", "out.tsv"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "begun\n"
        running.send_signal(number)
        assert running.wait(30) == code
    assert os.listdir(tmp_path) == ["one.seq"]
