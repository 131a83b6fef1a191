"""Letters that the host packs: what it makes of any bytes, and that they reach the GPU as those packed there do."""

import random

import numpy as np
import pytest

from tests import cuda_simulator, naive
from tests.test_cuda_edit import LENGTHS, check, random_pairs
from wfa_kernels.cuda import batches, host_packing
from wfa_kernels.cuda.affine_wfa_design import AffineWfa

CODES = {ord("A"): 0, ord("C"): 1, ord("T"): 2, ord("G"): 3}


def packed(letters):
    words = -(-len(letters) // 32)
    planes, odd = np.full(words, 7, np.uint64), np.full(words, 7, np.uint32)
    flat = np.frombuffer(letters, np.uint8)
    return host_packing.pack(flat, planes, odd), planes.tolist(), odd.tolist()


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000])
@pytest.mark.parametrize("alphabet", [b"ACGT", b"ACGTN", bytes(range(256))])
def test_a_letter_is_two_bits_and_a_mark_where_it_has_no_code(length, alphabet):
    letters = bytes(random.Random(length).choices(alphabet, k=length))
    strange, planes, odd = packed(letters)
    assert len(planes) == -(-length // 32)
    marks = [letter not in CODES for letter in letters]
    assert strange == any(marks)
    for at, letter in enumerate(letters):
        word, bit = divmod(at, 32)
        assert odd[word] >> bit & 1 == marks[at]
        assert marks[at] or (planes[word] >> bit & 1) + 2 * (planes[word] >> bit + 32 & 1) == CODES[letter]
    if length % 32:
        assert planes[-1] >> length % 32 & (1 << 32 - length % 32) - 1 == 0 and odd[-1] >> length % 32 == 0


def test_every_byte_that_is_no_letter_is_marked():
    strange, _, odd = packed(bytes(range(256)))
    marked = {at for at in range(256) if odd[at // 32] >> at % 32 & 1}
    assert strange and set(range(256)) - marked == set(CODES)


def test_pieces_for_many_threads_are_the_whole(monkeypatch):
    monkeypatch.setattr(batches, "_PACKED_AT_A_TIME", 1)
    for length in (1, 63, 64, 1000, 4096):
        letters = bytes(random.Random(length).choices(b"ACGTN", k=length))
        words = -(-length // 32)
        planes, odd = np.zeros(words, np.uint64), np.zeros(words, np.uint32)
        pieces = list(batches._pieces(np.frombuffer(letters, np.uint8), planes, odd))
        assert len(pieces) == min(batches._THREADS // 2, -(-length // 64))
        assert sum(len(piece[0]) for piece in pieces) == length
        found = [host_packing.pack(*piece) for piece in pieces]
        assert (any(found), planes.tolist(), odd.tolist()) == packed(letters)


@pytest.mark.parametrize("source", ["pageable", pytest.param("pinned", marks=pytest.mark.slow)])
def test_letters_without_a_code_are_found_wherever_they_are_packed(source):
    """Of each batch the first letters are packed by the host, of page-locked ones the others on the GPU."""
    pairs = random_pairs(16, LENGTHS[7:], seed=5)
    strange = (1, 8, 15)
    for row in strange:
        pattern, text = pairs[row]
        pairs[row] = (pattern + b"N", text) if row % 2 else (pattern, b"n" + text)
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "score", "fast", source, letters=300)
    letters = sum(len(pattern) + len(text) for pattern, text in pairs)
    by_host = 32 * sum(answer["host_packed"])
    assert len(answer["batches"]) > 3
    assert by_host >= letters if source == "pageable" else 0 < by_host < letters
    check(pairs, answer, rescued=strange)


def test_the_papers_designs_pack_on_the_gpu():
    pairs = random_pairs(4, LENGTHS[:6], seed=6)
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "score", "paper")
    assert not any(answer["host_packed"]) and not AffineWfa.HOST_PACKS
    assert answer["scores"] == [naive.edit_distance(*pair) for pair in pairs]
