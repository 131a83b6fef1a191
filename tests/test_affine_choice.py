"""Which CPU kernel a batch goes to under gap-affine penalties; whichever it is, the answers are the judge's."""

import numpy as np
import pytest

from simulators import simulate
from tests import naive
from wfa_kernels import Affine, PairBatch, align
from wfa_kernels.cpu import affine, affine_wfa
from wfa_kernels.cpu.backtrace import read_only_arrays

USUAL = Affine(4, 6, 2)


def picks_wavefronts(pairs, scope, penalties=USUAL):
    return affine.choose(pairs, penalties, scope) is affine_wfa


@pytest.mark.parametrize("error", [0, 0.02, 0.05, 0.1, 0.2])
def test_the_error_rate_is_told_from_words(error):
    pairs = simulate("uniform", 200, seed=3, length=400, error=error)
    assert affine.error_rate(*read_only_arrays(pairs)) == pytest.approx(error, rel=0.5, abs=0.003)


@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_clean_long_reads_go_to_wavefronts_and_noisy_ones_to_bit_planes(scope):
    assert picks_wavefronts(simulate("uniform", 50, seed=1, length=5000, error=0.002), scope)
    for length, error in ((150, 0.05), (1000, 0.02), (2000, 0.1)):
        assert not picks_wavefronts(simulate("uniform", 100, seed=1, length=length, error=error), scope)


def test_what_lanes_or_gates_do_not_suit_goes_to_wavefronts():
    few, noisy = (simulate("uniform", pairs, seed=1, length=500, error=0.1) for pairs in (3, 100))
    assert picks_wavefronts(few, "cigar") and not picks_wavefronts(noisy, "cigar")
    assert picks_wavefronts(noisy, "cigar", Affine(97, 243, 13))


def test_any_batch_has_a_choice_and_the_judges_scores():
    random = np.random.default_rng(4)
    words = [bytes(random.choice(list(b"ACGTN"), length)) for length in random.integers(0, 90, 120)]
    pairs = list(zip(words[::2], words[1::2], strict=True))
    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    expected = [naive.affine_score(pattern, text, *USUAL.triple) for pattern, text in pairs]
    for scope in ("score", "cigar"):
        assert align(batch, USUAL, scope, device="cpu", threads=2).scores.tolist() == expected
    nothing = PairBatch.from_strings([b""] * 20 + [b"A" * 4000], [b""] * 21)
    assert align(nothing, USUAL, device="cpu").scores.tolist() == [0] * 20 + [8006]
