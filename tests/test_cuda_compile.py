"""The CUDA kernels assemble for real GPUs, without one, and stay in their registers."""

import hashlib
import re
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: Penalties of the papers' affine tables, and the bands of the kernels for them.
AFFINE, AFFINE_BANDS = (2, 3, 1), (64, 128, 192, 384)
STRIPS = {"strips": AFFINE, "edit_strips": (1, 0, 1)}


def ptxas_path():
    """The assembler of the installed CUDA wheels (nvidia/cu13/bin, or nvidia/cuda_nvcc/bin for CUDA 12)."""
    roots = find_spec("nvidia").submodule_search_locations if find_spec("nvidia") else []
    found = [path for root in roots for path in Path(root).glob("*/bin/ptxas")]
    assert found, "no ptxas in the installed nvidia packages: install cuda-toolkit[nvcc]"
    return found[0]


@cache
def kernels():
    """{name: (kernel, signature)} of every kernel there is."""
    from numba import types

    from wfa_kernels.cuda import (
        affine_bits,
        affine_seeds,
        affine_strips,
        affine_strips_back,
        banded_bpm,
        compaction,
        edit_wfa,
        edit_wfa_global,
        packing,
    )

    words, numbers, places, long = (t[::1] for t in (types.uint32, types.int32, types.int64, types.uint64))
    pairs, table = types.int64, types.int32[:, ::1]
    batch = (long, long, pairs, long, types.uint32[:, ::1], table)
    queues, output = (pairs, pairs), (numbers, words, words, words)
    odd = (words, words, places, pairs)
    found = {
        "pack_letters": (packing.pack_letters, (long, pairs, pairs, long, pairs, pairs, long, long, *odd)),
        "clear_batch": (packing.clear_batch, (table, pairs, words, pairs, words, pairs)),
        "place_pairs": (
            compaction.place_pairs,
            (*[pairs] * 5, words, long, types.uint32[:, ::1], table, numbers, *odd),
        ),
        "sum_blocks": (compaction.sum_blocks, (pairs, numbers, words, places)),
        "scan_sums": (compaction.scan_sums, (pairs, places, places, pairs, pairs)),
        "gather_runs": (
            compaction.gather_runs,
            (pairs, numbers, words, words, words, places, places, pairs, words, words),
        ),
        "vectors_to_runs": (edit_wfa.vectors_to_runs, (*batch, *output, long)),
    }
    seeds = affine_seeds.make_seeds(affine_seeds.price_of_a_seed(AFFINE), AFFINE[1])
    found["seeds"] = seeds, (*batch, *[pairs] * 3, numbers, words, pairs, pairs)
    found |= wavefront_kernels(batch, queues, output, pairs)
    for traced in (False, True):
        for band in banded_bpm.BANDS:
            found[f"band_{band}_{traced}"] = banded_bpm.make_kernel(band, traced), (*batch, *queues, *output, long)
        for band in AFFINE_BANDS:
            kernel = affine_bits.make_kernel(AFFINE, band, traced)
            found[f"affine_{band}_{traced}"] = kernel, (*batch, *queues, *output, long)
        for name, penalties in STRIPS.items():
            strips = affine_strips.make_forward(penalties, traced)
            given = (*batch, *queues, *[pairs] * 5, numbers, words, pairs, pairs)
            found[f"{name}_{traced}"] = strips, given
            wide = affine_strips.make_forward(penalties, traced, affine_strips.WIDE_BLOCK)
            found[f"{name}_wide_{traced}"] = wide, given
            window = affine_strips.make_windowed_forward(penalties, traced)
            found[f"{name}_window_{traced}"] = window, (*given, *[pairs] * 6)
        for limit in edit_wfa.LIMITS:
            found[f"E{limit}_{traced}"] = edit_wfa.make_kernel(limit, traced), (*batch, *queues, numbers, long)
        beyond = (*batch, *queues, *output, pairs, numbers, types.uint8[::1])
        found[f"global_{traced}"] = edit_wfa_global.make_kernel(traced), beyond
    for name, penalties in STRIPS.items():
        back = affine_strips_back.make_backward(penalties)
        given = (*batch, *[pairs] * 5, *output, words, pairs, pairs)
        found[f"{name}_back"] = back, given
        found[f"{name}_window_back"] = affine_strips_back.make_windowed_backward(penalties), (*given, *[pairs] * 5)
    return found


