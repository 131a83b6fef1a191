"""Gap-affine alignment by whichever CPU kernel is likely to be the fastest: bit planes for batches, else wavefronts.

For scores, affine_bits itself leaves pairs to wavefronts (bit_plan.wavefronts_are_faster), by what other pairs cost.
Of several cheapest alignments the two find different ones: so that a CIGAR does not depend on how threads share the
batch, the whole batch goes to one of them by what is known of it beforehand.
"""

from math import gcd

from wfa_kernels.cpu import affine_bits, affine_wfa

#: Letters of a batch below which the answer is there before bit planes are set up.
_FEW_LETTERS = 3000
#: Pairs below which lanes stay empty, and wavefronts find an alignment of few errors sooner.
_FEW_PAIRS = 8
#: Penalties (after division) above which a cell takes so many gates that wavefronts or a band are as fast.
_LARGEST = 64
PAIRS_AT_ONCE = affine_bits.PAIRS_AT_ONCE


def align_range(pairs, penalties, scope, start, stop, budget_bytes):
    """Align pairs start..stop of a batch, single-threaded; arguments and results as those of affine_wfa.align_range."""
    letters = int(pairs.pattern_offsets[-1] - pairs.pattern_offsets[0] + pairs.text_offsets[-1] - pairs.text_offsets[0])
    few = letters < _FEW_LETTERS or (scope == "cigar" and len(pairs) < _FEW_PAIRS)
    if few or max(penalties.triple) // gcd(*penalties.triple) > _LARGEST:
        return affine_wfa.align_range(pairs, penalties, scope, start, stop, budget_bytes)
    return affine_bits.align_range(pairs, penalties, scope, start, stop, budget_bytes, modelled=scope == "score")
