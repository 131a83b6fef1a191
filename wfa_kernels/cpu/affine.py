"""Gap-affine alignment by whichever CPU kernel is likely to be the faster for a batch: wavefronts or bit planes.

Wavefronts cost the square of a pair's score, bit planes its length times its score: clean reads are for the first,
noisy ones for the second. The errors of a batch are told from how many short words of its patterns stand in the texts
at nearly the same place. The whole batch goes to one kernel, since of several cheapest alignments the two find
different ones: so a CIGAR does not depend on how threads share the batch.
"""

from functools import partial
from math import gcd
from types import SimpleNamespace

from numba import njit

from wfa_kernels.affine_cell import make_cell
from wfa_kernels.cpu import affine_bits, affine_wfa
from wfa_kernels.cpu.backtrace import read_only_arrays

#: Letters of a batch below which the answer is there before bit planes are set up.
_FEW_LETTERS = 3000
#: Pairs below which lanes stay empty, and wavefronts find an alignment of few errors sooner.
_FEW_PAIRS = 8
#: Penalties (after division) above which a cell takes so many gates that wavefronts or a band are as fast.
_LARGEST = 64
#: Pairs that are looked at, of each the first letters; letters of a word, and from one to the next; places that a word
#: may have moved.
_SAMPLE, _PREFIX, _WORD, _STRIDE, _MOVED = 16, 192, 8, 12, 8
#: Nanoseconds of a pair by wavefronts: for the score's square, the score, a letter of both sequences, the pair; and by
#: bit planes for a letter, the pair. Measured on an AMD EPYC with AVX-512, 150 to 15,000 letters, 0.1 to 10 % errors.
_WAVEFRONTS, _BITS = (0.9, 70.0, 0.5, 150.0), (0.6, 200.0)
#: Times that a CIGAR takes the time of a score.
_WAVEFRONTS_CIGAR, _BITS_CIGAR = 1.15, 1.9
#: Least diagonals of a band, and what a band of several words costs more.
_LEAST_BAND, _ONE_WORD, _SEVERAL_WORDS = 32, 128, 1.15


def choose(pairs, penalties, scope):
    """The kernel for a batch: an object as schedule.align_batch takes it."""
    letters = int(sum(offsets[-1] - offsets[0] for offsets in (pairs.pattern_offsets, pairs.text_offsets)))
    few = letters < _FEW_LETTERS or (scope == "cigar" and len(pairs) < _FEW_PAIRS)
    if few or max(penalties.triple) // gcd(*penalties.triple) > _LARGEST:
        return affine_wfa
    mismatch, gap_open, gap_extend = make_cell(*penalties.triple).triple
    rate = error_rate(*read_only_arrays(pairs)) * (mismatch + 2 * (gap_open + gap_extend)) / 3
    wavefronts, bits = predicted_ns(pairs, penalties, rate, scope)
    if wavefronts < bits:
        return affine_wfa
    align = partial(affine_bits.align_range, modelled=scope == "score", rate=rate)
    return SimpleNamespace(align_range=align, PAIRS_AT_ONCE=affine_bits.PAIRS_AT_ONCE)


def predicted_ns(pairs, penalties, rate, scope):
    """(by wavefronts, by bit planes): nanoseconds of the batch, for a score of ``rate`` a letter of the pattern."""
    cell, vector = make_cell(*penalties.triple), affine_bits.vector_bits()
    cell_ns = affine_bits.double_step_ns(cell, vector) / (2 * vector)
    wavefronts, bits, letters = _sums(pairs.pattern_offsets, pairs.text_offsets, rate, cell.triple[2], cell_ns)
    if scope == "cigar":
        wavefronts, bits = _WAVEFRONTS_CIGAR * wavefronts, _BITS_CIGAR * bits
    return wavefronts, bits + _BITS[0] * letters + _BITS[1] * len(pairs)


@njit(nogil=True, cache=True)
def error_rate(pattern, pattern_offsets, text, text_offsets):
    """Errors a letter, from a few pairs: a word of w letters has none with probability (1 - rate) ** w."""
    pairs = len(pattern_offsets) - 1
    looked_at = min(pairs, _SAMPLE)
    words, found = 0, 0
    for sample in range(looked_at):
        row = sample * (pairs - 1) // max(looked_at - 1, 1)
        first, other = pattern_offsets[row], text_offsets[row]
        n = text_offsets[row + 1] - other
        for at in range(0, min(pattern_offsets[row + 1] - first, n, _PREFIX) - _WORD + 1, _STRIDE):
            words += 1
            for moved in range(max(-_MOVED, -at), min(_MOVED, n - _WORD - at) + 1):
                same = 0
                while same < _WORD and pattern[first + at + same] == text[other + at + moved + same]:
                    same += 1
                if same == _WORD:
                    found += 1
                    break
    return 1.0 - (found / words) ** (1.0 / _WORD) if words else 0.0


@njit(nogil=True, cache=True)
def _sums(pattern_offsets, text_offsets, rate, gap_extend, cell_ns):
    """(nanoseconds by wavefronts, those of the cells by bit planes, letters) of all pairs."""
    per_cell, per_score, per_letter, per_pair = _WAVEFRONTS
    wavefronts, bits, letters = 0.0, 0.0, 0.0
    for i in range(len(pattern_offsets) - 1):
        m = float(pattern_offsets[i + 1] - pattern_offsets[i])
        n = float(text_offsets[i + 1] - text_offsets[i])
        score = rate * m
        band = max(score / gap_extend + abs(n - m), _LEAST_BAND)
        wavefronts += per_cell * score * score + per_score * score + per_letter * (m + n) + per_pair
        bits += (m + n) / 2 * band * cell_ns * (_SEVERAL_WORDS if band > _ONE_WORD else 1.0)
        letters += m + n
    return wavefronts, bits, letters
