"""CUDA edit WFA: right in the simulator, compiles for a real GPU without one, and agrees with the CPU on one."""

import random
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests import cuda_simulator, naive
from wfa_kernels import Edit, PairBatch
from wfa_kernels.cuda import device

EDIT = (1, 0, 1)


def random_pairs(count, longest, seed, alphabet=b"ACGTN"):
    """Ragged pairs: the text is the pattern with edits, or for every fourth pair unrelated."""
    draw = random.Random(seed)

    def letters(length):
        return bytes(draw.choices(alphabet, k=length))

    pairs = []
    for i in range(count):
        pattern = letters(draw.randint(0, longest))
        text = bytearray(pattern if i % 4 else letters(draw.randint(0, longest)))
        for _ in range(draw.randint(0, max(1, len(text) // 4))):
            at = draw.randint(0, len(text))
            text[at : at + draw.randint(0, 1)] = letters(draw.randint(0, 1))
        pairs.append((pattern, bytes(text)))
    return pairs


def check(pairs, answer):
    for i, (pattern, text) in enumerate(pairs):
        expected = naive.edit_distance(pattern, text)
        assert answer["scores"][i] == expected, (pattern, text)
        if answer["cigars"] is not None:
            assert naive.check_cigar(pattern, text, answer["cigars"][i], EDIT) == expected


SHORT_PAIRS = [
    (b"", b""),
    (b"A", b""),
    (b"", b"AC"),
    (b"ACGT", b"ACGT"),
    (b"NNNN", b"NNAN"),
    (b"acgt", b"ACGT"),
    (b"\x00\xff", b"\xff"),
    (b"GATTACA", b"GAATA"),
    (b"A" * 40, b"A"),
    (b"A", b"A" * 40),
    (b"A" * 40, b"C" * 40),
    *random_pairs(16, 40, seed=1),
]


@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_simulator_agrees_with_naive(scope):
    answer = cuda_simulator.align(*zip(*SHORT_PAIRS, strict=True), scope)
    assert answer["rescued"] == []
    check(SHORT_PAIRS, answer)


def test_pair_over_its_first_limit_is_done_again():
    pairs = [(b"A" * 60, b"C" * 60), (b"ACGT" * 15, b"ACGT" * 15)]  # distance 60; the first limit is 32 + 60 // 8
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar")
    assert answer["rescued"] == []
    check(pairs, answer)


@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_small_memory_means_many_launches_and_a_rescue(scope):
    pairs = [(b"ACGT", b"AGGT"), (b"A" * 300, b"A" * 299), (b"AC", b"A"), (b"", b""), (b"CCC", b"CACC")]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), scope, budget_bytes=400)
    assert answer["rescued"] == [1]
    assert answer["scores"] == [1, 1001, 1, 0, 1]
    assert answer["status"] == [0] * 5
    if scope == "cigar":
        assert answer["cigars"][1] == "7X"
        kept = [0, 2, 3, 4]
        assert [naive.check_cigar(*pairs[i], answer["cigars"][i], EDIT) for i in kept] == [1, 1, 0, 1]


@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_empty_batch(scope):
    answer = cuda_simulator.align([], [], scope)
    assert answer["scores"] == []


def test_import_needs_no_gpu_and_compiles_nothing():
    code = (
        "import wfa_kernels.cuda.device as device, wfa_kernels.cuda.edit_wfa as edit_wfa;"
        "assert isinstance(device.describe(), str) and isinstance(device.available(), bool);"
        "assert not edit_wfa._wavefronts.overloads and not edit_wfa._trace.overloads"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=cuda_simulator.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def ptxas_path():
    """The assembler of the installed CUDA wheels (nvidia/cu13/bin, or nvidia/cuda_nvcc/bin for CUDA 12)."""
    roots = find_spec("nvidia").submodule_search_locations if find_spec("nvidia") else []
    found = [path for root in roots for path in Path(root).glob("*/bin/ptxas")]
    assert found, "no ptxas in the installed nvidia packages: install cuda-toolkit[nvcc]"
    return found[0]


def kernel_signatures():
    from numba import types

    from wfa_kernels.cuda import edit_wfa

    letters, offsets, counts, packed = (t[::1] for t in (types.uint8, types.int64, types.int32, types.uint32))
    sequences = (letters, offsets, letters, offsets)
    memory = (counts, offsets, letters, offsets)
    return {
        "wavefronts": (edit_wfa._wavefronts, (*sequences, offsets, *memory, types.boolean, counts, letters)),
        "trace": (edit_wfa._trace, (*sequences, counts, *memory, offsets, packed, offsets)),
    }


@pytest.mark.parametrize("name", ["wavefronts", "trace"])
def test_assembles_for_hopper_without_spills(name, tmp_path):
    from numba import cuda

    kernel, signature = kernel_signatures()[name]
    ptx, _ = cuda.compile_ptx(kernel.py_func, signature, cc=(9, 0))
    assert ".target sm_90" in ptx
    source = tmp_path / "kernel.ptx"
    source.write_text(ptx)
    command = [ptxas_path(), "-v", "-arch=sm_90", source, "-o", tmp_path / "kernel.cubin"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr) == [
        ("0", "0", "0")
    ]
    assert int(re.search(r"Used (\d+) registers", done.stderr).group(1)) <= 64  # 1024 threads a block stay launchable


@pytest.mark.gpu
@pytest.mark.parametrize("scope", ["score", "cigar"])
@pytest.mark.parametrize(("count", "longest"), [(100_000, 150), (500, 5000)])
def test_gpu_agrees_with_the_cpu(scope, count, longest):
    from wfa_kernels.cpu import edit_wfa as on_cpu
    from wfa_kernels.cuda import edit_wfa as on_gpu

    assert device.available() and not device.simulated(), device.describe()
    pairs = random_pairs(count, longest, seed=7)
    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    result = on_gpu.align_batch(batch, Edit(), scope, 2**31, rescue=lambda rows: pytest.fail(f"rescued {rows}"))
    scores, status, _, _ = on_cpu.align_range(batch, Edit(), "score", 0, count, 2**31)
    assert not status.any() and not result.status.any()
    np.testing.assert_array_equal(result.scores, scores)
    if scope == "cigar":
        for (pattern, text), cigar, score in zip(pairs, result.cigar_strings(), scores.tolist(), strict=True):
            assert naive.check_cigar(pattern, text, cigar, EDIT) == score
