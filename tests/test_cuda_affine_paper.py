"""WFA-GPU's design of gap-affine alignment: right in the simulator, its BT-blocks those of the plain reference, and on
a GPU in agreement with the CPU."""

import random

import pytest

from tests import cuda_simulator, gpu_cells, naive, typed_kernels
from tests.test_cuda_affine import PENALTIES, check
from tests.test_cuda_edit import random_pairs
from wfa_kernels import Affine, AlignError, Edit, PairBatch, PaperDesign, align
from wfa_kernels.cuda import device
from wfa_kernels.cuda.affine_wfa import POOL, chip_bytes, rows
from wfa_kernels.cuda.affine_wfa_design import AffineWfa
from wfa_kernels.reference import affine_bt

USUAL = (2, 3, 1)
#: Level of the last kernel: it has the largest share of memory.
LAST = 2
#: Around the words of packed letters, but near each other: the simulator takes 50 ms a score.
NEAR = random_pairs(8, (0, 1, 16, 31, 32, 33, 64, 65), seed=3, most_edits=1)
NEAR = [(pattern, text) for pattern, text in NEAR if abs(len(pattern) - len(text)) < 4]
NEAR += [(b"", b""), (b"A", b""), (b"", b"AC"), (b"GATTACA", b"GAATA"), (b"CCCCC", b"AC")]


@pytest.mark.parametrize("penalties", PENALTIES)
def test_simulator_agrees_with_naive(penalties):
    """Of two blocks the first one takes all pairs from the pool, as the simulator runs one after the other."""
    check(NEAR, cuda_simulator.align(*zip(*NEAR, strict=True), "cigar", "paper", penalties=penalties), penalties)


def test_two_blocks_share_the_pool():
    """And each has rows of its own in global memory, which it uses anew for every pair."""
    design = {"central_diagonals": 1}
    answer = cuda_simulator.align(*zip(*NEAR, strict=True), "cigar", design, penalties=USUAL, share=5)
    assert min(answer["taken"]) >= 5 and len(answer["taken"]) == 2
    check(NEAR, answer, USUAL)


@pytest.mark.slow
def test_scores_alone_in_small_batches_and_past_the_estimate():
    """The first launch reaches 16 diagonals for such short pairs, and the next one all."""
    pairs = [*NEAR[:6], (b"A" * 20, b"A"), (b"G", b"T" * 22)]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "score", "paper", "pinned", 64, penalties=USUAL)
    assert len(answer["batches"]) > 1
    check(pairs, answer, USUAL)


@pytest.mark.slow
def test_outer_diagonals_in_global_memory():
    pairs = [(b"A" * 11, b"A" * 3), (b"ACGT", b"ACGGGGGGGTT"), (b"GATTACAGATTACA", b"GAATAGGTTCGA"), (b"T" * 19, b"")]
    for scope, some in (("score", pairs[:2]), ("cigar", pairs)):  # the last one is over the first launch's memory
        answer = cuda_simulator.align(*zip(*some, strict=True), scope, {"central_diagonals": 3}, penalties=USUAL)
        check(some, answer, USUAL)


def blocks_of(pattern, text):
    return len(affine_bt.trace(pattern, text, Affine(*USUAL)).buffer)


def test_blocks_of_one_gap_counted_by_hand():
    """All is h = 0. A path of j letters in a gaps that are closed has j + a operations at score 3a + j. At the end of a
    gap of 15 letters, score 18, only the last cell has 16: one block. A letter more, score 19, and the open gap of 16
    letters fills another; every other path of 16 operations costs 20 or more."""
    pairs = [(b"A" * 14, b""), (b"A" * 15, b""), (b"A" * 16, b"")]
    assert [blocks_of(*pair) for pair in pairs] == [0, 1, 2]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", {"bt_blocks": 1}, penalties=USUAL, first_level=2)
    check(pairs, answer, USUAL, rescued=[2])


def test_pairs_over_the_buffer_go_to_the_host_while_others_are_still_to_be_sent():
    pairs = [(b"A" * 16, b""), *[(b"ACGTACGTACGTACGT", b"ACGTACGTACGTACGT")] * 19]
    design = {"bt_blocks": 1}
    answer = cuda_simulator.align(
        *zip(*pairs, strict=True), "cigar", design, letters=32, penalties=USUAL, first_level=LAST
    )
    assert answer["rescued_at"][0] < len(answer["batches"])
    check(pairs, answer, USUAL, rescued=[0])


