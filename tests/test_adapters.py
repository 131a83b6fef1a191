"""The adapters: each tool's scores and CIGARs in our conventions against the judge, and what each refuses."""

import importlib.metadata
import os
import random

import numpy as np
import pytest

import wfa_kernels
from tests import naive
from tests.judging import answer, check, nothing
from wfa_kernels import Affine, Edit, PairBatch
from wfa_kernels.result import OK, OUT_OF_MEMORY, UNSUPPORTED
from workflow import aligners
from workflow.aligners import (
    Job,
    ToolConfigError,
    ToolMissing,
    _library,
    _native,
    external,
    parasail_native,
)
from workflow.aligners import parasail as parasail_adapter
from workflow.aligners import wfa2lib as wfa2lib_adapter
from workflow.aligners._native import NativeAdapter
from workflow.aligners.wavebench import HEURISTICS

PENALTIES = [Edit(), Affine(4, 6, 2), Affine(2, 3, 1)]
ALL_JOBS = {(scope, metric) for scope in ("score", "cigar") for metric in ("edit", "affine")}
EDIT_JOBS = {("score", "edit"), ("cigar", "edit")}


def holds_zero_byte(pattern, text):
    return 0 in pattern or 0 in text


def not_literal_for_pywfa(pattern, text):
    both = pattern + text
    folds = any(chr(c).islower() and ord(chr(c).upper()) in both for c in set(both) if c < 128)
    return folds or not both.isascii() or holds_end_mark(pattern, text)


def holds_end_mark(pattern, text):
    return not {*b"!?"}.isdisjoint(pattern + text)


def holds_wildcard_of_ksw2(pattern, text):
    return 1 in pattern + text


#: One row for each tool: the jobs it takes, and the pairs (neither side empty) it refuses.
TOOLS = {
    "edlib": (EDIT_JOBS | {("cigar", "affine")}, nothing),
    "rapidfuzz": (EDIT_JOBS | {("cigar", "affine")}, nothing),
    "rapidfuzz:pool": ({("score", "edit")}, nothing),
    "parasail:striped": (ALL_JOBS - {("score", "edit")}, holds_zero_byte),
    "parasail:scan": (ALL_JOBS, holds_zero_byte),
    "parasail:diag": (ALL_JOBS, holds_zero_byte),
    "wfa2-lib:unidirectional": (ALL_JOBS, not_literal_for_pywfa),
    "wfa2-lib:biwfa": (ALL_JOBS, not_literal_for_pywfa),
    "edlib-native": (EDIT_JOBS | {("cigar", "affine")}, nothing),
    "ksw2": (ALL_JOBS, holds_wildcard_of_ksw2),
    "parasail-native:striped": (ALL_JOBS - {("score", "edit")}, holds_zero_byte),
    "parasail-native:scan": (ALL_JOBS, holds_zero_byte),
    "parasail-native:diag": (ALL_JOBS, holds_zero_byte),
    "seqan": (ALL_JOBS, nothing),
    "wfa2-lib-native:unidirectional": (ALL_JOBS, holds_end_mark),
    "wfa2-lib-native:biwfa": (ALL_JOBS, holds_end_mark),
    "wavebench-auto:cpu": (ALL_JOBS, nothing),
    "wavebench-wfa:cpu": (ALL_JOBS, nothing),
    "wavebench-wfa:pool": (ALL_JOBS, nothing),
    "wavebench-bits:cpu": (ALL_JOBS, nothing),
    "wavebench-bpm:cpu": (EDIT_JOBS, nothing),
    "wavebench-ond:cpu": (EDIT_JOBS, nothing),
    "wavebench-affine:fast": (ALL_JOBS - EDIT_JOBS, nothing),
    "wavebench-affine:fast@pageable": (ALL_JOBS - EDIT_JOBS, nothing),
    "wavebench-affine:paper": (ALL_JOBS - EDIT_JOBS, nothing),
    "wavebench-affine:paper@pageable": (ALL_JOBS - EDIT_JOBS, nothing),
    "wavebench-wfa:band": (ALL_JOBS - EDIT_JOBS, nothing),
    "wavebench-wfa:reduction": (ALL_JOBS - EDIT_JOBS, nothing),
    "wavebench-affine:paper-band": (ALL_JOBS - EDIT_JOBS, nothing),
    "wavebench-affine:paper-reduction": (ALL_JOBS - EDIT_JOBS, nothing),
    "wavebench-edit:fast": (EDIT_JOBS, nothing),
    "wavebench-edit:fast@pageable": (EDIT_JOBS, nothing),
    "wavebench-edit:paper": (EDIT_JOBS, nothing),
    "wavebench-edit:paper@pageable": (EDIT_JOBS, nothing),
    "wavebench-edit:fast@packed": (EDIT_JOBS, nothing),
    "wavebench-edit:fast@registered": (EDIT_JOBS, nothing),
    **{f"wavebench-edit:paper-t{threads}": (EDIT_JOBS, nothing) for threads in (32, 64, 128, 256, 512, 1024)},
}


