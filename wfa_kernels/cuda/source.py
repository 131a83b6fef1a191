"""The letters of a batch on the host, on their way to page-locked memory or there."""

from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from wfa_kernels.cuda.packing import LETTERS

#: Seconds that the host's threads are waited for at a time, before it is looked whether the wire needs letters.
PATIENCE_S = 2e-4
_NONE = np.empty(0, np.uint8)


def found_strange(piece):
    """Whether a piece that is done and that nobody needs may have marked a letter: its error is none of the call's."""
    return piece.exception() is not None or piece.result()


@dataclass
class Share:
    """Letters that lie in page-locked memory, and of which the host packs the first.

    letters: uint8[...], all of them. pieces: futures of the packed ones, in order. size: letters of each but the last.
    """

    letters: np.ndarray
    pieces: list
    size: int


@dataclass
class Source:
    """The letters of a batch; each of these for the patterns and for the texts.

    planes: uint64[...], the first letters, packed. odd: uint32[...] to go with them.
    letters: uint8[...], the letters behind those, as ASCII. locked: they are page-locked and there, not staged.
    staging: futures of what fills the other arrays, each with whether it found letters without a code to pack.
    shares: Share, where ``planes`` are of letters that could cross the wire as ASCII as well.
    """

    planes: Sequence = (np.empty(0, np.uint64),) * 2
    odd: Sequence = (np.empty(0, np.uint32),) * 2
    letters: Sequence = (_NONE,) * 2
    staging: Sequence = ()
    locked: bool = True
    shares: Sequence = ()
    strange: bool = False  # letters without a code are among the packed ones
    marked: bool = False  # of all that is done, kept or not, one was found without a code
    late: Sequence = ()  # futures of what still writes to the arrays, though nobody waits for it

    def settle(self, due):
        """Wait until all arrays are filled; of shares only until what is packed is due.

        Threads of the host may have to wait for their turn, or for its memory: the wire does not wait for them.
        due: callable, whether the wire needs what is packed soon. Gives, of the patterns and of the texts, the letters
        that were to be packed and are not: they lie just before ``letters``, among which they are from now on.
        """
        left = (_NONE,) * 2
        while not all(map(Future.done, self.staging)):
            if wait(self.staging, PATIENCE_S if self.shares else None).not_done and due():
                left = self._leave()
                break
        found = [done.result() for done in self.staging]  # each, as it may have failed
        self.strange = any(found)
        self.marked |= self.strange
        return left

    def _leave(self):
        """Have no more packed than the first pieces that are; gives the other letters of the shares."""
        self.staging, self.late, left = [], [], []
        for side, share in enumerate(self.shares):
            packed = list(takewhile(Future.done, share.pieces))
            behind = share.pieces[len(packed) :]
            self.staging += packed
            for piece in behind:
                if piece.cancel():
                    continue
                if piece.done():
                    self.marked |= found_strange(piece)
                else:
                    self.late.append(piece)
            end = len(self.planes[side]) * LETTERS
            first = min(len(packed) * share.size, end)
            self.planes[side] = self.planes[side][: first // LETTERS]
            self.odd[side] = self.odd[side][: first // LETTERS]
            self.letters[side] = share.letters[first:]
            left.append(share.letters[first:end])
        return left
