"""Pairs of very different lengths go through the GPU longest first, and their answers back into the caller's order.

A batch lasts as long as its longest pair, has room for as many pairs as if all were so long, and begins with the
kernel that such a pair needs. So batches are of about equal lengths, and what is left at the end is short (longest
processing time first: Graham 1969). It costs a copy of the letters, batch by batch while the GPU works, and one of the
CIGARs, so pairs of which the wire is the limit stay as they are.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from wfa_kernels.cuda.pinned import PackedPairs
from wfa_kernels.pairs import gather_into, offsets_of
from wfa_kernels.result import AlignmentResult

#: Letters of a pair, on average, from which on it is worthwhile, and how much longer the longest one must be.
_LETTERS, _TIMES = 1000, 2
_THREADS = 8
#: Bytes that a thread copies, and pairs whose lengths it reads, at a time.
_BYTES_AT_A_TIME, _PAIRS_AT_A_TIME = 1 << 22, 1 << 20
#: Lengths are told apart by as few letters, at least: 16 bits, which are sorted several times as fast, then hold twice
#: MAX_LENGTH.
_STEP = 2


class LongestFirst:
    """A PairBatch in another order, as far as a Stream asks for it. rows: int64[n], of the batch, longest pair first.

    pattern_lengths, text_lengths: int64[n], in bp, and pattern_offsets, text_offsets: int64[n + 1], where each sequence
    would begin, in this order.
    """

    def __init__(self, pairs, rows):
        self._pairs, self.rows = pairs, rows
        self.pattern_lengths, self.text_lengths = pairs.pattern_lengths[rows], pairs.text_lengths[rows]
        self.pattern_offsets, self.text_offsets = offsets_of(self.pattern_lengths), offsets_of(self.text_lengths)

    def __len__(self):
        return len(self.rows)

    def take(self, places):
        """The PairBatch of the pairs at these places of the order."""
        return self._pairs.take(self.rows[places])

    def copies(self, start, stop, targets):
        """Yield (function, *arguments): together they put the letters of pairs start .. stop one behind the other.

        targets: two arrays uint8[...], for the patterns and for the texts.
        """
        pairs, rows = self._pairs, self.rows[start:stop]
        sides = (pairs.pattern, pairs.pattern_offsets, self.pattern_offsets), (
            pairs.text, pairs.text_offsets, self.text_offsets,
        )  # fmt: skip
        for target, (flat, offsets, ends) in zip(targets, sides, strict=True):
            yield from _gathering(flat, offsets, rows, target, ends[start : stop + 1] - ends[start])


def longest_first(pairs):
    """LongestFirst of a PairBatch; None where its pairs may stay as they are.

    Letters that are packed stay: bits of many pairs share words.
    """
    if isinstance(pairs, PackedPairs) or not len(pairs):
        return None
    sides = pairs.pattern_offsets, pairs.text_offsets
    mean = sum(int(offsets[-1] - offsets[0]) for offsets in sides) / len(pairs)
    if mean < _LETTERS:  # first: to look for the longest of 10M pairs takes 4 ms
        return None
    most = _most_letters(*sides)
    if most < _TIMES * mean:
        return None
    step = max(_STEP, -(-most // 0xFFFF))
    letters = (pairs.pattern_lengths + pairs.text_lengths) // step
    return LongestFirst(pairs, np.argsort((0xFFFF - letters).astype(np.uint16), kind="stable"))


def restored(result, rows, pool):
    """The AlignmentResult of a LongestFirst's pairs in the order of the batch. rows: its rows. pool: pinned.Pool."""
    scores, status = np.empty_like(result.scores), np.empty_like(result.status)
    scores[rows], status[rows] = result.scores, result.status
    cigars, offsets = None, None
    if result.cigars is not None:
        places = np.empty_like(rows)
        places[rows] = np.arange(len(rows))
        offsets = offsets_of(np.diff(result.cigar_offsets)[places])
        cigars = pool.take(int(offsets[-1]), result.cigars.dtype)
        with ThreadPoolExecutor(_THREADS) as threads:
            copies = [
                threads.submit(*copy)
                for copy in _gathering(result.cigars, result.cigar_offsets, places, cigars, offsets)
            ]
        for copy in copies:
            copy.result()
    return AlignmentResult(scores, status, cigars, offsets, timings=result.timings, rescued=result.rescued)


def _gathering(flat, offsets, rows, out, new):
    """Yield (function, *arguments): together they put the given rows of (flat, offsets) into (out, new)."""
    pieces = max(1, int(new[-1]) * flat.itemsize // _BYTES_AT_A_TIME)
    cuts = np.searchsorted(new, np.linspace(0, new[-1], pieces + 1))
    cuts[0], cuts[-1] = 0, len(rows)
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        yield gather_into, flat, offsets, rows[first:last], out, new[first : last + 1]


def _most_letters(pattern_offsets, text_offsets):
    """Letters of the longest pair: this is asked before every batch, and 10M pairs take one thread 12 ms."""
    pieces = [
        (pattern_offsets[at : at + _PAIRS_AT_A_TIME + 1], text_offsets[at : at + _PAIRS_AT_A_TIME + 1])
        for at in range(0, len(pattern_offsets) - 1, _PAIRS_AT_A_TIME)
    ]
    if len(pieces) == 1:
        return _most_letters_of(*pieces[0])
    with ThreadPoolExecutor(_THREADS) as threads:
        return max(threads.map(_most_letters_of, *zip(*pieces, strict=True)))


@njit(nogil=True, cache=True)
def _most_letters_of(pattern_offsets, text_offsets):
    """In one pass: numpy takes four."""
    most = 0
    for i in range(len(pattern_offsets) - 1):
        letters = pattern_offsets[i + 1] - pattern_offsets[i] + text_offsets[i + 1] - text_offsets[i]
        most = max(most, letters)
    return most