PARASAIL = [tool for tool in TOOLS if tool.startswith("parasail")]
WFA2_LIB = ["wfa2-lib", "wfa2-lib-native"]


def bound_memory(monkeypatch, tool, size_bytes):
    """Another memory bound of the tool, a binding's or a C library's."""
    module = wfa2lib_adapter if tool.startswith("wfa2-lib") else parasail_adapter
    for place in (module, _native, parasail_native):
        monkeypatch.setattr(place, "WORKING_MEMORY_BYTES", size_bytes)


def is_native(tool):
    """Whether `make peers` builds the tool."""
    return isinstance(aligners.load()[tool], NativeAdapter)


def installed(tool):
    """A new adapter of the tool. Skips the test of one that may be absent: it needs a C compiler or a GPU."""
    adapter = aligners.load()[tool]
    try:
        adapter.version()
    except ToolMissing as reason:
        may_be_missing = ("wfa2-lib:", "wavebench-affine:", "wavebench-edit:")
        assert tool.startswith(may_be_missing) or is_native(tool), (
            f"the lock installs {tool}, yet it is missing: {reason}"
        )
        pytest.skip(f"{tool}: {reason}")
    adapter.threads = 3 if adapter.pool else 1
    return adapter


def mutated(rng, sequence, letters, rate):
    out = bytearray()
    for letter in sequence:
        draw = rng.random()
        if draw < rate / 3:
            continue
        if draw < 2 * rate / 3:
            out.append(rng.choice(letters))
        out.append(letter if draw < 1 - rate / 3 else rng.choice(letters))
    return bytes(out)


def some_pairs(seed=1):
    """Pairs of 0 to 120 letters, alike and not, of several alphabets, and the short ones that tools stumble over."""
    rng = random.Random(seed)
    pairs = [(b"", b""), (b"", b"ACG"), (b"ACGT", b""), (b"A", b"A"), (b"A", b"C"), (b"N", b"N"), (b"N", b"A")]
    pairs += [(b"a", b"A"), (b"acgt", b"acgt"), (b"AC?", b"AC!"), (b"A!", b"A"), (b"ACGT" * 20, b"ACGT" * 20)]
    for letters, count in ((b"ACGT", 60), (b"ACGTN", 30), (b"acgt", 15), (b"ACGTNacgtn", 30), (bytes(range(256)), 30)):
        for _ in range(count):
            pattern = bytes(rng.choices(letters, k=rng.randint(0, 120)))
            rate = rng.choice([0, 0.05, 0.2, 0.5, 1])
            other = bytes(rng.choices(letters, k=rng.randint(0, 120)))
            pairs.append((pattern, mutated(rng, pattern, letters, rate) if rng.random() < 0.8 else other))
    return pairs


PAIRS = some_pairs()
BATCH = PairBatch.from_strings(*zip(*PAIRS, strict=True))


