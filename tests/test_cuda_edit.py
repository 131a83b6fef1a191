"""Edit distance on the GPU, both designs: right in the simulator, and on a GPU in agreement with the CPU."""

import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest

from tests import cuda_simulator, gpu_cells, naive, past_bands
from wfa_kernels import Edit, PairBatch, PaperDesign, align
from wfa_kernels.cuda import aligner, device, edit_wfa, pinned, stream
from wfa_kernels.cuda.banded_bpm import BANDS
from wfa_kernels.cuda.edit_wfa import EditWfa

EDIT = (1, 0, 1)
DESIGNS = ("fast", "paper")
#: Lengths around the words in which letters are packed (16) and compared (32).
LENGTHS = (0, 1, 2, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65)


def random_pairs(count, lengths, seed, most_edits=None):
    """Ragged pairs: the text is the pattern with edits, or for every fourth pair unrelated."""
    draw = random.Random(seed)

    def letters(length):
        return bytes(draw.choices(b"ACGT", k=length))

    pairs = []
    for i in range(count):
        pattern = letters(draw.choice(lengths))
        text = bytearray(pattern if i % 4 else letters(draw.choice(lengths)))
        for _ in range(draw.randint(0, max(1, len(text) // 4) if most_edits is None else most_edits)):
            at = draw.randint(0, len(text))
            text[at : at + draw.randint(0, 1)] = letters(draw.randint(0, 1))
        pairs.append((pattern, bytes(text)))
    return pairs


def mismatches(count, length):
    """A pair at that distance: the letters of the text differ in the first ``count`` places, A and C only."""
    return b"A" * length, b"C" * count + b"A" * (length - count)


def check(pairs, answer, rescued=()):
    assert sorted(answer["rescued"]) == list(rescued) and answer["count"] == len(rescued)
    assert not any(answer["status"])
    for i, (pattern, text) in enumerate(pairs):
        if i in rescued:
            assert answer["scores"][i] == 1000 + i
            assert answer["cigars"] is None or answer["cigars"][i] == "7X"
            continue
        expected = naive.edit_distance(pattern, text)
        assert answer["scores"][i] == expected, (pattern, text)
        if answer["cigars"] is not None:
            assert naive.check_cigar(pattern, text, answer["cigars"][i], EDIT) == expected


RAGGED = [(b"", b""), (b"A", b""), (b"", b"AC"), (b"GATTACA", b"GAATA"), (b"A" * 40, b"A"), (b"A", b"T" * 34)]
RAGGED += random_pairs(10, LENGTHS, seed=1)
RAGGED += [(b"ACGT" * 16 + b"A", b"T" + b"ACGT" * 16)] + [
    ((b"GATTACA" * 10)[:length], (b"GATCACA" * 10)[: length + more])
    for length, more in zip(LENGTHS[3:], (0, 0, 0, 1, 0, -1) * 2, strict=False)
]


@pytest.mark.parametrize(
    ("design", "scope"),
    [("fast", "score"), ("fast", "cigar"), pytest.param("paper", "score", marks=pytest.mark.slow), ("paper", "cigar")],
)
def test_simulator_agrees_with_naive(design, scope):
    check(RAGGED, cuda_simulator.align(*zip(*RAGGED, strict=True), scope, design))


@pytest.mark.parametrize(
    ("kernel", "scope"),
    [
        ("E32", "score"),
        ("E128", "cigar"),
        pytest.param("E32", "cigar", marks=pytest.mark.slow),
        pytest.param("E64", "score", marks=pytest.mark.slow),
        pytest.param("E64", "cigar", marks=pytest.mark.slow),
        pytest.param("E128", "score", marks=pytest.mark.slow),
    ],
)
def test_each_alignment_of_the_papers_design_is_one_blocks(kernel, scope):
    """And all its threads work on it, in each of its kernels."""
    pairs = [(b"GATTACA", b"GAATA"), (b"ACGT" * 5, b"ACGA" * 5), (b"A" * 9, b"C" * 9), (b"", b"ACG")]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), scope, {"block_threads": 32, "first_kernel": kernel})
    check(pairs, answer)
    assert sorted(map(tuple, answer["worked_on"])) == [
        (kernel, pair, thread, pair) for pair in range(4) for thread in range(32)
    ]


@pytest.mark.parametrize(("source", "batches"), [("pinned", 4), pytest.param("packed", 2, marks=pytest.mark.slow)])
def test_lengths_cross_the_wire_in_8_bits_until_they_do_not_fit(source, batches):
    pairs = [*random_pairs(11, LENGTHS, seed=4), mismatches(3, 261), *random_pairs(10, LENGTHS, seed=5)]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", "fast", source, letters=320)
    check(pairs, answer)
    assert len(answer["batches"]) >= batches


@pytest.mark.parametrize(
    ("letters", "more"), [(1000, ()), pytest.param(4300, [mismatches(3, 261)], marks=pytest.mark.slow)]
)
def test_packed_pairs_bring_their_own_records(letters, more):
    """Of 8 and of 16 bits a length; each batch begins with a record, of 8 pairs in the simulator."""
    pairs = [*random_pairs(30 if more else 80, LENGTHS[6:10], seed=6), *more]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", "fast", "packed", letters=letters)
    check(pairs, answer)
    assert (len(answer["batches"]) > 2) == (not more)
    assert answer["locked"][0] == answer["locked"][1] > 0
    assert not any(count % 8 for count in answer["batches"][:-1])


def test_what_is_just_past_a_band_is_not_certain():
    """Of the two narrower bands."""
    pairs = past_bands.pairs_around(range(14, 19)) + past_bands.pairs_around((16, 32, 33), less=1)
    check(pairs, cuda_simulator.align(*zip(*pairs, strict=True), "score", "fast"))


def test_gaps_longer_than_the_diagonals_at_hand():
    """The fast design's way back: forth and back within 32 columns, at both ends, across several words of a band."""
    a, b, c = (pattern for pattern, _ in random_pairs(3, [70], seed=4))
    gap, longer = b"ACGGTCATTCAG", b"TTGCATCGGACTTGACATGCCGATACC"
    pairs = [(a[:20] + gap + a[20:], a[:24] + gap[::-1] + a[24:]), (gap + b, b + gap), (b + gap, gap + b)]
    pairs += [(a + longer + b + c, a + b + longer + c), (longer + c, c), (c, c + longer), (a + longer, longer[:3] + a)]
    check(pairs, cuda_simulator.align(*zip(*pairs, strict=True), "cigar", "fast"))


@pytest.mark.parametrize(
    ("scope", "source"),
    [("score", "registered"), ("cigar", "pageable"), pytest.param("cigar", "packed", marks=pytest.mark.slow)],
)
def test_many_small_batches(scope, source):
    pairs = random_pairs(24, LENGTHS[:9], seed=2)
    answer = cuda_simulator.align(*zip(*pairs, strict=True), scope, "fast", source, letters=96)
    assert source == "pageable" or answer["locked"][0] == answer["locked"][1] > 0
    least = 1 if source == "packed" else 8  # batches of packed letters are larger
    assert len(answer["batches"]) > least and sum(answer["batches"]) == len(pairs)
    check(pairs, answer)


@pytest.mark.parametrize(
    ("apart", "source", "design"),
    [(2, "pageable", "fast")]
    + [pytest.param(*more, marks=pytest.mark.slow) for more in (
        (-1, "pageable", "fast"), (2, "pageable", "paper"), (-1, "pinned", "fast"), (2, "packed", "fast"),
        (-1, "registered", "fast"),
    )],
)  # fmt: skip
def test_letters_that_do_not_lie_one_behind_the_other(apart, source, design):
    pairs = random_pairs(12, LENGTHS[4:12], seed=8)
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", design, source, letters=320, apart=apart)
    assert len(answer["batches"]) > 2
    check(pairs, answer)


@pytest.mark.parametrize("design", [pytest.param("fast", marks=pytest.mark.slow), "paper"])
def test_other_letters_are_handed_back(design):
    pairs = [(b"ACGT", b"AGGT"), (b"NNNN", b"NNAN"), (b"AC", b"A"), (b"acgt", b"ACGT"), (b"\x00", b"\xff"), (b"", b"U")]
    pairs += [(b"ACGT" * 8 + bytes([letter]), b"ACGT" * 8 + b"A") for letter in b"@BDEFHSVWacgt\x01"]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", design, "pinned")  # packed on the GPU
    check(pairs, answer, rescued=[1, *range(3, len(pairs))])


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("limit", [32, *(pytest.param(limit, marks=pytest.mark.slow) for limit in (64, 128))])
def test_at_the_limits(design, limit):
    pairs = [mismatches(limit + more, limit + 5) for more in (-1, 0, 1)]
    pairs += [(b"ACGT" * 3 + b"G" * (limit + more), b"ACGT" * 3) for more in (-1, 0, 1)]
    check(pairs, cuda_simulator.align(*zip(*pairs, strict=True), "cigar", design))


@pytest.mark.parametrize("design", ["fast", pytest.param("paper", marks=pytest.mark.slow)])
def test_packed_letters_of_all_kinds(design):
    """Other ones at the begin of a sequence, within it and at its end."""
    pairs = [*RAGGED, (b"ACNT", b"ACT"), (b"GATTACA", b"gattaca"), (b"ACGT", b"ACGT"), (b"ACGT", b"NCGT"), (b"", b"")]
    pairs += [(b"ACGTN", b"ACGTA"), (b"ACGT", b"ACG")]
    rescued = [len(RAGGED) + more for more in (0, 1, 3, 5)]
    check(pairs, cuda_simulator.align(*zip(*pairs, strict=True), "cigar", design, "packed"), rescued)


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_strips(scope):
    pairs = [*RAGGED, *random_pairs(6, [90, 120], seed=3), mismatches(70, 80), (b"A" * 5, b"C" * 100)]
    check(pairs, cuda_simulator.align(*zip(*pairs, strict=True), scope, "fast", first_level=len(BANDS)))


@pytest.mark.slow
def test_beyond_the_widest_band_strips_go_on():
    far = [mismatches(count, 260) for count in (255, 256)]
    check(far, cuda_simulator.align(*zip(*far, strict=True), "cigar", "fast"))


@pytest.mark.slow
def test_a_call_after_far_pairs_aligns_near_ones():
    far = [mismatches(257, 260)] * 2
    check(RAGGED[:8], cuda_simulator.align(*zip(*RAGGED[:8], strict=True), "cigar", "fast", letters=300, before=far))


@pytest.mark.slow
def test_a_band_that_fails_too_often_is_left_out():
    pairs = [mismatches(40, 50)] * 24
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", "fast", letters=200)
    assert len(answer["batches"]) > 5
    check(pairs, answer)


@pytest.mark.parametrize("words", [None, 1])
def test_the_papers_design_takes_what_fits_its_shared_memory(words):
    longest = EditWfa(PaperDesign()).longest(words)
    held, room = edit_wfa.static_shared_bytes(128, words is not None), edit_wfa.SHARED_BYTES
    assert held + edit_wfa.packed_bytes(longest) <= room
    assert longest == 65535 or room < held + edit_wfa.packed_bytes(longest + 1)


def test_the_papers_design_hands_sequences_too_long_for_16_bits_back():
    pairs = [(b"AC", b"AC"), (b"A" * 65536, b"A"), (b"G", b""), (b"C", b"C" * 65536), (b"A" * 70000, b"A" * 70000)]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", "paper", letters=1 << 17)
    check(pairs, answer, rescued=[1, 3, 4])


@pytest.mark.parametrize(
    ("source", "scope"), [("pageable", "cigar"), pytest.param("packed", "score", marks=pytest.mark.slow)]
)
def test_sequences_too_long_for_many_pairs_kernels_have_their_own(source, scope):
    """Here from 48 letters on, the first pair too; one of them has a letter without a code."""
    pairs = [
        (b"ACGT" * 20, b"ACT" * 20),
        *random_pairs(10, LENGTHS, seed=9),
        (b"A", b"C" * 70),
        (b"GN" * 40, b"GA" * 40),
    ]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), scope, "fast", source, longest=48)
    check(pairs, answer, rescued=[12])


