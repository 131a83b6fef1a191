"""Run the CUDA kernels in Numba's simulator, in a process of its own: the simulator must be chosen before Numba loads.

The kernels here need block barriers only, which the simulator has (it lacks warp primitives). What it takes and a GPU
refuses is refused here too: array sizes that are no plain positive int.
"""

import itertools
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def align(patterns, texts, scope, design, source="pageable", letters=None, before=(), penalties=None, first_level=0,
          strips=None, rate=0, heuristic=None, by_length=False, longest=None, bits=None, windows=False,
          wide=False, back_together=None, reads=None, apart=1, late=0, early=None, share=None):  # fmt: skip
    """Align lists of bytes in the simulator.

    source: where the letters lie: "pageable", "pinned", "packed" or "registered". letters: most letters of a batch's
    patterns and of its texts, by default all. before: (pattern, text) pairs of a call before, whose answers do not
    count. penalties: (mismatch, gap_open, gap_extend); None: edit distance. first_level: of the fast designs' kernels.
    strips: (threads of a pair, reach) of those in place of the design's. rate: of BandsThenStrips, to begin with.
    heuristic: (name of its class, its values). by_length: order even short pairs, of about equal lengths. longest:
    letters beyond which a sequence is too long for the designs that are for many pairs. bits: of a length in records.
    windows: trace strips window by window, as if there were no room for a pair's states. wide: a block a pair, whatever
    the band's reach. back_together: threads of a pair on its way back. reads: all are long reads; (MANY_LETTERS,
    FEW_LETTERS, FEW) of the module long_reads. apart: bytes from a letter to the next one, -1 for a view in reverse.
    late: every how many pieces of letters, 64 each, one is not packed when it is due. early: CUDA streams that do what
    they are asked for as soon as they may, the others as late; see late_gpu. share: pairs that the first of several
    blocks of the papers' design takes from the pool of a launch, by default all: the next one begins when it has ended.
    Returns {"scores", "status", "cigars" (strings, or None for scope "score"), "rescued" (rows handed back),
    "rescued_at" (batches sent by each time that rows were), "count" (of them, as the result has it), "batches",
    "host_packed", "rates", "answered", "worked_on" (see watched_kernels), "late" (pieces of letters that are packed
    still), "locked" (page-locked bytes of the pairs as they tell, and as they were counted), "taken" (how often each
    block of shared pools asked them)}. A rescued pair is answered with score 1000 + row and CIGAR ``7X``, to be told
    from the kernels' own answers.
    design: a name, or a dict of a PaperDesign's fields.
    """
    request = {
        "patterns": [p.hex() for p in patterns],
        "texts": [t.hex() for t in texts],
        "scope": scope,
        "design": design,
        "source": source,
        "letters": letters,
        "penalties": penalties,
        "first_level": first_level,
        "strips": strips,
        "rate": rate,
        "heuristic": heuristic,
        "by_length": by_length,
        "longest": longest,
        "bits": bits,
        "windows": windows,
        "wide": wide,
        "back_together": back_together,
        "reads": reads,
        "apart": apart,
        "late": late,
        "early": early,
        "share": share,
        "before": [[p.hex(), t.hex()] for p, t in before],
    }
    return answer_of(__file__, stdin=json.dumps(request))


