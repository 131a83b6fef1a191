"""Gap-affine alignment in bit planes on the CPU against the judge and against the wavefronts."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import naive, past_bands
from tests.test_affine_kernels import pair
from wfa_kernels import Affine, Edit, PairBatch, align
from wfa_kernels.affine_cell import make_cell
from wfa_kernels.cigar import format_packed
from wfa_kernels.cpu import affine, affine_bits, affine_wfa, bit_groups, bit_lanes, bit_run
from wfa_kernels.result import NO_SCORE, OK, OUT_OF_MEMORY

PLENTY = 2**28
USUAL = Affine(4, 6, 2)
#: Few, as each takes seconds to compile: z by levels and by comparing, with and without gap planes.
COSTS = [USUAL, Affine(9, 5, 5), Edit()]
VECTORS = [bits for bits in (128, 256, 512) if bits <= affine_bits.vector_bits()]
LETTERS = np.frombuffer(b"ACGT", np.uint8)


@pytest.fixture(params=VECTORS)
def vector(request, monkeypatch):
    """Every width of vectors this processor has."""
    monkeypatch.setattr(affine_bits, "vector_bits", lambda: request.param)
    return request.param


def foretell(monkeypatch, rate):
    """Begin with a cost per double step that is far off, so that bands are too wide or too narrow."""
    monkeypatch.setattr(affine_bits, "fresh_estimate", lambda *costs: np.array([0.0, rate, rate * rate]))


def align_pairs(pairs, costs, scope="cigar", budget=PLENTY, kernel=affine_bits):
    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    scores, status, cigars, lengths = kernel.align_range(batch, costs, scope, 0, len(batch), budget)
    if scope == "score":
        assert cigars is None and lengths is None
        return scores.tolist(), status.tolist(), None
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    assert offsets[-1] == len(cigars)
    return scores.tolist(), status.tolist(), format_packed(cigars, offsets)


def check(pairs, costs, expected=None):
    """Scores and CIGARs of a batch against the judge, or against scores that are known."""
    if expected is None:
        expected = [naive.affine_score(*one, *costs.triple) for one in pairs]
    assert align_pairs(pairs, costs, "score")[:2] == (expected, [OK] * len(pairs))
    scores, status, cigars = align_pairs(pairs, costs)
    assert (scores, status) == (expected, [OK] * len(pairs))
    for one, cigar, score in zip(pairs, cigars, scores, strict=True):
        assert naive.check_cigar(*one, cigar, costs.triple) == score


def random_letters(random, count):
    return LETTERS[random.integers(0, 4, count)].tobytes()


def noisy(random, pattern, error):
    """The pattern with a share of its letters changed, left out or with another before them."""
    text = bytearray()
    for letter in pattern:
        if random.random() >= error:
            text.append(letter)
        else:
            text += random_letters(random, random.integers(0, 3))
    return bytes(text)


def noisy_pairs(count, length, errors, seed):
    random = np.random.default_rng(seed)
    patterns = [random_letters(random, random.integers(length // 2, length + 1)) for _ in range(count)]
    return [(p, noisy(random, p, errors[i % len(errors)])) for i, p in enumerate(patterns)]


@settings(deadline=None, max_examples=40)
@given(pairs=st.lists(pair(), min_size=1, max_size=40), costs=st.sampled_from(COSTS))
def test_ragged_batches(pairs, costs):
    check(pairs, costs)


@pytest.mark.parametrize("rate", [0.001, 0.3, 4])
@pytest.mark.parametrize("count", [1, 16, 70])
def test_every_width_of_lanes_and_bands(vector, monkeypatch, count, rate):
    """Few pairs take wide lanes, many narrow ones; costs foretold too low or too high make bands of 1 to many words."""
    foretell(monkeypatch, rate)
    check(noisy_pairs(count, 150, [0, 0.05, 0.2, 0.6], count), USUAL)


@pytest.mark.parametrize("outs", [range(10, 70), (14, 16, 18), (30, 32, 34, 62, 64, 66)])
def test_what_is_just_past_a_band_is_not_proven(vector, monkeypatch, outs):
    """Many pairs take narrow lanes, few wide ones."""
    foretell(monkeypatch, 0.001)
    check([one for less in (0, 1, 2) for one in past_bands.pairs_around(outs, less)], Edit())


@pytest.mark.parametrize("band", [2, 4, 8, 32])
def test_all_steps_at_the_border_are_told(band):
    """And no further one: two antidiagonals each, behind the first one that is known, with cells of row or column 0."""
    told = 0
    for m, n in np.ndindex(20, 20):
        if abs(n - m) >= band:
            continue
        a = bit_groups.lowest_diagonal(m, n, band)
        antidiagonals = [
            t for t in range((a & 1) + 1, band) if any(abs(k) >= t for k in range(-a + (t + a) % 2, band - a, 2))
        ]
        expected = max(((t - (a & 1) + 1) // 2 for t in antidiagonals), default=0)
        assert bit_groups.border_steps(m, n, band) == expected
        told += 1
    assert told > 30


def test_all_kernels_were_made(vector, monkeypatch):
    """The batches of this file reach lanes of 16, 32 and 64 bits, with one word and with several."""
    for rate, count in ((0.001, 70), (8, 70), (0.5, 1), (8, 1)):
        foretell(monkeypatch, rate)
        check(noisy_pairs(count, 200, [0.02], 1), USUAL)
    monkeypatch.undo()
    made = affine_bits._functions((2, 3, 1), vector)
    assert made[[0, 1, 4, 5]].all()


@pytest.mark.parametrize("costs", COSTS, ids=str)
def test_edges(costs):
    edges = [
        (b"", b""),
        (b"A", b""),
        (b"", b"ACGT" * 30),
        (b"A", b"A"),
        (b"A", b"C"),
        (b"AC", b"G"),
        (b"NNNN", b"NANN"),
        (b"acgt", b"ACGT"),
        (b"\x00\x00\x00", b"\x00\xff\x00"),
        (b"A" * 300, b"C" * 300),
        (b"A" * 150, b"A"),
        (b"A" * 130, b"A" * 190),
        (b"ACGT" * 40, b"CGTA" * 40),
    ]
    for one in edges:
        check([one, (b"ACGT", b"AGT"), one[::-1]], costs)
    check(edges, costs)


def test_many_pairs_without_letters_beside_one_with_some():
    many = [one for n in range(1, 30) for one in ((b"", b"A" * n), (b"A" * n, b""))]
    check([*many, (b"ACGT", b"AGT")], USUAL)


@pytest.mark.parametrize("length", [1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129])
def test_word_boundaries(length):
    same = b"ACGGTCAT" * 20
    other = same[: length - 1] + b"T"
    check([(same[:length], same[:length]), (same[:length], other), (same[:length], same[: length + 1])] * 3, USUAL)


@pytest.mark.parametrize("gap", [15, 31, 33, 63, 65, 100, 1000])
def test_bands_widen_for_long_gaps(gap):
    """A gap leaves a narrow band, one back closes it; in a batch that tells of none."""
    random = np.random.default_rng(gap)
    a, b, c = (random_letters(random, n) for n in (150, 150, gap))
    pairs = [(a + b, a + b)] * 20 + [(a + b, a + c + b), (a + c + b, a + b), (a + c + b, a + b + c)]
    check(pairs, USUAL)


@pytest.mark.parametrize("error", [0, 0.01, 0.1, 0.4, 1])
@pytest.mark.parametrize("length", [700, 3000])
def test_long_pairs_agree_with_wavefronts(length, error):
    pairs = noisy_pairs(6, length, [error], 7)
    pairs.append((pairs[0][0], pairs[1][0]))  # unrelated
    check(pairs, USUAL, align_pairs(pairs, USUAL, "score", kernel=affine_wfa)[0])


@pytest.mark.parametrize("costs", [USUAL, Edit()], ids=str)
def test_long_pairs_are_not_counted_in_the_narrow_lanes_of_short_ones(costs):
    """Their bands are alike, but 16 bits do not count 66,000 letters."""
    random, pairs = np.random.default_rng(66), []
    for at in range(72):
        pattern = random_letters(random, 66_000 if at % 6 == 0 else 5000)
        text = bytearray(pattern)
        for place in range(8000, len(text), 16_000):
            text[place] = {65: 67, 67: 71, 71: 84, 84: 65}[text[place]]
        pairs.append((pattern, bytes(text)))
    check(pairs, costs, [(4 if costs is USUAL else 1) * (4 if len(one) > 5000 else 0) for one, _ in pairs])


def test_long_ways_back_are_computed_twice(vector):
    """Pairs whose codes do not fit at once keep states instead, and need no more memory than those."""
    pairs = noisy_pairs(3, 3000, [0.15], 5)
    expected = align_pairs(pairs, USUAL, "score", kernel=affine_wfa)[0]
    scores, status, cigars = align_pairs(pairs, USUAL, budget=3 * 2**20)
    assert (scores, status) == (expected, [OK] * 3)
    for one, cigar, score in zip(pairs, cigars, scores, strict=True):
        assert naive.check_cigar(*one, cigar, USUAL.triple) == score


@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_what_fits_nowhere_is_refused(scope):
    long_pair = (b"A" * 3000, b"C" * 3000)
    scores, status, _ = align_pairs([(b"AC", b"AG"), long_pair, (b"AC", b"AG")], USUAL, scope, 20_000)
    assert (scores, status) == ([4, NO_SCORE, 4], [OK, OUT_OF_MEMORY, OK])


@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_a_group_takes_its_memory_in_bytes_or_leaves_its_pair(scope):
    """A clean pair that is foretold to be clean: one word of 16 bits."""
    batch, left = PairBatch.from_strings(["ACGT" * 25], ["ACGT" * 25]), []

    def rest(pairs, *arguments):
        left.append(arguments[-1])
        return affine_wfa.align_range(pairs, *arguments[:-1], PLENTY)

    codes = bit_groups.start_codes(*USUAL.triple), bit_lanes.codes_kept(make_cell(*USUAL.triple))
    group = 1, 16, affine_bits.vector_bits(), codes[0].shape[1], 2 * len(codes[1])
    needed = 2 * bit_run.memory_units(bit_run.group_layout(group, 100, scope == "cigar"))
    for budget in (needed - 1, needed):
        clean, kernel = affine_bits.estimate_of(USUAL, 0.0), SimpleNamespace(align_range=rest)
        found = affine_bits.align_range(batch, USUAL, scope, 0, 1, budget, estimate=clean, rest=kernel)
        assert (found[0].tolist(), found[1].tolist()) == ([0], [OK])
    assert left == [needed - 1]


@settings(deadline=None, max_examples=20)
@given(one=pair(), budget=st.integers(0, 100_000))
def test_any_budget_gives_the_answer_or_a_refusal(one, budget):
    scores, status, cigars = align_pairs([one], USUAL, budget=budget)
    if status == [OK]:
        assert scores == [naive.affine_score(*one, *USUAL.triple)]
        assert naive.check_cigar(*one, cigars[0], USUAL.triple) == scores[0]
    else:
        assert (scores, status, cigars) == ([NO_SCORE], [OUT_OF_MEMORY], [""])


def test_pairs_with_other_letters_keep_their_place():
    pairs = noisy_pairs(30, 150, [0.05], 3)
    pairs[4] = (b"ACGTNNNACGT" * 9, b"ACGTNANACGT" * 9)
    pairs[17] = (pairs[17][0].lower(), pairs[17][1])
    pairs[29] = (b"", b"N")
    check(pairs, USUAL)


def test_one_other_letter_is_seen_wherever_it_stands():
    """In two planes an N is a G."""
    same = b"G" * 70
    odd = [same[:at] + b"N" + same[at + 1 :] for at in range(70)]
    check([(one, same) for one in odd] + [(same, one) for one in odd], USUAL)


def test_many_gaps_that_cost_less_than_mismatches_have_room_in_their_cigars():
    random = np.random.default_rng(8)
    patterns = [random_letters(random, 150) for _ in range(20)]
    check([(p, b"".join(p[at + 1 : at + 5] for at in range(0, 150, 5))) for p in patterns], Affine(2, 0, 1))


def test_sub_ranges_and_offsets_that_do_not_begin_at_0():
    pairs = noisy_pairs(40, 150, [0.1], 9)
    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    whole = affine_bits.align_range(batch, USUAL, "score", 0, 40, PLENTY)[0]
    assert affine_bits.align_range(batch, USUAL, "score", 7, 31, PLENTY)[0].tolist() == whole[7:31].tolist()
    assert affine_bits.align_range(batch[7:31], USUAL, "score", 2, 5, PLENTY)[0].tolist() == whole[9:12].tolist()
    assert affine_bits.align_range(batch, USUAL, "cigar", 3, 3, PLENTY)[0].tolist() == []


def test_the_dispatcher_changes_no_result():
    """A batch for bit planes in which wavefronts are given some pairs, and what is too small or too dear for them."""
    for pairs, costs in (
        (noisy_pairs(50, 150, [0, 0.1], 1) + noisy_pairs(2, 2000, [0.001], 2), USUAL),
        (noisy_pairs(2, 150, [0.1], 1), USUAL),
        (noisy_pairs(50, 150, [0.1], 1), Affine(97, 243, 13)),
    ):
        expected = align_pairs(pairs, costs, kernel=affine_wfa)
        batch = PairBatch.from_strings(*zip(*pairs, strict=True))
        for scope in ("score", "cigar"):
            assert align_pairs(pairs, costs, kernel=affine.choose(batch, costs, scope))[:2] == expected[:2]


def test_threads_compile_and_align_at_once():
    """Penalties of their own: nothing is compiled when the threads begin."""
    pairs = noisy_pairs(60, 150, [0.1], 1)
    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    costs = Affine(2, 1, 1)
    expected = [naive.affine_score(*one, *costs.triple) for one in pairs]
    results = []

    def work():
        results.append(align(batch, costs, algorithm="bits", device="cpu", threads=1).scores.tolist())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 3
