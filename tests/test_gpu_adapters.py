"""What the GPU's tools of one process hold together, and what they count of a run, told without a GPU."""

import numpy as np
import pytest

import wfa_kernels
from tests.synthetic_pairs import random_pairs
from wfa_kernels import AlignmentResult, Edit, PairBatch
from workflow.aligners import Job, wavebench_gpu

BATCH = random_pairs(20, 30)
_LOCKED = {"pinned": 300, "packed": 7}  # bytes a pair


class Held:
    """Pairs that lie where a source has them."""

    def __init__(self, pairs, source):
        self.patterns, self.page_locked_bytes = pairs.patterns(), _LOCKED[source] * len(pairs)
        self._pairs, self._source = pairs, source

    def __getitem__(self, rows):
        return Held(self._pairs[rows], self._source)


@pytest.fixture
def brought(monkeypatch):
    """What the GPU's adapters bring to other memory and then take, [(source, number of pairs)], with "released" where
    they give back what the library keeps."""
    sizes = []

    def bringing(source):
        def bring(pairs):
            sizes.append((source, len(pairs)))
            return Held(pairs, source)

        return bring

    for source in ("pinned", "packed"):
        monkeypatch.setitem(wavebench_gpu._BRING, source, bringing(source))
    monkeypatch.setattr(wavebench_gpu, "_brought", wavebench_gpu.Brought())
    monkeypatch.setattr(wfa_kernels, "release_gpu_memory", lambda: sizes.append("released"))
    return sizes


def test_pairs_are_page_locked_once_for_both_scopes(brought):
    other = PairBatch(
        *(array.copy() for array in (BATCH.pattern, BATCH.pattern_offsets, BATCH.text, BATCH.text_offsets))
    )
    for pairs in (BATCH[:2], BATCH[:9], BATCH[:9], BATCH[:3], BATCH[:9], BATCH[1:10], BATCH, other, BATCH):
        adapter = wavebench_gpu.WavebenchGpu(Edit, "fast")
        adapter.prepare(pairs, None)
        assert adapter._pairs.patterns == pairs.patterns()
    whole = len(BATCH)
    assert brought == [("pinned", n) for n in (2, 9, 9, whole, whole, whole)], "of those that are there 3 are a part"
    adapter.release()
    adapter.prepare(BATCH, None)
    assert brought[6:] == ["released", ("pinned", whole)]


def test_from_ordinary_memory_as_many_pairs_are_taken_as_from_page_locked():
    ids = {tool.id: tool for tool in wavebench_gpu.adapters()}
    sized = {name: tool.sized_as for name, tool in ids.items() if tool.sized_as}
    assert sized == {name: name.removesuffix("@pageable") for name in ids if name.endswith("@pageable")}
    assert sized and set(sized.values()) <= set(ids)


def test_pairs_that_the_cpu_did_are_counted(monkeypatch):
    found = AlignmentResult(np.zeros(3, np.int32), np.zeros(3, np.uint8), rescued=2)
    monkeypatch.setattr(wfa_kernels, "align", lambda *_, **__: found)
    monkeypatch.setattr(wavebench_gpu, "_BRING", {})
    for source in ("pinned", "pageable"):
        adapter = wavebench_gpu.WavebenchGpu(Edit, "fast", source)
        adapter.prepare(BATCH, Job("score", Edit()))
        adapter.run()
        assert adapter.counts() == {"rescued": 2, "bytes_out": 3 * 4}


@pytest.mark.parametrize(("scope", "bytes_"), [("score", 20 * 4), ("cigar", 20 * (4 + 4) + 50 * 4)])
def test_bytes_over_the_wire_are_told_of_packed_letters(brought, monkeypatch, scope, bytes_):
    cigars = (np.ones(50, np.uint32), np.linspace(0, 50, 21, dtype=np.int64)) if scope == "cigar" else (None, None)
    found = AlignmentResult(np.zeros(20, np.int32), np.zeros(20, np.uint8), *cigars)
    monkeypatch.setattr(wfa_kernels, "align", lambda *_, **__: found)
    adapter = wavebench_gpu.WavebenchGpu(Edit, "fast", "packed")
    adapter.prepare(BATCH[:20], Job(scope, Edit()))
    adapter.run()
    assert adapter.counts() == {"rescued": 0, "bytes_in": 20 * _LOCKED["packed"], "bytes_out": bytes_}


def test_all_designs_take_the_pairs_that_are_page_locked(brought, monkeypatch):
    tools = [("fast", "pinned"), ("paper", "pinned"), ("fast", "packed"), ("paper", "pageable"), ("fast", "pinned")]
    adapters = [wavebench_gpu.WavebenchGpu(Edit, *tool) for tool in tools]
    for adapter in adapters:
        adapter.prepare(BATCH, None)
    assert brought == [("pinned", len(BATCH)), ("packed", len(BATCH))]
    assert len({adapter.process for adapter in adapters}) == 1
    monkeypatch.setattr(wfa_kernels, "gpu_peak_memory", lambda reset: {"device": 5, "pinned": 1000 * len(BATCH)})
    own = {tool: adapter.peak_memory(False)["peak_pinned_bytes"] for tool, adapter in zip(tools, adapters, strict=True)}
    assert {tool: size / len(BATCH) for tool, size in own.items()} == {
        ("fast", "pinned"): 1000 - 7, ("paper", "pinned"): 1000 - 7, ("fast", "packed"): 1000 - 300,
        ("paper", "pageable"): 1000 - 307,
    }  # fmt: skip
    for adapter in adapters:
        adapter.prepare(BATCH[:5], None)
    own = {tool: adapter.peak_memory(False)["peak_pinned_bytes"] for tool, adapter in zip(tools, adapters, strict=True)}
    assert {tool: size - 1000 * len(BATCH) for tool, size in own.items()} == {
        ("fast", "pinned"): -307 * 20 + 300 * 5, ("paper", "pinned"): -307 * 20 + 300 * 5,
        ("fast", "packed"): -307 * 20, ("paper", "pageable"): -307 * 20,
    }, "few that are packed anew are the tool's own"  # fmt: skip
    assert brought[2:] == [("packed", 5)]
    assert adapters[0].peak_memory(True)["peak_device_bytes"] == 5 and brought[3:] == ["released"]