def wavefront_kernels(batch, queues, output, number):
    """Those of WFA-GPU's design, and the largest of them with its heuristics."""
    from numba import types

    from wfa_kernels.cuda import affine_wfa, affine_wfa_trace
    from wfa_kernels.heuristics import StaticBand, WavefrontReduction

    found = {"blocks_to_runs": (affine_wfa_trace.blocks_to_runs, (*batch, *output))}
    memory = types.int32[::1], types.uint32[::1]
    for traced in (False, True):
        for wide in (False, True):
            kernel = affine_wfa.make_kernel(AFFINE, wide, traced)
            name = f"wfa_{'wide' if wide else 'chip'}_{traced}"
            found[name] = kernel, (*batch, *queues, *output, *[number] * 5, *memory)
    for name, heuristic in (("wfa_band", StaticBand(64)), ("wfa_reduction", WavefrontReduction())):
        kernel = affine_wfa.make_kernel(AFFINE, True, True, heuristic)
        found[name] = kernel, (*batch, *queues, *output, *[number] * 5, *memory)
    return found


BESIDE = ("clear_batch", "pack_letters", "place_pairs", "sum_blocks", "scan_sums", "gather_runs", "seeds")
NAMES = (*BESIDE[:-1], "vectors_to_runs", "blocks_to_runs")
NAMES += tuple(f"band_{band}_{traced}" for band in (32, 64, 128, 256) for traced in (False, True))
NAMES += tuple(f"E{limit}_{traced}" for limit in (32, 64, 128) for traced in (False, True))
NAMES += tuple(f"affine_{band}_{traced}" for band in AFFINE_BANDS for traced in (False, True))
NAMES += tuple(f"wfa_{where}_{traced}" for where in ("chip", "wide") for traced in (False, True))
KINDS = (False, True, "back")
NAMES += tuple(f"{name}{window}_{kind}" for name in STRIPS for window in ("", "_window") for kind in KINDS)
NAMES += tuple(f"{name}_wide_{traced}" for name in STRIPS for traced in (False, True))
NAMES += ("seeds", "global_False", "global_True", "wfa_band", "wfa_reduction")
#: Those of several seconds, and those that are much like others: the quick tests compile the others.
LONG_TO_COMPILE = {name for name in NAMES if name.startswith(("affine_192", "affine_384", "wfa_reduction"))}
LONG_TO_COMPILE |= {name for name in NAMES if name.startswith("edit_strips") or "_wide" in name or "_window" in name}
#: Registers of a thread: with 64 a processor has 1024 threads; wider bands keep more at hand and settle for fewer.
MOST_REGISTERS = {
    "band_128": 128,
    "band_256": 128,
    "affine_128": 96,
    "affine_192": 128,
    "affine_384": 255,
    "strips": 96,
    "edit_strips": 96,
    "strips_wide": 96,
    "edit_strips_wide": 96,
    "strips_window": 128,
    "edit_strips_window": 128,
}


def assembled(name, capability, folder, with_stamps=False):
    """What the assembler says of a kernel."""
    from numba import types

    from wfa_kernels.cuda import affine_strips, device, stamps

    kernel, signature = kernels()[name]
    if with_stamps:
        kernel = stamps.stamped(kernel)
        signature = (types.int64[::1], types.int64[::1], types.int32[::1], types.int64, *signature)
    known_by = cache_key(kernel)
    kind = name.removesuffix("_False").removesuffix("_True").removesuffix("_wide")
    most = affine_strips.HOPPER_REGISTERS if kind in STRIPS and capability[0] == device.HOPPER else None
    said = said_of(kernel, signature, capability, folder, most)
    assert cache_key(kernel) == known_by, "Numba's cache would not find it again"
    assert with_stamps == ("%globaltimer" in (folder / "kernel.ptx").read_text())
    return said


