"""Heuristics: every kernel's scores are those of the plain reference, whose CIGARs cost just that, never below naive's.
Off by default; what is not allowed is one clear message."""

import random

import numpy as np
import pytest
from click.testing import CliRunner

from tests import cuda_simulator, gpu_cells, naive
from wfa_kernels import (
    Affine,
    AlignError,
    Edit,
    HeuristicError,
    PairBatch,
    StaticBand,
    WavefrontReduction,
    align,
    heuristics,
)
from wfa_kernels.__main__ import cli
from wfa_kernels.cuda import device
from wfa_kernels.cuda.affine_wfa import chip_bytes
from wfa_kernels.cuda.affine_wfa_design import AffineWfa
from wfa_kernels.cuda.affine_wfa_ranges import shared_words
from wfa_kernels.designs import PaperDesign
from wfa_kernels.penalties import MAX_SCORE
from wfa_kernels.reference import affine_wfa as reference

USUAL = Affine(4, 6, 2)
#: The usual ones, a common divisor, linear gaps, a mismatch dearer than two gaps, and a gap past 256, the band's.
PENALTIES = [Affine(2, 3, 1), USUAL, Affine(1, 0, 1), Affine(9, 1, 2), Affine(97, 244, 13)]
NARROW = [StaticBand(0), StaticBand(2), WavefrontReduction(1, 0), WavefrontReduction(3, 4)]
WIDE = [StaticBand(2**30), WavefrontReduction(2**30, 0), WavefrontReduction(1, 2**30)]


def noisy_pairs(count, longest, seed):
    """Patterns, and texts in which a letter may have become nothing, one or several letters."""
    draw, pairs = random.Random(seed), [(b"", b""), (b"A", b""), (b"", b"AC")]
    for _ in range(count):
        pattern = bytes(draw.choices(b"ACGT", k=draw.randint(1, longest)))
        text = b"".join(
            bytes([letter]) if draw.random() < 0.7 else bytes(draw.choices(b"ACGT", k=draw.choice([0, 1, 2, 6])))
            for letter in pattern
        )
        pairs.append((pattern, text))
    return pairs


def check(pairs, penalties, heuristic, scores, cigars):
    """Against the reference and naive; how many pairs cost more than the optimum."""
    above = 0
    for at, (pattern, text) in enumerate(pairs):
        expected, cigar = reference.align_pair(pattern, text, penalties, "cigar", heuristic)
        optimum = naive.affine_score(pattern, text, *penalties.triple)
        assert scores[at] == expected >= optimum, (pattern, text)
        for found in (cigar, cigars[at] if cigars else cigar):
            assert naive.check_cigar(pattern, text, found, penalties.triple) == expected
        above += expected > optimum
    return above


@pytest.mark.parametrize("penalties", PENALTIES, ids=str)
@pytest.mark.parametrize("heuristic", [*NARROW, *WIDE], ids=str)
def test_cpu_agrees_with_the_reference(heuristic, penalties):
    pairs = noisy_pairs(40, 60, seed=1)
    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    found = align(batch, penalties, "cigar", device="cpu", threads=1, heuristic=heuristic)
    assert not found.refused()
    above = check(pairs, penalties, heuristic, found.scores, found.cigar_strings())
    if heuristic in WIDE:
        assert above == 0
    alone = align(batch, penalties, device="cpu", threads=1, heuristic=heuristic)
    assert alone.scores.tolist() == found.scores.tolist()


def test_narrow_heuristics_miss_optima_and_the_default_does_not():
    pairs = noisy_pairs(40, 60, seed=1)
    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    for heuristic in (StaticBand(0), WavefrontReduction(1, 0)):
        found = align(batch, USUAL, "cigar", device="cpu", heuristic=heuristic)
        assert check(pairs, USUAL, heuristic, found.scores, found.cigar_strings()) > 3
    exact = align(batch, USUAL, device="cpu").scores
    assert [naive.affine_score(*pair, *USUAL.triple) for pair in pairs] == exact.tolist()