def answer_of(program, *arguments, stdin=None):
    """What a Python program prints in the simulator, as JSON."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, program, *map(str, arguments)]
    done = subprocess.run(command, input=stdin, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refuse_what_a_gpu_refuses():
    """Patch the simulator of this process. What is in memory at first is neither zeros nor of use, there too."""
    from numba import cuda

    lenient, page_locked = cuda.device_array, cuda.pinned_array

    def device_array(shape, dtype):
        sizes = shape if type(shape) is tuple else (shape,)
        assert all(type(size) is int and size > 0 for size in sizes), f"cuda.device_array of shape {shape!r}"
        array = lenient(shape, dtype)
        array._ary.reshape(-1).view("uint8")[:] = 0xA5
        return array

    def pinned_array(shape, dtype):
        array = page_locked(shape, dtype)
        array.reshape(-1).view("uint8")[:] = 0xA5
        return array

    cuda.device_array, cuda.pinned_array = device_array, pinned_array


def force(request):
    """Set in the library what the request asks for and no caller can choose; see align."""
    from tests import forced_strips
    from wfa_kernels.cuda import (
        affine_wfa_design,
        aligner,
        batches,
        by_length,
        design,
        kept_streams,
        long_reads,
        records,
        source,
        strips_design,
    )

    batches._LEAST_LETTERS = batches._LEAST_LETTERS_PINNED = 0
    source.PATIENCE_S = 0.5 if request["late"] else 60
    if request["late"]:
        batches._PIECES, batches._PACKED_AT_A_TIME, batches._MORE = 1 << 20, 1, 1  # every batch has a whole share
    if request["letters"]:
        kept_streams._MOST_LETTERS, kept_streams._LETTERS_PER_PAIR, batches._LEAST_TO_SHARE = request["letters"], 16, 0
        strips_design.BandsThenStrips.filling_pairs = lambda self, longest, level, traced: 0
    strips_design.BandsThenStrips.first_level = request["first_level"]
    if request["longest"]:
        for module in (aligner, kept_streams, design, affine_wfa_design):
            module.MAX_LENGTH = request["longest"]
    if request["bits"]:
        records._ELEMENTS = {request["bits"]: records._ELEMENTS[request["bits"]]}
    if request["windows"]:
        forced_strips.windows(0)
    if request["wide"]:
        forced_strips.wide()
    if request["back_together"]:
        forced_strips.back_together(request["back_together"])
    if request["reads"]:
        long_reads.LETTERS = -1
        long_reads.MANY_LETTERS, long_reads.FEW_LETTERS, long_reads.FEW = request["reads"]
    if request["by_length"]:
        by_length._LETTERS = by_length._TIMES = 0
    if request["strips"]:
        strips_design.STRIPS, strips_design._most = request["strips"], lambda fewest: fewest
        strips_design.BandsThenStrips.likely_level = lambda self, longest, pairs: None
    strips_design.BandsThenStrips.rate = request["rate"]
    affine_wfa_design.AffineWfa.first_level = request["first_level"]


def share_pools(most):
    """Let the first block leave each launch's pool after so many pairs; {block: how often it asked one}."""
    from wfa_kernels.cuda import affine_wfa

    take, left, taken = affine_wfa.take, {}, {}

    def take_share(memory, shared, thread):
        block, blocks = int(affine_wfa.cuda.blockIdx.x), int(affine_wfa.cuda.gridDim.x)
        if block == 0 < blocks - 1:
            left[thread] = left.get(thread, most) - 1
            if left[thread] < 0:
                del left[thread]
                return 2**31 - 1
        number = take(memory, shared, thread)
        if thread == 0:
            taken[block] = taken.get(block, 0) + 1
        return number

    affine_wfa.take = take_share
    return taken


def be_late(every):
    """Let every such piece of letters be packed when its buffers are waited for, not before; {future: arguments}."""
    from concurrent.futures import Future, ThreadPoolExecutor, wait

    import numpy as np

    from wfa_kernels.cuda import buffers, host_packing, source, stream

    few = np.zeros(64, np.uint8), np.zeros(2, np.uint64), np.zeros(2, np.uint32), False
    host_packing.pack(*few)  # what is in time would be late where it is compiled
    begin, settle, begun, late = ThreadPoolExecutor.submit, source.Source.settle, itertools.count(1), {}

    def submit(threads, function, *arguments):
        if function is not host_packing.pack or next(begun) % every:
            return begin(threads, function, *arguments)
        piece = Future()
        piece.set_running_or_notify_cancel()
        late[piece] = arguments
        return piece

    def end(pieces):
        for piece in pieces:
            if piece in late and not piece.done():
                piece.set_result(host_packing.pack(*late[piece]))

    def settled(letters, due):
        if not letters.shares:  # the wire waits for those, too
            end(letters.staging)
        return settle(letters, due)

    def waited(pieces):
        end(pieces)
        return wait(pieces)

    ThreadPoolExecutor.submit, source.Source.settle, buffers.wait, stream.wait = submit, settled, waited, waited
    return late


