"""Gap-affine alignment on the GPU: right in the simulator, and on a GPU in agreement with the CPU."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests import cuda_simulator, forced_strips, gpu_cells, naive
from tests.test_cuda_edit import LENGTHS, RAGGED, mismatches, random_pairs
from wfa_kernels import Affine, Edit, PaperDesign, gpu_peak_memory, release_gpu_memory
from wfa_kernels.cuda import device, strips_design
from wfa_kernels.cuda.affine_design import AffineDesign
from wfa_kernels.cuda.affine_rates import RATES, TOLERANCE, likely_cost
from wfa_kernels.cuda.affine_wfa import cell_words, rows
from wfa_kernels.cuda.affine_wfa_design import AffineWfa
from wfa_kernels.cuda.edit_design import EditDesign
from wfa_kernels.cuda.levels import Levels
from wfa_kernels.penalties import MAX_SCORE

#: A few of every kind: the usual ones, a common divisor, linear gaps, a mismatch dearer than two gaps, wide numbers.
PENALTIES = [(2, 3, 1), (4, 6, 2), (1, 0, 1), (9, 1, 2), (5, 9, 3)]


def check(pairs, answer, penalties, rescued=()):
    assert answer["rescued"] == list(rescued) and answer["count"] == len(rescued)
    assert not any(answer["status"])
    for i, (pattern, text) in enumerate(pairs):
        if i in rescued:
            assert answer["scores"][i] == 1000 + i
            continue
        expected = naive.affine_score(pattern, text, *penalties)
        assert answer["scores"][i] == expected, (pattern, text)
        if answer["cigars"] is not None:
            assert naive.check_cigar(pattern, text, answer["cigars"][i], penalties) == expected


@pytest.mark.parametrize(
    "penalties", [*PENALTIES[:2], *(pytest.param(more, marks=pytest.mark.slow) for more in PENALTIES[2:])]
)
def test_simulator_agrees_with_naive(penalties):
    check(RAGGED, cuda_simulator.align(*zip(*RAGGED, strict=True), "cigar", "fast", penalties=penalties), penalties)


def test_scores_alone_in_many_small_batches():
    pairs = random_pairs(24, LENGTHS[:9], seed=2)
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "score", "fast", "packed", 96, penalties=(2, 3, 1))
    assert len(answer["batches"]) > 2
    check(pairs, answer, (2, 3, 1))


@pytest.mark.slow
def test_wider_bands_take_what_a_band_can_not_certify():
    """The bands of 64, 128, 192 and 384 diagonals certify costs below 2o + e * B, less up to 2: mismatches cost 2.

    Which band answers is told here; that none is certain of too much, by test_cuda_affine_grid."""
    pairs = [mismatches(count, count + 4) for count in (33, 34, 35, 66, 67, 98, 99)]
    pairs += [(b"ACGT" * 3 + b"G" * more, b"ACGT" * 3) for more in (63, 64, 127, 192)]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", "fast", penalties=(2, 3, 1))
    check(pairs, answer, (2, 3, 1))
    assert {name: sorted(scores) for name, scores in answer["answered"].items() if scores} == {
        "band 64": [66, 66], "band 128": [67, 68, 70, 130], "band 192": [132, 134], "band 384": [195, 196, 198]
    }  # fmt: skip


#: Level of the first kernel that gives a pair several threads: the bands come before it.
STRIPS = 4


@pytest.mark.slow
@pytest.mark.parametrize(("scope", "penalties"), [("cigar", (2, 3, 1)), ("score", (2, 3, 1)), ("cigar", (5, 9, 3))])
def test_strips_agree_with_naive(scope, penalties):
    pairs = [*RAGGED[:9], *random_pairs(5, (90, 96, 97, 129), seed=4), (b"A" * 130, b"T" * 70)]
    pairs += [(b"C" * 20 + b"ACGT" * 8, b"ACGT" * 8), (b"ACGT" * 9, b"ACGT" * 9 + b"G" * 90)]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), scope, "fast", penalties=penalties, first_level=STRIPS)
    check(pairs, answer, penalties)


@pytest.mark.parametrize(
    ("threads", "scope", "penalties"),
    [(2, "cigar", (2, 3, 1)), (4, "score", (4, 6, 2))],
)
@pytest.mark.slow
def test_narrowing_strips_agree_with_naive(threads, scope, penalties):
    """Reaches of 2 and 4 chunks certify costs below 2o + e * 130 and 258, less those of unequal lengths."""
    pairs = [mismatches(count, length) for count, length in ((60, 200), (67, 200), (68, 200), (90, 330))]
    pairs += [*random_pairs(6, (150, 230, 300), seed=3), (b"AC" * 100, b"T" * 70 + b"AC" * 60 + b"G" * 9)]
    pairs += [(b"ACGT" * 5 + b"G" * 90 + b"ACCT" * 20, b"ACGT" * 5 + b"ACCT" * 20), (b"A" * 200, b"C" * 200)]
    strips = [(threads, 2), (threads, 4), (threads, 32)]
    answer = cuda_simulator.align(
        *zip(*pairs, strict=True), scope, "fast", penalties=penalties, first_level=STRIPS, strips=strips
    )
    check(pairs, answer, penalties)


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_a_block_of_several_warps_for_a_pair_agrees_with_naive(scope):
    """Of 8 threads here, and 3 to 14 strips."""
    pairs = [*random_pairs(4, (90, 130, 200, 450), seed=6), mismatches(60, 330), (b"A" * 130, b"T" * 70), (b"", b"ACG")]
    answer = cuda_simulator.align(
        *zip(*pairs, strict=True), scope, "fast", penalties=(2, 3, 1), first_level=STRIPS, strips=[(2, 4), (2, 32)],
        wide=True,
    )  # fmt: skip
    check(pairs, answer, (2, 3, 1))


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_strips_in_windows_agree_with_naive(threads):
    """Of 3 to 11 strips some are kept; a warp has 4 threads here."""
    pairs = [*random_pairs(5, (90, 130, 200), seed=4), mismatches(60, 330), (b"A" * 130, b"T" * 70), (b"", b"ACG")]
    answer = cuda_simulator.align(
        *zip(*pairs, strict=True), "cigar", "fast", penalties=(2, 3, 1), first_level=STRIPS,
        strips=[(threads, 4), (threads, 32)], windows=True,
    )  # fmt: skip
    check(pairs, answer, (2, 3, 1))


@pytest.mark.parametrize(("pairs", "threads"), [(1, 32), (1320, 32), (1321, 16), (42_240, 1), (1_000_000, 1)])
def test_few_pairs_walk_back_with_many_threads_each(pairs, threads):
    """Half of a GPU is 1320 warps."""
    assert strips_design._back_together(pairs) == threads


def test_what_a_rate_leaves_of_the_widest_strips_they_do_without_it():
    """Pairs that cost more than the batches before: they are the host's only where no kernel can do them."""
    pairs = [mismatches(errors, 56) for errors in (20, 55, 56)]
    answer = cuda_simulator.align(
        *zip(*pairs, strict=True), "score", "fast", penalties=(2, 3, 1), first_level=STRIPS, strips=[(2, 32)] * 2,
        rate=1,
    )  # fmt: skip
    check(pairs, answer, (2, 3, 1))
    for design in (AffineDesign((2, 3, 1)), AffineDesign((2, 3, 1)).longer(), EditDesign()):
        assert design.STRIPS[-1] == design.STRIPS[-2] and len(set(design.NAMES)) == len(design.NAMES)


