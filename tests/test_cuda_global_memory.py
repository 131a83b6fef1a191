"""The wavefronts in global memory, for what is beyond E128, with as little device memory as there is."""

import json
import sys
from types import SimpleNamespace

import pytest

from tests import cuda_simulator
from wfa_kernels.cuda import edit_wfa_global, memory

MEBI = 1 << 20


@pytest.fixture
def kernels(monkeypatch):
    """Function that gives a GlobalWfa of 4 GiB where ``there`` bytes are, with the arrays that it takes."""

    def make(there, traced):
        def some(count, dtype):
            if count * dtype().itemsize > there:
                raise memory.GpuMemoryError("no room")
            return SimpleNamespace(size=count, nbytes=count * dtype().itemsize)

        monkeypatch.setattr(edit_wfa_global.memory, "device_array", some)
        made = edit_wfa_global.GlobalWfa(4 << 30)
        made._take(traced)
        return made

    return make


@pytest.mark.parametrize("blocks", [1, 7, 100, edit_wfa_global.BLOCKS])
@pytest.mark.parametrize("mebibytes", [1, 100, 8192])
def test_blocks_keep_within_both_arrays(kernels, mebibytes, blocks):
    made = kernels(mebibytes * MEBI, True)
    limit = made._limit(blocks, True)
    assert blocks * (limit + 1) ** 2 <= made.operations.size < blocks * (limit + 2) ** 2
    assert blocks * 2 * (2 * limit + 5) <= made.offsets.size
    assert made.offsets.nbytes + made.operations.nbytes <= made.bytes
    assert made._blocks(limit, True) >= blocks
    made = kernels(mebibytes * MEBI, False)
    limit = made._limit(blocks, False)
    assert blocks * 2 * (2 * limit + 5) <= made.offsets.size < blocks * 2 * (2 * limit + 9)
    assert mebibytes == 1 or limit >= 15_000


def test_half_as_much_is_asked_for_until_it_is_there(kernels):
    assert kernels(8 << 30, True).bytes == 4 << 30
    assert kernels(100 * MEBI, True).bytes == 64 * MEBI
    assert kernels(20_000, True)._limit(edit_wfa_global.BLOCKS, True) == 0, "what they begin with"


def in_the_simulator():
    """Scores (of the CPU: 1000 and more) of pairs with 128, 129, 0 and 140 errors, and what the CPU did."""
    import numpy as np

    from wfa_kernels import Edit, PairBatch, PaperDesign
    from wfa_kernels.cigar import MISMATCH
    from wfa_kernels.cuda import aligner
    from wfa_kernels.result import AlignmentResult

    make, rescued = memory.device_array, []

    def no_more(shape, dtype):
        if shape > 1000:
            raise memory.GpuMemoryError("no room")
        return make(shape, dtype)

    edit_wfa_global.memory = SimpleNamespace(device_array=no_more)

    def rescue(rows, progress=None):
        rescued.extend(rows.tolist())
        cigars = np.full(len(rows), 7 << 4 | MISMATCH, np.uint32), np.arange(len(rows) + 1)
        return AlignmentResult((1000 + rows).astype(np.int32), np.zeros(len(rows), np.uint8), *cigars)

    patterns, texts = [b"A" * 150] * 4, [b"C" * errors + b"A" * (150 - errors) for errors in (128, 129, 0, 140)]
    pairs, design = PairBatch.from_strings(patterns, texts), PaperDesign(first_kernel="E128")
    result = aligner.align_batch(pairs, Edit(), "cigar", design, rescue)
    return {"scores": result.scores.tolist(), "rescued": sorted(rescued), "count": result.rescued}


@pytest.mark.slow
def test_what_has_no_room_is_the_hosts():
    answer = cuda_simulator.answer_of(__file__)
    assert answer == {"scores": [128, 1001, 0, 1003], "rescued": [1, 3], "count": 2}


if __name__ == "__main__":
    cuda_simulator.refuse_what_a_gpu_refuses()
    json.dump(in_the_simulator(), sys.stdout)
