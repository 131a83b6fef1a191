"""The fast design of gap-affine alignment."""

from wfa_kernels.cuda import affine_bits, banded
from wfa_kernels.cuda.affine_bits import WORD
from wfa_kernels.cuda.affine_strips import cell_planes
from wfa_kernels.cuda.packing import MAX_LENGTH
from wfa_kernels.cuda.strips_design import BandsThenStrips
from wfa_kernels.penalties import MAX_SCORE

#: Words of the bands, in the order in which a pair tries them.
_WORDS = (1, 2, 3, 6)
#: Most words of all planes: they and what is computed with them must fit into a thread's 255 registers.
_MOST_WORDS = 72
#: Where even sequences of so many letters may have a score over 32 bits, all pairs are the host's.
_LEAST_LONGEST = 1000


def longest(penalties):
    """Letters of the longest sequences no score of which is over 32 bits."""
    _, gap_open, gap_extend = penalties
    return (MAX_SCORE // 2 - gap_open) // gap_extend


def bands(penalties):
    """Diagonals of the bands; none for penalties whose numbers take too many planes, or whose scores are very high."""
    most = _MOST_WORDS if longest(penalties) >= _LEAST_LONGEST else 0
    return tuple(WORD * words for words in _WORDS if words * cell_planes(penalties) <= most)


class AffineDesign(BandsThenStrips):
    """See BandsThenStrips. penalties: (mismatch, gap_open, gap_extend)."""

    #: A kernel that does not fill half of a GPU takes longer than the wire.
    BAND_PAIRS = banded.FILLING_PAIRS // 2

    def __init__(self, penalties):
        super().__init__(penalties, bands(penalties))

    def longest(self, scratch_words):
        """See design.Design."""
        return min(MAX_LENGTH, longest(self.penalties))

    def kernel(self, band, traced):
        return affine_bits.make_kernel(self.penalties, band, traced)

    def words(self, band, longest):
        return affine_bits.words(band, longest)
