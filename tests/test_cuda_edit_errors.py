"""Edit distance on the GPU at any number of errors, in the simulator: right, by the kernel that is for so many."""

import random
import re

import pytest

from tests import cuda_simulator, naive
from tests.test_cuda_edit import check

#: On both sides of each limit of the papers' kernels, and these among others all over what they can do.
LIMITS = (32, 33, 64, 65, 128, 129)
DISTANCES = (0, 1, 5, 17, 31, 32, 33, 47, 63, 64, 65, 97, 127, 128, 129, 130)
#: Operations in a word of a backtrace vector.
WORD = 32


def at_distance(draw, length, distance):
    """A pattern of so many letters, and a text at just that distance: it has mismatches, insertions and deletions."""

    def letter():
        return draw.choices(b"ACGT")

    pattern = bytes(draw.choices(b"ACGT", k=length))
    text, missing = bytearray(pattern), distance
    while missing:  # an edit more cannot take it further than that
        for _ in range(missing):
            at = draw.randrange(len(text))
            text[at : at + 1] = draw.choice((letter(), [], [text[at], *letter()]))
        missing = distance - naive.edit_distance(pattern, bytes(text))
    return pattern, bytes(text)


def mixed_pairs(distances, seed):
    """A pair for each distance, lengths around words: of the pattern and of the text by turns."""
    draw, pairs = random.Random(seed), []
    for i, distance in enumerate(distances):
        words = 1 + 5 * distance // (2 * WORD)  # unrelated letters agree in half of all places
        pair = at_distance(draw, WORD * words + draw.choice((-1, 0, 1)), distance)
        pairs.append(pair[:: 1 - 2 * (i % 2)])
    return pairs


def certain_band(pattern, text):
    """Diagonals of the first band that a pair's optimum cannot leave: to do so costs as many errors, one more where the
    lengths differ by an odd number."""
    apart, distance = len(text) - len(pattern), naive.edit_distance(pattern, text)
    return next(f"band {band}" for band in (32, 64, 128, 256) if abs(apart) < band and distance < band + apart % 2)


def kernel_for(pattern, text):
    """The first kernel of the papers' design that can do so many errors."""
    distance = naive.edit_distance(pattern, text)
    return next((f"E{limit}" for limit in (32, 64, 128) if distance <= limit), "global")


FIRST_KERNELS = {"fast": certain_band, "paper": kernel_for}


def operations_of(cigar):
    """Of each edit, in order."""
    return "".join(int(length) * op for length, op in re.findall(r"(\d+)([XID])", cigar))


def test_words_of_the_longest_vector_are_written_and_read():
    """A pair for each, all in the widest kernel."""
    distances = (20, 50, 90)
    pairs = mixed_pairs(distances, seed=3)
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", {"block_threads": 32, "first_kernel": "E128"})
    check(pairs, answer)
    assert {name: sorted(scores) for name, scores in answer["answered"].items() if scores} == {"E128": [*distances]}


@pytest.mark.parametrize(
    ("scope", "distances"),
    [
        ("cigar", LIMITS[:2]),
        pytest.param("score", LIMITS, marks=pytest.mark.slow),
        pytest.param("cigar", DISTANCES, marks=pytest.mark.slow),
    ],
    ids=["near", "scores", "cigars"],
)
@pytest.mark.parametrize("design", FIRST_KERNELS)
def test_mixed_errors_are_found_by_the_first_kernel_for_so_many(design, scope, distances):
    pairs = mixed_pairs(distances, seed=12)
    answer = cuda_simulator.align(*zip(*pairs, strict=True), scope, design)
    check(pairs, answer)
    assert answer["scores"] == list(distances)
    expected = {}
    for pair, distance in zip(pairs, distances, strict=True):
        expected.setdefault(FIRST_KERNELS[design](*pair), []).append(distance)
    assert {name: sorted(scores) for name, scores in answer["answered"].items() if scores} == expected
    for cigar in answer["cigars"] or ():
        found = operations_of(cigar)
        words = [found[at : at + WORD] for at in range(0, len(found) // WORD * WORD, WORD)]
        assert all(set(word) == {*"XID"} for word in words), f"not mixed: {cigar}"
