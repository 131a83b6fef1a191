"""The gap-affine kernels of both designs as plain Python, one thread a pair, in a process of its own.

Numba takes a minute to compile them for the CPU under other penalties, and the simulator starts threads and waits at
barriers: this does neither, and so has time for many penalties. Numbers have NumPy's types, as in the simulator.
"""

import json
import os
import subprocess
import sys
from functools import partial
from math import gcd
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
#: Strips that hold the whole matrix: of any pair here.
_REACH = 1000
#: int32 of shared memory that the wavefronts have, and BT-blocks: for any pair here.
_CHIP_WORDS, _BT_BLOCKS = 1 << 16, 1 << 14
#: Diagonals on either side of diagonal 0 that wide wavefronts have on chip; the others lie in global memory.
_CENTRAL = 2


def answers(asked, diagonals=None):
    """For each ((mismatch, gap_open, gap_extend), pairs of bytes) [(kernel, traced, scores, CIGAR strings or None)].

    kernel: "band", that of so many diagonals, with score NO_SCORE where it is not certain. Where no diagonals are
    given, the narrowest one and "strips", that reach all, and "wavefronts" and "wide wavefronts", WFA-GPU's.
    """
    request = [[penalties, [[p.decode(), t.decode()] for p, t in pairs], diagonals] for penalties, pairs in asked]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "tests.affine_in_python"]
    done = subprocess.run(
        command, input=json.dumps(request), env=environment, cwd=ROOT, capture_output=True, text=True
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def main():
    """Answer one request from stdin on stdout."""
    _install()
    np.seterr(over="ignore")
    asked = json.load(sys.stdin)
    json.dump([list(_answers(pairs, tuple(penalties), band)) for penalties, pairs, band in asked], sys.stdout)


def _install():
    """Kernels are functions here; a block has one thread."""
    from tests import strips_on_the_cpu

    strips_on_the_cpu.install()
    from wfa_kernels.cuda import affine_bits, affine_forward, banded, host_packing

    sys.modules["numba.cuda"].shared.array = _shared
    host_packing.pack = _pack
    for module in (affine_bits, affine_forward, banded):
        module.THREADS = 1


def _shared(size, dtype):
    """An array of the shared memory; of size 0, that which a launch asks for, in which anything may lie."""
    return np.zeros(size, str(dtype)) if size else np.full(_CHIP_WORDS, 0x2BABABAB, str(dtype))


def _pack(letters, planes, odd, marked):
    """See host_packing.pack, which computes with vectors of the processor."""
    codes = np.zeros(32 * len(planes), np.uint64)
    codes[: len(letters)] = letters >> 1 & 3
    places = np.arange(32, dtype=np.uint64)
    low, high = (((codes >> np.uint64(plane) & np.uint64(1)).reshape(-1, 32) << places).sum(1) for plane in (0, 1))
    planes[:], odd[:] = low | high << np.uint64(32), 0


def _strips(given, penalties, traced):
    reach, part = given.strips(_REACH, traced)
    given.run(penalties, reach, 0, traced, None, np.full(part, 0xABABABAB, np.uint32))


def _band(diagonals, given, penalties, traced):
    from wfa_kernels.cuda import affine_bits

    codes = np.zeros(affine_bits.words(diagonals, given.longest), np.uint64)
    affine_bits.make_kernel(penalties, diagonals, traced)(*given.input, -1, 0, *given.output, codes)


def _wavefronts(wide, given, penalties, traced):
    from wfa_kernels.cuda.affine_wfa import POOL, cell_words, make_kernel, rows
    from wfa_kernels.cuda.affine_wfa_trace import blocks_to_runs

    unit, reach = gcd(*penalties), given.longest
    triple = tuple(penalty // unit for penalty in penalties)
    central, capacity = _CENTRAL if wide else reach, _BT_BLOCKS if traced else 0
    part = cell_words(traced) * rows(triple) * (2 * reach + 1) * wide + 2 * capacity
    memory = np.full(POOL + part, 0x2BABABAB, np.int32)
    memory[0] = 0
    room = central, reach, capacity, part, memory, memory.view(np.uint32)
    make_kernel(triple, wide, traced)(*given.input, -1, 0, *given.output, unit, *room)
    if not traced:
        return
    cuda = sys.modules["numba.cuda"]
    first = cuda.blockIdx
    for i in range(len(given.scores)):  # a thread each
        cuda.blockIdx = first._replace(x=i)
        blocks_to_runs(*given.input, *given.output)
    cuda.blockIdx = first


def _answers(pairs, penalties, diagonals):
    """[kernel, traced, scores, CIGARs or None] of each of them."""
    from tests import strips_on_the_cpu
    from wfa_kernels import PairBatch
    from wfa_kernels.cigar import format_packed
    from wfa_kernels.cuda import affine_bits

    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    kernels = {"band": partial(_band, diagonals or affine_bits.WORD)}
    if diagonals is None:
        narrow, wide = (partial(_wavefronts, wide) for wide in (False, True))
        kernels |= {"strips": _strips, "wavefronts": narrow, "wide wavefronts": wide}
    for kernel, run in kernels.items():
        for traced in (False, True):
            given = strips_on_the_cpu.Given(batch, penalties)
            run(given, penalties, traced)
            cigars = format_packed(*strips_on_the_cpu.cigars_of(given.output)) if traced else None
            yield kernel, traced, given.scores.tolist(), cigars


if __name__ == "__main__":
    main()