def test_the_next_call_asks_for_as_much_room_as_there_is_unless_that_is_far_too_much():
    """A little less or more would fit no buffer of the pool: half a second to page-lock a gigabyte anew."""
    pairs = PairBatch.from_strings(["ACGT"] * 10, ["ACGT"] * 10)
    with mock.patch.object(pinned, "host_array", np.empty):
        room = aligner._Room(pairs, 13)
    assert [room.to_ask_for(elements) for elements in (1040, 1000, 694)] == [1040] * 3
    assert room.to_ask_for(100) == 105


@pytest.mark.parametrize("base", [0, 2**32 - 20, 2**32 - 1, 2**32, 7 * 2**32 + 5])
def test_cigars_end_beyond_32_bits(base):
    """Of where they end 32 bits cross the wire, and 64 of where a batch begins."""
    ends = base + np.cumsum([0, 3, 15, 2, 0, 9, 2**31])
    found = np.empty(len(ends), np.int64)
    stream._put_ends(ends.astype(np.uint32), base, found)
    assert found.tolist() == ends.tolist()


def test_lengths_of_32_bits():
    check(RAGGED, cuda_simulator.align(*zip(*RAGGED, strict=True), "cigar", "fast", bits=32))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_empty_batch(design, scope):
    assert cuda_simulator.align([], [], scope, design)["scores"] == []


