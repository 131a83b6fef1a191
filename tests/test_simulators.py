"""Simulators: reproducible, lengths as thesis Tab 7, errors as stated, realised statistics true."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import simulators
from simulators import MODELS, PROFILES, SimulationError, generator, simulate
from simulators import __main__ as cli
from simulators.count import count
from simulators.profile import Profile, error_limits, length_limits
from simulators.uniform import nominal_edits
from tests.naive import edit_distance
from wfa_kernels import read_pairs

PAIRS = 10_000
#: thesis Tab 7: minimum, average, maximum sequence length.
TABLE_7 = {
    "illumina_150": (134, 148, 162),
    "illumina_250": (140, 248, 275),
    "moleculo": (42, 4352, 14463),
    "pacbio_ccs": (263, 9561, 18317),
    "pacbio_hifi": (201, 12847, 24640),
    "nanopore": (104, 6249, 21708),
}


def small(model, pairs=200, seed=1, threads=None):
    if model == "uniform":
        return simulate(model, pairs, seed, length=150, error=0.05, threads=threads)
    return simulate(model, pairs, seed, threads=threads)


def realised(batch):
    return json.loads(batch.metadata["realised"])


def test_no_more_threads_start_than_there_are_pairs(monkeypatch):
    asked = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, workers):
            asked.append(workers)
            super().__init__(workers)

    monkeypatch.setattr(generator, "ThreadPoolExecutor", Pool)
    for pairs in (3, 9):
        small("uniform", pairs, threads=7)
    assert asked == [3, 7]
    small("uniform", 5, threads=4096)
    with pytest.raises(SimulationError, match="threads must be at most 4096, not 4097"):
        small("uniform", threads=4097)


def test_all_cores_that_the_process_may_use_are_taken(monkeypatch):
    asked = []
    monkeypatch.setattr(generator, "ThreadPoolExecutor", lambda workers: asked.append(workers) or ThreadPoolExecutor(1))
    monkeypatch.setattr(generator.os, "sched_getaffinity", lambda _process: set(range(5)), raising=False)
    small("uniform", 9)
    assert asked == [5]


@pytest.mark.parametrize("model", MODELS)
def test_bytes_depend_on_the_seed_and_not_on_threads(model):
    one = small(model, threads=1)
    assert one.content_hash() == small(model, threads=3).content_hash()
    assert one.content_hash() != small(model, seed=2).content_hash()
    assert one[:50].content_hash() == small(model, pairs=50).content_hash()


def test_bytes_of_a_seed_never_change():
    """A recorded sample names its data set by seed: a change here makes recorded runs incomparable."""
    made = simulate("uniform", 2, 1, length=12, error=0.25)
    assert made.patterns() == [b"ACTGGTCGTCAA", b"TTGCCCTTACCA"]
    assert made.texts() == [b"CTGGCGTCACA", b"TTGACCCTTGCA"]


def test_bytes_of_a_profiles_seed_never_change():
    assert {model: simulate(model, 20, 1).content_hash()[:12] for model in PROFILES} == {
        "illumina_150": "9b6befc6a59a", "illumina_250": "9b5ae6e95a4f", "moleculo": "62635dc67b83",
        "pacbio_ccs": "a29b0f2d7487", "pacbio_hifi": "59d31caee3a3", "pacbio_clr": "e9edfd119aa6",
        "nanopore": "7580d72cef4a",
    }  # fmt: skip


def test_nominal_edits_are_rounded_to_the_nearest_number():
    asked = [(150, 0.02), (150, 0.05), (50, 0.05), (7, 0.1), (1000, 0.0999)]
    assert [nominal_edits(length, error) for length, error in asked] == [3, 8, 2, 1, 100]


@pytest.mark.parametrize(("model", "lengths"), TABLE_7.items())
def test_lengths_are_those_of_table_7(model, lengths):
    profile = PROFILES[model]
    assert (profile.shortest, profile.mean, profile.longest) == lengths
    made = small(model, PAIRS).pattern_lengths
    assert lengths[0] <= made.min() < lengths[0] + 0.05 * (lengths[2] - lengths[0])
    assert lengths[2] - 0.05 * (lengths[2] - lengths[0]) < made.max() <= lengths[2]
    assert made.mean() == pytest.approx(lengths[1], rel=0.02)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_length_distribution_has_exactly_the_mean(profile):
    limits = length_limits(profile).astype(float) / 2**32
    chances = np.diff(limits, prepend=0)
    assert chances.min() >= 0
    assert chances @ np.arange(profile.shortest, profile.longest + 1) == pytest.approx(profile.mean, abs=0.01)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_realised_errors_are_the_stated_rates(profile):
    made = small(profile.id, PAIRS)
    letters, counts = int(made.pattern_lengths.sum()), realised(made)
    for name, rate in (
        ("mismatches", profile.mismatch), ("insertions", profile.insertion), ("deletions", profile.deletion),
    ):  # fmt: skip
        expected = letters * rate
        assert abs(counts[name] - expected) < 6 * expected**0.5, name
    assert counts["error_rate"] == pytest.approx(profile.error, rel=0.1)
    assert profile.error_source
    assert profile.length_source


def test_a_profile_puts_indels_into_runs_as_stated():
    half = Profile("x", "x", 100, 150, 200, 4.0, 0.0, 0.01, 0.01, 0.5, "", "")
    outside, inside = error_limits(half)[:, 2].astype(float) / 2**32
    assert 0.75 * outside + 0.25 * inside == pytest.approx(0.02)
    assert 0.25 * inside == pytest.approx(0.5 * 0.02)


@pytest.mark.parametrize("error", [0, 0.02, 0.05, 0.1, 0.5, 1])
@pytest.mark.parametrize("length", [1, 2, 7, 150, 1000])
def test_uniform_makes_exactly_the_nominal_edits(length, error):
    made = simulate("uniform", 50, 3, length=length, error=error)
    counts, edits = realised(made), nominal_edits(length, error)
    assert counts["mismatches"] + counts["insertions"] + counts["deletions"] == 50 * edits
    assert set(made.pattern_lengths) == {length}
    assert made.text_lengths.sum() == 50 * length + counts["insertions"] - counts["deletions"]
    if error == 0:
        assert made.patterns() == made.texts()


def test_uniform_distance_is_at_most_the_edits_and_near_them():
    made = simulate("uniform", 100, 4, length=200, error=0.05)
    distances = [edit_distance(p, t) for p, t in zip(made.patterns(), made.texts(), strict=True)]
    assert max(distances) == 10
    assert np.mean(distances) > 9


def test_a_mismatch_is_a_different_letter_and_kinds_and_places_are_even():
    made = simulate("uniform", 20_000, 5, length=40, error=0.025)
    kinds = [realised(made)[name] for name in ("mismatches", "insertions", "deletions")]
    assert sum(kinds) == 20_000
    assert max(abs(kind - 20_000 / 3) for kind in kinds) < 5 * (20_000 * 2 / 9) ** 0.5
    same_length = made.pattern_lengths == made.text_lengths
    rows = np.flatnonzero(same_length)
    patterns, texts = (
        np.array([np.frombuffer(s[i], np.uint8) for i in rows]) for s in (made.patterns(), made.texts())
    )  # fmt: skip
    assert ((patterns != texts).sum(axis=1) == 1).all()
    places = (patterns != texts).sum(axis=0)
    expected = len(rows) / 40
    assert ((places - expected) ** 2 / expected).sum() < 90  # chi-square of 39 degrees of freedom: 1 in 100,000


def edited(monkeypatch, **rates):
    """Patterns and texts of pairs with errors of these kinds alone."""
    none = dict.fromkeys(("mismatch", "insertion", "deletion", "homopolymer"), 0.0)
    only = Profile("x", "x", 100, 150, 200, 4.0, **none | rates, length_source="", error_source="")
    monkeypatch.setitem(PROFILES, "illumina_150", only)
    made = simulate("illumina_150", 200, 1)
    return made, list(zip(made.patterns(), made.texts(), strict=True))


def test_a_profiles_mismatch_is_a_different_letter(monkeypatch):
    made, pairs = edited(monkeypatch, mismatch=0.1)
    differing = sum(a != b for pattern, text in pairs for a, b in zip(pattern, text, strict=True))
    assert differing == realised(made)["mismatches"] > 1000


def test_a_profiles_insertion_in_a_run_repeats_its_letter(monkeypatch):
    made, pairs = edited(monkeypatch, insertion=0.1, homopolymer=1.0)
    runs = [[[letter for letter, _ in groupby(side)] for side in pair] for pair in pairs]
    assert all(pattern == text for pattern, text in runs) and realised(made)["insertions"] > 1000


def test_a_profiles_error_rate_is_per_letter_of_the_pattern(monkeypatch):
    made, pairs = edited(monkeypatch, insertion=0.2, homopolymer=0.25)
    letters, more = sum(len(p) for p, _ in pairs), sum(len(t) - len(p) for p, t in pairs)
    assert realised(made)["insertions"] == more and realised(made)["error_rate"] == pytest.approx(more / letters)


def test_letters_are_even_and_nothing_else():
    made = simulate("uniform", 1000, 6, length=400, error=0.1)
    for flat in (made.pattern, made.text):
        counts = np.bincount(flat, minlength=256)[list(b"ACGT")]
        assert counts.sum() == len(flat)
        assert abs(counts / len(flat) - 0.25).max() < 0.005


@pytest.mark.parametrize("model", MODELS)
def test_metadata_tells_what_was_made(model):
    made = small(model)
    meta = made.metadata
    assert all(isinstance(value, str) for value in meta.values())
    assert (meta["model"], meta["seed"]) == (model, "1")
    assert meta["dataset"] == ("uniform_150_e5" if model == "uniform" else model)
    assert float(meta["error"]) == (0.05 if model == "uniform" else pytest.approx(PROFILES[model].error))
    assert int(meta["length_bp"]) == (150 if model == "uniform" else PROFILES[model].mean)
    assert json.loads(meta["parameters"])["pairs"] == 200
    counts = realised(made)
    assert counts["pairs"] == 200
    for name, lengths in (("pattern", made.pattern_lengths), ("text", made.text_lengths)):
        found = [counts[f"{name}_length_{which}"] for which in ("min", "mean", "max")]
        assert found == [lengths.min(), pytest.approx(lengths.mean()), lengths.max()]


def test_the_source_of_simulated_pairs_is_told_in_words():
    source = small("uniform").metadata["source"]
    assert source == "simulated: random patterns of 150 bp, texts with 8 uniform edits (5 %)"
    profile = PROFILES["nanopore"]
    assert small("nanopore").metadata["source"] == (
        "simulated stand-in for Nanopore reads (lengths: minimum, mean, maximum: thesis Tab 7; concentration assumed; "
        f"errors: {profile.error_source})"
    )


def test_parameters_are_all_that_the_pairs_depend_on():
    uniform, nanopore = (json.loads(small(model, seed=2).metadata["parameters"]) for model in ("uniform", "nanopore"))
    assert uniform == {"pairs": 200, "seed": 2, "length": 150, "error": 0.05, "edits": 8}
    assert nanopore == {"pairs": 200, "seed": 2, **asdict(PROFILES["nanopore"])}


@pytest.mark.parametrize(
    ("model", "length", "fits", "too_many"),
    [("uniform", 100, 4400, 4500), ("illumina_150", None, 3100, 3200)],
)
def test_pairs_that_memory_does_not_hold_are_refused(monkeypatch, model, length, fits, too_many):
    """By a profile's mean length; 1 MiB is there."""
    pages = {"SC_PAGE_SIZE": 2**12, "SC_PHYS_PAGES": 2**8}
    monkeypatch.setattr(simulators.os, "sysconf", pages.get)
    simulators._check_size(model, fits, length)
    message = rf"^{too_many} pairs of 1\d\d bp take 0.00\d+ GiB, more than the 0.000977 GiB here$"
    with pytest.raises(SimulationError, match=message):
        simulate(model, too_many, 1, length=length, error=0.05 if length else None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "nope"}, "unknown model 'nope': one of uniform, illumina_150"),
        ({"pairs": 0}, "pairs must be an integer >= 1, not 0"),
        ({"pairs": 1.5}, "pairs must be an integer"),
        ({"pairs": True}, "pairs must be an integer >= 1, not True"),
        ({"pairs": None}, "pairs must be an integer >= 1, not None"),
        ({"seed": -1}, "seed must be an integer >= 0"),
        ({"seed": None}, "seed must be an integer >= 0, not None"),
        ({"seed": 2**63}, "seed must be below"),
        ({"length": 0}, "length must be an integer >= 1"),
        ({"error": -0.01}, "error must be a fraction from 0 to 1, not -0.01"),
        ({"error": 1.01}, "error must be a fraction from 0 to 1, not 1.01"),
        ({"error": float("nan")}, "error must be a fraction"),
        ({"error": "0.1"}, "error must be a fraction from 0 to 1, not '0.1'"),
        ({"error": True}, "error must be a fraction from 0 to 1, not True"),
        ({"length": 10**400}, "bp take inf GiB, more than"),
        ({"pairs": 10**400}, "bp take inf GiB, more than"),
        ({"length": None}, "uniform needs a length"),
        ({"error": None}, "uniform needs a length .* and an error"),
        ({"threads": 0}, "threads must be an integer >= 1"),
        ({"model": "nanopore"}, "set by the model nanopore; only uniform takes them"),
        ({"model": "nanopore", "length": None}, "set by the model nanopore; only uniform takes them"),
        ({"model": "nanopore", "error": None}, "set by the model nanopore; only uniform takes them"),
    ],
)
def test_bad_arguments(arguments, message):
    good = {"model": "uniform", "pairs": 1, "seed": 1, "length": 10, "error": 0.1}
    with pytest.raises(SimulationError, match=message):
        simulate(**good | arguments)


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "simulators", *map(str, arguments)], capture_output=True, text=True)


