"""Where things lie, by the kernels that tell it: in the simulator, this module run as a program."""

import json

import numpy as np

from tests import cuda_simulator

#: Numbers of blocks: up to 64 are added up at once here, 1024 on a GPU, which are 131,072 pairs.
COUNTS = 1, 63, 64, 65, 150
#: Where the batch before ends.
BEFORE = 2**32 - 9


def test_sums_of_more_blocks_than_threads_add_up_at_once():
    for count, (sums, spans) in zip(COUNTS, cuda_simulator.answer_of(__file__), strict=True):
        ends = BEFORE + np.cumsum([0, *given(count)])
        assert sums == ends[:-1].tolist() and spans == [5, BEFORE, BEFORE, ends[-1]]


def given(count):
    return [3 * block % 7 for block in range(count)]


def main():
    """Print for each number of blocks the sums before each, and the spans of the batch before and of theirs."""
    from wfa_kernels.cuda import compaction

    answers = []
    for count in COUNTS:
        sums, spans = np.array(given(count), np.int64), np.array([5, BEFORE, 0, 0], np.int64)
        compaction.scan_sums[1, compaction.THREADS](count, sums, spans, 0, 2)
        answers.append([sums.tolist(), spans.tolist()])
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
