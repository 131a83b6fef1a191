"""Pairs that another aligner answers beside a batch's own."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from wfa_kernels.cuda import rescue as rescue_module
from wfa_kernels.cuda.rescue import Rescue
from wfa_kernels.pairs import offsets_of
from wfa_kernels.result import AlignmentResult


def answers(rows, progress=None):
    return AlignmentResult((100 + rows).astype(np.int32), (rows % 4).astype(np.uint8))


def own(count):
    return AlignmentResult(np.arange(count, dtype=np.int32), np.zeros(count, np.uint8))


def test_what_comes_while_others_are_aligned_is_aligned_together():
    asked, begun, may_end = [], threading.Event(), threading.Event()

    def rescue(rows, progress):
        asked.append(rows.tolist())
        begun.set()
        assert may_end.wait(60)
        return answers(rows)

    with Rescue(rescue, None) as rescued:
        rescued.hand_over(np.array([4]))
        assert begun.wait(60)
        for rows in ([1, 2], [7], [0]):
            rescued.hand_over(np.array(rows))
        may_end.set()
        found = rescued.splice_into(own(9))
    assert asked == [[4], [1, 2, 7, 0]]
    assert found.scores.tolist() == [100, 101, 102, 3, 104, 5, 6, 107, 8] and found.rescued == 5
    assert found.status.tolist() == [0, 1, 2, 0, 0, 0, 0, 3, 0]


def test_what_the_other_aligner_raises_is_raised():
    def rescue(rows, progress):
        raise KeyError(rows[0])

    with Rescue(rescue, None) as rescued, pytest.raises(KeyError):
        rescued.hand_over(np.array([4]))
        rescued.splice_into(own(9))


def test_an_interrupt_does_not_wait_until_all_are_aligned():
    begun, ended = threading.Event(), threading.Event()

    def rescue(rows, progress):
        begun.set()
        for _ in range(600):  # a minute
            time.sleep(0.1)
            try:
                progress(1)
            except Exception:
                ended.set()
                raise
        return answers(rows)

    with pytest.raises(KeyboardInterrupt), Rescue(rescue, None) as rescued:
        rescued.hand_over(np.array([4]))
        assert begun.wait(60)
        raise KeyboardInterrupt
    assert ended.is_set()


def test_nothing_handed_over_is_the_result_as_it_is():
    result = own(3)
    with Rescue(answers, None) as rescued:
        assert rescued.splice_into(result) is result


def test_answers_of_before_are_taken_as_they_are():
    rows = np.array([2, 0])
    with Rescue(answers, None) as rescued:
        rescued.add(rows, answers(rows))
        rescued.hand_over(np.array([1]))
        found = rescued.splice_into(own(4))
    assert found.scores.tolist() == [100, 101, 102, 3] and found.rescued == 1


@pytest.mark.parametrize("some", [0.0, 0.05, 1.0])
def test_cigars_of_the_others_are_put_between_the_own_by_threads(monkeypatch, some):
    monkeypatch.setattr(rescue_module, "_PAIRS_AT_A_TIME", 64)
    rng = np.random.default_rng(7)
    texts = [rng.integers(0, 2**32, size, dtype=np.uint32).tolist() for size in rng.integers(0, 9, 1000)]
    own_texts = [rng.integers(0, 2**32, size, dtype=np.uint32).tolist() for size in rng.integers(0, 4, 1000)]
    rows = np.flatnonzero(rng.random(1000) < some) if some else np.array([0, 63, 64, 999])

    def result(told):
        offsets = offsets_of(np.array([len(text) for text in told]))
        flat = np.array([word for text in told for word in text], np.uint32)
        return AlignmentResult(np.zeros(len(told), np.int32), np.zeros(len(told), np.uint8), flat, offsets)

    pool = SimpleNamespace(take=lambda count, dtype: np.full(count, 77, dtype))
    with Rescue(lambda some, _: result([texts[row] for row in some]), pool) as rescued:
        for part in np.array_split(rng.permutation(rows), 3):
            rescued.hand_over(part)
        found = rescued.splice_into(result(own_texts))
    theirs = set(rows.tolist())
    wanted = [texts[row] if row in theirs else own_texts[row] for row in range(1000)]
    ends = found.cigar_offsets.tolist()
    assert [found.cigars[a:b].tolist() for a, b in zip(ends[:-1], ends[1:], strict=True)] == wanted
    assert ends[0] == 0 and ends[-1] == len(found.cigars) and found.rescued == len(rows)
