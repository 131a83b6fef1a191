"""What every band's kernel does whatever its matrix, in Numba's simulator: this module run as a program."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests import cuda_simulator

BLOCKS = 3


@pytest.mark.parametrize("more", [0, 3, 7, 23])
def test_codes_of_a_block_begin_at_a_multiple_of_its_threads_whatever_memory_there_is(more):
    """So that a warp's 32 words, of 8 bytes each, are two whole lines of the cache."""
    threads, written = cuda_simulator.answer_of(__file__, more)
    begin = np.flatnonzero(written)[:: 2 * threads]
    assert len(begin) == BLOCKS and not any(begin % threads)
    for at in begin:
        assert written[at : at + 2 * threads] == [1] * threads + [2] * threads


def main(more):
    """Print the threads of a block, and what blocks leave in so many words more than they need: each thread 1 in its
    first word, 2 in its second."""
    from numba import cuda, int32, int64, uint64

    from wfa_kernels.cuda.banded import THREADS, make_kernel

    def forward(pattern, pattern_at, text, text_at, m, n, a, limit, steps, at):
        for word in range(2):
            steps[at + uint64(word * THREADS)] += uint64(word + 1)
        return int32(0)

    functions = {
        "lay": lambda m, n: int32(0),
        "limit": lambda m, n, a: int32(1),
        "words": lambda m, n: int64(2),
        "forward": forward,
        "most_runs": lambda score: int32(0),
        "backward": lambda *_: 0,
    }
    matrix = {name: cuda.jit(device=True)(function) for name, function in functions.items()}
    kernel = make_kernel("_words", 64, False, SimpleNamespace(unit=1, **matrix))
    pairs = BLOCKS * THREADS
    letters, shape = np.zeros(1, np.uint64), np.full(pairs, 1 | 1 << 32, np.uint64)
    place, queues = np.zeros((2, pairs), np.uint32), np.zeros((4, pairs), np.int32)
    scores, none, steps = np.zeros(pairs, np.int32), np.zeros(1, np.uint32), np.zeros(2 * pairs + more, np.uint64)
    kernel[BLOCKS, THREADS](letters, letters, pairs, shape, place, queues, -1, 1, scores, none, none, none, steps)
    print(json.dumps([THREADS, steps.tolist()]))


if __name__ == "__main__":
    main(int(sys.argv[1]))