@pytest.mark.slow
@pytest.mark.parametrize(("threads", "windows"), [(1, False), (2, False), (2, True)])
def test_ways_back_of_few_threads_agree_with_naive(threads, windows):
    """Elsewhere 4 threads, as few pairs have here, compute two chunks of two strips at a time."""
    pairs = [*random_pairs(4, (90, 200), seed=5), mismatches(60, 330), (b"A" * 130, b"T" * 70), (b"", b"ACG")]
    pairs += [(b"ACGT" * 5 + b"G" * 90 + b"ACCT" * 20, b"ACGT" * 5 + b"ACCT" * 20)]
    pairs += [(b"AC" * 60, b"T" * 99 + b"AC" * 60)]
    answer = cuda_simulator.align(
        *zip(*pairs, strict=True), "cigar", "fast", penalties=(2, 3, 1), first_level=STRIPS, strips=[(2, 32)],
        windows=windows, back_together=threads,
    )  # fmt: skip
    check(pairs, answer, (2, 3, 1))


@pytest.mark.parametrize(
    ("rate", "scope"),
    [(1, "cigar"), *(pytest.param(*more, marks=pytest.mark.slow) for more in [(28087, "score"), (28700, "cigar")])],
)
def test_pairs_over_their_likely_limit_are_tried_again(rate, scope):
    """A limit of 64 + rate / 65536 a letter: of 112 letters two give 112, what 56 mismatches cost, and 113."""
    pairs = [mismatches(count, 56) for count in (20, 55, 56)] + [(b"", b""), (b"A" * 50, b"C" * 55)]
    answer = cuda_simulator.align(
        *zip(*pairs, strict=True), scope, "fast", penalties=(2, 3, 1), first_level=STRIPS, strips=[(2, 2), (2, 32)],
        rate=rate,
    )  # fmt: skip
    check(pairs, answer, (2, 3, 1))
    rates = [max(0, 112 + 1 - 64) / 112, (108 + 1 - 64) / 105, (110 + 1 - 64) / 112]
    assert sorted(answer["rates"]) == sorted([RATES[0]] * 2 + [least_rate(65536 * rate) for rate in rates])


