"""Edit-distance algorithms against the judge: edit_wfa, bpm and ond, each in reference/ and cpu/."""

import importlib
import random
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from tests import naive, peak_memory
from wfa_kernels.cigar import DELETION, MATCH, MAX_RUN, format_packed
from wfa_kernels.cpu import backtrace
from wfa_kernels.pairs import PairBatch
from wfa_kernels.penalties import Edit
from wfa_kernels.result import NO_SCORE, OK, OUT_OF_MEMORY

ROOT = Path(__file__).resolve().parents[1]
ALGORITHMS = ("edit_wfa", "bpm", "ond")
COSTS = Edit().triple
BUDGET = 2**28
ALPHABETS = (b"ACGT", b"AC", b"A", b"ACGTN", b"ACGTacgtNn", bytes(range(256)), b"\x00\xff", b"\x00\x01\x80\xff")
WORD_LENGTHS = (1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129)

each_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def mutate(pattern, edits, alphabet, draw):
    """The pattern after that many random mismatches, insertions and deletions."""
    text = bytearray(pattern)
    for _ in range(edits):
        kind = draw.choice("XID") if text else "I"
        at = draw.randrange(len(text) + (kind == "I"))
        if kind == "I":
            text.insert(at, draw.choice(alphabet))
        elif kind == "D":
            del text[at]
        else:
            text[at] = draw.choice(alphabet)
    return bytes(text)


def random_pair(length, other_length, error, alphabet, seed):
    """A pair with about that error rate; unrelated sequences of the two lengths for error 1."""
    draw = random.Random(seed)
    pattern = bytes(draw.choices(alphabet, k=length))
    if error >= 1:
        return pattern, bytes(draw.choices(alphabet, k=other_length))
    return pattern, mutate(pattern, round(length * error), alphabet, draw)


lengths = st.integers(0, 200) | st.sampled_from(WORD_LENGTHS)
some_pair = st.builds(
    random_pair,
    length=lengths,
    other_length=lengths,
    error=st.floats(0, 1) | st.sampled_from((0.0, 0.02, 0.05, 0.1, 1.0)),
    alphabet=st.sampled_from(ALPHABETS),
    seed=st.integers(0, 2**32),
)
ragged_batch = st.lists(some_pair, min_size=1, max_size=12)


def cpu(algorithm, batch, scope, start=0, stop=None, budget=BUDGET):
    """(scores, status, CIGAR strings or None) of cpu/<algorithm>, with the answer's shapes checked."""
    module = importlib.import_module(f"wfa_kernels.cpu.{algorithm}")
    stop = len(batch) if stop is None else stop
    scores, status, cigars, counts = module.align_range(batch, Edit(), scope, start, stop, budget)
    assert (scores.dtype, status.dtype) == (np.int32, np.uint8)
    assert len(scores) == len(status) == stop - start
    if scope == "score":
        assert cigars is None and counts is None
        return scores.tolist(), status.tolist(), None
    assert (cigars.dtype, counts.dtype) == (np.uint32, np.int64)
    assert counts.sum() == len(cigars)
    return scores.tolist(), status.tolist(), format_packed(cigars, np.concatenate(([0], np.cumsum(counts))))


def reference(algorithm, pattern, text, scope):
    return importlib.import_module(f"wfa_kernels.reference.{algorithm}").align_pair(pattern, text, Edit(), scope)


def check_batch(algorithm, pairs, expected=None):
    """Scores and CIGARs of the CPU kernel against the judge's (or expected) distances."""
    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    expected = expected or [naive.edit_distance(*pair) for pair in pairs]
    assert cpu(algorithm, batch, "score")[:2] == (expected, [OK] * len(pairs))
    scores, status, cigars = cpu(algorithm, batch, "cigar")
    assert (scores, status) == (expected, [OK] * len(pairs))
    assert [naive.check_cigar(*pair, cigar, COSTS) for pair, cigar in zip(pairs, cigars, strict=True)] == expected


@each_algorithm
@given(pairs=ragged_batch)
def test_cpu_is_optimal_on_ragged_batches(algorithm, pairs):
    check_batch(algorithm, pairs)


@each_algorithm
def test_cpu_is_optimal_on_a_large_batch(algorithm):
    """Every length to 200, every alphabet and error from 0 to 100 % in one call: state left from pair to pair shows."""
    draw = random.Random(1)
    errors = (0, 0.02, 0.05, 0.1, 0.3, 0.7, 1)
    pairs = [
        random_pair(draw.randrange(201), draw.randrange(201), error, alphabet, draw.random())
        for error, alphabet, _ in product(errors, ALPHABETS, range(40))
    ]
    draw.shuffle(pairs)
    check_batch(algorithm, pairs)


