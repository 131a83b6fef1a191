"""uniform: random ACGT patterns of one length; the text is the pattern with round(length * error) edits.

The edits stand at distinct uniform positions of the pattern; each is a mismatch (to a different letter), an insertion
(before the position, any letter) or a deletion, with equal chance. This is the papers' generator (WFA's
generate_dataset) but for two things: there a mismatch may draw the letter it replaces, and an edit may hit an earlier
one, so that its pairs have somewhat fewer differences at the same nominal error. In both the edit distance is at most
the number of edits, and a little below it where neighbouring edits cancel (an insertion beside a deletion is one
mismatch).

Positions are drawn by selection sampling (Knuth, TAOCP vol. 2, 3.4.2, algorithm S) in one walk over the pattern:
O(length), no bytes are moved, and exactly that many edits are made.
"""

import numpy as np
from numba import njit

from simulators.rng import EDITS, GOLDEN, LETTERS, mix, stream


def nominal_edits(length, error):
    """Edits of each pair: length * error rounded to the nearest integer (halves to even)."""
    return round(length * error)


@njit(cache=True, nogil=True)
def edit_range(seed, start, stop, edits, pattern_offsets, pattern, text_offsets, text, text_lengths, write):
    """Make pairs start..stop; with write False only text_lengths[start:stop] is set and no byte is written.

    edits: int64[1]. Returns int64[3]: mismatches, insertions, deletions made. The other arrays are as in PairBatch.
    """
    counts = np.zeros(3, np.int64)
    mask2, mask16, three = np.uint64(3), np.uint64(0xFFFF), np.uint64(3)
    s2, s20, s32 = np.uint64(2), np.uint64(20), np.uint64(32)
    for pair in range(start, stop):
        state = stream(seed, EDITS, pair)
        first, length = pattern_offsets[pair], pattern_offsets[pair + 1] - pattern_offsets[pair]
        left, at, begin = edits[0], text_offsets[pair], text_offsets[pair]
        for j in range(length):
            state += GOLDEN
            z = mix(state)
            base = z & mask2
            if write:
                pattern[first + j] = LETTERS[base]
            if ((z >> s32) * np.uint64(length - j)) >> s32 >= np.uint64(left):
                if write:
                    text[at] = LETTERS[base]
                at += 1
                continue
            left -= 1
            draw = (z >> s2) & mask16
            kind = draw % three
            counts[kind] += 1
            if kind == 0:
                if write:
                    text[at] = LETTERS[(base + np.uint64(1) + (draw // three) % three) & mask2]
                at += 1
            elif kind == 1:
                if write:
                    text[at] = LETTERS[(z >> s20) & mask2]
                    text[at + 1] = LETTERS[base]
                at += 2
        text_lengths[pair] = at - begin
    return counts