def test_a_reduction_begins_with_exactly_its_least_length():
    pairs = noisy_pairs(60, 40, seed=3)
    batch, found = PairBatch.from_strings(*zip(*pairs, strict=True)), []
    for least in (5, 6, 7, 8):
        heuristic = WavefrontReduction(least, 0)
        found.append(align(batch, USUAL, device="cpu", threads=1, heuristic=heuristic).scores.tolist())
        check(pairs, USUAL, heuristic, found[-1], None)
    assert found[0] != found[1] and found[2] != found[3]


def test_what_is_reduced_keeps_to_no_bound_of_its_score():
    """A diagonal that the cost of mismatches and one gap rules out still tells which ones are kept."""
    pairs = [
        (b"CACCGACCTAGG", b"CACATCTCCACCCTAGGC"),
        (b"GACTTAGCAT", b"CGTTTGACTTAGCATCTGAT"),
        (b"ACACATGCCGC", b"AGTTAAGACATGCCGGTAGC"),
    ]
    costs, heuristic = Affine(1, 9, 3), WavefrontReduction(3, 2)
    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    found = align(batch, costs, "cigar", device="cpu", threads=1, heuristic=heuristic)
    check(pairs, costs, heuristic, found.scores, found.cigar_strings())


def test_a_band_around_unlike_lengths_that_is_wide_enough_for_a_bound():
    """Rows of more than 1024 diagonals; the search for an upper bound keeps to the band, too."""
    draw = random.Random(2)
    pattern = bytes(draw.choices(b"ACGT", k=2600))
    pairs = [(pattern, pattern[:300] + pattern[-300:]), (pattern[1300:], pattern)]
    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    for heuristic in (StaticBand(0), StaticBand(5)):
        scores = align(batch, USUAL, device="cpu", heuristic=heuristic).scores
        assert scores.tolist() == [6 + 2000 * 2, 6 + 1300 * 2]


@pytest.mark.parametrize(
    ("heuristic", "penalties", "scope", "design"),
    [
        (("StaticBand", 0), (9, 1, 2), "score", "paper"),
        pytest.param(("StaticBand", 2), (2, 3, 1), "cigar", {"central_diagonals": 3}, marks=pytest.mark.slow),
        pytest.param(("WavefrontReduction", 1, 0), (2, 3, 1), "cigar", "paper", marks=pytest.mark.slow),
        pytest.param(
            ("WavefrontReduction", 2, 1), (4, 6, 2), "score", {"central_diagonals": 3}, marks=pytest.mark.slow
        ),
    ],
)
def test_simulator_agrees_with_the_reference(heuristic, penalties, scope, design):
    pairs = noisy_pairs(9, 24, seed=8)
    answer = cuda_simulator.align(*zip(*pairs, strict=True), scope, design, penalties=penalties, heuristic=heuristic)
    assert answer["rescued"] == []
    name, *values = heuristic
    above = check(pairs, Affine(*penalties), getattr(heuristics, name)(*values), answer["scores"], answer["cigars"])
    assert above or heuristic == ("StaticBand", 2)


@pytest.mark.parametrize("heuristic", [StaticBand(32), WavefrontReduction()], ids=str)
@pytest.mark.parametrize("words", [1, 1000, 1 << 20])
def test_launches_keep_within_their_memory(words, heuristic):
    design = AffineWfa((169, 168, 1), PaperDesign(central_diagonals=10_000), heuristic)
    assert len(design.NAMES) == 3
    for level in range(3):
        blocks, share = design.plan(level, words, 5000, 1000, True)
        assert blocks > 0 and share.part * blocks <= 2 * words
        on_chip = chip_bytes(design.triple, share.central, True, heuristic) + 4 * shared_words(170, heuristic)
        assert on_chip <= device.most_shared_bytes()