@each_algorithm
@given(pair=some_pair)
def test_reference_is_optimal(algorithm, pair):
    expected = naive.edit_distance(*pair)
    assert reference(algorithm, *pair, "score") == (expected, None)
    score, cigar = reference(algorithm, *pair, "cigar")
    assert score == naive.check_cigar(*pair, cigar, COSTS) == expected


@each_algorithm
@given(pair=some_pair)
def test_swapping_the_pair_swaps_insertions_and_deletions(algorithm, pair):
    pattern, text = pair
    scores, _, cigars = cpu(algorithm, PairBatch.from_strings([text], [pattern]), "cigar")
    for score, cigar in ((scores[0], cigars[0]), reference(algorithm, text, pattern, "cigar")):
        exchanged = cigar.translate(str.maketrans("ID", "DI"))
        assert score == naive.edit_distance(pattern, text) == naive.check_cigar(pattern, text, exchanged, COSTS)


@each_algorithm
@given(pairs=ragged_batch, ends=st.tuples(st.integers(0, 12), st.integers(0, 12)), lead=st.binary(max_size=9))
def test_a_range_of_a_batch_that_does_not_start_at_0(algorithm, pairs, ends, lead):
    whole = PairBatch.from_strings([lead, *(p for p, _ in pairs)], [lead[::-1] + b"x", *(t for _, t in pairs)])[1:]
    start, stop = sorted(min(end, len(pairs)) for end in ends)
    expected = [naive.edit_distance(*pair) for pair in pairs[start:stop]]
    scores, status, cigars = cpu(algorithm, whole, "cigar", start, stop)
    assert (scores, status) == (expected, [OK] * (stop - start))
    for pair, cigar, score in zip(pairs[start:stop], cigars, scores, strict=True):
        assert naive.check_cigar(*pair, cigar, COSTS) == score
    assert cpu(algorithm, whole, "score", start, stop)[0] == expected


@each_algorithm
def test_lengths_at_word_boundaries(algorithm):
    pairs = []
    for seed, (length, other) in enumerate(product(WORD_LENGTHS, WORD_LENGTHS)):
        pairs.append(random_pair(length, other, 1, b"ACGT", seed))
        pairs.append(random_pair(length, other, 0.1, b"ACGT", seed))
    check_batch(algorithm, pairs)
    for pattern, text in pairs[:: len(WORD_LENGTHS)]:
        assert reference(algorithm, pattern, text, "score")[0] == naive.edit_distance(pattern, text)


@each_algorithm
@pytest.mark.parametrize(
    ("pattern", "text", "cigar"),
    [
        (b"", b"", ""),
        (b"A", b"", "1D"),
        (b"", b"A", "1I"),
        (b"A", b"A", "1="),
        (b"A", b"C", "1X"),
        (b"ACGT" * 20, b"", "80D"),
        (b"", b"ACGT" * 20, "80I"),
        (b"N", b"N", "1="),
        (b"n", b"N", "1X"),
        (b"a", b"A", "1X"),
        (b"\x00\xff\x00", b"\x00\xff\x00", "3="),
        (b"\x00", b"\xff", "1X"),
        (b"\x7f", b"\xff", "1X"),
        (b"GATTACA" * 30, b"GATTACA" * 30, "210="),
    ],
)
def test_small_and_odd_pairs_have_the_one_right_answer(algorithm, pattern, text, cigar):
    score = 0 if cigar in ("", f"{len(pattern)}=") else int(cigar[:-1])
    assert cpu(algorithm, PairBatch.from_strings([pattern], [text]), "cigar") == ([score], [OK], [cigar])
    assert cpu(algorithm, PairBatch.from_strings([pattern], [text]), "score") == ([score], [OK], None)
    assert reference(algorithm, pattern, text, "cigar") == (score, cigar)


@each_algorithm
@pytest.mark.parametrize("budget", [20_000, 100_000])
def test_a_pair_over_the_budget_is_out_of_memory_and_its_neighbours_are_right(algorithm, budget):
    small = [random_pair(50, 50, 0.2, b"ACGT", seed) for seed in range(3)]
    large = random_pair(8000, 8000, 1, b"ACGT", 3)
    pairs = [large, small[0], small[1], large, small[2], large]
    scores, status, cigars = cpu(algorithm, PairBatch.from_strings(*zip(*pairs, strict=True)), "cigar", budget=budget)
    for pair, score, code, cigar in zip(pairs, scores, status, cigars, strict=True):
        if pair is large:
            assert (score, code, cigar) == (NO_SCORE, OUT_OF_MEMORY, "")
        else:
            assert code == OK
            assert score == naive.check_cigar(*pair, cigar, COSTS) == naive.edit_distance(*pair)