@pytest.mark.slow
def test_buffers_hold_as_many_blocks_as_the_reference_counts():
    draw, of_count = random.Random(8), {}
    while len(of_count) < 3:
        pattern, text = (bytes(draw.choices(b"ACGT", k=draw.randint(17, 20))) for _ in range(2))
        if 1 <= blocks_of(pattern, text) <= 14:
            of_count[blocks_of(pattern, text)] = (pattern, text)
    counts = sorted(of_count)
    pairs = [of_count[count] for count in counts]
    for most, over in ((counts[1], [2]), (counts[1] - 1, [1, 2])):
        answer = cuda_simulator.align(
            *zip(*pairs, strict=True), "cigar", {"bt_blocks": most}, penalties=USUAL, first_level=LAST
        )
        check(pairs, answer, USUAL, rescued=over)


def test_reference_agrees_with_naive():
    for i, (pattern, text) in enumerate(random_pairs(200, (0, 1, 3, 9, 17, 24, 40), seed=5)):
        penalties = PENALTIES[i % len(PENALTIES)]
        score, cigar = affine_bt.align_pair(pattern, text, Affine(*penalties), "cigar")
        expected = naive.affine_score(pattern, text, *penalties)
        assert score == naive.check_cigar(pattern, text, cigar, penalties) == expected


def test_reference_carries_the_operations_of_a_pair_done_by_hand():
    """GA matches, X, TA matches, then CA is deleted: D, D, and the X that ends the gap, at score 2 + 3 + 2."""
    found = affine_bt.trace(b"GATTACA", b"GAATA", Affine(*USUAL))
    first, mismatched = found.wavefronts["M"][0][0], found.wavefronts["M"][2][0]
    assert (first.offset, first.block, mismatched.offset, mismatched.block) == (2, 0, 5, 0b10)
    assert found.wavefronts["D"][6][-1].block == 0b10_11 and found.wavefronts["D"][7][-2].block == 0b10_11_11
    assert (found.score, found.final.block, found.final.previous, found.buffer) == (7, 0b10_11_11_10, 0, ())
    told = affine_bt.operations(found)
    assert told == "XDDX" and affine_bt.rebuild(b"GATTACA", b"GAATA", told) == "2=1X2=2D"


def test_other_letters_are_handed_back():
    pairs = [(b"ACGT", b"AGGT"), (b"NNNN", b"NNAN"), (b"AC", b"A"), (b"acgt", b"ACGT"), (b"", b"U")]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", "paper", penalties=(4, 6, 2))
    check(pairs, answer, (4, 6, 2), rescued=[1, 3, 4])


def test_penalties_of_too_many_rows_are_handed_back():
    pairs = [(b"ACGT", b"AGGT"), (b"A", b"")]
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", "paper", penalties=(2**29 - 1, 2**29, 7))
    check(pairs, answer, None, rescued=[0, 1])


@pytest.mark.parametrize("scope", ["score", "cigar"])
def test_empty_batch(scope):
    assert cuda_simulator.align([], [], scope, "paper", penalties=USUAL)["scores"] == []


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("longest", [1, 150, 1000, 10_000, 65_535])
@pytest.mark.parametrize("words", [1, 1000, 1 << 20, 1 << 29])
def test_launches_keep_within_their_memory(words, longest, traced):
    design = AffineWfa((4, 6, 2), PaperDesign())
    assert rows(design.triple) == 9
    for level in range(len(design.NAMES)):
        blocks, share = design.plan(level, words, 5000, longest, traced)
        assert 0 < blocks <= 5000 and (POOL + share.part * blocks <= 2 * words or not share.part)
        assert share.central >= 0 and chip_bytes(design.triple, share.central, traced) <= 48 * 1024 - 64
        if share.reach > share.central:  # what lies in global memory, and the BT-buffer behind it
            assert 9 * (3 if traced else 1) * (2 * share.reach + 1) + 2 * share.capacity <= share.part
        elif share.reach >= 0:
            assert share.reach == share.central and 2 * share.capacity <= max(share.part, 0)


@pytest.mark.parametrize("choice", [PaperDesign(), PaperDesign(bt_blocks=2**30)])
@pytest.mark.parametrize("longest", [300_000, 1_000_000])
def test_bt_blocks_of_long_pairs_can_be_counted(longest, choice):
    """In int32, by a wavefront that began within them too: behind 2**31 it would write in front of its memory."""
    design = AffineWfa(USUAL, choice).longer()
    for level in range(len(design.NAMES)):
        _, share = design.plan(level, 1 << 32, 1, longest, True)
        assert 0 < share.capacity < 2**31 - 3 * (2 * longest + 1)


