"""The peers' C libraries behind our shared library: how it is built, and what each of them gets wrong unaided.

Their scores and CIGARs against the judge stand in test_adapters.py, one row a tool.
"""

import json
import random
import shutil
import threading

import numpy as np
import pytest

from tests.judging import answer, check
from wfa_kernels import Affine, Edit, PairBatch
from wfa_kernels.result import OUT_OF_MEMORY
from workflow import aligners, peers
from workflow.aligners import Job, ToolMissing, _native, ksw2, parasail_native, seqan
from workflow.peers import build

LAYOUTS = ("striped", "scan", "diag")
USUAL = Affine(4, 6, 2)


@pytest.fixture(scope="session")
def library():
    """The library, built where it is not yet. Skips where there is no compiler."""
    try:
        build.compilers()
    except build.BuildError as reason:
        pytest.skip(str(reason))
    build.main()


@pytest.fixture
def native(library):
    """native(id): a new adapter; only SeqAn may be absent, whose headers come from the system."""

    def adapter(tool):
        found = aligners.load()[tool]
        try:
            found.version()
        except ToolMissing as reason:
            assert tool == "seqan" and str(reason).startswith("not installed"), reason
            pytest.skip(str(reason))
        return found

    return adapter


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder in the place of build/peers."""
    for name in ("LIBRARY", "RECORD", "COMPLETE"):
        monkeypatch.setattr(peers, name, tmp_path / getattr(peers, name).name)
    monkeypatch.setattr(peers, "FOLDER", tmp_path)
    monkeypatch.setattr(peers, "ROOT", tmp_path.parent)
    monkeypatch.setattr(build, "LOG", tmp_path / "build.log")
    monkeypatch.setattr(peers, "key", lambda: "the key")
    return tmp_path


def mutated_batch(pairs, length, seed=1):
    rng = random.Random(seed)
    patterns = ["".join(rng.choices("ACGT", k=length)) for _ in range(pairs)]
    texts = ["".join(rng.choice("ACGT") * 2 if rng.random() < 0.05 else c for c in p) for p in patterns]
    return PairBatch.from_strings(patterns, texts)


class TestBuild:
    """What the tables say when there is nothing to call, and that building twice builds once."""

    def test_no_compiler_is_a_note_and_a_reason(self, elsewhere, monkeypatch, capsys):
        monkeypatch.setenv("CXX", "/no/such/compiler -x")
        build.main()
        assert "note: native wfa2lib, edlib, ksw2, parasail, seqan: not built: no C" in capsys.readouterr().out
        assert not peers.COMPLETE.exists()
        with pytest.raises(ToolMissing, match=r"^not built: no C and C\+\+ compiler here \(/no/such/compiler is not"):
            aligners.load()["ksw2"].version()

    @pytest.mark.parametrize(("argument", "code"), [("--help", 0), ("--nonsense", 2)])
    def test_an_argument_builds_nothing(self, elsewhere, monkeypatch, capsys, argument, code):
        monkeypatch.setattr(build, "build", _raise(AssertionError("it builds")))
        with pytest.raises(SystemExit) as ended:
            build.main([argument])
        told = capsys.readouterr()
        assert ended.value.code == code and "usage: python -m workflow.peers.build" in told.out + told.err

    def test_before_the_first_build_make_peers_is_named(self, elsewhere):
        for tool in ("edlib-native", "parasail-native:scan", "seqan"):
            with pytest.raises(ToolMissing, match="^not built: run make peers"):
                aligners.load()[tool].version()

    def test_a_library_of_other_sources_or_another_processor_is_not_called(self, elsewhere):
        told = {"key": "another", "compiler": "cc", "parts": {"edlib": {"version": "1"}}}
        peers.RECORD.write_text(json.dumps(told))
        with pytest.raises(ToolMissing, match="not built from these sources for this processor: run make peers"):
            aligners.load()["edlib-native"].version()

    def test_a_library_that_does_not_load_is_missing(self, elsewhere):
        told = {"key": "the key", "compiler": "cc", "parts": {"edlib": {"version": "1"}}}
        peers.RECORD.write_text(json.dumps(told))
        peers.LIBRARY.write_text("no library")
        _native.library.cache_clear()
        with pytest.raises(ToolMissing, match="libpeers.so does not load"):
            aligners.load()["edlib-native"].version()
        _native.library.cache_clear()

    @pytest.mark.slow
    def test_a_part_whose_sources_cannot_be_had_leaves_the_others(self, library, elsewhere, monkeypatch, capsys):
        monkeypatch.setattr(build, "sources", _raise(build.BuildError("python failed: no network")))
        build.main()
        parts = json.loads(peers.RECORD.read_text())["parts"]
        assert parts["edlib"] == {"reason": "not built: python failed: no network"} and "version" in parts["parasail"]
        assert peers.LIBRARY.exists() and not peers.COMPLETE.exists()
        assert "no network; the tables' rows will say so" in capsys.readouterr().out

    def test_two_builds_at_once_build_once_and_a_third_not_at_all(self, elsewhere, monkeypatch, capsys):
        built = []

        def one():
            built.append(1)
            threading.Event().wait(0.2)
            return {"key": "the key", "compiler": "cc", "parts": {"seqan": {"reason": "not installed: no headers"}}}

        monkeypatch.setattr(build, "build", one)
        both = [threading.Thread(target=build.main) for _ in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        capsys.readouterr()
        build.main()
        assert built == [1] and capsys.readouterr().out == ""

    @pytest.mark.parametrize("package", sorted(peers.PACKAGES.values()))
    def test_sources_are_pinned_by_hash(self, package):
        lines = peers.locked(package).splitlines()
        assert lines[0].startswith(f"{package}==") and len(lines) > 1
        assert all("--hash=sha256:" in line for line in lines[1:])

    def test_a_package_without_a_lock_is_an_error(self):
        with pytest.raises(LookupError, match="no lock pins seqan"):
            peers.locked("seqan")

    def test_samples_are_keyed_by_the_c_sources(self):
        for tool, name in (("wfa2-lib-native:biwfa", "wfa2lib.c"), ("ksw2", "ksw2.c"), ("seqan", "seqan.cpp")):
            sources = aligners.load()[tool].sources
            assert {f"workflow/peers/{name}", "workflow/peers/peers.h", "workflow/aligners/_native.py"} <= set(sources)

    @pytest.mark.skipif(not shutil.which("nm"), reason="nm is not installed")
    def test_only_our_functions_are_seen_from_outside(self, library):
        names = build.subprocess.run(["nm", "-D", "--defined-only", peers.LIBRARY], capture_output=True, text=True)
        functions = [line.split()[2] for line in names.stdout.splitlines() if line.split()[1] == "T"]
        assert functions and all(name.startswith("peer_") for name in functions), functions


@pytest.mark.parametrize(
    ("ours", "binding"),
    [("edlib-native", "edlib"), *((f"parasail-native:{layout}", f"parasail:{layout}") for layout in LAYOUTS)],
)
def test_native_and_binding_agree(native, ours, binding):
    batch = mutated_batch(30, 300)
    for penalties, scope in ((Edit(), "cigar"), (USUAL, "cigar")):
        one, other = (answer(adapter, batch, scope, penalties) for adapter in (native(ours), aligners.load()[binding]))
        assert one.scores.tolist() == other.scores.tolist()
        assert one.cigar_strings() == other.cigar_strings()


@pytest.mark.parametrize("tool", ["wfa2-lib-native:unidirectional", "edlib-native", "ksw2", "parasail-native:scan"])
def test_a_slice_of_a_batch_is_aligned_by_its_own_offsets(native, tool):
    batch = mutated_batch(12, 80)[5:9]
    assert batch.pattern_offsets[0] > 0
    check(native(tool), batch, answer(native(tool), batch, "cigar", Edit()), "cigar", Edit())


@pytest.mark.parametrize("tool", ["ksw2", "seqan", "wfa2-lib-native:biwfa", *(f"parasail-native:{x}" for x in LAYOUTS)])
def test_a_gap_whose_cost_16_bits_do_not_hold(native, tool):
    batch = PairBatch.from_strings(["A" * 20_000, "A" * 9], ["A" * 15, "A" * 17_009])
    assert answer(native(tool), batch, "score", USUAL).scores.tolist() == [6 + 2 * 19_985, 6 + 2 * 17_000]


@pytest.mark.parametrize("penalties", [USUAL, Affine(1000, 2000, 1000)], ids=str)
def test_lanes_of_16_bits_hold_every_pair_they_are_given(native, penalties):
    """Unlike pairs of lengths around those at which SeqAn's batch interface is left for its plain one."""
    rng = random.Random(6)
    most = (2**14 - 2 * (penalties.gap_open + penalties.gap_extend) - penalties.mismatch) // (2 * penalties.gap_extend)
    lengths = [most - 1, most, most + 1, 1, max(1, most // 2)]
    draws = [["".join(rng.choices(letters, k=k)) for letters in ("AC", "GT")] for k in lengths]
    batch = PairBatch.from_strings(*zip(*draws, strict=True))
    expected = answer(native("wfa2-lib-native:biwfa"), batch, "score", penalties)
    assert answer(native("seqan"), batch, "score", penalties).scores.tolist() == expected.scores.tolist()


class TestKsw2:
    """What 8 bits hold."""

    def test_penalties_past_8_bits_are_unsupported(self):
        adapter = aligners.load()["ksw2"]
        assert "8-bit" in adapter.unsupported(Job("score", Affine(4, 60, 4)))
        assert "two gaps" in adapter.unsupported(Job("score", Affine(5, 1, 1)))
        assert adapter.unsupported(Job("score", Affine(4, 1, 1))) is None

    @pytest.mark.parametrize("penalties", [Affine(4, 1, 1), Affine(126, 62, 1), Affine(1, 40, 23)], ids=str)
    def test_penalties_at_the_edge_of_8_bits(self, native, penalties):
        rng = random.Random(5)
        draws = [[bytes(rng.choices(b"ACG", k=rng.randint(1, 60))) for _ in range(2)] for _ in range(80)]
        batch = PairBatch.from_strings(*zip(*draws, strict=True))
        for scope in ("score", "cigar"):
            adapter = native("ksw2")
            check(adapter, batch, answer(adapter, batch, scope, penalties), scope, penalties)

    def test_a_trace_over_the_memory_bound_is_refused(self, native, monkeypatch):
        monkeypatch.setattr(ksw2, "WORKING_MEMORY_BYTES", 400 * 400)  # a byte a cell, and some more
        result = answer(native("ksw2"), mutated_batch(2, 400), "cigar", USUAL)
        assert result.status.tolist() == [OUT_OF_MEMORY] * 2
        assert answer(native("ksw2"), mutated_batch(2, 400), "score", USUAL).refused() == {}


@pytest.mark.parametrize(("scope", "refused"), [("cigar", [False, True]), ("score", [False, False])])
def test_a_trace_of_a_byte_a_cell_is_within_the_memory_bound_or_refused(monkeypatch, scope, refused):
    lengths, job = (np.array([100, 100]), np.array([100, 101])), Job(scope, USUAL)
    for tool, module in (("seqan", seqan), ("parasail-native:diag", parasail_native)):
        monkeypatch.setattr(module, "WORKING_MEMORY_BYTES", 100 * 100)
        assert aligners.load()[tool].too_large(*lengths, job).tolist() == refused


def test_answers_are_freed_before_the_next_run(native):
    adapter, batch = native("edlib-native"), mutated_batch(4, 50)
    first = answer(adapter, batch, "cigar", Edit())
    adapter.forget()
    assert adapter._raw is None
    adapter.run()
    np.testing.assert_array_equal(adapter.outputs().cigars, first.cigars)


def _raise(error):
    def raiser(*arguments):
        raise error

    return raiser