def said_of(kernel, signature, capability, folder, most_registers):
    """What the assembler says of a kernel; most_registers: of a thread, or None."""
    from numba import cuda

    with a_gpu_of(capability):
        ptx, _ = cuda.compile_ptx(kernel.py_func, signature, cc=capability)
    target = "sm_{}{}".format(*capability)
    assert f".target {target}" in ptx
    source = folder / "kernel.ptx"
    source.write_text(ptx)
    command = [ptxas_path(), "-v", f"-arch={target}", source, "-o", folder / "kernel.cubin"]
    if most_registers is not None:
        command.append(f"-maxrregcount={most_registers}")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


@contextmanager
def a_gpu_of(capability):
    """Without a GPU: Numba asks the one in use for its compute capability, to compile device functions for it."""
    from numba.cuda import dispatcher

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=capability))
        yield


def cache_key(kernel):
    """What Numba's cache knows a kernel by besides its code: all that its function refers to."""
    from numba.cuda.serialize import dumps

    return dumps([cell.cell_contents for cell in kernel.py_func.__closure__ or ()])


#: A process that has made so many types of Numba before.
_ALL_KEYS = """
import sys
from numba import types
from tests import test_cuda_compile as compiled
made_before = [types.UniTuple(types.uint64, count) for count in range(int(sys.argv[1]))]
print(compiled.keys_of_all())
"""


def keys_of_all():
    """{name: digest of its cache_key} of every kernel there is."""
    return {name: hashlib.sha256(cache_key(kernel)).hexdigest()[:8] for name, (kernel, _) in kernels().items()}


def test_another_process_finds_every_kernel_in_numbas_cache():
    commands = [[sys.executable, "-c", _ALL_KEYS, made_before] for made_before in ("0", "50")]
    one, other = (subprocess.run(command, capture_output=True, text=True, cwd=ROOT) for command in commands)
    assert one.returncode == 0, one.stderr
    assert one.stdout == other.stdout


def check(said, most_registers):
    frames = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", said)
    assert frames == [("0", "0", "0")]
    assert int(re.search(r"Used (\d+) registers", said).group(1)) <= most_registers


def test_all_kernels_are_named():
    assert set(NAMES) == set(kernels())


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG_TO_COMPILE else name for name in NAMES]
)
def test_assembles_for_hopper_without_spills(name, tmp_path):
    check(assembled(name, (9, 0), tmp_path), MOST_REGISTERS.get(name.rpartition("_")[0], 64))


@pytest.mark.parametrize("name", BESIDE)
def test_what_runs_beside_strips_has_the_registers_that_they_leave(name, tmp_path):
    """A block of more waits for pairs that are done: of the one that adds up a batch's runs, all batches behind did."""
    from wfa_kernels.cuda import device

    check(assembled(name, (9, 0), tmp_path), device.BESIDE_REGISTERS)


@pytest.mark.parametrize("name", ["gather_runs", "strips_True", "strips_back"])
def test_with_stamps_it_takes_no_more_registers_nor_spills(name, tmp_path):
    check(assembled(name, (9, 0), tmp_path, True), MOST_REGISTERS.get(name.rpartition("_")[0], 64))


@pytest.mark.slow
@pytest.mark.parametrize("capability", [(7, 5), (8, 0), (10, 0)])
@pytest.mark.parametrize("name", NAMES)
def test_assembles_for_other_gpus_without_spills(name, capability, tmp_path):
    check(assembled(name, capability, tmp_path), max(128, MOST_REGISTERS.get(name.rpartition("_")[0], 128)))


