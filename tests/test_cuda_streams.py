"""What runs beside what on a GPU: answers are right, however late or early each stream does what it is asked for."""

import pytest

from tests import cuda_simulator
from tests.test_cuda_edit import check, random_pairs

#: Some with more runs than there is room for at first, one with a letter that has no code; of a call before, others.
PAIRS = [*random_pairs(4, (15, 16, 17), seed=2, most_edits=3), (b"GATTACANGATTACAG", b"GATTACAGATTACAGA")]
PAIRS += [(b"ACGT" * 4, b"ATGA" * 4)] * 5
BEFORE = [(b"GATTACAGATTACAGA", b"GATTACAGTTACAGAT")] * 3


@pytest.mark.parametrize(("early", "source", "scope"), [
    ((), "pageable", "cigar"), ((), "pinned", "score"), (("inward", "compute"), "pageable", "cigar"),
    *(pytest.param(early, source, "cigar", marks=pytest.mark.slow) for early, source in (
        (("inward",), "pageable"), (("inward", "compute 1"), "pageable"), (("inward", "compute"), "pinned"),
        (("inward", "compute", "afterwards"), "pageable"), ((), "packed"),
    )),
])  # fmt: skip
def test_each_stream_waits_for_what_it_needs(early, source, scope):
    """Batches of a pair or two each: the buffers of a slot are used again."""
    answer = cuda_simulator.align(
        *zip(*PAIRS, strict=True), scope, "fast", source, letters=32, before=BEFORE, early=early
    )
    assert len(answer["batches"]) > (2 if source == "packed" else 6)
    check(PAIRS, answer, rescued=[4])
