"""Gap-affine WFA, reference and CPU, against the judge."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from tests import naive, peak_memory
from wfa_kernels import Affine, Edit, PairBatch, StaticBand
from wfa_kernels.cigar import format_packed
from wfa_kernels.cpu import affine_memory, affine_wfa
from wfa_kernels.cpu.lanes import LANES
from wfa_kernels.reference import affine_wfa as reference
from wfa_kernels.result import NO_SCORE, OK, OUT_OF_MEMORY

PLENTY = 2**28
USUAL = Affine(4, 6, 2)

small_penalties = st.builds(Affine, st.integers(1, 9), st.integers(0, 12), st.integers(1, 5))
large_penalties = st.sampled_from([Affine(97, 243, 13), Affine(1, 250, 1), Affine(251, 127, 7), Affine(60, 100, 40)])
penalties = st.one_of(small_penalties, small_penalties, small_penalties, large_penalties)


@st.composite
def pair(draw, longest=200):
    """A pattern, and a text that differs from it in 0-100 % of its letters, over a random alphabet."""
    alphabet = draw(st.sampled_from([b"A", b"AC", b"ACGT", b"ACGTN", b"acgtACGT", bytes(range(256))]))
    random = draw(st.randoms(use_true_random=False))
    pattern = bytes(random.choices(alphabet, k=draw(st.integers(0, longest))))
    error = draw(st.sampled_from([0, 0.02, 0.1, 0.3, 1]))
    text = bytearray()
    for letter in pattern:
        if random.random() >= error:
            text.append(letter)
        else:  # nothing, one or a few letters instead
            text += bytes(random.choices(alphabet, k=random.choice([0, 0, 1, 1, 2, 9])))
    return pattern, bytes(text[:longest])


def align(pairs, costs, scope="cigar", budget_bytes=PLENTY, rows=None):
    """(scores, status, CIGAR strings or None) as lists."""
    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    start, stop = rows or (0, len(batch))
    scores, status, cigars, lengths = affine_wfa.align_range(batch, costs, scope, start, stop, budget_bytes)
    assert scores.dtype == np.int32 and status.dtype == np.uint8 and len(scores) == len(status) == stop - start
    if scope == "score":
        assert cigars is None and lengths is None
        return scores.tolist(), status.tolist(), None
    assert cigars.dtype == np.uint32 and lengths.dtype == np.int64 and lengths.sum() == len(cigars)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return scores.tolist(), status.tolist(), format_packed(cigars, offsets)


def check(pairs, costs):
    """Every pair of a batch against the judge, score and CIGAR."""
    scores, status, cigars = align(pairs, costs)
    assert set(status) <= {OK}
    assert align(pairs, costs, "score")[0] == scores
    for (pattern, text), score, cigar in zip(pairs, scores, cigars, strict=True):
        assert score == naive.affine_score(pattern, text, *costs.triple)
        assert naive.check_cigar(pattern, text, cigar, costs.triple) == score


@settings(deadline=None, max_examples=150)
@given(pairs=st.lists(pair(), min_size=1, max_size=6), costs=penalties)
def test_score_and_cigar_of_ragged_batches(pairs, costs):
    check(pairs, costs)


@settings(deadline=None, max_examples=40)
@given(one=pair(longest=60), costs=small_penalties)
def test_reference_agrees_with_naive_and_cpu(one, costs):
    score, cigar = reference.align_pair(*one, costs, "cigar")
    assert score == naive.affine_score(*one, *costs.triple) == align([one], costs)[0][0]
    assert naive.check_cigar(*one, cigar, costs.triple) == score
    assert reference.align_pair(*one, costs, "score") == (score, None)


@settings(deadline=None, max_examples=40)
@given(one=pair(), costs=penalties)
def test_swapping_the_pair_swaps_insertions_and_deletions(one, costs):
    pattern, text = one
    scores, _, cigars = align([(pattern, text), (text, pattern)], costs)
    assert scores[0] == scores[1]
    swapped = cigars[1].translate(str.maketrans("ID", "DI"))
    assert naive.check_cigar(pattern, text, swapped, costs.triple) == scores[0]


@pytest.mark.parametrize("costs", [USUAL, Affine(3, 0, 2), Affine(97, 243, 13), Affine(97, 1009, 13)], ids=str)
@pytest.mark.parametrize(
    "one",
    [
        (b"", b""),
        (b"A", b""),
        (b"", b"A"),
        (b"A", b"A"),
        (b"A", b"C"),
        (b"", b"ACGT" * 30),
        (b"ACGT" * 30, b""),
        (b"\x00\x00\x00", b"\x00\xff\x00"),
        (b"NNNN", b"NANN"),
        (b"acgt", b"ACGT"),
        (b"A" * 100, b"C" * 100),
        (b"A" * 150, b"A"),
    ],
)
def test_edges(one, costs):
    check([one], costs)


def test_length_100_000_against_nothing_and_against_one_change():
    letters = b"ACGTTGCA" * 12_500
    changed = letters[:60_000] + b"TT" + letters[60_001:]
    scores, status, cigars = align([(letters, b""), (b"", letters), (letters, b"T"), (letters, changed)], USUAL)
    assert (scores, set(status)) == ([200_006, 200_006, 200_008, 12], {OK})
    assert cigars[:2] == ["100000D", "100000I"]
    assert naive.check_cigar(letters, b"T", cigars[2], USUAL.triple) == scores[2]
    assert naive.check_cigar(letters, changed, cigars[3], USUAL.triple) == scores[3]


def test_gap_open_zero_equals_edit_distance():
    pairs = [(b"GATTACA", b"GAATA"), (b"ACGT" * 20, b"AGT" * 22)]
    assert align(pairs, Edit())[0] == [naive.edit_distance(*p) for p in pairs]
    assert align(pairs, Affine(5, 0, 5))[0] == [5 * naive.edit_distance(*p) for p in pairs]


def test_two_gaps_beat_a_dear_mismatch():
    assert align([(b"AACAA", b"AAGAA")], Affine(100, 1, 1))[0] == [4]
    assert align([(b"AACAA", b"AAGAA")], Affine(4, 1, 1))[2] != align([(b"AACAA", b"AAGAA")], Affine(3, 1, 1))[2]


@pytest.mark.parametrize("length", [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129])
def test_word_boundaries(length):
    """Matches that end before, at and after the edges of words and vectors; neighbours in the flat bytes agree."""
    same = b"ACGT" * 40
    differs_last = same[: length - 1] + b"N"
    check([(same[:length], same[:length]), (same[:length], differs_last), (same[:length], same[: length + 1])], USUAL)


@pytest.mark.parametrize("gap", [15, 16, 17, 31, 32, 33, 100, 1000])
def test_wavefronts_as_wide_as_a_long_gap(gap):
    core = b"ACGGTCAT" * 8
    check([(core + core, core + b"T" * gap + core), (core + b"T" * gap + core, core + core)], Affine(2, 3, 1))


def test_matches_end_with_the_pattern_whatever_lies_behind_it():
    """Zeros at first, then letters of the pair before."""
    check([(b"AGC", b"ATC\0\0"), (b"C" * 40, b"C" * 40), (b"AGC", b"ATCCC"), (b"ATCCC", b"AGC")], USUAL)


def test_unrelated_long_pair_and_what_it_leaves_behind():
    """A wide pair grows the rows; narrow pairs after it start from clean ones."""
    random = np.random.default_rng(3)
    letters = np.frombuffer(b"ACGT", np.uint8)
    wide = tuple(letters[random.integers(0, 4, 700)].tobytes() for _ in range(2))
    narrow = (b"ACGTACGTAC", b"ACGTTCGTAC")
    check([narrow, wide, narrow, (wide[0], wide[0][:-3]), narrow], USUAL)


def test_rows_that_narrow_on_one_side_leave_nothing_for_the_next_pair():
    """Of unrelated letters, fewer on one side: the final diagonal is near one end of the wavefronts."""
    random, letters = np.random.default_rng(0), np.frombuffer(b"ACGT", np.uint8)
    pairs = [
        tuple(letters[random.integers(0, 4, length)].tobytes() for length in (longer, longer * tenths // 10))
        for longer in range(40, 140, 5)
        for tenths in (3, 8, 1, 9, 5)
    ]
    check(pairs, USUAL)
    check([one[::-1] for one in pairs], USUAL)


@pytest.mark.parametrize("costs", [USUAL, Affine(1, 0, 1), Affine(7, 1, 3)], ids=str)
def test_wide_wavefronts_are_bounded_exactly(costs):
    """Rows past 1024 diagonals: unrelated letters, and gaps that leave the band of the upper bound and come back."""
    random = np.random.default_rng(5)
    a, b, c = (np.frombuffer(b"ACGT", np.uint8)[random.integers(0, 4, 1400)].tobytes() for _ in range(3))
    check([(a, b), (a, b[:900]), (a, c[:300] + a[:1100]), (a + b[:250], c[:250] + a), (a, a)], costs)


def test_sub_ranges():
    pairs = [(b"ACGT" * 5, b"ACGA" * i) for i in range(8)]
    scores, _, cigars = align(pairs, USUAL)
    assert align(pairs, USUAL, rows=(2, 6))[0] == scores[2:6]
    assert align(pairs, USUAL, rows=(2, 6))[2] == cigars[2:6]
    assert align(pairs, USUAL, rows=(3, 3)) == ([], [], [])


@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_pair_over_the_budget_is_refused_and_others_are_not(scope):
    long_pair = (b"A" * 3000, b"C" * 3000)
    scores, status, cigars = align([(b"AC", b"AG"), long_pair, (b"AC", b"AG")], USUAL, scope, budget_bytes=20_000)
    assert status == [OK, OUT_OF_MEMORY, OK]
    assert scores == [4, NO_SCORE, 4]
    if scope == "cigar":
        assert cigars == ["1=1X", "", "1=1X"]
    assert align([long_pair], USUAL, scope)[:2] == ([12000], [OK])


def test_what_an_earlier_pair_took_is_no_pairs_loss():
    random = np.random.default_rng(4)
    clean = (b"ACGT" * 5000, b"ACGT" * 5000)
    noisy = tuple(np.frombuffer(b"ACGT", np.uint8)[random.integers(0, 4, 300)].tobytes() for _ in range(2))
    least = 50_000
    while align([noisy], USUAL, budget_bytes=least)[1] != [OK]:
        least += 2000  # by far less than the letters of the clean pair, which are kept where there is room
    scores, status, _ = align([clean, noisy, clean, noisy], USUAL, budget_bytes=least)
    assert (status, scores) == ([OK] * 4, [0, naive.affine_score(*noisy, *USUAL.triple)] * 2)


load, fresh, more = map(njit, (affine_memory.load_pair, affine_memory.fresh_memory, affine_memory.with_origins))


def test_the_first_rows_and_the_letters_of_a_pair_are_within_the_budget():
    letters, at, rows = np.zeros(300, np.uint8), (0, 100, 120, 300), 20
    memory, _ = load(letters, letters, at, rows, PLENTY, fresh())
    needed = sum(part.nbytes for part in memory)
    assert [load(letters, letters, at, rows, budget, fresh())[1] for budget in (needed - 1, needed)] == [False, True]


def test_origins_grow_within_the_budget():
    letters, budget, rows, widest = np.zeros(300, np.uint8), 50_000, 20, 48
    memory, fits = load(letters, letters, (0, 100, 120, 300), rows, budget, fresh())
    filled = score = 0
    while fits:
        memory, fits = more(memory, widest, rows, (score, 0, 0, filled), budget)
        assert sum(part.nbytes for part in memory) <= budget
        filled, score = filled + widest, score + 1
    assert filled > budget / 2


def test_wider_rows_are_within_the_budget_beside_those_that_they_are_copied_from():
    """(2, 3, 1) after the division: five rows of M, two of I and of D; 24 diagonals on either side, then all."""
    rows, letters = 5 + 2 + 2, 40
    first, wider = (2 * diagonals + 1 + LANES for diagonals in (24, letters + 1))
    needed = letters + 2 * affine_memory.PADDING + 2 * 8 * rows + 4 * rows * (first + wider)
    one = (b"", b"A" * letters)
    for budget, told in ((needed - 1, OUT_OF_MEMORY), (needed, OK)):
        assert align([one], USUAL, "score", budget_bytes=budget)[1] == [told]


def test_no_budget_refuses_everything():
    assert align([(b"AC", b"AG"), (b"", b"")], USUAL, budget_bytes=1)[:2] == ([NO_SCORE] * 2, [OUT_OF_MEMORY] * 2)


huge_penalties = st.one_of(
    st.sampled_from([Affine(4_000_000, 6_000_000, 2_000_000), Affine(4_000_001, 6_000_000, 1_999_993)]),
    st.builds(Affine, st.integers(257, 5_000_000), st.integers(0, 5_000_000), st.integers(1, 5_000_000)),
    st.builds(Affine, st.integers(1, 9), st.integers(257, 5_000_000), st.integers(1, 9)),
    st.builds(Affine, st.integers(1, 9), st.integers(0, 9), st.integers(257, 5_000_000)),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(pairs=st.lists(pair(), min_size=1, max_size=6), costs=huge_penalties)
def test_huge_penalties(pairs, costs):
    check(pairs, costs)


@settings(deadline=None, max_examples=100)
@given(one=pair(), costs=penalties)
def test_the_band_serves_small_penalties_too(one, costs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(affine_wfa, "_LARGEST", 0)
        check([one], costs)


def test_huge_penalties_take_no_more_memory_than_others():
    letters = b"ACGTTGCA" * 2_000
    changed = letters[:6_000] + b"G" + letters[6_001:]
    pairs = [(letters, letters), (letters, b""), (b"", letters[:9]), (letters, changed), (letters, letters[1:])]
    costs = Affine(99_991, 1, 100_003)
    scores, status, cigars = align(pairs, costs, budget_bytes=2**19)
    assert (status, scores) == ([OK] * 5, [0, 16_000 * 100_003 + 1, 9 * 100_003 + 1, 99_991, 100_004])
    assert cigars[:4] == ["16000=", "16000D", "9I", "6000=1X9999="]


def test_huge_penalties_over_the_budget_are_refused():
    one, costs = (b"ACGT" * 500, b"TTGCA" * 400), Affine(4_000_001, 6_000_000, 1_999_993)
    assert align([one, (b"A", b"A")], costs, budget_bytes=100_000)[:2] == ([NO_SCORE, 0], [OUT_OF_MEMORY, OK])
    assert align([one], costs, "score", budget_bytes=100_000)[1] == [OK]
    assert align([one], costs, "score", budget_bytes=10_000)[1] == [OUT_OF_MEMORY]


@pytest.mark.parametrize(("scope", "origins"), [("score", 0), ("cigar", 101 * 21)])
def test_a_band_takes_two_rows_and_for_a_cigar_a_byte_a_cell(scope, origins):
    batch, costs = PairBatch.from_strings(["ACGT" * 25], ["ACGA" * 25]), Affine(97, 1009, 13)
    needed = 2 * 8 * (21 + 1) + origins
    for budget, told in ((needed - 1, OUT_OF_MEMORY), (needed, OK)):
        assert affine_wfa.align_range(batch, costs, scope, 0, 1, budget, StaticBand(10))[1].tolist() == [told]


def test_a_cigar_takes_the_band_that_proves_its_score_and_not_the_one_that_was_tried():
    letters = np.frombuffer(b"ACGT", np.uint8)[np.random.default_rng(6).integers(0, 4, 101)].tobytes()
    one, costs = (letters[:-1], letters[1:]), Affine(97, 1009, 13)
    rows_tried = 2 * 8 * (2 * 15 + 1 + 1)  # fifteen diagonals on either side, of which one is enough
    scores, status, cigars = align([one], costs, budget_bytes=rows_tried)
    assert (scores, status) == ([2 * (1009 + 13)], [OK])
    assert naive.check_cigar(*one, cigars[0], costs.triple) == scores[0] == naive.affine_score(*one, *costs.triple)


@settings(deadline=None, max_examples=30)
@given(one=pair(), costs=penalties, budget=st.integers(0, 60_000))
def test_any_budget_gives_the_answer_or_a_refusal(one, costs, budget):
    scores, status, cigars = align([one], costs, budget_bytes=budget)
    if status == [OK]:
        assert scores[0] == naive.affine_score(*one, *costs.triple)
        assert naive.check_cigar(*one, cigars[0], costs.triple) == scores[0]
    else:
        assert (scores, status, cigars) == ([NO_SCORE], [OUT_OF_MEMORY], [""])


def test_cigar_is_merged_and_without_empty_runs():
    _, _, cigars = align([(b"ACGT" * 10, b"ACGT" * 12)], USUAL)
    runs = re.findall(r"(\d+)([=XID])", cigars[0])
    assert all(int(length) > 0 for length, _ in runs)
    assert all(a != b for (_, a), (_, b) in zip(runs[:-1], runs[1:], strict=True))


@peak_memory.needs_peaks
@pytest.mark.parametrize(
    ("algorithm", "limit_mib", "threads", "lengths", "status"),
    [
        ("wfa", 96, 1, [30_000, 30_000], 2),
        ("auto", 96, 1, [30_000, 30_000], 0),  # by bit planes, which need less
        ("wfa", 96, 1, [7000, 8000, 6000, 8500], 0),
        ("wfa", 48, 2, [6500] * 6, 0),  # none fits half of the limit, each fits all of it alone
        ("wfa", 96, 2, [5000] * 6, 0),  # side by side
    ],
)
def test_the_process_stays_within_the_memory_limit_of_all_threads(algorithm, limit_mib, threads, lengths, status):
    grown, found = peak_memory.measure(USUAL, limit_mib, threads, lengths, algorithm)
    assert found == [status] and limit_mib // 4 < grown < limit_mib + 8
