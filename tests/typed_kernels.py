"""Run a CUDA kernel compiled for the CPU, under the types that Numba gives its numbers, in a process of its own.

Numba computes shifts, ``|`` and ``^`` of 32-bit words with 64 bits. The simulator, which computes with NumPy's types,
does not, so it cannot show a word that should have been cut off; this can. Kernels without barriers, one thread.
"""

import json
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from types import ModuleType

import numpy as np

ROOT = Path(__file__).resolve().parents[1]


def runs_of(pattern, text, operations):
    """CIGAR string that affine_wfa_trace.blocks_to_runs makes of one pair's operations (codes 1 to 3)."""
    request = json.dumps({"pattern": pattern, "text": text, "operations": operations})
    done = subprocess.run([sys.executable, __file__], input=request, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def install_cuda_for_the_cpu():
    """Put a module in the place of numba.cuda whose jit() compiles for the CPU; before the kernels are imported."""
    import numba

    def jit(*functions, **_):
        return numba.njit(functions[0]) if functions else numba.njit

    index = namedtuple("index", "x y z")
    module = ModuleType("numba.cuda")
    module.jit, module.ffs = jit, numba.njit(_first_set)
    module.threadIdx = module.blockIdx = index(0, 0, 0)
    module.blockDim = module.gridDim = index(1, 1, 1)
    numba.cuda = sys.modules["numba.cuda"] = module


def _first_set(word):
    number, bits = 0, np.uint64(word)
    while bits:
        number += 1
        if bits & np.uint64(1):
            return number
        bits >>= np.uint64(1)
    return 0


def _planes(letters, lead):
    words = np.zeros((len(letters) + lead) // 32 + 4, np.uint64)
    for at, letter in enumerate(letters, lead):
        code = ord(letter) >> 1 & 3
        words[at // 32] |= np.uint64((code & 1) << at % 32 | (code >> 1) << at % 32 + 32)
    return words


def main():
    """Answer one request from stdin on stdout."""
    sys.path.insert(0, str(ROOT))
    install_cuda_for_the_cpu()
    from wfa_kernels.cigar import format_packed
    from wfa_kernels.cuda import affine_wfa_trace, packing

    request = json.load(sys.stdin)
    m, n, operations = len(request["pattern"]), len(request["text"]), request["operations"]
    blocks = [operations[i : i + 16] for i in range(0, len(operations), 16)]
    runs, counts = np.zeros(m + n + 1, np.uint32), np.array([len(operations)], np.uint32)
    room = min(2 * len(operations) + 1, m + n)
    for at, block in enumerate(blocks, room - len(blocks)):
        for operation in block:
            runs[at] = int(runs[at]) << 2 | operation
    affine_wfa_trace.blocks_to_runs(
        _planes(request["pattern"], packing.LEAD), _planes(request["text"], packing.LEAD), 1,
        np.array([m | n << 32], np.uint64), np.full((2, 1), packing.LEAD, np.uint32), np.zeros((3, 3), np.int32),
        np.zeros(1, np.int32), np.zeros(1, np.uint32), counts, runs,
    )  # fmt: skip
    print(format_packed(runs[: counts[0]], np.array([0, counts[0]]))[0])


if __name__ == "__main__":
    main()