def test_every_adapter_has_a_row():
    configured = {adapter.id for adapter in external.adapters()}
    assert set(aligners.load()) - configured == set(TOOLS)


@pytest.mark.parametrize("tool", TOOLS)
def test_takes_the_jobs_of_its_row(tool):
    adapter = aligners.load()[tool]
    for penalties in PENALTIES:
        metric = "edit" if penalties == Edit() else "affine"
        for scope in ("score", "cigar"):
            reason = adapter.unsupported(Job(scope, penalties))
            assert (reason is None) == ((scope, metric) in TOOLS[tool][0]), (scope, penalties, reason)


@pytest.mark.parametrize("penalties", PENALTIES, ids=str)
@pytest.mark.parametrize("scope", ["score", "cigar"])
@pytest.mark.parametrize("tool", TOOLS)
def test_agrees_with_the_judge(tool, scope, penalties):
    adapter = installed(tool)
    jobs, refuses = TOOLS[tool]
    if (scope, "edit" if penalties == Edit() else "affine") not in jobs:
        assert adapter.unsupported(Job(scope, penalties))
        return
    check(adapter, BATCH, answer(adapter, BATCH, scope, penalties), scope, penalties, refuses)
    adapter.run()
    check(adapter, BATCH, adapter.outputs(), scope, penalties, refuses)


@pytest.mark.parametrize("tool", [tool for tool, (jobs, _) in TOOLS.items() if ("cigar", "edit") in jobs])
def test_gaps_are_named_from_the_patterns_side(tool):
    batch = PairBatch.from_strings(["GATTACA", "GATTTTACA"], ["GATTTTACA", "GATTACA"])
    longer_text, shorter_text = answer(installed(tool), batch, "cigar", Edit()).cigar_strings()
    assert "2I" in longer_text and "D" not in longer_text
    assert "2D" in shorter_text and "I" not in shorter_text


@pytest.mark.parametrize("tool", TOOLS)
def test_takes_a_batch_without_pairs_and_another_after_it(tool):
    adapter = installed(tool)
    for scope in [scope for scope in ("cigar", "score") if (scope, "edit") in TOOLS[tool][0]]:
        for batch in (BATCH[:0], BATCH[:3], BATCH[12:20]):
            check(adapter, batch, answer(adapter, batch, scope, Edit()), scope, Edit(), TOOLS[tool][1])


@pytest.mark.parametrize("tool", [t for t in TOOLS if not (t.startswith("wavebench") or is_native(t))])
def test_absent_library_is_missing_with_a_reason(tool, monkeypatch):
    def absent(package):
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(_library.importlib.metadata, "version", absent)
    with pytest.raises(ToolMissing, match="^not installed"):
        aligners.load()[tool].version()


def test_absent_pywfa_names_the_compiler(monkeypatch):
    monkeypatch.setattr(
        _library.importlib.metadata, "version", _raise(importlib.metadata.PackageNotFoundError("pywfa"))
    )
    with pytest.raises(ToolMissing, match="^not installed: pywfa needs a C compiler to build$"):
        aligners.load()["wfa2-lib:biwfa"].version()


def test_library_that_does_not_load_is_missing(monkeypatch):
    adapter = aligners.load()["edlib"]
    monkeypatch.setattr(_library.importlib.metadata, "version", lambda package: "1.0")
    monkeypatch.setattr(_library.importlib, "import_module", _raise(ImportError("no such symbol")))
    with pytest.raises(ToolMissing, match="^edlib 1.0 does not load: no such symbol$"):
        adapter.version()


@pytest.mark.parametrize("problem", ["no NVIDIA GPU or driver found", "numba-cuda is not installed: No module"])
def test_gpu_that_cannot_be_used_is_missing_with_the_reason(problem, monkeypatch):
    monkeypatch.setattr(wfa_kernels, "gpu_problem", lambda: problem)
    with pytest.raises(ToolMissing, match=f"^no usable GPU: {problem}$"):
        aligners.load()["wavebench-edit:fast"].version()


