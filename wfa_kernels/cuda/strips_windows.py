"""The way back of long pairs in little memory: windows of strips, computed again from a few strips that are kept.

The states of all chunks of a pair (see affine_strips) take memory as its length times its cost. But what a strip hands
down is all that the strips below it need. So a first pass keeps every 2 ** k-th strip, without states; then window by
window, from the last one to the first, the strips between two that are kept are computed again, with their states, and
the way back goes through them. Where the windows are still too large, each is gone through in the same way.

Memory and operations. With L levels of kept strips, a pair of S strips is computed L + 1 times, and of each level about
S ** (1 / (L + 1)) strips are held: with as many levels as S has binary digits it would be O(s log n) words for a score
of s, as a strip has about s / e diagonals (checkpoints: Grice, Hughey and Speck 1997). Taken are the levels with which
the room takes the most pairs through: few levels for few pairs, and no windows too small for a pair's threads.
A pair of 1M letters at 10 %, penalties 2, 3, 1: 31,250 strips of up to 9000 chunks, 21 GB of states; one level, 128
strips with and 245 without states: 150 MB.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from wfa_kernels.cuda.affine_strips import ALL, ENDS, make_functions
from wfa_kernels.cuda.affine_strips_back import STATE

#: Most levels of kept strips, and binary digits of the least window.
_MOST_LEVELS, _LEAST_BITS = 4, 3
KEEP, TRACE, BACK = "keep", "trace", "back"


@dataclass(frozen=True)
class Windows:
    """How the strips of a batch's pairs are gone through.

    strips: most of a pair. bits: of each level, every 2 ** bits-th strip is kept; the last one's are the windows. kept:
    places among a pair's words, behind its bounds, of each level's strips. rest: of all other strips. strip_words: of
    one that is kept. words: of a pair. work: how many times the pair's matrix is computed, as threads count that wait.
    """

    strips: int
    bits: tuple
    kept: tuple
    rest: int
    strip_words: int
    words: int
    work: float

    def steps(self):
        """Yield the launches in order: (KEEP or TRACE, begin, stop, keep_bits, source, kept, rest), the last arguments
        of affine_strips.make_windowed_forward's kernel, and (BACK, begin, starts, source, rest, so_far), those of
        affine_strips_back.make_windowed_backward's."""
        yield KEEP, 0, ALL, self.bits[0], 0, self.kept[0], self.rest
        yield from self._back_through(0, 0, self.strips, 0)

    def _back_through(self, level, begin, stop, source):
        """Strips begin to stop, of which those of this level are kept; source: of the strip before them."""
        size = 1 << self.bits[level]
        for first in reversed(range(begin, stop, size)):
            last, before = min(first + size, stop), source
            if first > begin:
                before = self.kept[level] + ((first - begin) // size - 1) * self.strip_words
            if level == len(self.bits) - 1:
                yield TRACE, first, last, 0, before, 0, self.rest
                yield BACK, first, int(last == self.strips), before, self.rest, 0
            else:
                yield KEEP, first, last, self.bits[level + 1], before, self.kept[level + 1], self.rest
                yield from self._back_through(level + 1, first, last, before)


@lru_cache(maxsize=16)  # batches differ in their longest pair, so in their shapes; of one batch each level asks once
def ways(penalties, strips, chunks, threads):
    """Every Windows of at most _MOST_LEVELS levels; none where the strips are too few for one.

    strips: most of a pair. chunks: of a strip. threads: of a pair.
    """
    digits = range(_LEAST_BITS, max(_LEAST_BITS, (strips - 1).bit_length()))
    chosen = (bits[::-1] for levels in range(1, _MOST_LEVELS + 1) for bits in combinations(digits, levels))
    words = words_of_strips(penalties, chunks)
    return [_laid_out(strips, bits, *words, threads) for bits in chosen]


def words_of_strips(penalties, chunks):
    """Words of a strip of so many chunks without states, and with them."""
    return tuple(chunks * make_functions(penalties, with_states).per_chunk + ENDS for with_states in (False, True))


def _laid_out(strips, bits, strip_words, traced_words, threads):
    places, at = [], STATE
    for size, part in zip((strips, *(1 << more for more in bits)), bits, strict=False):
        places.append(at)
        at += -(-size // (1 << part)) * strip_words
    words = at + max((threads + 1) * strip_words, (1 << bits[-1]) * traced_words)
    work = 1 + sum(1 + threads / (1 << more) for more in bits)  # a window's last thread begins when its first one ends
    return Windows(strips, bits, tuple(places), at, strip_words, words, work)


def fitting(penalties, strips, chunks, threads, bounds, words, wanted):
    """(Windows, words of a pair with its bounds, pairs for which there is room): of all ways the one that takes the
    most pairs through in a time; None where there is no room for a single pair.

    bounds: words of a pair for its bounds. words: that there are. wanted: pairs at a time; more are no gain.
    """
    best, most = None, 0
    for windows in ways(penalties, strips, chunks, threads):
        part = windows.words + bounds
        room = words // part
        if min(room, wanted) / windows.work > most:
            best, most = (windows, part, room), min(room, wanted) / windows.work
    return best
