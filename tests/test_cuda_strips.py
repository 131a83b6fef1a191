"""The gap-affine strips of the GPU, compiled for the CPU: many long pairs, and what is left out of them by seeds."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests import gpu_cells, past_bands, strips_on_the_cpu, wandering_pairs
from wfa_kernels import Affine, PairBatch, align
from wfa_kernels.cuda import strips_design, strips_windows
from wfa_kernels.cuda.affine_rates import LETTER_BITS, RATES, TOLERANCE
from wfa_kernels.cuda.affine_seeds import PER_BLOCK, SEED
from wfa_kernels.cuda.packing import MAX_LENGTH, MAX_LONG
from wfa_kernels.cuda.stream import ALL_PAIRS
from wfa_kernels.cuda.strips_design import CHUNK, LONG_STRIPS, STRIPS
from wfa_kernels.result import NO_SCORE

LETTERS = np.frombuffer(b"ACGT", np.uint8)
BLOCK = 32


def mutated(rng, letters, error):
    """With about so many mismatches, insertions and deletions a letter."""
    kinds = rng.choice(4, len(letters), p=[1 - error, error / 3, error / 3, error / 3])
    out = letters.copy()
    out[kinds == 1] = rng.choice(LETTERS, np.count_nonzero(kinds == 1))
    copies = np.choose(kinds, [1, 1, 0, 2])
    return np.repeat(out, copies)


def structured(rng, length):
    """A pair with clean and noisy parts, long gaps, and letters that occur elsewhere."""
    pattern = rng.choice(LETTERS, length)
    text = []
    for part in np.array_split(pattern, rng.integers(1, 8)):
        part = mutated(rng, part, rng.choice([0, 0.01, 0.05, 0.1, 0.3]))
        kind = rng.integers(8)
        if kind == 0:
            part = part[: len(part) // 2]
        elif kind == 1:
            part = np.concatenate([part, rng.choice(LETTERS, rng.integers(150))])
        elif kind == 2:
            part = np.concatenate([part, part[-rng.integers(1, 60) :]])
        elif kind == 3:
            part[len(part) // 3 : len(part) // 2] = LETTERS[rng.integers(4)]
        text.append(part)
    pair = pattern, np.concatenate(text)
    return pair[:: rng.choice([1, -1])]


def many(count, longest, seed):
    """PairBatch of uniform and structured pairs."""
    rng = np.random.default_rng(seed)
    pairs = [structured(rng, int(rng.integers(1, longest))) for _ in range(count)]
    for error in (0.01, 0.03, 0.1):
        patterns = [rng.choice(LETTERS, longest) for _ in range(count // 6)]
        pairs += [(pattern, mutated(rng, pattern, error)) for pattern in patterns]
    return PairBatch.from_strings(*zip(*((p.tobytes(), t.tobytes()) for p, t in pairs), strict=True))


def limits_for(pairs, scores):
    """(reach, rate): bands that certify some, and rates that are just enough for the pair at each of these places."""
    letters = np.maximum(1, pairs.pattern_lengths + pairs.text_lengths)
    rates = np.sort((scores + 1 - TOLERANCE) / letters * 2**LETTER_BITS)
    places = [int(part * (len(rates) - 1)) for part in (0.3, 0.5, 0.7, 0.9)]
    return [(3, 0), (9, 0), (1000, 0), *((1000, max(1, int(rates[place]))) for place in places)]


def checked(pairs, penalties, expected, answer, which):
    """Whether each pair is certain; scores and CIGARs of those that are have to be right. which: of the answers."""
    scores, cigars = answer
    certain = scores != NO_SCORE
    np.testing.assert_array_equal(scores[certain], expected[certain], which)
    if cigars is not None:
        costs = gpu_cells.costs_of(pairs, *cigars, penalties)
        np.testing.assert_array_equal(costs[certain], expected[certain], f"CIGARs, {which}")
    return certain


#: Diagonals about what reaches of 1, 2 and 3 chunks have.
OUTS = [32 * reach + away for reach in (1, 2, 3) for away in range(-2, 4)]


@pytest.mark.slow
@pytest.mark.parametrize("gap_open", [0, 2])
def test_what_is_just_past_a_reach_is_not_certain(gap_open):
    pairs = [one for less in (-5, -1, 0, 1, 5) for one in past_bands.pairs_around(OUTS, less)]
    pairs = PairBatch.from_strings(*zip(*pairs, strict=True))
    expected = align(pairs, Affine(1, gap_open, 1), device="cpu", algorithm="wfa").scores
    reaches = [(reach, 0) for reach in (1, 2, 3)]
    for answer in strips_on_the_cpu.answers(pairs, (1, gap_open, 1), reaches, False):
        certain = checked(pairs, (1, gap_open, 1), expected, answer, "one of three reaches")
        assert certain.any() and not certain.all()


@pytest.mark.slow
def test_costs_past_32_bits_in_a_band_too_narrow_are_not_certain():
    """A path within 300 diagonals costs 2,178 million, two gaps 2,147 million: all but the most that a score can be."""
    letters = 53_686
    pairs = PairBatch.from_strings([b"A" * letters], [b"C" * letters])
    ((scores, _),) = strips_on_the_cpu.answers(pairs, (50_001, 20_001, 20_000), [(9, 0)], False)
    assert scores.tolist() == [NO_SCORE]


def rates_for(pairs, scores, more):
    """For each pair the rate by which its limit is its score and so much more; the lowest one if that is too little.

    For penalties without a common divisor. Too little: below TOLERANCE.
    """
    letters = pairs.pattern_lengths + pairs.text_lengths
    return np.maximum(1, -(-(scores + more - TOLERANCE) * 2**LETTER_BITS // letters)).tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("penalties", "traced", "bits"),
    [
        ((2, 3, 1), False, ()),
        ((2, 3, 1), True, (2,)),
        ((1, 0, 1), True, ()),
        ((5, 4, 2), True, ()),
        ((9, 1, 2), False, ()),
    ],
)
def test_strips_are_as_certain_as_they_say_of_pairs_that_wander(penalties, traced, bits):
    pairs = wandering_pairs.batch(4000, seed=sum(penalties))
    expected = align(pairs, Affine(*penalties), device="cpu", algorithm="wfa").scores
    limits = [(reach, more) for reach in (1, 2, 3, 1000) for more in (0, 1, 2, 9, None)]
    rates = [0 if more is None else rates_for(pairs, expected, more) for _, more in limits]
    reaches = [(reach, rate) for (reach, _), rate in zip(limits, rates, strict=True)]
    found = strips_on_the_cpu.answers(pairs, penalties, reaches, traced, bits)
    for (reach, more), answer in zip(limits, found, strict=True):
        certain = checked(pairs, penalties, expected, answer, f"reach {reach}, {more} more")
        assert np.count_nonzero(certain) > 100
        if more == 0:
            assert not certain[expected >= TOLERANCE].any(), f"reach {reach}: the limit is the score"
        elif reach == 1000:
            assert certain.all(), f"{more} more"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("penalties", "traced"),
    [((2, 3, 1), False), ((4, 6, 2), True), ((5, 4, 2), True), ((9, 1, 2), True), ((1, 0, 1), True)],
)
def test_strips_agree_with_the_cpu_whatever_they_leave_out(penalties, traced):
    pairs = many(600, 1500, seed=sum(penalties) + traced)
    expected = align(pairs, Affine(*penalties), device="cpu").scores
    limits = limits_for(pairs, expected)
    found = strips_on_the_cpu.answers(pairs, penalties, limits, traced)
    for (reach, rate), answer in zip(limits, found, strict=True):
        certain = checked(pairs, penalties, expected, answer, f"reach {reach}, rate {rate}")
        assert certain.any()
        assert certain.all() == (reach == 1000 and not rate), "only where there is no limit all are certain"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("penalties", "bits"), [((2, 3, 1), (3,)), ((4, 6, 2), (4, 2)), ((1, 0, 1), (5, 3, 1)), ((9, 1, 2), (1,))]
)
def test_windows_of_strips_give_the_same_cigars(penalties, bits):
    """Of 47 strips at most every 8th is kept, or every 16th and then every 4th, ...: all levels but the whole way."""
    pairs = many(150, 1500, seed=len(bits))
    limits = limits_for(pairs, align(pairs, Affine(*penalties), device="cpu").scores)
    whole, windowed = (strips_on_the_cpu.answers(pairs, penalties, limits, True, of) for of in ((), bits))
    for (scores, cigars), (same_scores, same_cigars) in zip(whole, windowed, strict=True):
        np.testing.assert_array_equal(same_scores, scores)
        certain = np.repeat(scores != NO_SCORE, np.diff(cigars[1]))
        np.testing.assert_array_equal(np.diff(same_cigars[1]), np.diff(cigars[1]))
        np.testing.assert_array_equal(same_cigars[0][certain], cigars[0][certain])


def test_windows_are_gone_through_from_the_last_one_to_the_first_between_strips_that_are_kept():
    windows = strips_windows._laid_out(70, (5, 3), 10, 30, 4)
    kept, traced, back = {}, [], []
    for kind, begin, *more in windows.steps():
        if kind == strips_windows.BACK:
            starts, source = more[:2]
            assert begin == traced[-1][0] and starts == (traced[-1][1] == 70)
            back.append(begin)
            continue
        stop, keep_bits, source, at, _ = more
        assert begin == 0 or kept[source] == begin - 1, "the strip before the window is there"
        if kind == strips_windows.TRACE:
            traced.append((begin, stop))
        else:
            for strip in range(begin, min(stop, 70)):
                if (strip + 1) % (1 << keep_bits) == 0:
                    place = at + ((strip + 1 >> keep_bits) - (begin >> keep_bits) - 1) * 10
                    assert strips_windows.STATE <= place <= windows.rest - 10
                    kept[place] = strip
    assert back == list(range(64, -1, -8)) and sorted(traced)[-1] == (64, 70)
    assert windows.rest + 8 * 30 == windows.words


@pytest.mark.parametrize("rate", [0, RATES[len(RATES) // 2]])
@pytest.mark.parametrize("longest", [3000, 20_000])
def test_pairs_at_once_go_through_in_one_turn(longest, rate, monkeypatch):
    design, words = strips_design.BandsThenStrips((2, 3, 1), (), strips_design.STRIPS), 1 << 30
    design.rate = rate
    level = design.likely_level(longest, 0) or design.first_likely_level(longest)
    most, turns = design.pairs_at_once(longest, words, True), []
    monkeypatch.setattr(design, "_launch_part", lambda batch, pairs, *others: turns.append(pairs[3]))
    for pairs in (most, most + 1):
        slot = SimpleNamespace(scratch_words=SimpleNamespace(size=2 * words))
        batch = SimpleNamespace(longest=longest, pairs=pairs, slot=slot)
        design.launch(level, ALL_PAIRS, 0, batch, True)
    assert turns == [most, most // 2 + 1, most + 1 - (most // 2 + 1)]
    assert design.pairs_at_once(longest, 1, True) == strips_design._FEW_AT_ONCE, "more than there is room for: windows"
    assert design.pairs_at_once(longest, words, False) is None


@pytest.mark.parametrize("room", [1, 2, 3, 7])
def test_turns_take_each_pair_once(room, monkeypatch):
    design, turns = strips_design.BandsThenStrips((2, 3, 1), (), strips_design.STRIPS), []
    monkeypatch.setattr(design, "_shared_out", lambda *_: (2, 1, room))
    monkeypatch.setattr(design, "_launch_part", lambda batch, pairs, *_: turns.append(pairs[2:]))
    for pairs in range(1, 16):
        turns.clear()
        batch = SimpleNamespace(longest=100, pairs=pairs, slot=SimpleNamespace(scratch_words=np.empty(1)))
        design.launch(0, ALL_PAIRS, 0, batch, False)
        assert [row for first, count in turns for row in range(first, first + count)] == list(range(pairs))
        assert max(count for _, count in turns) <= room


@pytest.mark.parametrize("traced", [False, True])
def test_without_room_for_a_pair_strips_hand_all_on(traced, monkeypatch):
    design, launched = strips_design.BandsThenStrips((2, 3, 1), (), strips_design.STRIPS), []
    monkeypatch.setattr(design, "_launch_part", lambda batch, pairs, band, *_: launched.append((*pairs[2:], band[1])))
    batch = SimpleNamespace(longest=3000, pairs=5, slot=SimpleNamespace(scratch_words=np.empty(10)))
    design.launch(0, ALL_PAIRS, 0, batch, traced)
    assert launched == [(0, 5, -1)]


def test_without_room_for_a_pair_no_kernel_writes_to_its_part(monkeypatch):
    """Bounds by seeds would lie behind the scratch memory."""
    design, launched = strips_design.BandsThenStrips((2, 3, 1), (), strips_design.STRIPS), []
    made = {name: name for name in ("make_forward", "make_backward")}
    for module, name in (*((strips_design, name) for name in made), (strips_design.affine_seeds, "make_seeds")):
        monkeypatch.setattr(module, name, lambda *_, name=name: name)
    for words, kernels in (10, ["make_forward"]), (1 << 30, ["make_seeds", "make_forward", "make_backward"]):
        slot = SimpleNamespace(launch=lambda kernel, *_: launched.append(kernel), scores=None)
        slot.scratch_words = SimpleNamespace(size=words)
        batch = SimpleNamespace(longest=3000, pairs=5, slot=slot, input=(), output=())
        design.launch(0, ALL_PAIRS, 0, batch, True)
        assert launched == kernels
        launched.clear()


@pytest.mark.parametrize(("strips", "longest"), [(STRIPS, MAX_LENGTH), (LONG_STRIPS, MAX_LONG)])
def test_the_last_strips_are_as_wide_as_the_longest_pairs(strips, longest):
    """Once with a limit and once without: else pairs of about equal lengths were the CPU's for what they cost."""
    assert strips[-1] == strips[-2] != strips[-3]
    for letters in (1, 31, 32, 33, 64, 65, 1000, longest):
        assert CHUNK * strips_design._capped(strips[-1][1], letters) >= letters