def spread(pairs, apart):
    """The same PairBatch, as views of arrays in which the letters lie so many bytes apart, with others in between."""
    import numpy as np

    def view(letters):
        if apart > 1:
            return np.repeat(letters, apart)[::apart]
        return letters if apart == 1 else letters[::apart].copy()[::apart]

    return replace(pairs, pattern=view(pairs.pattern), text=view(pairs.text))


def main():
    """Answer one request from stdin on stdout."""
    import numpy as np

    from tests import late_gpu
    from tests.watched_kernels import Watched
    from wfa_kernels import designs, heuristics
    from wfa_kernels.cigar import MISMATCH
    from wfa_kernels.cuda import aligner, device, memory, pinned, registered
    from wfa_kernels.pairs import PairBatch
    from wfa_kernels.penalties import Affine, Edit
    from wfa_kernels.result import AlignmentResult

    assert device.available() and device.simulated(), device.describe()
    refuse_what_a_gpu_refuses()
    request = json.load(sys.stdin)
    pairs = PairBatch.from_strings(*([bytes.fromhex(s) for s in request[key]] for key in ("patterns", "texts")))
    pairs = spread(pairs, request["apart"])
    pinned._PIECE = 8  # words: letters are packed in several pieces
    bring = {"pinned": pinned.pin, "packed": pinned.pack, "registered": registered.register}
    pairs = bring[request["source"]](pairs) if request["source"] in bring else pairs
    locked = (pairs.page_locked_bytes, memory.held_bytes("pinned")) if request["source"] in bring else None
    force(request)
    if request["early"] is not None:
        late_gpu.take_the_place_of_the_simulators(request["early"])
    late = be_late(request["late"]) if request["late"] else {}
    taken = share_pools(request["share"]) if request["share"] else {}
    traced = request["scope"] == "cigar"
    watched, rescued, rescued_at = Watched(), [], []

    def rescue(rows, progress=None):
        rescued_at.append(len(watched.batches))
        rescued.extend(rows.tolist())
        count = len(rows)
        cigars = (np.full(count, 7 << 4 | MISMATCH, np.uint32), np.arange(count + 1)) if traced else ()
        return AlignmentResult((1000 + rows).astype(np.int32), np.zeros(count, np.uint8), *cigars)

    chosen = request["design"]
    chosen = designs.PaperDesign(**chosen) if isinstance(chosen, dict) else designs.checked(chosen)
    penalties = Affine(*request["penalties"]) if request["penalties"] else Edit()
    if request["before"]:
        before = [[bytes.fromhex(s) for s in side] for side in zip(*request["before"], strict=True)]
        aligner.align_batch(PairBatch.from_strings(*before), penalties, request["scope"], chosen, rescue)
        rescued.clear()
        watched.forget()
    name, *values = request["heuristic"] or [None]
    heuristic = getattr(heuristics, name)(*values) if name else None
    result = aligner.align_batch(pairs, penalties, request["scope"], chosen, rescue, heuristic=heuristic)
    answer = {
        "scores": result.scores.tolist(),
        "status": result.status.tolist(),
        "cigars": result.cigar_strings() if traced else None,
        "rescued": rescued,
        "rescued_at": rescued_at,
        "count": result.rescued,
        "batches": watched.batches,
        "host_packed": watched.host_packed,
        "rates": watched.rates,
        "locked": locked,
        "answered": watched.answered,
        "worked_on": watched.worked_on,
        "late": sum(not piece.done() for piece in late),
        "taken": list(taken.values()),
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