@pytest.mark.parametrize("traced", [False, True])
def test_with_its_memory_the_first_launch_fills_the_gpu(traced):
    design = AffineWfa(USUAL, PaperDesign())
    for longest, blocks_per_processor in ((150, 17), (1000, 6), (10_000, 4)):
        words = design.scratch_words(10**6, longest, traced)
        blocks, share = design.plan(0, words, 10**6, longest, traced)
        assert blocks >= 132 * blocks_per_processor
        assert share.reach == -(-longest // 10) * 4 - 3
        for few in (20, 10**6):  # with little memory the blocks share it
            blocks, share = design.plan(0, words // 64 + 1, few, longest, traced)
            assert blocks >= min(few, 132) and share.reach > 0


def test_with_its_memory_the_last_launch_takes_any_pair():
    design = AffineWfa(USUAL, PaperDesign())
    for longest in (150, 1000, 5000):
        _, share = design.plan(LAST, design.scratch_words(1000, longest, True), 1000, longest, True)
        assert share.reach == longest and share.capacity >= design.worst(longest, True).capacity


def test_fields_for_other_penalties_are_refused():
    pairs = PairBatch.from_strings(["A"], ["C"])
    for penalties, design, told in (
        (Affine(*USUAL), PaperDesign(first_kernel="E64"), "first_kernel is for edit distance"),
        (Edit(), PaperDesign(bt_blocks=9), "bt_blocks is for gap-affine penalties"),
        (Edit(), PaperDesign(central_diagonals=9), "central_diagonals is for gap-affine penalties"),
    ):
        with pytest.raises(AlignError, match=told):
            align(pairs, penalties, device="cuda", design=design)
    for field in ({"bt_blocks": 0}, {"central_diagonals": 1.5}, {"bt_blocks": True}):
        with pytest.raises(ValueError, match="must be an integer from 1"):
            PaperDesign(**field)


def test_operations_make_runs_under_the_types_of_a_gpu():
    """Numba shifts 32-bit words with 64 bits; a gap's operations end with an X; more than a block of operations."""
    text, operations = [], []
    for letter, event in zip("ACGT" * 20, range(80), strict=True):
        if event % 4 == 1:
            text.append("T")
            operations.append(2)
        elif event % 8 == 4:
            operations += [3, 2]
        else:
            text.append(letter)
    found = typed_kernels.runs_of("ACGT" * 20, "".join(text), operations)
    assert naive.check_cigar(("ACGT" * 20).encode(), "".join(text).encode(), found, USUAL) == 20 * 2 + 10 * 4
    assert found.count("X") == 20 and found.count("D") == 10


@pytest.mark.parametrize("traced", [False, True])
def test_central_diagonals_fill_as_much_shared_memory_as_a_block_may_have(traced):
    usual, most, some = (
        AffineWfa(USUAL, PaperDesign(central_diagonals=given)).estimated(50_000, traced)
        for given in (None, 20_000, 301)
    )
    shared = [chip_bytes(USUAL, share.central, traced) for share in (usual, most)]
    assert 31 * 1024 < shared[0] <= 32 * 1024 and 224 * 1024 < shared[1] <= 226 * 1024
    assert some.central == 150


def test_packed_pairs_that_are_the_hosts_twice_over_are_handed_to_it_once():
    """One has a letter without a code, one is over the BT-buffer, one is both."""
    pairs = [(b"GATTACA" * 3, b"GATTANA" * 3), (b"A" * 60, b"C" * 60), (b"AN" * 30, b"C" * 60), (b"ACGT", b"ACGT")]
    given = {"bt_blocks": 1}, "packed"
    answer = cuda_simulator.align(*zip(*pairs, strict=True), "cigar", *given, penalties=USUAL)
    assert sorted(answer["rescued"]) == [0, 1, 2] and answer["count"] == 3
    assert answer["scores"] == [1000, 1001, 1002, 0]


@pytest.mark.gpu
@pytest.mark.parametrize("design", ["paper", PaperDesign(central_diagonals=9), PaperDesign(bt_blocks=40)])
@pytest.mark.parametrize("penalties", [*PENALTIES, (6, 5, 3), (97, 243, 13)])
def test_gpu_agrees_with_the_cpu_on_ragged_pairs(design, penalties):
    assert device.available() and not device.simulated(), device.describe()
    little = design == PaperDesign(bt_blocks=40)
    gpu_cells.check(gpu_cells.ragged(40_000, 600, seed=5), Affine(*penalties), design=design, little_room=little)


@pytest.mark.gpu
def test_gpu_agrees_with_the_cpu_where_a_block_asks_for_all_the_shared_memory_it_may_have():
    """More than 48 KiB is given to a kernel that asks for it beforehand only."""
    assert device.available() and not device.simulated(), device.describe()
    design, pairs = PaperDesign(central_diagonals=20_000), gpu_cells.uniform(300, 10_000, 0.1)
    for traced in (False, True):
        assert chip_bytes(USUAL, AffineWfa(USUAL, design).estimated(10_000, traced).central, traced) > 48 * 1024
    gpu_cells.check(pairs, Affine(*USUAL), ("pinned",), design)
