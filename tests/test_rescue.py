"""Pairs that another aligner answers beside a batch's own."""

import threading

import numpy as np
import pytest

from wfa_kernels.cuda.rescue import Rescue
from wfa_kernels.result import AlignmentResult


def answers(rows):
    return AlignmentResult((100 + rows).astype(np.int32), np.zeros(len(rows), np.uint8))


def own(count):
    return AlignmentResult(np.arange(count, dtype=np.int32), np.zeros(count, np.uint8))


def test_what_comes_while_others_are_aligned_is_aligned_together():
    asked, begun, may_end = [], threading.Event(), threading.Event()

    def rescue(rows):
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


def test_what_the_other_aligner_raises_is_raised():
    def rescue(rows):
        raise KeyError(rows[0])

    with Rescue(rescue, None) as rescued, pytest.raises(KeyError):
        rescued.hand_over(np.array([4]))
        rescued.splice_into(own(9))


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
