"""Which thread of which block works on which diagonal of which wavefront: a trace of our kernel of WFA-GPU's design.

The kernel itself runs in Numba's CUDA simulator, where it can be watched. The simulator runs one block after the other,
so that the first one would take all pairs from the pool; blocks that run at once share them. So here each block leaves
the pool after its first pair; nothing else is changed.
"""

import json
import sys
from dataclasses import dataclass

from workflow.scripts import simulator


@dataclass(frozen=True)
class Work:
    """One diagonal of the wavefronts of one score. block, thread: who computed it; pair: of whom.

    reached: whether there is a path of that score on the diagonal.
    """

    block: int
    pair: int
    score: int
    k: int
    thread: int
    reached: bool


@dataclass(frozen=True)
class PoolTrace:
    """threads: of each block. work: a tuple of Work, in order. scores: the kernel's answers, a pair each."""

    threads: int
    work: tuple
    scores: tuple


def trace(pairs, penalties):
    """PoolTrace of the first kernel on a list of (pattern, text), bytes over A, C, G and T, a block each.

    penalties: (mismatch, gap_open, gap_extend). Raises subprocess.CalledProcessError if the simulator fails.
    """
    request = {"pairs": [[side.decode() for side in pair] for pair in pairs], "penalties": penalties}
    answer = simulator.ask("workflow.scripts.pool_trace", request)
    return PoolTrace(answer["threads"], tuple(sorted_work(answer["seen"])), tuple(answer["scores"]))


def sorted_work(seen):
    """Work in order: that of computation is chance between threads."""
    return [Work(*one) for one in sorted(seen)]


def main():
    """Answer one request from stdin on stdout; this process is the simulator's."""
    from wfa_kernels import Affine, PaperDesign
    from wfa_kernels.cuda import affine_wfa, affine_wfa_design, aligner
    from wfa_kernels.pairs import PairBatch

    request = json.load(sys.stdin)
    count, taken, seen, sizes = len(request["pairs"]), {}, [], set()
    take, make_next = affine_wfa.take, affine_wfa.make_next

    def here():
        # While a kernel runs, the simulator puts its own threads and blocks behind the module's name ``cuda``.
        return int(affine_wfa.cuda.blockIdx.x), int(affine_wfa.cuda.threadIdx.x)

    def take_one(memory, shared, thread):
        if here() in taken:
            return count
        taken[here()] = int(take(memory, shared, thread))
        return taken[here()]

    def make_watched(triple, read, *further):
        compute = make_next(triple, read, *further)

        def watched(chip, memory, where, sources, rows, s, k, *others):
            fits = compute(chip, memory, where, sources, rows, s, k, *others)
            reached = bool(read(chip, memory, where, rows[0], k) >= 0)
            block, thread = here()
            seen.append((block, taken[here()], int(s), int(k), thread, reached))
            sizes.add(int(affine_wfa.cuda.blockDim.x))
            return fits

        return watched

    affine_wfa.take, affine_wfa.make_next = take_one, make_watched
    affine_wfa_design.SIMULATED_BLOCKS = count
    pairs = PairBatch.from_strings(*zip(*request["pairs"], strict=True))
    design = PaperDesign()
    found = aligner.align_batch(pairs, Affine(*request["penalties"]), "score", design, rescue=None)
    (threads,) = sizes
    json.dump({"threads": threads, "seen": seen, "scores": found.scores.tolist()}, sys.stdout)


if __name__ == "__main__":
    main()