def test_command_line_writes_what_simulate_makes(tmp_path):
    for name in ("x.arrow", "x.seq"):
        done = run("uniform", "--pairs", "1e2", "--length", 50, "--error", 0.1, "--seed", 7, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        read = read_pairs(tmp_path / name)
        assert read.content_hash() == simulate("uniform", 100, 7, length=50, error=0.1).content_hash()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.arrow", "x.seq"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["uniform", "--pairs", "1.5", "-o", "x.seq"], "not a number of pairs such as 1000 or 1e6"),
        (["uniform", "--pairs", "many", "-o", "x.seq"], "not a number of pairs"),
        (["uniform", "--pairs", "nan", "-o", "x.seq"], "'nan' is not a number of pairs"),
        (["uniform", "--pairs", "inf", "-o", "x.seq"], "'inf' is not a number of pairs"),
        (["uniform", "--pairs", "3", "--threads", "100000", "-o", "x.seq"], "100000 is not in the range 1<=x<=4096"),
        (["martian", "--pairs", "1", "-o", "x.seq"], "'martian' is not one of 'uniform'"),
        (["uniform", "--pairs", "1", "-o", "x.bam"], "must end in .arrow or .seq"),
        (["uniform", "--pairs", "1", "-o", "x.seq"], "uniform needs a length"),
        (["nanopore", "--pairs", "1e12", "-o", "missing/x.seq"], "missing/x.seq: cannot be written"),
    ],
)
def test_command_line_mistakes(tmp_path, monkeypatch, arguments, message):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["0", "0.9", "-3", "1e400", "", "2.5"])
def test_what_is_no_number_of_pairs_is_refused(text):
    assert (count("1"), count("1e6")) == (1, 1_000_000)
    with pytest.raises(ValueError, match=f"^'{text}' is not a number of pairs such as 1000 or 1e6$"):
        count(text)


def test_the_command_takes_seed_1_and_says_what_it_wrote(tmp_path):
    done = CliRunner().invoke(cli.command, ["nanopore", "--pairs", "20", "-o", str(tmp_path / "x.arrow")])
    read = read_pairs(tmp_path / "x.arrow")
    assert read.content_hash() == simulate("nanopore", 20, 1).content_hash()
    error = json.loads(read.metadata["realised"])["error_rate"]
    assert done.stderr == f"{tmp_path / 'x.arrow'}: 20 Nanopore pairs, realised error {100 * error:.4f}%\n"


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (MemoryError, 2, "error: so many pairs do not fit into memory; ask for fewer"),
        (KeyboardInterrupt, 130, ""),
    ],
)
def test_a_command_that_runs_out_of_memory_or_is_interrupted_leaves_nothing(
    tmp_path, monkeypatch, capsys, raised, code, said
):
    def fail(*_, **__):
        raise raised

    monkeypatch.setattr(cli, "simulate", fail)
    monkeypatch.setattr(sys, "argv", ["simulators", "nanopore", "--pairs", "2", "-o", str(tmp_path / "x.seq")])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code and not list(tmp_path.iterdir())
    assert capsys.readouterr().err.strip() == said
