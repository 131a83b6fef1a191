"""Ways of the strips' kernels that only long pairs take, forced upon short ones: for a process that does just that."""

from unittest import mock

from wfa_kernels.cuda import strips_design, strips_windows


def wide():
    """A block of several warps a pair, whatever the band's reach."""
    strips_design._WIDE_REACH = 0


def back_together(threads):
    """So many threads a pair on its way back, whatever the number of pairs."""
    strips_design._back_together = lambda pairs: threads


def windows(least_bits=strips_windows._LEAST_BITS):
    """CIGARs window by window, as if there were no room for a pair's states; of 2 ** least_bits strips or more."""
    launch_strips = strips_design.BandsThenStrips._launch_strips

    def in_windows(self, *arguments):
        pair_words = self._pair_words

        def words(threads, reach, longest, traced):
            return 1 << 40 if traced else pair_words(threads, reach, longest, traced)

        with mock.patch.object(self, "_pair_words", words):
            launch_strips(self, *arguments)

    strips_design.BandsThenStrips._launch_strips, strips_windows._LEAST_BITS = in_windows, least_bits