def test_a_native_peer_is_told_of_the_letters_of_its_pairs_alone():
    installed("edlib-native")
    batch = PairBatch.from_strings([b"TT", b"ACGA", b"", b"\x00\xff"], [b"", b"NC", b"!", b"g"])
    for rows, letters in ((slice(0, 4), b"ACGNTg!\x00\xff"), (slice(1, 3), b"ACGN!"), (slice(0, 0), b"")):
        assert bytes(_native._letters(batch[rows])) == bytes(sorted(letters))


def test_a_pool_aligns_with_the_threads_it_is_given(monkeypatch):
    told = []
    monkeypatch.setattr(wfa_kernels, "align", lambda *pairs, **how: told.append((how["threads"], how["memory_limit"])))
    for tool, threads in (("wavebench-wfa:cpu", 1), ("wavebench-wfa:pool", 3)):
        adapter = aligners.load()[tool]
        adapter.threads = threads
        adapter.prepare(BATCH[:2], Job("score", Edit()))
        adapter.run()
    assert told == [(1, aligners.WORKING_MEMORY_BYTES), (3, 3 * aligners.WORKING_MEMORY_BYTES)]


def test_our_rows_are_of_the_algorithm_and_the_heuristic_that_they_name(monkeypatch):
    told = []
    monkeypatch.setattr(wfa_kernels, "align", lambda *pairs, **how: told.append((how["algorithm"], how["heuristic"])))
    own = {f"wavebench-{name}:cpu": (name, None) for name in ("auto", "wfa", "bits", "bpm", "ond")}
    own |= {f"wavebench-wfa:{variant}": ("wfa", heuristic) for variant, heuristic in HEURISTICS.items()}
    for tool, asked in own.items():
        adapter = aligners.load()[tool]
        adapter.prepare(BATCH[:2], Job("score", Affine(4, 6, 2)))
        adapter.run()
        assert told.pop() == asked and adapter.exact == (asked[1] is None)


def test_a_pool_of_rapidfuzz_has_the_threads_it_is_given():
    adapter, told = installed("rapidfuzz:pool"), []
    adapter.prepare(BATCH[:2], Job("score", Edit()))
    adapter._align = lambda *pairs, scorer, workers: told.append(workers)
    adapter.run()
    assert told == [3]


def test_a_native_peer_is_opened_as_the_variant_of_its_row(monkeypatch):
    tools = [tool for tool in TOOLS if is_native(tool) and ":" in tool]
    adapters, opened = [installed(tool) for tool in tools], []

    def functions(library, part):
        return lambda job: opened.append((job._obj.variant, job._obj.memory_bytes)) or 1, None, lambda peer: None

    monkeypatch.setattr(_native, "_functions", functions)
    for adapter in adapters:
        adapter.prepare(BATCH[:2], Job("score", Affine(4, 6, 2)))
    assert opened == [(tool.partition(":")[2].encode(), aligners.WORKING_MEMORY_BYTES) for tool in tools]


def _raise(error):
    def raiser(*arguments):
        raise error

    return raiser


def test_two_tools_of_one_name_are_refused(monkeypatch, tmp_path):
    (tmp_path / "again.py").write_text("from workflow.aligners.edlib import adapters\n")
    monkeypatch.setenv(aligners.EXTRA_VARIABLE, str(tmp_path))
    with pytest.raises(ToolConfigError, match="'edlib'"):
        aligners.load()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("def (", r"cannot be loaded \(SyntaxError: "),
        ("import absent_module", "cannot be loaded"),
        ("", "has no function"),
        ("def adapters(): return 1 / 0", r"adapters\(\) fails \(ZeroDivisionError: "),
    ],
)
def test_a_further_file_that_is_no_adapter_is_one_message(monkeypatch, tmp_path, content, said):
    (tmp_path / "mine.py").write_text(content)
    monkeypatch.setenv(aligners.EXTRA_VARIABLE, str(tmp_path))
    for _ in range(2):
        with pytest.raises(ToolConfigError, match=f"mine.py: {said}"):
            aligners.load()


