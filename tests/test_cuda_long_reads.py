"""The fast design's way with long reads: in the simulator who answers which pair, and on a GPU the CPU's answers."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests import cuda_simulator, gpu_cells, naive
from tests.test_cuda_affine import check
from tests.test_cuda_edit import RAGGED, mismatches
from wfa_kernels import Affine, Edit
from wfa_kernels.cuda import aligner, device, kept_streams, long_reads
from wfa_kernels.cuda.affine_design import AffineDesign
from wfa_kernels.cuda.affine_wfa import POOL
from wfa_kernels.cuda.levels import Levels
from wfa_kernels.cuda.long_reads import FEW, MOST_SCORE, LongReads, most_score
from wfa_kernels.designs import PaperDesign

USUAL = (2, 3, 1)
WAVEFRONTS = "wavefronts"


def longest(pairs):
    return max(len(sequence) for pair in pairs for sequence in pair)


def answered_by_wavefronts(pairs, answer, penalties):
    """What they answered, and what costs the pairs have that they did not."""
    costs = sorted(naive.affine_score(*pair, *penalties) for pair in pairs)
    found = sorted(answer["answered"][WAVEFRONTS])
    assert sorted(score for scores in answer["answered"].values() for score in scores) == costs
    return found, costs[len(found) :]


@pytest.mark.parametrize(
    ("scope", "penalties"),
    [("cigar", USUAL), pytest.param("score", (4, 6, 2), marks=pytest.mark.slow)],
)
def test_wavefronts_answer_up_to_their_score_and_strips_the_others(scope, penalties):
    """All pairs up to the score, 13 without the unit: the reach that it gives lets a few dearer ones through."""
    pairs = [*RAGGED[:9], mismatches(2, 40), mismatches(20, 40), (b"A" * 30, b"A"), (b"", b""), (b"ACGT" * 9, b"")]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), scope, "fast", penalties=penalties, reads=(5, 1, 1))
    check(pairs, answer, penalties)
    near, far = answered_by_wavefronts(pairs, answer, penalties)
    assert 8 <= len(near) < len(pairs) and min(far) > longest(pairs) // 5 * penalties[2]


def test_few_pairs_have_wavefronts_of_higher_scores():
    pairs = [mismatches(count, 40) for count in (1, 5, 9, 20)]
    for few, most in ((4, 20), (3, 2)):
        answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", "fast", penalties=USUAL, reads=(20, 2, few))
        check(pairs, answer, USUAL)
        near, far = answered_by_wavefronts(pairs, answer, USUAL)
        assert max(near) <= most < min(far)


@pytest.mark.slow
def test_small_batches_in_any_memory_and_letters_without_a_code():
    pairs = [*RAGGED[:9], (b"ACNT", b"ACGT"), mismatches(20, 40), mismatches(1, 60)]
    for source in ("packed", "pinned"):
        answer = cuda_simulator.align(
            *zip(*pairs, strict=True), "cigar", "fast", source, 64, penalties=USUAL, reads=(5, 5, 1)
        )
        assert len(answer["batches"]) > 1
        check(pairs, answer, USUAL, rescued=[9])


@pytest.mark.slow
def test_sequences_too_long_for_16_bits_have_their_own_way():
    """Here from 48 letters on; most pairs, or few of them."""
    long = [(b"ACGT" * 20, b"ACT" * 20), (b"A", b"C" * 70), mismatches(50, 60)]
    for pairs in (long, [*RAGGED[:6], *long]):
        answer = cuda_simulator.align(
            *zip(*pairs, strict=True), "cigar", "fast", penalties=USUAL, longest=48, reads=(5, 5, 1)
        )
        check(pairs, answer, USUAL)


def test_without_memory_for_one_pair_all_go_on_to_the_strips():
    wavefronts = LongReads(USUAL).many
    blocks, share, score = wavefronts.up_to(300, 1, 5000, 10_000, True)
    assert blocks == 1 and share.reach < 0 and score == 0
    words = wavefronts.words_up_to(300, 5000, 10_000, True)
    for part, least in ((1, 500), (20, 132), (200, 132)):
        blocks, share, score = wavefronts.up_to(300, words // part, 5000, 10_000, True)
        assert blocks >= least and share.reach == score - 3 and POOL + blocks * share.part <= 2 * (words // part)
        assert (score == 300) == (part == 1), "with little memory up to a lower score"
    share = wavefronts.up_to(300, words, 5000, 10_000, True)[1]
    assert wavefronts.up_to(300, 100 * share.part, 5000, 10_000, True)[0] == 199, "not 200: the pool takes some"


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("pairs", [1, FEW, FEW + 1, 100_000])
def test_its_memory_is_enough_for_the_wavefronts_and_for_the_strips(pairs, traced):
    design, longest = LongReads(USUAL), 20_000
    words = design.scratch_words(pairs, longest, traced)
    wavefronts, score = design.wavefronts(pairs, longest)
    assert wavefronts.up_to(score, words, pairs, longest, traced)[0] >= min(pairs, 132 * (1 if pairs <= FEW else 8))
    assert words >= design.strips.scratch_words(pairs, longest, traced)


def likely(design, cost, pairs=5000):
    """Where pairs of 10,000 letters begin when the strips have counted some of that cost."""
    design.strips.rate = max(1, (cost - 64) * 65536 // 20_000)
    return design.likely_level(10_000, pairs)


def test_the_rate_tells_whether_wavefronts_are_tried():
    design = LongReads(USUAL)
    assert most_score(5000, 10_000) == 312 and most_score(FEW, 10_000) == 1000 and most_score(1, 60_000) == MOST_SCORE
    assert design.likely_level(10_000, 5000) is None and design.first_likely_level(10_000) == 0
    assert likely(design, 300) == 0
    assert likely(design, 900) > 0 and design.first_likely_level(10_000) == 0, "it may be enough for few pairs"
    assert likely(design, 900, pairs=FEW) == 0
    assert likely(design, 3000, pairs=FEW) > 0 and design.first_likely_level(10_000) == 1


def begun(pairs=1000):
    """(Levels, a batch that it lets begin with the wavefronts)."""
    design = LongReads(USUAL)
    levels, batch = Levels(design, len(design.NAMES), 10_000), SimpleNamespace(longest=10_000, pairs=pairs)
    levels.begin(10_000, False, False)
    levels.choose(batch)
    assert batch.first_level == 0
    return levels, batch


def left_at(levels, level, count):
    """Tallies where so many pairs went on from the wavefronts to a level."""
    return [count if at == level else 0 for at in range(levels.count + 1)]


def test_what_fails_on_the_wavefronts_begins_with_the_strips():
    """More than three in ten; fewer leave them in their place, whatever further strips a few of them need."""
    levels, batch = begun()
    levels.learn(batch, left_at(levels, 3, 250))
    levels.learn(batch, [0, 0, 0, 250, 100, *[0] * (levels.count - 4)])
    assert levels.first == 0
    levels.learn(batch, left_at(levels, 3, 350))
    assert levels.first == 3


def after_strips(by_length, **batch):
    """Levels.first behind a batch that its design let begin with the wavefronts, where others began with strips."""
    levels, _ = begun()
    levels.first = 5
    levels.begin(10_000, False, by_length)
    levels.choose(SimpleNamespace(longest=10_000, pairs=1000))
    told = SimpleNamespace(longest=10_000, first_level=0, last_level=5, likely=True, trial=False, **batch)
    levels.learn(told, left_at(levels, 5, 0))
    return levels.first


@pytest.mark.parametrize("by_length", [False, True])
def test_a_full_batch_that_wavefronts_did_brings_them_back(by_length):
    assert after_strips(by_length, pairs=600) == 0
    assert after_strips(by_length, pairs=200) == 5, "few pairs have wavefronts of higher scores"


@pytest.mark.parametrize("first, left, told", [(0, 300, False), (0, 301, True), (3, 1, True)])
def test_the_few_that_the_wavefronts_leave_tell_no_rate(first, left, told):
    design = LongReads(USUAL)
    numbers = np.bincount([400] * left, minlength=design.LEARNED)
    design.learn(numbers, SimpleNamespace(first_level=first, pairs=1000))
    assert (design.strips.rate > 0) == told


def test_what_the_wavefronts_leave_skips_the_strips_that_are_not_certain_of_more(monkeypatch):
    launched = []
    levels, batch = begun(FEW)
    design = LongReads(USUAL)
    batch.scratch = SimpleNamespace(size=1 << 30)
    monkeypatch.setattr(design.few, "launch_blocks", lambda blocks, share, queue, after, *_: launched.append(after))
    design.launch(0, -1, 1, batch, False)
    assert design.NAMES[launched[-1]] == "strips, reach 16", "of 1024 diagonals, and 1000 are not left"
    batch.last_level = 1
    design.launch(0, -1, 1, batch, False)
    batch.last_level = 0
    design.launch(0, -1, levels.count, batch, False)
    assert launched[1:] == [1, levels.count]


def test_levels_behind_an_empty_one_are_still_needed():
    levels, batch = begun()
    levels.learn(batch, left_at(levels, 3, 10))
    levels.choose(batch)
    assert batch.last_level == 3


def test_pairs_that_the_wavefronts_do_are_not_put_in_order(monkeypatch):
    way = kept_streams.Way(Affine(*USUAL), "fast", True, None, None).of_long_reads
    assert not aligner._as_they_are(way), "it is not known yet what they need"
    for first, as_they_are in ((0, True), (1, False)):
        stream = SimpleNamespace(design=way.kernels(), levels=SimpleNamespace(first=first))
        monkeypatch.setitem(kept_streams.streams, way, stream)
        assert aligner._as_they_are(way) == as_they_are


def test_it_serves_long_reads_under_gap_affine_penalties_that_both_kernels_have():
    def kernels(penalties, design="fast", long=False):
        return kept_streams.Way(penalties, design, True, None, None, long).of_long_reads.kernels()

    assert isinstance(kernels(Affine(4, 6, 2)), LongReads)
    assert not isinstance(kernels(Affine(4, 6, 2), long=True), LongReads)
    for penalties, design in ((Edit(), "fast"), (Affine(2, 3, 1), PaperDesign()), (Affine(2**20, 3, 1), "fast")):
        assert not isinstance(kernels(penalties, design), LongReads)
    assert long_reads.serves(USUAL) and not long_reads.serves((600, 1, 1))
    assert LongReads((40_000, 60_000, 20_000)).longest(None) <= AffineDesign((40_000, 60_000, 20_000)).longest(None)


@pytest.mark.gpu
def test_gpu_does_a_pair_of_more_than_16_bits_among_others():
    """The stream for the others has taken all of the memory."""
    assert device.available() and not device.simulated(), device.describe()
    parts = gpu_cells.uniform(200, 10_000, 0.1), gpu_cells.uniform(1, 70_000, 0.1)
    for memory in (None, 2 << 30):
        gpu_cells.check(gpu_cells.joined(parts), Affine(2, 3, 1), ("pageable",), device_memory=memory)


@pytest.mark.gpu
@pytest.mark.parametrize("error", [0.001, 0.004, 0.01, 0.05])
@pytest.mark.parametrize("count", [100, 3000])
def test_gpu_agrees_with_the_cpu(count, error):
    """Within the wavefronts' scores, around them and beyond."""
    assert device.available() and not device.simulated(), device.describe()
    gpu_cells.check(gpu_cells.uniform(count, 10_000, error), Affine(2, 3, 1), ("pageable", "packed"))
    gpu_cells.check(gpu_cells.ragged(count, 5000, seed=9), Affine(4, 6, 2))
