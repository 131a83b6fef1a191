"""The fast design of gap-affine alignment: narrow bands one thread a pair, then wide ones several threads a pair."""

from wfa_kernels.affine_cell import make_cell
from wfa_kernels.cuda import affine_bits, affine_strips, banded
from wfa_kernels.cuda.affine_bits import WORD
from wfa_kernels.cuda.affine_strips import BLOCK, CHUNK
from wfa_kernels.cuda.packing import MAX_LENGTH
from wfa_kernels.penalties import MAX_SCORE

#: Words of the bands, in the order in which a pair tries them.
_WORDS = (1, 2, 3, 6)
#: Most words of all planes: they and what is computed with them must fit into a thread's 255 registers.
_MOST_WORDS = 72
#: (threads of a pair, reach of the band in chunks) of the strips; the last holds whole matrices of the longest pairs.
_REACHES = ((8, 12), (16, 26), (32, 52), (32, 128), (32, 512), (32, 2048))
STRIPS = tuple((min(threads, BLOCK), reach) for threads, reach in _REACHES)
#: Blocks of strips that fill a GPU: 32 for each of 132 processors.
_BLOCKS = 4224


def bands(penalties):
    """Diagonals of the bands; none for penalties whose numbers take too many planes, or whose scores over 32 bits."""
    cell = make_cell(*penalties)
    planes = 2 * (cell.delta_bits + cell.gap_bits)
    _, gap_open, gap_extend = penalties
    highest = 2 * (gap_open + gap_extend * MAX_LENGTH)
    return tuple(WORD * words for words in _WORDS if words * planes <= _MOST_WORDS and highest <= MAX_SCORE)


class AffineDesign(banded.Banded):
    """See stream.Stream. penalties: (mismatch, gap_open, gap_extend)."""

    def __init__(self, penalties):
        self.penalties = penalties
        self.BANDS = bands(penalties)
        strips = [f"strips of {threads} threads, reach {reach}" for threads, reach in STRIPS] if self.BANDS else []
        self.NAMES = (*(f"band {band}" for band in self.BANDS), *strips)

    def kernel(self, band, traced):
        return affine_bits.make_kernel(self.penalties, band, traced)

    def words(self, band, longest):
        return affine_bits.words(band, longest)

    def scratch_words(self, pairs, longest, traced):
        """For the bands; for as many pairs in the likely strips as fill the GPU; for one pair in all others."""
        last = max(len(self.BANDS), self.last_likely_level(longest)) - len(self.BANDS)
        wanted = [super().scratch_words(pairs, longest, traced)]
        for level, (threads, reach) in enumerate(STRIPS):
            groups = min(-(-pairs * threads // BLOCK), _BLOCKS) if level <= last else 1
            words = affine_strips.pair_words(self.penalties, threads, reach, longest, traced)
            wanted.append(groups * (BLOCK // threads) * words // 2 + 1)
        return max(wanted)

    def last_likely_level(self, longest):
        """The first band half as wide as the sequences are long: kernels take seconds to compile."""
        widths = [*self.BANDS, *(2 * CHUNK * reach for _, reach in STRIPS)]
        return next((level for level, width in enumerate(widths) if 2 * width >= longest), len(widths) - 1)

    def launch(self, level, queue, after, batch, traced, stream):
        """Launch the kernels of a level."""
        if level < len(self.BANDS):
            super().launch(level, queue, after, batch, traced, stream)
        else:
            threads, reach = STRIPS[level - len(self.BANDS)]
            affine_strips.launch(self.penalties, threads, reach, queue, after, batch, traced, stream)
