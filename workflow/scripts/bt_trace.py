"""The offsets and BT-blocks of every cell of a pair, and its BT-buffer: a trace of our kernel of WFA-GPU's design.

The kernel itself runs in Numba's CUDA simulator, where it can be watched. Its block has one thread, so that blocks of
operations are numbered in the order of scores and diagonals, not as threads happen to come; nothing else is changed.
"""

import json
import sys

from wfa_kernels.reference.affine_bt import Cell, Trace
from workflow.scripts import simulator


def trace(pattern, text, penalties):
    """The Trace of two bytes objects over A, C, G and T, in the terms of the plain reference.

    penalties: Affine, without a common divisor. Raises subprocess.CalledProcessError if the simulator fails.
    """
    request = {"pair": [pattern.decode(), text.decode()], "penalties": penalties.triple}
    answer = simulator.ask("workflow.scripts.bt_trace", request)
    wavefronts = {matrix: {s: {} for s in range(matrix != "M", answer["score"] + 1)} for matrix in "MID"}
    for matrix, s, k, *cell in answer["cells"]:
        wavefronts[matrix][s][k] = Cell(*cell)
    final = wavefronts["M"][answer["score"]][len(text) - len(pattern)]
    return Trace(wavefronts, tuple(map(tuple, answer["buffer"])), answer["score"], final)


def main():
    """Answer one request from stdin on stdout; this process is the simulator's."""
    from wfa_kernels import Affine, PaperDesign
    from wfa_kernels.cuda import affine_wfa, affine_wfa_design, aligner
    from wfa_kernels.pairs import PairBatch

    request, cells, buffers = json.load(sys.stdin), [], []
    make_next, leave_chain = affine_wfa.make_next, affine_wfa.leave_chain

    def make_watched(triple, read, write, traced, heuristic):
        compute = make_next(triple, read, write, traced, heuristic)
        every, gap_ring = affine_wfa.rows(triple), affine_wfa.rings(triple)[1]

        def watched(chip, memory, where, sources, here, s, k, *others):
            fits = compute(chip, memory, where, sources, here, s, k, *others)
            for matrix, row in (("M", here[0]), ("I", here[1]), ("D", here[1] + gap_ring)):
                cell = [int(read(chip, memory, where, row + part * every, k)) for part in range(3)]
                if cell[0] >= 0 and (s > 0 or matrix == "M"):
                    cells.append((matrix, int(s), int(k), *cell))
            return fits

        return watched

    def left(block, previous, m, n, queues, runs, buffer, first):
        most = max(number for *_, number in cells)
        places = (int(first) + 2 * number for number in range(most))
        buffers.append([(int(buffer[place]), int(buffer[place + 1])) for place in places])
        return leave_chain(block, previous, m, n, queues, runs, buffer, first)

    affine_wfa.make_next, affine_wfa.leave_chain = make_watched, left
    affine_wfa_design._LEAST_THREADS = affine_wfa_design._MOST_THREADS = affine_wfa_design._ALONE_THREADS = 1
    pairs = PairBatch.from_strings(*([side] for side in request["pair"]))
    found = aligner.align_batch(pairs, Affine(*request["penalties"]), "cigar", PaperDesign(), rescue=None)
    (buffer,) = buffers
    json.dump({"cells": cells, "buffer": buffer, "score": int(found.scores[0])}, sys.stdout)


if __name__ == "__main__":
    main()