def test_files_of_one_name_in_two_further_folders_are_two(monkeypatch, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").write_text(
            "from workflow.aligners import Adapter\n"
            f"class Mine(Adapter):\n    tool = '{name}'\ndef adapters():\n    return [Mine()]\n"
        )
    monkeypatch.setenv(aligners.EXTRA_VARIABLE, f"{tmp_path / 'one'}{os.pathsep}{tmp_path / 'two'}")
    assert {"one", "two"} <= set(aligners.load())


def test_a_further_folder_that_is_none_is_refused(monkeypatch, tmp_path):
    (tmp_path / "file.py").touch()
    for folder in (tmp_path / "none", tmp_path / "file.py"):
        monkeypatch.setenv(aligners.EXTRA_VARIABLE, f"{tmp_path}{os.pathsep}{folder}")
        with pytest.raises(ToolConfigError, match=f"^WAVEBENCH_ALIGNERS: {folder}: no such folder$"):
            aligners.load()


class TestParasail:
    """The faults of Parasail that its adapter works around."""

    def test_striped_scores_are_wrong_where_opening_is_free(self):
        import parasail

        pattern, text = b"ACTT", b"A"
        matrix = parasail.matrix_create("ACGT", 0, -3)
        wrong = -parasail.nw_striped_16(pattern, text, 2, 2, matrix).score
        assert wrong != naive.affine_score(pattern, text, 3, 0, 2), "the fault is mended: drop the refusal"

    @pytest.mark.parametrize(("scope", "kernel"), [("score", "nw"), ("cigar", "nw_trace")])
    def test_a_binding_calls_the_layout_of_its_row(self, scope, kernel):
        for layout in ("striped", "scan", "diag"):
            adapter = installed(f"parasail:{layout}")
            adapter.prepare(PairBatch.from_strings(["ACGT"], ["ACT"]), Job(scope, Affine(4, 6, 2)))
            called = adapter._inputs[0][3].__name__, adapter._wide.__name__
            assert called == (f"{kernel}_{layout}_16", f"{kernel}_{layout}_32")

    @pytest.mark.parametrize("tool", PARASAIL)
    @pytest.mark.parametrize("penalties", [Affine(3, 0, 2), Affine(4, 0, 1)], ids=str)
    def test_free_opening(self, tool, penalties):
        adapter = installed(tool)
        for scope in ("score", "cigar"):
            if (adapter.variant, scope) == ("striped", "score"):
                assert "nw_striped" in adapter.unsupported(Job(scope, penalties))
            else:
                result = answer(adapter, BATCH, scope, penalties)
                check(adapter, BATCH, result, scope, penalties, holds_zero_byte)

    @pytest.mark.parametrize("tool", PARASAIL)
    @pytest.mark.parametrize("scope", ["score", "cigar"])
    def test_beyond_16_bits(self, tool, scope):
        """Long gaps, whose border leaves 16 bits, and unlike pairs, whose cells do; near the edge and past it."""
        rng = random.Random(3)
        sizes = [(27, 1), (29, 1), (30, 1), (31, 1), (64, 1), (1, 65), (20, 20), (25, 25), (25, 3)]
        draws = [[bytes(rng.choices(b"ACGT", k=k)) for k in size] for size in sizes for _ in range(10)]
        batch = PairBatch.from_strings(*zip(*draws, strict=True))
        for penalties in (Affine(1000, 1000, 1000), Affine(2000, 1, 1000)):
            adapter = installed(tool)
            check(adapter, batch, answer(adapter, batch, scope, penalties), scope, penalties)

    def test_saturation_is_met_by_a_second_run(self, monkeypatch):
        pattern, text = b"A" * 25, b"C" * 25
        adapter = installed("parasail:scan")
        batch = PairBatch.from_strings([pattern], [text])
        adapter.prepare(batch, Job("score", Affine(2000, 1, 1000)))
        narrow = adapter._inputs[0][3]
        assert narrow.__name__ == "nw_scan_16" and narrow(pattern, text, 1001, 1000, adapter._inputs[0][2]).saturated
        check(adapter, batch, answer(adapter, batch, "score", Affine(2000, 1, 1000)), "score", Affine(2000, 1, 1000))

    def test_costs_past_16_bits_are_unsupported(self):
        adapter = aligners.load()["parasail:scan"]
        for penalties in (Affine(4096, 6, 2), Affine(4, 4000, 96)):
            assert "16-bit" in adapter.unsupported(Job("score", penalties))

    @pytest.mark.parametrize("tool", ["parasail:striped", "parasail-native:striped"])
    def test_trace_over_the_memory_bound_is_refused(self, tool, monkeypatch):
        bound_memory(monkeypatch, tool, 400)
        batch = PairBatch.from_strings(["A" * 10, "A" * 11], ["C" * 10, "C" * 10])
        adapter = installed(tool)
        result = answer(adapter, batch, "cigar", Affine(4, 6, 2))
        assert result.status.tolist() == [OK, OUT_OF_MEMORY]
        assert result.cigar_strings()[1] == "*" and result.scores[1] == -1
        assert answer(adapter, batch, "score", Affine(4, 6, 2)).refused() == {}


