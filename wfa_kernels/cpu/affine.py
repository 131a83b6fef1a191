"""Gap-affine alignment by whichever CPU kernel is likely to be the fastest: bit planes for batches, else wavefronts.

Within a batch affine_bits itself leaves pairs to wavefronts (bit_plan.wavefronts_are_faster).
"""

from math import gcd

from wfa_kernels.cpu import affine_bits, affine_wfa

#: Letters of a batch below which the answer is there before bit planes are set up.
_FEW_LETTERS = 3000
#: Penalties (after division) above which a cell takes so many gates that wavefronts or a band are as fast.
_LARGEST = 64


def align_range(pairs, penalties, scope, start, stop, budget_bytes):
    """Align pairs start..stop of a batch, single-threaded; arguments and results as those of affine_wfa.align_range."""
    letters = sum(
        int(offsets[stop] - offsets[start]) for offsets in (pairs.pattern_offsets, pairs.text_offsets)
    )
    unit = gcd(*penalties.triple)
    if letters < _FEW_LETTERS or max(penalties.triple) // unit > _LARGEST:
        return affine_wfa.align_range(pairs, penalties, scope, start, stop, budget_bytes)
    return affine_bits.align_range(pairs, penalties, scope, start, stop, budget_bytes, modelled=True)
