"""Edit distance on the current GPU: a batch through the stream of a design, what it leaves to the caller's rescue."""

import threading

import numpy as np

from wfa_kernels.cuda.banded_bpm import BandedBpm
from wfa_kernels.cuda.edit_wfa import EditWfa
from wfa_kernels.cuda.packing import MAX_LENGTH
from wfa_kernels.cuda.pinned import Pool
from wfa_kernels.cuda.stream import Stream, Timings
from wfa_kernels.result import AlignmentResult

_DESIGNS = {"fast": BandedBpm, "paper": EditWfa}
#: Letters of a batch, on each side: few enough to overlap much, enough to fill the GPU and to hide the launches.
_LEAST_LETTERS, _MOST_LETTERS = 1 << 24, 3 << 24
_BATCHES = 28
_LETTERS_PER_PAIR = 96
#: CIGAR elements a pair that are made room for at least.
_FIRST_ELEMENTS = 8

_streams = {}
_pool = Pool()
_lock = threading.Lock()


def align_batch(pairs, scope, design, rescue, every_level=False):
    """Align a batch by edit distance on the current GPU.

    pairs: PairBatch of n pairs; a PinnedPairs is read by the GPU as it lies. scope: "score" or "cigar". design: "fast"
    or "paper". rescue: callable that takes int64 row numbers and gives the AlignmentResult of those pairs: it gets the
    pairs that no kernel of the design can do. every_level: try every kernel on every batch at once.

    Returns an AlignmentResult, in page-locked memory, in the order of the batch.
    """
    traced, count = scope == "cigar", len(pairs)
    scores = _pool.take(count, np.int32)
    offsets = _pool.take(count + 1, np.int64) if traced else np.zeros(1, np.int64)
    offsets[0] = 0
    with _lock:  # a stream's buffers serve one batch at a time
        stream, letters = _stream(pairs, design, traced)
        room = _Room(int(count * stream.elements_per_pair) if traced else 0)
        left = stream.align(pairs, letters, scores, offsets[1:], room, every_level)
        if traced and count:
            stream.elements_per_pair = max(_FIRST_ELEMENTS, 1.05 * offsets[-1] / count)
        curtailed = stream.curtailed
    answers = (room.array[: int(offsets[-1])], offsets) if traced else (None, None)
    result = AlignmentResult(scores, np.zeros(count, np.uint8), *answers, timings=Timings(stream))
    if not len(left):
        return result
    if curtailed:  # kernels that were not launched may do these pairs
        again = align_batch(pairs.take(left), scope, design, lambda rows: rescue(left[rows]), every_level=True)
    else:
        again = rescue(left)
    return _spliced(result, left, again)


def release():
    """Give back the device and page-locked memory that is kept for the next call."""
    with _lock:
        _streams.clear()
        _pool.clear()


class _Room:
    """A page-locked array of CIGAR elements that can grow."""

    def __init__(self, elements):
        self.array = _pool.take(elements, np.uint32)

    def grow(self, elements):
        """Make room for so many elements, or twice what there was."""
        larger = _pool.take(max(elements, 2 * len(self.array)), np.uint32)
        larger[: len(self.array)] = self.array
        self.array = larger


def _stream(pairs, design, traced):
    """(the stream of that design, letters of a batch): one that is large enough is used again."""
    letters = int(max(*(o[-1] - o[0] for o in (pairs.pattern_offsets, pairs.text_offsets)), MAX_LENGTH))
    wanted = min(_MOST_LETTERS, max(letters // _BATCHES, min(letters, _LEAST_LETTERS)))
    kept = _streams.get((design, traced))
    if kept is None or kept.letters < wanted:
        capacity = min(_MOST_LETTERS, 1 << (wanted - 1).bit_length())
        longest = int(max(pairs.pattern_lengths.max(initial=1), pairs.text_lengths.max(initial=1)))
        _streams.pop((design, traced), None)  # free its memory first
        kept = Stream(_DESIGNS[design](), traced, capacity // _LETTERS_PER_PAIR, capacity, longest)
        kept.elements_per_pair = _FIRST_ELEMENTS
        _streams[(design, traced)] = kept
    return kept, wanted


def _spliced(result, rows, found):
    """The result with the pairs ``rows``, which it has no answer for, taken from ``found``."""
    scores, status = result.scores.copy(), result.status
    scores[rows], status[rows] = found.scores, found.status
    if result.cigars is None:
        return AlignmentResult(scores, status, timings=result.timings)
    lengths = np.diff(result.cigar_offsets)
    lengths[rows] = np.diff(found.cigar_offsets)
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    cigars = np.empty(offsets[-1], np.uint32)
    kept = np.ones(len(lengths), bool)
    kept[rows] = False
    of_found = np.repeat(~kept, lengths)
    cigars[of_found], cigars[~of_found] = found.cigars, result.cigars
    return AlignmentResult(scores, status, cigars, offsets, result.timings)
