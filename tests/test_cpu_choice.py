"""Which CPU kernel a batch goes to; whichever it is, the answers are the judge's."""

import numpy as np
import pytest

from simulators import simulate
from tests import naive
from wfa_kernels import Affine, Edit, PairBatch, align
from wfa_kernels.cigar import format_packed
from wfa_kernels.cpu import affine, affine_bits, affine_wfa, choice, clean, edit, edit_groups
from wfa_kernels.cpu.backtrace import read_only_arrays
from wfa_kernels.cpu.bit_plan import RATE, SEEN

USUAL = Affine(4, 6, 2)


@pytest.fixture(params=[256, 512])
def any_vectors(monkeypatch, request):
    """AVX2 and AVX-512, whatever this processor has: for the choice alone, as it could not run such kernels."""
    monkeypatch.setattr(affine_bits, "vector_bits", lambda: request.param)


def letters(random, alphabet, length):
    return random.choice(np.frombuffer(alphabet, np.uint8), length).tobytes()


def picks_wavefronts(pairs, scope, penalties=USUAL):
    return affine.choose(pairs, penalties, scope).align_range is affine_wfa.align_range


@pytest.mark.parametrize("error", [0, 0.02, 0.05, 0.1, 0.2])
@pytest.mark.parametrize(("count", "length"), [(200, 400), (1, 10_000)])
def test_the_error_rate_is_told_from_words(count, length, error):
    pairs = simulate("uniform", count, seed=3, length=length, error=error)
    assert sum(choice.error_rate(*read_only_arrays(pairs))[:2]) == pytest.approx(error, rel=0.5, abs=0.003)


def test_words_of_a_long_pair_are_looked_for_where_the_last_one_was():
    random = np.random.default_rng(1)
    text = letters(random, b"ACGT", 2000)
    pattern = b"".join(text[at : at + 100] for at in range(0, 2000, 105))  # 95 letters of the text are not in it
    assert choice.error_rate(*read_only_arrays(PairBatch.from_strings([pattern], [text])))[0] < 0.02


@pytest.mark.parametrize(("gap", "at"), [(20, 200), (200, 500), (450, 1500)])
@pytest.mark.parametrize("swapped", [False, True])
def test_one_gap_is_few_errors_behind_which_words_are_found_again(gap, at, swapped):
    """A mapped HiFi read alone went to bit planes, over 300 times as slow as wavefronts there."""
    random = np.random.default_rng(2)
    text = letters(random, b"ACGT", 5000)
    pair = (text[:at] + text[at + gap :], text)[:: -1 if swapped else 1]
    errors, further, _ = choice.error_rate(*read_only_arrays(PairBatch.from_strings(*([one] for one in pair))))
    assert errors < 0.005 and further < 0.005


@pytest.mark.parametrize("longer", [1, 3, 6])
def test_noisy_long_reads_that_drift_are_told_by_their_gaps(longer):
    """A CLR read has a tenth more letters than its place; of a pair alone words were lost for good, and up to 6.8 times
    its errors told."""
    random = np.random.default_rng(3)
    text, places = letters(random, b"ACGT", 6000), np.sort(random.choice(6000, 6000 // (10 * longer), replace=False))
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, 6000], strict=True)]
    pattern = pieces[0] + b"".join(letters(random, b"ACGT", longer) + piece for piece in pieces[1:])
    errors, further, _ = choice.error_rate(*read_only_arrays(PairBatch.from_strings([pattern], [text])))
    assert errors == pytest.approx(0.1 / longer, rel=0.4)
    assert errors + further == pytest.approx(0.1, rel=0.6)


@pytest.mark.usefixtures("any_vectors")
def test_a_batch_is_set_up_for_bit_planes_where_that_pays():
    pairs = simulate("uniform", 64, seed=1, length=1000, error=0.02)
    assert picks_wavefronts(pairs[:2], "score") and not picks_wavefronts(pairs, "score")


@pytest.mark.parametrize(("scope", "error"), [("score", 0.09), ("cigar", 0.15)])
@pytest.mark.usefixtures("any_vectors")
def test_a_large_batch_of_which_some_pairs_are_looked_at_counts_as_a_whole(scope, error):
    pairs = simulate("uniform", 5000, seed=1, length=150, error=error)
    rate, *_ = choice.error_rate(*read_only_arrays(pairs))
    by_wavefronts, by_bits, _ = choice.predicted_ns(pairs, Edit(), rate, 0, scope, edit.TIMES)
    gained = by_wavefronts - by_bits
    assert gained > choice._SET_UP_NS > gained * choice._MEASURED / 5000  # those looked at would not pay for the set-up
    assert edit.choose(pairs, Edit(), scope).align_range is not edit_groups.align_range
    one = choice.predicted_ns(pairs[:250], Edit(), rate, 0, scope, edit.TIMES)[:2]
    assert (by_wavefronts, by_bits) == pytest.approx([20 * part for part in one], rel=0.05)