class TestWfa2Lib:
    """WFA2-lib's memory bound and its way of giving up."""

    def noisy(self, length):
        rng = random.Random(4)
        pattern = bytes(rng.choices(b"ACGT", k=length))
        return PairBatch.from_strings([pattern, b"ACGT"], [mutated(rng, pattern, b"ACGT", 0.6), b"ACT"])

    @pytest.mark.parametrize("tool", WFA2_LIB)
    def test_wavefronts_over_the_memory_bound_are_refused(self, tool, monkeypatch):
        bound_memory(monkeypatch, tool, 2**24)
        result = answer(installed(f"{tool}:unidirectional"), self.noisy(4000), "cigar", Affine(4, 6, 2))
        assert result.status.tolist() == [OUT_OF_MEMORY, OK]
        assert (result.scores[0], result.cigar_strings()) == (-1, ["*", "2=1D1="])

    @pytest.mark.parametrize("tool", WFA2_LIB)
    def test_biwfa_needs_no_such_memory(self, tool, monkeypatch):
        bound_memory(monkeypatch, tool, 2**24)
        adapter, batch = installed(f"{tool}:biwfa"), self.noisy(2000)
        check(adapter, batch, answer(adapter, batch, "cigar", Affine(4, 6, 2)), "cigar", Affine(4, 6, 2))

    @pytest.mark.parametrize("tool", WFA2_LIB)
    def test_a_pair_it_gives_up_on_is_refused(self, tool):
        pattern = (
            b"TTGGTCCTGCACTGTAGCCGAATAGTGGTGTAGTTCAAGCTATGTGACATACGCCAGGGGAGCCCAGAGCCTTACTTTTACGAGCAGATATCGCCTCGCACTA"
        )
        batch = PairBatch.from_strings([pattern, b"ACGT"], [b"TCAAG", b"ACT"])
        result = answer(installed(f"{tool}:biwfa"), batch, "cigar", Affine(1000, 2000, 1000))
        assert (result.status.tolist(), result.scores.tolist()) == ([UNSUPPORTED, OK], [-1, 3000])


@pytest.mark.parametrize("tool", ["edlib", "rapidfuzz"])
def test_edit_distance_tools_answer_affine_jobs_with_edit_cigars(tool):
    batch = PairBatch.from_strings([b"ACGTACGT"], [b"AGTACCGT"])
    adapter = installed(tool)
    assert adapter.objective(Job("cigar", Affine(4, 6, 2))) == Edit()
    assert answer(adapter, batch, "cigar", Affine(4, 6, 2)).scores.tolist() == [naive.edit_distance(*batch.pair(0))]


def test_scores_are_int32():
    adapter = installed("edlib")
    assert answer(adapter, BATCH[:5], "score", Edit()).scores.dtype == np.int32
