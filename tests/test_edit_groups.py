"""Pairs of few errors side by side in lanes: right by the judge, and the same as one pair after the other gives."""

import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators import simulate
from tests import naive
from tests.test_edit_kernels import ALPHABETS, BUDGET, ROOT, check_batch, mutate, random_pair, some_pair
from wfa_kernels import Edit, PairBatch
from wfa_kernels.cpu import edit_group_run, edit_groups, edit_wfa
from wfa_kernels.cpu.backtrace import read_only_arrays
from wfa_kernels.cpu.lanes import LANES
from wfa_kernels.result import NO_SCORE, OK

LIMIT = edit_group_run.MOST_ERRORS


def batch_of(pairs):
    return PairBatch.from_strings(*zip(*pairs, strict=True))


def settled_in_lanes(batch):
    """Which pairs of a batch end in a group."""
    return edit_groups._score_range(*read_only_arrays(batch), 0, len(batch))[0] != NO_SCORE


def check_same(batch, start=0, stop=None):
    """Both scopes give what one pair after the other gives, CIGARs letter by letter."""
    stop = len(batch) if stop is None else stop
    for scope in ("score", "cigar"):
        grouped, single = (
            kernel.align_range(batch, Edit(), scope, start, stop, BUDGET) for kernel in (edit_groups, edit_wfa)
        )
        for ours, theirs in zip(grouped, single, strict=True):
            assert (ours is None) == (theirs is None)
            if ours is not None:
                assert ours.dtype == theirs.dtype and ours.tolist() == theirs.tolist()


@given(pairs=st.lists(some_pair, min_size=LANES, max_size=3 * LANES))
def test_ragged_batches(pairs):
    check_batch("edit_groups", pairs)
    check_same(batch_of(pairs))


def test_lengths_to_3000_and_errors_to_all():
    draw = random.Random(2)
    pairs = [
        random_pair(length, length, error, alphabet, draw.random())
        for length in (16, 17, 63, 64, 65, 200, 1000, 3000)
        for error in (0, 0.005, 0.02, 0.06, 0.3, 1)
        for alphabet in ALPHABETS[:3]
    ]
    draw.shuffle(pairs)
    batch = batch_of(pairs)
    assert 0.5 < np.mean(settled_in_lanes(batch)) < 0.9
    check_same(batch)


@pytest.mark.parametrize("count", [16, 17, 31, 33, 100])
def test_every_pair_of_few_errors_ends_in_a_lane_partly_filled_or_not(count):
    batch = simulate("uniform", count, seed=1, length=150, error=0.03)
    assert settled_in_lanes(batch).all()
    check_same(batch)


def test_a_range_within_a_batch():
    batch = simulate("uniform", 200, seed=1, length=100, error=0.05)
    for start, stop in ((0, 16), (3, 60), (100, 200), (150, 199)):
        check_same(batch, start, stop)


def test_pairs_of_many_errors_among_clean_ones_wait_for_each_other():
    """One to three in sixteen have more errors: no group can do with them what it does with the others."""
    draw = random.Random(5)
    pairs = []
    for i in range(640):
        pattern = bytes(draw.choices(b"ACGT", k=300))
        pairs.append((pattern, mutate(pattern, draw.choice((10, 25, 60)) if i % 7 == 0 else i % 2, b"ACGT", draw)))
    batch = batch_of(pairs)
    assert settled_in_lanes(batch).all()
    check_same(batch)


def test_a_short_pair_holds_no_other_back():
    """A group goes no further than its shortest pair has letters; the others go on in the next one."""
    draw = random.Random(6)
    pairs = [random_pair(20 if i % 5 == 0 else 400, 0, 0.1, b"ACGT", draw.random()) for i in range(64)]
    batch = batch_of(pairs)
    assert settled_in_lanes(batch).all()
    check_batch("edit_groups", pairs)


def test_no_pair_has_more_errors_in_a_group_than_letters():
    """Its diagonals would lie outside its matrix; the longer pair goes on in a group of its own."""
    draw = random.Random(9)
    pattern = bytes(draw.choices(b"ACGT", k=400))
    pairs = [(b"A" * 20, b"C" * 40)] * (LANES - 1) + [(pattern, mutate(pattern, 40, b"ACGT", draw))]
    assert settled_in_lanes(batch_of(pairs)).tolist() == [False] * (LANES - 1) + [True]
    check_batch("edit_groups", pairs)