def least_rate(rate):
    return next(known for known in RATES if rate < known)


def test_the_rate_is_that_of_the_least_work():
    """A pair that is left costs four times its own, and makes its batch take three times as long."""
    design = AffineDesign((2, 3, 1))
    assert design.rate == 0

    def learned(*batches):
        design.begin()
        for pairs in batches:
            design.learn(np.bincount([*pairs], [*pairs.values()], len(RATES)).astype(np.int32), None)
        return RATES.index(design.rate) if design.rate else None

    assert learned({100: 997, 120: 3}) == 120, "1.5 of all, or three times all"
    assert learned(*[{100: 999}] * 9, {100: 999, 120: 1}) == 100, "one batch in ten is left with any"
    assert learned({100: 900, 120: 100}) == 120
    assert learned({100: 980, 400: 20}) == 100, "some are nothing like the others"
    assert learned({100: 80, 200: 10, 400: 10}) == 100 and learned({100: 70, 200: 20, 400: 10}) == 200, "a quarter"
    assert learned({103: 5}) == 103 and learned({100: 5}) == 103, "about the same"
    assert learned({98: 5}) == 98, "less than 0.9"
    assert learned({105: 5}) == 105
    design.begin()
    assert design.rate == RATES[105], "that of the call before"
    design.learn(np.zeros(len(RATES), np.int32), None)
    assert design.rate == RATES[105]
    assert learned({len(RATES) - 1: 5}) is None, "no limit"
    assert learned({100: 5}) == 100
    design.forget()
    assert design.rate == 0


def test_long_pairs_begin_with_strips_and_go_to_a_band_where_their_rate_tells_so():
    design = AffineDesign((2, 3, 1))
    levels = Levels(design, len(design.NAMES), 10_000)
    levels.begin(10_000, False, False)

    def chosen(longest):
        batch = SimpleNamespace(longest=longest, pairs=1000)
        levels.choose(batch)
        return batch

    first = chosen(10_000)
    assert (first.first_level, first.likely, first.trial) == (STRIPS, False, False), "no band is compiled to try it"
    clean = np.zeros(len(RATES), np.int64)
    clean[1] = 1000
    design.learn(clean, None)
    second = chosen(10_000)
    assert second.first_level < STRIPS and second.likely
    assert Levels(design, len(design.NAMES), 1000).first == 0


def test_long_clean_pairs_go_to_a_band_that_is_no_wider_than_they_need():
    design, letters, dearest = AffineDesign((2, 3, 1)), 24_640, 100
    rate = least_rate(65536 * (dearest + 1 - TOLERANCE) / (2 * letters))
    design.learn(np.bincount([RATES.index(rate)], minlength=len(RATES)), None)
    assert design.rate == rate and likely_cost(2 * letters, rate) > dearest
    assert design.NAMES[design.likely_level(letters, 1)] == "band 128"


def test_penalties_with_a_common_factor_are_no_larger_ones():
    penalties = 40_000, 60_000, 20_000
    design = AffineDesign(penalties)
    assert design.BANDS == AffineDesign((2, 3, 1)).BANDS
    assert (
        2 * (60_000 + 20_000 * design.longest(None)) <= MAX_SCORE < 2 * (60_000 + 20_000 * (design.longest(None) + 1))
    )
    assert not AffineDesign((2_000_000, 3_000_000, 2_000_001)).NAMES, "not even of 1000 letters"
    pairs = [mismatches(3, 40), (b"A" * 50, b"A" * 20), (b"", b"ACG")]
    check(pairs, cuda_simulator.align(*zip(*pairs, strict=True), "cigar", "fast", penalties=penalties), penalties)


@pytest.mark.slow
def test_far_pairs_go_from_the_bands_to_the_strips():
    pairs = [mismatches(count, count + 4) for count in (193, 194, 400)]
    pairs += [(b"ACGT" * 3 + b"G" * 400, b"ACGT" * 3), (b"AC" * 6, b"T" * 830 + b"AC" * 5)]
    for scope in ("score", "cigar"):
        answer = cuda_simulator.align(*zip(*pairs, strict=True), scope, "fast", penalties=(2, 3, 1))
        check(pairs, answer, (2, 3, 1))


def test_other_letters_are_handed_back():
    pairs = [(b"ACGT", b"AGGT"), (b"NNNN", b"NNAN"), (b"AC", b"A"), (b"acgt", b"ACGT"), (b"", b"U")]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", "fast", penalties=(4, 6, 2))
    check(pairs, answer, (4, 6, 2), rescued=[1, 3, 4])