@pytest.mark.parametrize(("error", "times"), [(0.005, 1), (0.04, 2), (0.3, 1)])
@pytest.mark.usefixtures("any_vectors")
def test_more_letters_are_looked_at_where_the_kernels_are_close(monkeypatch, error, times):
    looked_at, error_rate = [], choice.error_rate
    monkeypatch.setattr(choice, "error_rate", lambda *given: looked_at.append(given[-1]) or error_rate(*given))
    pairs = simulate("uniform", 1000, seed=1, length=300, error=error)
    edit.choose(pairs, Edit(), "score")
    assert len(looked_at) == times and looked_at == sorted(set(looked_at))


@pytest.mark.parametrize(("vector", "error"), [(256, 0.05), (512, 0.08)])
def test_a_noisy_beginning_of_one_long_clean_pair_does_not_mislead(monkeypatch, vector, error):
    """Some mapped HiFi reads alone went to bit planes, twice as slow there."""
    monkeypatch.setattr(affine_bits, "vector_bits", lambda: vector)
    parts = (simulate("uniform", 1, seed=2, length=length, error=e) for length, e in ((3072, error), (17_000, 0.003)))
    pattern, text = map(b"".join, zip(*(part.pair(0) for part in parts), strict=True))
    assert picks_wavefronts(PairBatch.from_strings([pattern], [text]), "score")
    assert not picks_wavefronts(PairBatch.from_strings([pattern[:3072] * 6], [text[:3072] * 6]), "score")


@pytest.mark.usefixtures("any_vectors")
def test_no_sample_of_many_long_pairs_misleads():
    pairs = simulate("uniform", 600, seed=5, length=10_000, error=0.02)
    for start in range(0, 600, 150):  # bit planes are faster by 1.4
        assert edit.choose(pairs[start : start + 150], Edit(), "score").align_range is not edit_groups.align_range


@pytest.mark.parametrize(
    ("length", "error", "wavefronts"), [(150, 0.02, True), (1000, 0.005, True), (300, 0.1, False), (1000, 0.05, False)]
)
@pytest.mark.usefixtures("any_vectors")
def test_edit_distance_of_clean_reads_is_wavefronts_and_of_noisy_ones_bit_planes(length, error, wavefronts):
    pairs = simulate("uniform", 200, seed=1, length=length, error=error)
    for scope in ("score", "cigar"):
        assert (edit.choose(pairs, Edit(), scope).align_range is edit_groups.align_range) == wavefronts


@pytest.mark.usefixtures("any_vectors")
def test_one_noisy_pair_leaves_lanes_empty():
    pairs = simulate("uniform", 64, seed=1, length=4000, error=0.03)
    assert edit.choose(pairs, Edit(), "score") is not edit_groups
    assert edit.choose(pairs[:1], Edit(), "score") is edit_groups


@pytest.mark.parametrize(
    ("longer", "drift", "score"),
    [(0, 0, 150), (10, 0, 160), (10, 0.1, 160), (100, 0, 250), (100, 0.01, 250), (100, 0.1, 172.5), (300, 0.05, 372.5)],
)
def test_letters_by_which_a_sequence_drifts_are_in_the_score_told_and_not_added_to_all_of_it(longer, drift, score):
    """Of CLR reads a tenth is inserted: bands were half as wide again as they had to be. One long gap is not drift."""
    pairs = PairBatch.from_strings(["A" * 1000] * 2, ["A" * (1000 + longer)] * 2)
    beside = choice.predicted_ns(pairs, Edit(), 0.15, drift, "score", edit.TIMES)[2]
    assert longer + 1000 * beside == pytest.approx(score)


def told_beside(pairs):
    return edit.choose(pairs, Edit(), "score").align_range.keywords["estimate"][RATE]


@pytest.mark.usefixtures("any_vectors")
def test_bit_planes_are_told_what_pairs_cost_besides_unlike_lengths_that_are_no_long_gap():
    random = np.random.default_rng(6)
    texts = [letters(random, b"ACGT", 2000) for _ in range(64)]
    drifting = [b"".join(text[at : at + 10] + b"A" for at in range(0, 2000, 10)) for text in texts]
    errors, further, drift = choice.error_rate(*read_only_arrays(PairBatch.from_strings(drifting, texts)))
    assert drift == pytest.approx(0.1, rel=0.3)
    told = 1.15 * (errors + further) - 200 / 2200
    assert told_beside(PairBatch.from_strings(drifting, texts)) == pytest.approx(told, rel=0.1)
    noisy = simulate("uniform", 64, seed=1, length=2000, error=0.1)
    patterns, texts = zip(*(noisy.pair(i) for i in range(64)), strict=True)
    longer = PairBatch.from_strings([pattern + letters(random, b"ACGT", 300) for pattern in patterns], texts)
    assert told_beside(longer) == pytest.approx(told_beside(noisy), rel=0.2)