def test_what_is_not_allowed_is_told():
    pairs = PairBatch.from_strings(["GATTACA"], ["GAATA"])
    for arguments, told in (
        ((Edit(), {}), "for gap-affine penalties"),
        ((USUAL, {"algorithm": "bits"}), "'bits' has no heuristics; allowed: auto, wfa"),
        ((USUAL, {"device": "cuda"}), "design 'fast' has no heuristics; on a GPU design 'paper' has"),
        ((USUAL, {"heuristic": "band"}), "unknown heuristic 'band'; allowed: None, StaticBand"),
        ((Affine(2**29, 6, 2), {}), "can cost up to 3758096384 .* with a heuristic"),
    ):
        with pytest.raises(AlignError, match=told):
            align(pairs, arguments[0], **{"heuristic": StaticBand(9), "device": "cpu"} | arguments[1])
    for make, told in (
        (lambda: StaticBand(-1), "width must be an integer from 0"),
        (lambda: StaticBand(1.5), "width must be an integer from 0"),
        (lambda: WavefrontReduction(0, 5), "min_length must be an integer from 1"),
        (lambda: WavefrontReduction(True, 5), "min_length must be an integer from 1"),
        (lambda: WavefrontReduction(5, 2**31), "max_distance must be an integer from 0"),
    ):
        with pytest.raises(HeuristicError, match=told):
            make()


@pytest.mark.parametrize(
    ("costs", "pattern", "text", "cost"),
    [
        (Affine(2**31 - 1, 1, 1), "A", "C", 2**31 - 1),
        (Affine(1, 2**30 - 1, 2**30), "A", "C", 2**31 - 1),
        (Affine(1, 2**30, 2**30), "A", "C", 2**31),
        (Affine(2**30, 1, 1), "AC", "A", 2**31),
        (Affine(2**30, 1, 1), "A", "AC", 2**31),
    ],
)
def test_a_pair_can_cost_the_dearer_of_both_errors_for_each_letter_of_the_longer_sequence(costs, pattern, text, cost):
    pairs = PairBatch.from_strings(["", pattern], ["", text])
    if cost <= MAX_SCORE:
        heuristics.check(StaticBand(1), pairs, costs, "auto", fast_gpu=False)
    else:
        with pytest.raises(HeuristicError, match=f"can cost up to {cost} "):
            heuristics.check(StaticBand(1), pairs, costs, "wfa", fast_gpu=False)


def test_no_pairs_cost_nothing():
    none = PairBatch.from_strings([], [])
    assert len(align(none, Affine(2**31 - 1, 1, 1), device="cpu", heuristic=StaticBand(1))) == 0


def test_values_are_plain_integers_up_to_their_most():
    for width in (np.int64(2**30), 2**30):
        assert StaticBand(width) == StaticBand(2**30) and type(StaticBand(width).width) is int
    assert str(WavefrontReduction(2**30, np.uint8(0))) == f"reduction_{2**30}_0"
    for make in (StaticBand, WavefrontReduction):
        with pytest.raises(HeuristicError, match=f"to {2**30}, not {2**30 + 1}"):
            make(2**30 + 1)


def test_command_line(tmp_path):
    path = tmp_path / "pairs.seq"
    path.write_text(">ACGTACGTTT\n<GTACGTTTAC\n")
    arguments = ["align", str(path), "--affine", "4,6,2", "--quiet"]
    scores = [
        CliRunner().invoke(cli, [*arguments, *more]).stdout.splitlines()[1].split("\t")[1]
        for more in ([], ["--static-band", "0"], ["--wavefront-reduction", "1,99"])
    ]
    assert scores == ["20", "36", "20"]
    both = CliRunner().invoke(cli, [*arguments, "--static-band", "1", "--wavefront-reduction", "1,9"])
    assert both.exit_code == 2 and "give one of --static-band and --wavefront-reduction" in both.output
    odd = CliRunner().invoke(cli, [*arguments, "--wavefront-reduction", "9"])
    assert odd.exit_code == 2 and "two integers such as 10,50, not '9'" in odd.output


@pytest.mark.gpu
@pytest.mark.parametrize("heuristic", [StaticBand(0), StaticBand(32), WavefrontReduction(3, 4), WavefrontReduction()])
def test_gpu_agrees_with_the_cpu(heuristic):
    for batch in (gpu_cells.ragged(20_000, 600, seed=5), gpu_cells.uniform(500, 10_000, 0.1)):
        for costs in (Affine(2, 3, 1), USUAL, Affine(9, 1, 2)):
            gpu_cells.check(batch, costs, ("pinned",), "paper", heuristic)