@pytest.mark.slow
@pytest.mark.parametrize("design", ["fast", "paper"])
def test_sequences_too_long_for_many_pairs_kernels_have_their_own(design):
    """Here from 48 letters on; one of them has a letter without a code."""
    pairs = [*RAGGED[:6], (b"ACGT" * 20, b"ACT" * 20), (b"A", b"C" * 70), mismatches(50, 60), (b"GN" * 40, b"GA" * 40)]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", design, penalties=(2, 3, 1), longest=48)
    check(pairs, answer, (2, 3, 1), rescued=[9])


def test_the_longest_sequences_are_those_whose_costs_fit_32_bits():
    for design in (AffineDesign((2, 3, 1)), AffineWfa((2, 3, 1), PaperDesign())):
        assert design.longest(None) == 65535 and design.longer().longest(None) == 1 << 24
    for design in (AffineDesign((200, 300, 100)), AffineWfa((200, 300, 100), PaperDesign())):
        longest = design.longer().longest(None)
        assert longest > 1 << 17 and 2 * (300 + 100 * longest) <= MAX_SCORE < 2 * (300 + 100 * (1 << 24))
    longest = AffineDesign((200, 300, 100)).longer().longest(None)
    assert 2 * 300 + 4 * 100 * longest <= MAX_SCORE, "what a path that leaves the strips' band costs at least"
    longest = AffineWfa((97, 243, 13), PaperDesign()).longer().longest(None)
    places = cell_words(True) * rows((97, 243, 13)) * (2 * longest + 1)
    assert longest > 1 << 17 and places <= MAX_SCORE, "in the rings"


def test_penalties_of_too_many_digits_are_handed_back():
    pairs = [(b"ACGT", b"AGGT"), (b"A", b"")]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", "fast", penalties=(2**29 - 1, 2**29, 7))
    check(pairs, answer, None, rescued=[0, 1])


@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_empty_batch(scope):
    assert cuda_simulator.align([], [], scope, "fast", penalties=(2, 3, 1))["scores"] == []


@pytest.mark.gpu
@pytest.mark.parametrize("design", ["fast", "paper"])
@pytest.mark.parametrize(
    ("count", "length"), [(1_000_000, 150), (100_000, 1000), (2000, 10_000), pytest.param(20, 100_000, id="long")]
)
@pytest.mark.parametrize("error", [0.02, 0.1])
def test_gpu_agrees_with_the_cpu(design, count, length, error):
    assert device.available() and not device.simulated(), device.describe()
    gpu_cells.check(gpu_cells.uniform(count, length, error), Affine(2, 3, 1), ("pinned",), design)


@pytest.mark.gpu
@pytest.mark.parametrize("costs", [Affine(2, 3, 1), Edit()], ids=str)
def test_gpu_agrees_with_the_cpu_where_memory_holds_windows_only(costs):
    """Of 30 pairs of 100,000 letters, whose states take 100 MB and more each."""
    assert device.available() and not device.simulated(), device.describe()
    release_gpu_memory()
    gpu_peak_memory(reset=True)
    pairs = gpu_cells.uniform(30, 100_000, 0.05)
    gpu_cells.check(pairs, costs, ("pageable",), device_memory=1 << 30)
    assert gpu_peak_memory()["device"] <= 1 << 30


@pytest.mark.gpu
@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 4, 8, 16])
def test_gpu_walks_back_with_so_many_threads_a_pair(threads, windows, monkeypatch):
    """Of thousands of long pairs several share a warp; so few as these would have one each."""
    assert device.available() and not device.simulated(), device.describe()
    release_gpu_memory()
    monkeypatch.setattr(strips_design, "_back_together", lambda pairs: threads)
    monkeypatch.setattr(strips_design.BandsThenStrips, "_launch_strips", strips_design.BandsThenStrips._launch_strips)
    if windows:
        forced_strips.windows()  # until monkeypatch sets back what it was
    pairs = gpu_cells.joined([gpu_cells.ragged(400, 2500, seed=9), gpu_cells.uniform(200, 3000, 0.2)])
    gpu_cells.check(pairs, Affine(2, 3, 1), ("pinned",))


@pytest.mark.gpu
@pytest.mark.parametrize("penalties", [*PENALTIES, (6, 5, 3), (97, 243, 13)])
def test_gpu_agrees_with_the_cpu_on_ragged_pairs(penalties):
    assert device.available() and not device.simulated(), device.describe()
    gpu_cells.check(gpu_cells.ragged(40_000, 600, seed=5), Affine(*penalties))
