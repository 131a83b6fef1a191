"""Every CPU kernel compiled for processors with narrower vectors, or none, is right."""

import json
import os
import platform
import random
import subprocess
import sys

import pytest

from tests import naive
from tests.test_edit_kernels import random_pair
from wfa_kernels import Affine, Edit, PairBatch, align
from wfa_kernels.cigar import format_packed
from wfa_kernels.cpu import processor
from wfa_kernels.cpu.processor import features

#: Nothing beyond SSE4.2, and AVX2: what this process compiles for may have AVX-512.
PROCESSORS = ("x86-64-v2", "x86-64-v3")
KERNELS = [("wfa", (1, 0, 1)), ("bits", (1, 0, 1)), ("bpm", (1, 0, 1)), ("ond", (1, 0, 1)), ("wfa", (4, 6, 2))]
KERNELS += [("bits", (4, 6, 2)), ("bits", (2, 3, 1)), ("auto", (1, 0, 1)), ("auto", (4, 6, 2))]


def some_pairs():
    """Clean and noisy ones, unrelated ones, homopolymers and repeats, 0 to 700 letters; the judge takes a minute."""
    draw = random.Random(1)
    pairs = [
        random_pair(length, draw.randrange(length + 1), error, alphabet, draw.random())
        for length in (0, 1, 40, 64, 65, 150, 300)
        for error in (0, 0.02, 0.1, 1)
        for alphabet in (b"ACGT", b"A", b"ACGTN")
    ]
    pairs += [random_pair(700, 700, error, b"ACGT", draw.random()) for error in (0.01, 0.05, 0.1)]
    pairs += [(b"AC" * 100, b"CA" * 90), (b"ACG" * 50, b"ACG" * 65), (b"A" * 90, b"A" * 97), (b"T" * 50, b"C" * 50)]
    draw.shuffle(pairs)
    return pairs


def answers():
    """[scores, CIGARs] of each kernel."""
    batch = PairBatch.from_strings(*zip(*some_pairs(), strict=True))
    found = []
    for algorithm, costs in KERNELS:
        penalties = Edit() if costs == (1, 0, 1) else Affine(*costs)
        scores = align(batch, penalties, "score", device="cpu", algorithm=algorithm, threads=1).scores.tolist()
        traced = align(batch, penalties, "cigar", device="cpu", algorithm=algorithm, threads=1)
        assert traced.scores.tolist() == scores
        found.append([scores, format_packed(traced.cigars, traced.cigar_offsets)])
    return found


@pytest.fixture(scope="module")
def judged():
    """Scores of each kernel, by the judge."""
    by_costs = {costs: [naive.affine_score(*pair, *costs) for pair in some_pairs()] for _, costs in KERNELS}
    return [by_costs[costs] for _, costs in KERNELS]


def check(found, judged):
    """Several alignments may be cheapest, and "auto" may pick another kernel where vectors are narrower."""
    for (scores, cigars), expected, (_, costs) in zip(found, judged, KERNELS, strict=True):
        assert scores == expected
        checked = (naive.check_cigar(*pair, cigar, costs) for pair, cigar in zip(some_pairs(), cigars, strict=True))
        assert list(checked) == expected


def test_what_a_processor_can_do_is_told_from_its_name_and_flags():
    assert features("x86-64-v2", "") == features("unheard-of", "") == set()
    assert features("x86-64-v3", "") == features("x86-64-v4", "-avx512f,-avx512bw") == {"avx2"}
    assert features("generic", "+avx2,+avx512f,-avx2") == {"avx512f"}
    assert features(None, None) == features("unheard-of", None)


@pytest.mark.parametrize(
    ("flags", "bits"),
    [("+avx2,+avx512f,+avx512bw", 512), ("+avx2,+avx512f", 256), ("+avx512bw,+avx2", 256), ("+avx2", 256), ("", 128)],
)
def test_vectors_are_as_wide_as_all_that_they_need_is_there(monkeypatch, flags, bits):
    """Of AVX-512 both what shifts whole words and what compares bytes."""
    monkeypatch.setattr(processor.config, "CPU_NAME", "generic")
    monkeypatch.setattr(processor.config, "CPU_FEATURES", flags)
    assert processor.vector_bits() == bits


@pytest.mark.slow
def test_compiled_for_this_one(judged):
    check(answers(), judged)


@pytest.mark.slow
@pytest.mark.parametrize("processor", PROCESSORS if platform.machine() in ("x86_64", "AMD64") else ["generic"])
def test_compiled_for_others(judged, processor, tmp_path):
    program = "import json; from tests.test_lesser_processors import answers; print(json.dumps(answers()))"
    lesser = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", program], env={**os.environ, **lesser}, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    check(json.loads(said.stdout), judged)
