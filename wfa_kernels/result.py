"""AlignmentResult: what an alignment of a batch gives back."""

from dataclasses import dataclass, field

import numpy as np

from wfa_kernels.cigar import format_packed

OK = 0
OVER_LIMIT = 1
OUT_OF_MEMORY = 2
UNSUPPORTED = 3
STATUS_NAMES = ("ok", "over_limit", "out_of_memory", "unsupported")
#: Score of a pair that has no answer.
NO_SCORE = -1


@dataclass(frozen=True, eq=False)
class AlignmentResult:
    """Scores and, for scope "cigar", packed CIGARs of n pairs, in the order of the batch.

    scores: int32[n], cost >= 0, NO_SCORE where there is no answer.
    status: uint8[n], an index into STATUS_NAMES.
    cigars: uint32[m], ``length << 4 | op`` (see wfa_kernels.cigar), or None for scope "score".
    cigar_offsets: int64[n + 1], pair i holds ``cigars[cigar_offsets[i]:cigar_offsets[i + 1]]``, or None.
    timings: from a GPU, seconds by its own clock: time_h2d (copies in), time_pack, time_kernel (the other kernels),
    time_d2h (copies out), time_copies (both ways) and time_compute (packing and the other kernels), and ``spans()``,
    when each part was. They overlap. What the CPU did meanwhile is not among them.
    rescued: from a GPU, how many pairs no kernel of it could do: the CPU did.
    """

    scores: np.ndarray
    status: np.ndarray
    cigars: np.ndarray | None = None
    cigar_offsets: np.ndarray | None = None
    timings: dict = field(default_factory=dict, compare=False)
    rescued: int = field(default=0, compare=False)

    def __len__(self):
        return len(self.scores)

    def __getitem__(self, rows):
        """A slice (step 1) of the result; shares its arrays. Timings and rescued are of a whole call: none here."""
        if not isinstance(rows, slice):
            raise TypeError("an AlignmentResult takes a slice; index its arrays for one pair")
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ValueError("an AlignmentResult is sliced with step 1 only")
        stop = max(start, stop)
        if self.cigars is None:
            return AlignmentResult(self.scores[start:stop], self.status[start:stop])
        offsets = self.cigar_offsets[start : stop + 1]
        cigars = self.cigars[offsets[0] : offsets[-1]]
        return AlignmentResult(self.scores[start:stop], self.status[start:stop], cigars, offsets - offsets[0])

    def cigar_strings(self):
        """List of n CIGAR strings; ``*`` where there is no alignment, ``""`` for two empty sequences.

        Raises ValueError for a score-only result.
        """
        if self.cigars is None:
            raise ValueError('this result holds scores only: align with scope="cigar" to get CIGARs')
        strings = format_packed(self.cigars, self.cigar_offsets)
        return [s if code == OK else "*" for s, code in zip(strings, self.status.tolist(), strict=True)]

    def refused(self):
        """Counts of the pairs without an answer: {status name: count}, empty when all are ok."""
        counts = np.bincount(self.status, minlength=len(STATUS_NAMES))
        return {name: int(counts[code]) for code, name in enumerate(STATUS_NAMES) if code != OK and counts[code]}
