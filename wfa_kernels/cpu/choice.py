"""Which CPU kernel is likely to be the faster for a batch: wavefronts or bit planes.

Wavefronts cost the square of a pair's score, bit planes its length times its score: clean reads are for the first,
noisy ones for the second. The errors of a batch are told from how many short words of its patterns stand in the texts
at nearly the same place. The whole batch goes to one kernel, since of several cheapest alignments the two find
different ones: so a CIGAR does not depend on how threads share the batch, where each thread's memory is enough for bit
planes.
"""

from dataclasses import dataclass
from functools import partial
from math import gcd
from types import SimpleNamespace

from numba import njit

from wfa_kernels.affine_cell import make_cell
from wfa_kernels.cpu import affine_bits
from wfa_kernels.cpu.backtrace import read_only_arrays
from wfa_kernels.cpu.helper import helper

#: Letters of a batch below which the answer is there before bit planes are set up, and what that takes.
_FEW_LETTERS, _SET_UP_NS = 3000, 80_000.0
#: Penalties (after division) above which a cell takes so many gates that wavefronts or a band are as fast.
_LARGEST = 64
#: Letters of patterns that are looked at, about so many at the beginning of each of some pairs.
_LOOKED_AT, _OF_EACH = 3072, 192
#: Where the two kernels' times differ by less than a factor, more letters are looked at, up to a most: one for so many
#: nanoseconds of the shorter time. That is mostly a twentieth of it, as a letter takes 1 (clean reads) to 18 (CLR).
_CLOSE, _NS_A_LETTER, _MOST_LOOKED_AT = 2.0, 80, 24576
#: Letters of a word, and from one to the next; places that a word may have moved since the one before, and by how many
#: more at most where several were not found.
_WORD, _STRIDE, _MOVED, _FURTHEST = 8, 12, 8, 512
#: Places from which on as many letters must be the same as tell a word from chance, and what stands for no place.
_FAR, _LONG_WORD, _NOWHERE = 64, 12, 1 << 30
#: Pairs whose lengths are looked at, about.
_MEASURED = 256
#: A score told, times this, is room enough for it. It holds letters by which a sequence drifts, up to so many times as
#: many as are told: of mapped CLR reads 0.7 of them in the middle, 0.4 in one of ten.
_LEEWAY, _DRIFTS = 1.15, 2.0
#: Least diagonals of a band, and what a band of several words costs more.
_LEAST_BAND, _ONE_WORD, _SEVERAL_WORDS = 32, 128, 1.15


@dataclass(frozen=True)
class Times:
    """Nanoseconds of a pair, for some penalties, by scope.

    wavefronts: for the score's square, the score, a letter of both sequences, the pair. bits: for a cell of the band,
    in units of what its gates take, then the same.
    """

    wavefronts: dict[str, tuple[float, float, float, float]]
    bits: dict[str, tuple[float, float, float, float]]