@each_algorithm
@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_no_budget_at_all(algorithm, scope):
    batch = PairBatch.from_strings([b"ACGT", b"A"], [b"ACGA", b""])
    assert cpu(algorithm, batch, scope, budget=0)[:2] == ([NO_SCORE] * 2, [OUT_OF_MEMORY] * 2)


def test_a_backtrace_over_the_budget_still_has_a_score():
    pair = random_pair(3000, 3000, 1, b"ACGT", 5)
    batch = PairBatch.from_strings([pair[0]], [pair[1]])
    for algorithm in ("edit_wfa", "bpm"):
        assert cpu(algorithm, batch, "cigar", budget=100_000)[1] == [OUT_OF_MEMORY]
        assert cpu(algorithm, batch, "score", budget=100_000)[:2] == ([naive.edit_distance(*pair)], [OK])


def test_rows_and_steps_of_edit_wavefronts_are_within_the_budget():
    """Two rows, that of the search for a bound, the padded copy, and a word for 32 cells of a wavefront."""
    pattern, text = random_pair(100, 100, 0.4, b"ACGT", 8)
    batch, letters = PairBatch.from_strings([pattern], [text]), len(pattern) + len(text)
    errors = naive.edit_distance(pattern, text)
    assert 17 < errors < 32
    fixed = 2 * 4 * (letters + 24) + 4 * 32 + letters + 2 * 65
    words = sum((2 * e + 1 + 31) // 32 for e in range(1, errors + 1))
    for scope, needed in (("score", fixed), ("cigar", fixed + 8 * words)):
        assert cpu("edit_wfa", batch, scope, budget=needed - 1)[1] == [OUT_OF_MEMORY]
        assert cpu("edit_wfa", batch, scope, budget=needed)[1] == [OK]


def test_growing_backtrace_keeps_what_was_stored():
    """Far more steps than the first buffer holds: every doubling must keep the earlier ones."""
    pairs = [random_pair(2000, 1500, 1, b"ACGT", 6), random_pair(2500, 2500, 0.3, b"ACGT", 7)]
    check_batch("edit_wfa", pairs)
    check_batch("bpm", pairs)


@each_algorithm
def test_empty_batch_and_empty_range(algorithm):
    assert cpu(algorithm, PairBatch.from_strings([], []), "cigar") == ([], [], [])
    assert cpu(algorithm, PairBatch.from_strings([b"AC"], [b"AG"]), "cigar", 1, 1) == ([], [], [])


@each_algorithm
def test_writable_and_read_only_sequences_give_the_same(algorithm):
    batch = PairBatch.from_strings([b"GATTACA"], [b"GAATA"])
    writable = PairBatch(batch.pattern.copy(), batch.pattern_offsets, batch.text.copy(), batch.text_offsets)
    assert cpu(algorithm, batch, "cigar") == cpu(algorithm, writable, "cigar")
    assert writable.pattern.flags.writeable


@each_algorithm
@pytest.mark.parametrize("flip", [False, True])
def test_one_long_and_one_empty_or_short_sequence(algorithm, flip):
    """100,000 letters against none or one: diagonals no alignment can use must cost nothing."""
    long = b"C" * 50_000 + b"G" + b"T" * 49_999
    gap = "I" if flip else "D"
    for short, cigar, score in ((b"", f"100000{gap}", 100_000), (b"G", f"50000{gap}1=49999{gap}", 99_999)):
        pair = (short, long) if flip else (long, short)
        batch = PairBatch.from_strings([pair[0]], [pair[1]])
        assert cpu(algorithm, batch, "score")[0] == [score]
        assert cpu(algorithm, batch, "cigar") == ([score], [OK], [cigar])


#: Aligns a pair whose pattern ends so many letters before a page that cannot be read.
_BEFORE_A_WALL = """
import ctypes, mmap, sys
import numpy as np
from wfa_kernels import Edit, PairBatch, align
page = mmap.PAGESIZE
area = mmap.mmap(-1, 2 * page)
begin = ctypes.addressof(ctypes.c_char.from_buffer(area))
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(begin + page), page, 0) == 0
letters = np.ctypeslib.as_array((ctypes.c_uint8 * page).from_address(begin))
letters[:] = ord("A")
pattern, text = letters[page - 5 - int(sys.argv[1]):], np.frombuffer(b"AAAAACCCCC" + b"A" * 200, np.uint8)
pairs = PairBatch(pattern, np.array([0, 5]), text, np.array([0, 10]))
for scope in ("score", "cigar"):
    print(align(pairs, Edit(), algorithm="wfa", scope=scope, threads=1).scores.tolist())
"""


@pytest.mark.parametrize("behind", [0, 63, 64, 65])
def test_wavefronts_read_no_further_than_the_letters(behind):
    done = subprocess.run([sys.executable, "-c", _BEFORE_A_WALL, str(behind)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[5]\n[5]\n"


def test_pair_of_length_100000_with_few_errors():
    """Too long for the judge: three unlike algorithms agree, and the CIGARs prove that the distance is reached."""
    draw = random.Random(11)
    pattern = bytes(draw.choices(b"ACGT", k=100_000))
    text = mutate(pattern, 300, b"ACGT", draw)
    batch = PairBatch.from_strings([pattern], [text])
    (score,) = cpu("bpm", batch, "score")[0]
    assert 250 < score <= 300
    for algorithm in ("edit_wfa", "ond"):
        assert cpu(algorithm, batch, "score")[0] == [score]
        scores, _, (cigar,) = cpu(algorithm, batch, "cigar")
        assert scores == [score] == [naive.check_cigar(pattern, text, cigar, COSTS)]
    assert cpu("bpm", batch, "cigar")[:2] == ([NO_SCORE], [OUT_OF_MEMORY])


def test_runs_are_merged_and_split_at_the_longest_an_element_holds():
    append_run, reverse_runs = njit(backtrace.append_run), njit(backtrace.reverse_runs)
    cigars = np.zeros(8, np.uint32)
    filled = append_run(cigars, 0, 0, MATCH, 3)
    filled = append_run(cigars, 0, filled, MATCH, 4)
    filled = append_run(cigars, 0, filled, DELETION, 0)
    filled = append_run(cigars, 0, filled, DELETION, MAX_RUN)
    filled = append_run(cigars, 0, filled, DELETION, 5)
    assert filled == 3
    reverse_runs(cigars, 0, filled)
    assert cigars[:3].tolist() == [5 << 4 | DELETION, MAX_RUN << 4 | DELETION, 7 << 4 | MATCH]
    # The run before belongs to the pair before.
    assert append_run(cigars, 3, 3, MATCH, 1) == 4


def test_the_longest_run_an_element_holds_takes_one():
    append_run, cigars = njit(backtrace.append_run), np.zeros(2, np.uint32)
    assert append_run(cigars, 0, append_run(cigars, 0, 0, MATCH, MAX_RUN - 1), MATCH, 1) == 1
    assert cigars.tolist() == [MAX_RUN << 4 | MATCH, 0]


def test_buffers_double_up_to_their_limit_and_no_further():
    buffer = np.arange(0, dtype=np.uint64)
    sizes, grown = [], njit(backtrace.grown)
    for needed in range(1, 5001, 250):
        buffer = grown(buffer, min(needed - 1, len(buffer)), needed, 5000)
        buffer[needed - 1] = needed
        sizes.append(len(buffer))
    assert sorted(set(sizes)) == [1250, 2500, 5000]
    assert [buffer[needed - 1] for needed in range(1, 5001, 250)] == list(range(1, 5001, 250))
    assert len(grown(buffer, 5000, 5001, 5000)) == 5000


@peak_memory.needs_peaks
@pytest.mark.parametrize(
    ("algorithm", "limit_mib", "threads", "lengths"),
    [
        ("auto", 48, 1, [40_000, 12_000]),  # the first does not fit, and is aligned in linear memory
        ("wfa", 96, 2, [30_000] * 4),  # none fits half of the limit, each fits all of it alone
        ("wfa", 48, 2, [20_000] * 6),  # shares that the C library may keep in its pools
        ("wfa", 400, 2, [40_000] * 4),  # side by side
    ],
)
def test_cigars_stay_within_the_memory_limit_of_all_threads(algorithm, limit_mib, threads, lengths):
    grown, found = peak_memory.measure(Edit(), limit_mib, threads, lengths, algorithm)
    # At least what one pair takes: whether two threads reach their peaks together is the system's choice.
    assert found == [OK] and limit_mib // 4 < grown < limit_mib + 8