#: Aligns a group and two more pairs, the letters of which end before a page that cannot be read.
_BEFORE_A_WALL = """
import ctypes, mmap
import numpy as np
from wfa_kernels import Edit, PairBatch
from wfa_kernels.cpu import edit_groups
page = mmap.PAGESIZE

def before_a_wall(count):
    area = mmap.mmap(-1, 2 * page)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(area))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(begin + page), page, 0) == 0
    letters = np.ctypeslib.as_array((ctypes.c_uint8 * page).from_address(begin))[page - count :]
    letters[:] = ord("A")
    return area, letters

(_, pattern), (_, text) = kept = before_a_wall(18 * 16), before_a_wall(18 * 17)
pairs = PairBatch(pattern, 16 * np.arange(19), text, 17 * np.arange(19))
for scope in ("score", "cigar"):
    print(sum(edit_groups.align_range(pairs, Edit(), scope, 0, 18, 1 << 20)[0]))
"""


def test_groups_read_no_further_than_the_letters():
    done = subprocess.run([sys.executable, "-c", _BEFORE_A_WALL], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "18\n18\n"


def test_the_limit_of_errors():
    draw = random.Random(7)
    pattern = bytes(draw.choices(b"ACGT", k=1000))
    pairs = [(pattern, pattern[:500] + b"N" * more + pattern[500:]) for more in range(LIMIT - 8, LIMIT + 8)]
    assert settled_in_lanes(batch_of(pairs)).tolist() == [len(text) - 1000 <= LIMIT for _, text in pairs]
    check_batch("edit_groups", pairs, expected=[len(text) - 1000 for _, text in pairs])


def test_what_lanes_do_not_suit_is_left():
    unlike = [(b"", b""), (b"A" * 100, b""), (b"ACGTACGT", b"ACGT"), (b"A" * 16, b"A" * 40), (b"C" * 9000, b"C" * 9000)]
    like = [random_pair(50, 50, 0.05, b"ACGT", seed) for seed in range(20)]
    batch = batch_of(unlike + like)
    assert settled_in_lanes(batch).tolist() == [False] * 5 + [True] * 20
    check_same(batch)


def test_a_noisy_batch_is_soon_left_to_the_other_kernel():
    batch = simulate("uniform", 300, seed=1, length=1000, error=0.2)
    arrays = read_only_arrays(batch)
    assert not settled_in_lanes(batch).any()
    check_same(batch)
    clean_after_noisy = PairBatch(*(a.copy() for a in read_only_arrays(batch)))
    for i in range(100, 300):
        at, text_at = arrays[1][i], arrays[3][i]
        both = min(arrays[1][i + 1] - at, arrays[3][i + 1] - text_at)
        clean_after_noisy.text[text_at : text_at + both] = clean_after_noisy.pattern[at : at + both]
    assert not settled_in_lanes(clean_after_noisy)[100:].any()
    check_same(clean_after_noisy)


@pytest.mark.parametrize("longer", ["pattern", "text"])
def test_letters_of_either_side_may_be_too_far_apart(monkeypatch, longer):
    monkeypatch.setattr(edit_groups, "_MOST_APART", 400)
    monkeypatch.delattr(edit_groups, "_score_range")
    sides = ["ACGT" * 5] * LANES, ["ACGT" * 9] * LANES
    batch = PairBatch.from_strings(*(sides if longer == "text" else sides[::-1]))
    scores, _, _, _ = edit_groups.align_range(batch, Edit(), "score", 0, LANES, BUDGET)
    assert scores.tolist() == [16] * LANES


@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_groups_begin_where_the_memory_is_that_their_scope_takes(monkeypatch, scope):
    asked = []
    monkeypatch.setattr(edit_groups.edit_wfa, "align_range", lambda *given: asked.append(given[-1]))
    batch = simulate("uniform", 64, seed=1, length=150, error=0.02)
    least = edit_group_run.scratch_bytes(scope == "cigar")
    for budget in (least - 1, least):
        edit_groups.align_range(batch, Edit(), scope, 0, 64, budget)
    assert asked == [least - 1]


@pytest.mark.parametrize(
    ("name", "value", "budget"), [("_MOST_APART", 100, BUDGET), ("LANES", 65, BUDGET), (None, None, 100_000)]
)
def test_far_apart_few_or_with_little_memory_one_after_the_other(monkeypatch, name, value, budget):
    if name:
        monkeypatch.setattr(edit_groups, name, value)
    monkeypatch.delattr(edit_groups, "_score_range")
    monkeypatch.delattr(edit_groups, "_cigar_range")
    batch = simulate("uniform", 64, seed=1, length=150, error=0.02)
    for scope in ("score", "cigar"):
        scores, status, _, _ = edit_groups.align_range(batch, Edit(), scope, 0, 64, budget)
        assert scores.tolist() == [naive.edit_distance(*batch.pair(i)) for i in range(64)] and set(status) == {OK}