@pytest.mark.parametrize(("penalties", "most"), [(AFFINE, 96), ((10, 9, 6), 96), ((10, 11, 6), None)])
def test_strips_of_many_planes_get_the_registers_they_need(penalties, most, monkeypatch):
    from wfa_kernels.cuda import affine_strips

    monkeypatch.setattr(affine_strips, "is_hopper", lambda: True)
    for block in (affine_strips.BLOCK, affine_strips.WIDE_BLOCK):
        kernel = affine_strips.make_forward.__wrapped__(penalties, True, block)
        assert kernel.targetoptions["max_registers"] == most


def test_blocks_of_many_threads_get_kernels_of_as_many_registers_as_they_have():
    """With a heuristic the compiler takes up to 76, of which a processor has not enough for 1024 threads."""
    from wfa_kernels.cuda import affine_wfa, device
    from wfa_kernels.heuristics import StaticBand

    found = [
        affine_wfa.make_kernel(AFFINE, True, True, StaticBand(64), device.registers_of(threads))
        for threads in (None, 256, 1024)
    ]
    assert [kernel.targetoptions["max_registers"] for kernel in found] == [None, None, 64]
    assert found[0] is found[1] and found[0].py_func.__name__ != found[2].py_func.__name__


def test_bands_assemble_whose_two_circuits_are_not_alike(tmp_path):
    from wfa_kernels.cuda import affine_bits

    _, signature = kernels()["affine_64_False"]
    check(said_of(affine_bits.make_kernel((3, 6, 2), 64, False), signature, (9, 0), tmp_path, None), 128)


@pytest.mark.slow
@pytest.mark.parametrize("penalties", [(10, 9, 6), (10, 11, 6), (97, 243, 13)])
def test_strips_of_many_planes_assemble_without_spills(penalties, tmp_path, monkeypatch):
    from wfa_kernels.cuda import affine_strips

    _, signature = kernels()["strips_True"]
    monkeypatch.setattr(affine_strips, "is_hopper", lambda: True)
    kernel = affine_strips.make_forward.__wrapped__(penalties, True)
    most = kernel.targetoptions["max_registers"]
    check(said_of(kernel, signature, (9, 0), tmp_path, most), most or 200)


@pytest.mark.parametrize(
    ("name", "stores", "loads"), [("strips_False", 2, 2), ("strips_True", 5, 2), ("strips_back", 0, 5)]
)
def test_strips_keep_records_in_whole_vectors(name, stores, loads, tmp_path):
    """Edge and H are 7 words for penalties 2, 3, 1, a state is 12; the threads of a warp are a strip apart."""
    assembled(name, (9, 0), tmp_path)
    ptx = (tmp_path / "kernel.ptx").read_text()
    assert (ptx.count("st.global.v4.u32"), ptx.count("ld.global.v4.u32")) == (stores, loads)


def test_kernels_of_strips_run_side_by_side():
    """A processor divides its memory on chip anew only when it is idle: they would wait for each other's last pairs."""
    from wfa_kernels.cuda import affine_seeds, affine_strips, affine_strips_back, device, stamps

    seeds = affine_seeds.make_seeds(affine_seeds.price_of_a_seed(AFFINE), AFFINE[1])
    forward = [affine_strips.make_forward(AFFINE, traced) for traced in (False, True)]
    for kernel in (seeds, *forward, affine_strips_back.make_backward(AFFINE)):
        for form in (kernel, stamps.stamped(kernel)):
            assert form.targetoptions["shared_memory_carveout"] == device.SIDE_BY_SIDE
    for traced in (False, True):
        wide = affine_strips.make_forward(AFFINE, traced, affine_strips.WIDE_BLOCK)
        assert wide.targetoptions["shared_memory_carveout"] == device.FEW_SIDE_BY_SIDE