def test_ranges_of_a_batch_tell_each_other_what_pairs_cost():
    pairs = simulate("uniform", 64, seed=1, length=1000, error=0.1)
    kernel = edit.choose(pairs, Edit(), "score")
    told = kernel.align_range.keywords["estimate"]
    before = told.copy()
    kernel.align_range(pairs, Edit(), "score", 0, 16, 1 << 30)
    assert told[SEEN] == before[SEEN] + 16 and told[RATE] != before[RATE]
    assert edit.choose(pairs, Edit(), "score").align_range.keywords["estimate"].tolist() == before.tolist()


@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_short_clean_reads_are_looked_at_first(scope):
    kernel = affine.choose(simulate("illumina_150", 200, seed=1), USUAL, scope)
    assert kernel.align_range.func is clean.align_range
    assert kernel.align_range.keywords["rest"] is affine_wfa


@pytest.mark.parametrize("scope", ["score", "cigar"])
@pytest.mark.usefixtures("any_vectors")
def test_clean_long_reads_go_to_wavefronts_and_noisy_ones_to_bit_planes(scope):
    assert picks_wavefronts(simulate("uniform", 50, seed=1, length=5000, error=0.002), scope)
    for length, error in ((150, 0.05), (1000, 0.02), (2000, 0.1)):
        assert not picks_wavefronts(simulate("uniform", 100, seed=1, length=length, error=error), scope)


@pytest.mark.usefixtures("any_vectors")
def test_what_lanes_or_gates_do_not_suit_goes_to_wavefronts():
    few, noisy = (simulate("uniform", pairs, seed=1, length=500, error=0.1) for pairs in (1, 100))
    assert picks_wavefronts(few, "cigar") and not picks_wavefronts(noisy, "cigar")
    assert picks_wavefronts(noisy, "cigar", Affine(97, 243, 13))


@pytest.mark.parametrize("costs", [USUAL, Edit()], ids=str)
@pytest.mark.parametrize(("model", "errors"), [("uniform", (0.0, 0.02, 0.1, 0.3)), ("illumina_150", (None,))])
def test_scores_and_cigars_of_reads_are_the_judges(costs, model, errors):
    for error in errors:
        options = {} if error is None else {"length": 150, "error": error}
        pairs = simulate(model, 120, seed=7, **options)
        expected = [naive.affine_score(*pairs.pair(i), *costs.triple) for i in range(len(pairs))]
        assert align(pairs, costs, "score", device="cpu", threads=1).scores.tolist() == expected
        result = align(pairs, costs, "cigar", device="cpu", threads=2)
        assert result.scores.tolist() == expected
        cigars = format_packed(result.cigars, result.cigar_offsets)
        assert [naive.check_cigar(*pairs.pair(i), cigars[i], costs.triple) for i in range(120)] == expected


def test_letters_that_bit_planes_do_not_know_are_left_to_edit_wavefronts():
    random = np.random.default_rng(5)
    patterns = [letters(random, b"ACGT", 300) for _ in range(40)]
    texts = [letters(random, b"ACGTN" if i % 2 else b"ACGT", 300) for i in range(40)]
    batch = PairBatch.from_strings(patterns, texts)
    assert edit.choose(batch, Edit(), "score") is not edit_groups
    expected = [naive.edit_distance(*pair) for pair in zip(patterns, texts, strict=True)]
    assert align(batch, Edit(), device="cpu", threads=1).scores.tolist() == expected


def test_any_batch_has_a_choice_and_the_judges_scores():
    random = np.random.default_rng(4)
    words = [letters(random, b"ACGTN", length) for length in random.integers(0, 90, 120)]
    pairs = list(zip(words[::2], words[1::2], strict=True))
    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    expected = [naive.affine_score(pattern, text, *USUAL.triple) for pattern, text in pairs]
    for scope in ("score", "cigar"):
        assert align(batch, USUAL, scope, device="cpu", threads=2).scores.tolist() == expected
    nothing = PairBatch.from_strings([b""] * 20 + [b"A" * 4000], [b""] * 21)
    assert align(nothing, USUAL, device="cpu").scores.tolist() == [0] * 20 + [8006]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("limit", [35_000, 60_000, 100_000])
def test_edit_alignments_past_the_memory_limit_are_found_in_linear_memory(limit, threads):
    """Backtraces of the long pairs do not fit; the limits have room for one pair of them in linear memory, and two."""
    random = np.random.default_rng(6)
    lengths = [(1500, 1500), (40, 30), (1500, 1400), (1400, 1500), (9, 0)]
    words = [[letters(random, b"ACGT", length) for length in pair] for pair in lengths]
    batch = PairBatch.from_strings(*zip(*words, strict=True))
    call = {"device": "cpu", "threads": threads, "memory_limit": limit}
    assert align(batch, Edit(), "cigar", algorithm="wfa", **call).status.tolist() == [2, 0, 2, 2, 0]
    result = align(batch, Edit(), "cigar", **call)
    expected = [naive.edit_distance(*pair) for pair in words]
    assert not result.refused() and result.scores.tolist() == expected
    cigars = format_packed(result.cigars, result.cigar_offsets)
    assert [naive.check_cigar(*words[i], cigars[i], Edit().triple) for i in range(5)] == expected
