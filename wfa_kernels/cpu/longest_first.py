"""A batch taken in order of length: of the pairs that a kernel takes side by side, each waits for the longest.

Letters are copied a run of pairs at a time, by the thread that aligns them. A copy of a whole batch was the work of one
thread, in new memory, while all others waited: edit distances of CCS reads took two threads 7.2 us a pair, and 4.3 so.
"""

from functools import partial
from types import SimpleNamespace

import numpy as np

from wfa_kernels.pairs import gather_rows, offsets_of
from wfa_kernels.result import AlignmentResult


class LongestFirst:
    """A PairBatch in order of length, for schedule and for ``kernel``.

    rows: int64[n], the batch's rows in this order. pattern_offsets, text_offsets: int64[n + 1], where each sequence
    would begin.
    """

    def __init__(self, pairs):
        lengths = pairs.pattern_lengths, pairs.text_lengths
        self._pairs, self.rows = pairs, np.argsort(-(lengths[0] + lengths[1]), kind="stable")
        self.pattern_offsets, self.text_offsets = (offsets_of(each[self.rows]) for each in lengths)

    def __len__(self):
        return len(self.rows)

    def kernel(self, kernel):
        """A kernel as schedule.align_batch takes it, for this batch in place of its pairs."""
        linear = getattr(kernel, "LINEAR_MEMORY", None)
        return SimpleNamespace(
            align_range=partial(self._align_range, kernel),
            PAIRS_AT_ONCE=getattr(kernel, "PAIRS_AT_ONCE", 1),
            LINEAR_MEMORY=linear and SimpleNamespace(align_range=partial(self._align_range, linear)),
        )

    def _align_range(self, kernel, _, penalties, scope, start, stop, budget_bytes):
        pairs = self._pairs.take(self.rows[start:stop])
        return kernel.align_range(pairs, penalties, scope, 0, stop - start, budget_bytes)

    def restored(self, result):
        """The AlignmentResult of this batch in the order of its pairs."""
        places = np.empty_like(self.rows)
        places[self.rows] = np.arange(len(places))
        cigars = (None, None)
        if result.cigars is not None:
            cigars = gather_rows(result.cigars, result.cigar_offsets, places)
        return AlignmentResult(result.scores[places], result.status[places], *cigars)
