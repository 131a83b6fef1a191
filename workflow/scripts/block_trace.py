"""Which thread of a block works on which diagonal at each score: a trace of our kernel of eWFA-GPU's design.

The kernel itself runs, unchanged, in Numba's CUDA simulator, where it can be watched.
"""

import inspect
import json
import sys
from collections import Counter
from dataclasses import dataclass

from workflow.scripts import simulator


@dataclass(frozen=True)
class Work:
    """One diagonal of one wavefront, and who computed its offset.

    thread: its number in the block. turn: diagonals that this thread had done before at this score.
    """

    score: int
    k: int
    thread: int
    turn: int


@dataclass(frozen=True)
class BlockTrace:
    """What was watched. threads: of the block. distance: the kernel's answer.

    work: a tuple of Work in the order of computation, which between threads is chance.
    """

    threads: int
    work: tuple
    distance: int


def trace(pattern, text):
    """BlockTrace of the smallest kernel on two bytes objects over A, C, G and T, within its limit of 32 errors.

    Diagonals outside the DP matrix, which the kernel marks as unreached without extending them, are left out. Raises
    subprocess.CalledProcessError if the simulator fails.
    """
    answer = simulator.ask("workflow.scripts.block_trace", [pattern.decode(), text.decode()])
    turns, work = Counter(), []
    for score, k, thread in answer["seen"]:
        work.append(Work(score, k, thread, turns[score, thread]))
        turns[score, thread] += 1
    return BlockTrace(answer["threads"], tuple(work), answer["distance"])


def main():
    """Answer one request from stdin on stdout; this process is the simulator's."""
    from wfa_kernels import Edit, PaperDesign
    from wfa_kernels.cuda import aligner, edit_wfa
    from wfa_kernels.pairs import PairBatch

    extend, seen, sizes = edit_wfa.matches_on, [], set()
    text_begins = []

    def watched(pattern, v, text, h, most):
        # While a kernel runs, the simulator puts its own threads and blocks behind the module's name ``cuda``. The
        # score is the kernel's own variable, which it sets after the first wavefront, that of score 0. The text lies
        # behind the pattern in shared memory; the first call is at its beginning.
        score = inspect.currentframe().f_back.f_locals.get("e", 0)
        text_begins.append(int(h))
        seen.append((int(score), int(h) - text_begins[0] - int(v), int(edit_wfa.cuda.threadIdx.x)))
        sizes.add(int(edit_wfa.cuda.blockDim.x))
        return extend(pattern, v, text, h, most)

    edit_wfa.matches_on = watched
    pairs = PairBatch.from_strings(*([sequence.encode()] for sequence in json.load(sys.stdin)))
    distance = int(aligner.align_batch(pairs, Edit(), "score", PaperDesign(), rescue=None).scores[0])
    if max(score for score, _, _ in seen) != distance:
        raise RuntimeError(f"the kernel answered {distance}, which is not the last score that was watched")
    (threads,) = sizes
    json.dump({"threads": threads, "seen": seen, "distance": distance}, sys.stdout)


if __name__ == "__main__":
    main()