@pytest.mark.parametrize("threads", [2, strips_design.BLOCK, strips_design.WIDE_BLOCK])
@pytest.mark.parametrize("together", [1, 4, strips_design.BLOCK])
def test_blocks_have_a_place_for_every_pair_there_and_back(threads, together, monkeypatch):
    design, launched = strips_design.BandsThenStrips((1, 0, 1), (), strips_design.STRIPS), []
    for name in ("make_forward", "make_backward"):
        monkeypatch.setattr(strips_design, name, lambda *given: given)
    monkeypatch.setattr(strips_design, "_back_together", lambda pairs: together)
    slot = SimpleNamespace(launch=lambda *given: launched.append(given[:3]), scores=None)
    batch = SimpleNamespace(slot=slot, input=(), output=())
    for count in range(1, 70):
        launched.clear()
        design._launch_part(batch, (ALL_PAIRS, 1, 0, count), (threads, 9, 0), (None, 1, 0), True, None)
        ((*_, made_for), there, block), (_, back, warp) = launched
        assert made_for == block
        assert there * (block // threads) >= count > (there - 1) * (block // threads)
        assert back * (warp // together) >= count > (back - 1) * (warp // together)


def test_scores_alone_have_room_for_a_strip_of_each_thread_and_one_more():
    design = strips_design.BandsThenStrips((2, 3, 1), (), strips_design.STRIPS)

    def words(threads, strips):
        letters = strips_design.CHUNK * strips
        return design._pair_words(threads, 2, letters, False) - 2 * design._bounds(letters)

    assert [words(4, strips) for strips in (2, 5, 100)] == [words(4, 1) * strips for strips in (2, 5, 5)]


def test_windows_have_room_for_a_strip_of_each_thread_and_one_more():
    few, many = (strips_windows._laid_out(70, (3,), 10, 30, threads) for threads in (4, 32))
    assert few.words == few.rest + 8 * 30 and many.words == many.rest + 33 * 10


def test_windows_and_states_have_room_for_all_chunks_of_a_strip_and_the_bounds_of_both_sequences(monkeypatch):
    """Of one pair, behind which the next one's lie."""
    design, found = strips_design.BandsThenStrips((2, 3, 1), (), strips_design.STRIPS), []
    monkeypatch.setattr(design, "_launch_part", lambda batch, pairs, *others: found.append((pairs[3], *others)))
    for level, words, whole in (0, 1 << 18, False), (0, 1 << 40, True), (len(STRIPS) - 1, 1 << 25, False):
        slot = SimpleNamespace(scratch_words=SimpleNamespace(size=words))
        batch = SimpleNamespace(longest=20_000, pairs=5, slot=slot)
        design.launch(level, ALL_PAIRS, 0, batch, True)
        (count, (threads, reach, _), (_, part, bounds), _, windows), *_ = found
        kept, traced = strips_windows.words_of_strips(design.penalties, 2 * reach + 2)
        assert bounds >= 20_000 // 32 + 2 and count * part <= words
        assert (windows is None) == whole
        if whole:
            assert part == 2 * bounds + 625 * traced
        else:
            assert part == 2 * bounds + windows.words and windows.strip_words == kept
            assert threads <= strips_design.BLOCK, "windows have a warp a pair"
        found.clear()


def test_windows_are_those_that_take_the_most_pairs_through():
    def fitting(words, wanted=1):
        return strips_windows.fitting((2, 3, 1), 31_250, 9000, 32, 64_000, words, wanted)

    one, two, both = fitting(50_000_000), fitting(20_000_000), fitting(50_000_000, 2)
    assert [len(found[0].bits) for found in (one, two, both)] == [1, 2, 2]
    assert one[1] > two[1] and both[2] == 2, "two at a time take more work each, but not twice as much"
    assert all(1 << found[0].bits[-1] >= 32 for found in (one, two, both)), "no thread waits for others all the time"
    assert fitting(64_000) is None
    assert all(found[0].words + 64_000 == found[1] for found in (one, two, both))


@pytest.mark.slow
@pytest.mark.parametrize("traced", [False, True])
def test_strips_of_sequences_over_16_bits_agree_with_the_cpu(traced):
    """More strips and chunks than their numbers had bits for: 4400 and as many."""
    rng, penalties = np.random.default_rng(3), (4, 6, 2)
    patterns = [rng.choice(LETTERS, length) for length in (66_000, 140_000, 90_000)]
    texts = [mutated(rng, pattern, error) for pattern, error in zip(patterns, (0.01, 0.002, 0.03), strict=True)]
    texts[1] = np.concatenate([texts[1][:40_000], rng.choice(LETTERS, 700), texts[1][40_000:]])
    pairs = PairBatch.from_strings([p.tobytes() for p in patterns], [t.tobytes() for t in texts])
    expected = align(pairs, Affine(*penalties), device="cpu").scores
    ((scores, cigars),) = strips_on_the_cpu.answers(pairs, penalties, [(160, 0)], traced)
    np.testing.assert_array_equal(scores, expected)
    if traced:
        np.testing.assert_array_equal(gpu_cells.costs_of(pairs, *cigars, penalties), expected)


def missing(sequence, other):
    """Of each block of 32 letters: seeds that the other sequence does not have."""
    there = {other[i : i + SEED] for i in range(len(other) - SEED + 1)}
    blocks = [sequence[first : first + BLOCK] for first in range(0, len(sequence), BLOCK)]
    seeds = [[block[SEED * i : SEED * (i + 1)] for i in range(PER_BLOCK)] for block in blocks]
    return [sum(len(seed) == SEED and seed not in there for seed in of_block) for of_block in seeds]


def test_bounds_count_the_seeds_that_are_missing_from_each_block_on():
    pairs, counted, possible = many(12, 500, seed=8), 0, 0
    for i, sides in enumerate(strips_on_the_cpu.bounds(pairs, (4, 6, 2))):
        pattern, text = pairs.pair(i)
        for sequence, other, told in ((pattern, text, sides[0]), (text, pattern, sides[1])):
            left = np.cumsum([0, 0, *missing(sequence, other)[::-1]])[::-1]
            most = np.maximum(0, 2 * left - 3)  # 4, 6, 2 is 2, 3, 1, and a seed costs a mismatch or two extensions
            assert len(told) == len(most) and np.all(told <= most)
            counted, possible = counted + told.sum(), possible + most.sum()
    assert counted > 0.97 * possible, "few seeds share a bit of the table with another one"