def test_import_needs_no_gpu_and_compiles_nothing():
    code = (
        "from wfa_kernels.cuda import banded_bpm, compaction, device, aligner, affine_bits, edit_wfa;"
        "assert isinstance(device.describe(), str) and isinstance(device.available(), bool);"
        "kernels = [compaction.place_pairs, edit_wfa.vectors_to_runs, edit_wfa.make_kernel(32, True)];"
        "assert not any(kernel.overloads for kernel in kernels)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=cuda_simulator.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.gpu
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("length", [150, 300, 1000])
@pytest.mark.parametrize("error", [0.02, 0.05, 0.1])
def test_gpu_agrees_with_the_cpu(design, length, error):
    assert device.available() and not device.simulated(), device.describe()
    gpu_cells.check(gpu_cells.uniform(1_000_000, length, error), Edit(), ("pinned",), design)


@pytest.mark.gpu
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("count", "longest"), [(400_000, 150), (40_000, 2000), (200, 60_000)])
def test_gpu_agrees_with_the_cpu_on_ragged_pairs(design, count, longest):
    assert device.available() and not device.simulated(), device.describe()
    gpu_cells.check(gpu_cells.ragged(count, longest, seed=7), Edit(), design=design)


@pytest.mark.gpu
def test_gpu_serves_other_python_threads_and_its_results_other_processes():
    """The first thread has made the streams, and its results' memory is free again."""
    assert device.available() and not device.simulated(), device.describe()
    pairs = gpu_cells.uniform(20_000, 150, 0.05)
    expected = align(pairs, Edit(), scope="cigar", device="cuda").scores.copy()
    with ThreadPoolExecutor(1) as other:
        result = other.submit(align, pairs, Edit(), scope="cigar", device="cuda").result()
    copied = pickle.loads(pickle.dumps(result))
    assert (result.scores == expected).all() and (copied.cigars == result.cigars).all()
    assert copied.timings == dict(result.timings) and copied.timings["time_kernel"] > 0


@pytest.mark.gpu
def test_the_longest_sequences_that_the_papers_design_takes():
    """As long as its shared memory has room for, with three errors; that of a letter more is the CPU's."""
    assert device.available() and not device.simulated(), device.describe()
    for scope, words in ("score", None), ("cigar", 1):
        longest = EditWfa(PaperDesign()).longest(words)
        pairs = [mismatches(3, letters) for letters in (longest - 1, longest, longest + 1)]
        batch = PairBatch.from_strings(*zip(*pairs, strict=True))
        result = align(batch, Edit(), scope=scope, device="cuda", design="paper")
        assert result.scores.tolist() == [3, 3, 3] and result.rescued == 1, scope
    costs = gpu_cells.costs_of(batch, result.cigars, result.cigar_offsets, EDIT)
    assert costs.tolist() == [3, 3, 3]
