"""What the GPU is told of pairs: where sequences begin, and lengths.

A record for each THREADS consecutive pairs, the last of which may be fewer: two words of 32 bits, the low bits of where
its first pattern and its first text begin among all letters, then the lengths of the pairs, m | n << bits each, of as
few bits (8, 16 or 32) as the longest sequence needs.
"""

import numpy as np
from numba import njit

from wfa_kernels.cuda.compaction import THREADS

#: Bits of a length -> elements of two of them.
_ELEMENTS = {8: np.uint16, 16: np.uint32, 32: np.uint64}


def bits_for(longest):
    """Bits of the lengths in records of pairs of sequences of up to so many letters, or as many as there are."""
    return next((bits for bits in _ELEMENTS if longest < 1 << bits), max(_ELEMENTS))


def blocks_of(pairs):
    """Records of so many pairs."""
    return -(-pairs // THREADS)


def tell(pattern_offsets, text_offsets, bits, records, longest):
    """Fill the records of consecutive pairs; the longest of their sequences.

    pattern_offsets, text_offsets: int64[pairs + 1]. records: uint32[blocks * record_words(bits)]. longest:
    int64[blocks], the longest sequence of each, written. Longer ones than a record can tell are cut off there.
    """
    lengths = records.view(_ELEMENTS[bits])
    return _tell(pattern_offsets, text_offsets, THREADS, bits, records, lengths, longest)


@njit(nogil=True, cache=True)
def _tell(pattern_offsets, text_offsets, threads, bits, records, lengths, longest):
    """See tell(). lengths: the memory of the records, in elements of 2 * bits; a block's are at the end of its record.

    Places are put down while the offsets are at hand: one offset in 128 read afterwards is a cache miss each, 6 ms for
    10M pairs.
    """
    pairs, blocks, most = len(pattern_offsets) - 1, len(longest), 0
    words, elements = len(records) // max(1, blocks), len(lengths) // max(1, blocks)
    for block in range(blocks):
        first, last = block * threads, min((block + 1) * threads, pairs)
        records[block * words] = pattern_offsets[first]
        records[block * words + 1] = text_offsets[first]
        at = (block + 1) * elements - threads
        longest[block] = _put_lengths(
            pattern_offsets[first : last + 1], text_offsets[first : last + 1], bits, lengths[at : at + last - first]
        )
        most = max(most, longest[block])
    return most


@njit(nogil=True, cache=True)
def _put_lengths(pattern_offsets, text_offsets, bits, lengths):
    """Fill lengths, m | n << bits, both cut off; the longest sequence."""
    longest, kept = 0, (1 << bits) - 1
    for i in range(len(lengths)):
        m, n = pattern_offsets[i + 1] - pattern_offsets[i], text_offsets[i + 1] - text_offsets[i]
        longest = max(longest, m, n)
        lengths[i] = (m & kept) | (n & kept) << bits
    return longest