def pick(pairs, penalties, scope, wavefronts, times, modelled):
    """The kernel for a batch, as schedule.align_batch takes it: the module ``wavefronts``, or bit planes.

    modelled: let bit planes leave a pair of few errors to wavefronts (see affine_bits.align_range).
    """
    letters = int(sum(offsets[-1] - offsets[0] for offsets in (pairs.pattern_offsets, pairs.text_offsets)))
    if letters < _FEW_LETTERS or max(penalties.triple) // gcd(*penalties.triple) > _LARGEST:
        return wavefronts
    by_wavefronts, by_bits, beside = _predicted(pairs, penalties, scope, times, _LOOKED_AT)
    closer = min(letters // 2, int(min(by_wavefronts, by_bits) / _NS_A_LETTER), _MOST_LOOKED_AT)
    if closer > _LOOKED_AT and max(by_wavefronts, by_bits) < _CLOSE * min(by_wavefronts, by_bits):
        by_wavefronts, by_bits, beside = _predicted(pairs, penalties, scope, times, closer)
    if by_wavefronts < by_bits + _SET_UP_NS:
        return wavefronts
    estimate = affine_bits.estimate_of(penalties, beside)
    align = partial(affine_bits.align_range, modelled=modelled, estimate=estimate, rest=wavefronts)
    return SimpleNamespace(align_range=align, PAIRS_AT_ONCE=affine_bits.PAIRS_AT_ONCE)


def _predicted(pairs, penalties, scope, times, looked_at):
    """predicted_ns(), from so many letters."""
    mismatch, gap_open, gap_extend = make_cell(*penalties.triple).triple
    errors, further, drift = error_rate(*read_only_arrays(pairs), looked_at)
    rate = errors * (mismatch + 2 * (gap_open + gap_extend)) / 3 + further * gap_extend
    return predicted_ns(pairs, penalties, rate, drift, scope, times)


def with_linear_memory(kernel, scope, linear):
    """The kernel, for CIGARs with ``linear`` for the pairs that it has no memory for; a score has nothing to trace."""
    if scope == "score":
        return kernel
    told = {name: getattr(kernel, name) for name in ("PAIRS_AT_ONCE", "QUICK") if hasattr(kernel, name)}
    return SimpleNamespace(align_range=kernel.align_range, **told, LINEAR_MEMORY=linear)


def predicted_ns(pairs, penalties, rate, drift, scope, times):
    """(by wavefronts, by bit planes, score a letter besides what unlike lengths cost that bands have room for).

    rate: score a letter of the pattern. drift: letters a letter, of both, by which one sequence grows longer in it.
    """
    cell, vector = make_cell(*penalties.triple), affine_bits.vector_bits()
    cell_ns = affine_bits.double_step_ns(cell, vector) / (2 * vector) * max(1.0, vector / 64 / len(pairs))
    arguments = (pairs.pattern_offsets, pairs.text_offsets, rate, drift, cell.triple[2], cell_ns)
    return _sums(*arguments, times.wavefronts[scope], times.bits[scope])


@njit(nogil=True, cache=True)
def error_rate(pattern, pattern_offsets, text, text_offsets, letters=_LOOKED_AT):
    """(errors a letter, letters a letter by which gaps are longer than one, letters a letter by which one sequence gets
    longer than the other), from so many letters: a word of w letters has no error with probability (1 - rate) ** w.

    The longer no word was found, the further it is looked for. Where one has moved by more than _MOVED since the one
    before, those between are looked for once more, from the one place to the other: a gap of many letters is few
    errors, and behind it no word would be found any more. By how much words have moved, up to _MOVED, tells of gaps
    that are longer than one letter: they are no more likely to be in a word.
    """
    pairs = len(pattern_offsets) - 1
    looked_at = min(pairs, letters // _OF_EACH)
    words, found, further, drift, reached = 0, 0, 0, 0, 0
    for sample in range(looked_at):
        row = sample * (pairs - 1) // max(looked_at - 1, 1)
        m, n = pattern_offsets[row + 1] - pattern_offsets[row], text_offsets[row + 1] - text_offsets[row]
        pair = pattern_offsets[row], m, text_offsets[row], n
        told = _words_of(pattern, text, pair, min(m, n, letters // looked_at))
        words, found, further = words + told[0], found + told[1], further + told[2]
        drift, reached = drift + abs(told[3]), reached + told[4]
    if not words:
        return 0.0, 0.0, 0.0
    return 1.0 - (found / words) ** (1.0 / _WORD), further / (words * _STRIDE), drift / max(reached, 1)


@helper
def _words_of(pattern, text, pair, letters):
    """(words in so many letters of a pair, those that were found, letters that these moved besides the first, letters
    that they moved to one side, letters up to the last of them)."""
    words, found, further, drift, reached = 0, 0, 0, 0, 0
    shift, lost = 0, 0  # of the last word that was found, and words since
    for at in range(0, letters - _WORD + 1, _STRIDE):
        words += 1
        moved = _moved_by(pattern, text, pair, at, shift, _MOVED + min(lost * _STRIDE // 2, _FURTHEST))
        if moved == _NOWHERE:
            lost += 1
            continue
        if abs(moved - shift) > _MOVED:
            again = _found_between(pattern, text, pair, at, lost, shift, moved)
            found += again
            words -= min(lost - again, max(shift - moved, 0) // _STRIDE)  # those of the gap itself
        further += max(min(abs(moved - shift), _MOVED) - 1, 0)
        drift += max(min(moved - shift, _MOVED), -_MOVED)
        found, shift, lost, reached = found + 1, moved, 0, at + _STRIDE
    return words, found, further, drift, reached


@helper
def _found_between(pattern, text, pair, at, lost, shift, moved):
    """Of so many words before a place those that have moved by ``shift`` to ``moved``."""
    middle, reach = (shift + moved) // 2, (abs(moved - shift) + 1) // 2 + _MOVED
    found = 0
    for earlier in range(at - lost * _STRIDE, at, _STRIDE):
        found += _moved_by(pattern, text, pair, earlier, middle, reach) != _NOWHERE
    return found


@helper
def _moved_by(pattern, text, pair, at, shift, reach):
    """By how much the pattern's word at a place has moved in the text, the nearest to ``shift`` within reach of it, or
    _NOWHERE. pair: where the pattern begins, its letters, the same of the text."""
    first, m, other, n = pair
    for step in range(2 * reach + 1):
        moved = shift + ((step + 1) // 2 if step % 2 else -(step // 2))
        letters = _WORD if step <= 2 * _FAR else _LONG_WORD
        if 0 <= at + moved <= n - letters and at <= m - letters:
            same = 0
            while same < letters and pattern[first + at + same] == text[other + at + moved + same]:
                same += 1
            if same == letters:
                return moved
    return _NOWHERE


@helper
def _guess(score, gap, drift):
    """The score that a pair's band has room for, of the one told, what unlike lengths cost at least, and what drift
    costs, which is in both; one long gap is not in what is told."""
    return gap + min(score, max(_LEEWAY * score - min(gap, _DRIFTS * drift), 0.0))


@njit(nogil=True, cache=True)
def _sums(pattern_offsets, text_offsets, rate, drift, gap_extend, cell_ns, wavefronts, bits):
    """predicted_ns() of all pairs; of a large batch by every so many of them."""
    by_wavefronts, by_bits, beside, letters = 0.0, 0.0, 0.0, 0.0
    pairs = len(pattern_offsets) - 1
    every = max(1, pairs // _MEASURED)
    for i in range(0, pairs, every):
        m = float(pattern_offsets[i + 1] - pattern_offsets[i])
        n = float(text_offsets[i + 1] - text_offsets[i])
        score, gap = rate * m, abs(n - m) * gap_extend
        guess = _guess(score, gap, drift * m * gap_extend)
        band = max(guess / gap_extend, _LEAST_BAND)
        cells = (m + n) / 2 * band * cell_ns * (_SEVERAL_WORDS if band > _ONE_WORD else 1.0)
        by_wavefronts += wavefronts[0] * score * score + wavefronts[1] * score + wavefronts[2] * (m + n) + wavefronts[3]
        by_bits += bits[0] * cells + bits[1] * score + bits[2] * (m + n) + bits[3]
        beside, letters = beside + guess - gap, letters + m
    return every * by_wavefronts, every * by_bits, beside / max(letters, 1.0)
