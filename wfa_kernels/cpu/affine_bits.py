"""Gap-affine alignment in bit planes on the CPU: many pairs at once, one in each lane of a vector.

Problem: the cheapest global alignment of pattern and text where a mismatch costs x and a gap of n letters o + n * e.

Recurrence: that of wfa_kernels.affine_cell (Suzuki and Kasahara 2018, Eq. 4), along antidiagonals as in
wfa_kernels.reference.affine_bits, in a band of diagonals (bit_lanes, bit_groups). A score too high to be proven by its
band is computed once more in a wider one (bit_plan); the score of the last cell is the sum of z along its diagonal.

For the CIGAR four bits a cell, two where gaps cost nothing to open, are kept and traced back (bit_trace). Where those
of a group take more than _CODES_AT_ONCE bytes, the state is kept every so many double steps instead, and the steps
between are computed once more, from the last to the first, with their bits.

Memory layout: one uint16 array, 64 bytes aligned: a group (bit_groups), codes, kept states.

Limits: letters A, C, G and T. A pair with others, one that takes more memory than there is, and one that wavefronts
are the faster way for (by a model of both, see bit_plan) goes to another kernel.
"""

from functools import cache
from threading import Lock

import numpy as np
from numba import cfunc, types

from wfa_kernels.affine_cell import make_cell
from wfa_kernels.cpu import affine_wfa
from wfa_kernels.cpu.backtrace import read_only_arrays
from wfa_kernels.cpu.bit_batch import (
    DONE,
    FIRST_RUN,
    LAST_RUN,
    PAIR_COLUMNS,
    SCORE,
    STATE,
    align_pairs,
    without_letters,
)
from wfa_kernels.cpu.bit_groups import start_codes
from wfa_kernels.cpu.bit_lanes import advance, codes_kept
from wfa_kernels.cpu.bit_plan import fresh_estimate
from wfa_kernels.cpu.left_over import with_rest
from wfa_kernels.cpu.processor import vector_bits
from wfa_kernels.result import NO_SCORE

#: A chunk of fewer pairs would leave lanes empty.
PAIRS_AT_ONCE = 16
#: Nanoseconds of a gate on a vector of so many bits, one word. 512: measured on an AMD EPYC of Zen 4, 30 ns for two
#: antidiagonals of 55 gates. 256: what makes the choice right on one of Zen 3 (docs/notes/cpu-kernels.md). 128: not
#: measured; as many instructions in as much time.
_GATE_NS = {512: 0.27, 256: 0.135, 128: 0.135}
#: A kernel that two threads compiled would be kept alive by one of them only.
_COMPILING = Lock()
_SIGNATURE = types.void(*[types.int64] * 7)


def align_range(pairs, penalties, scope, start, stop, budget_bytes, modelled=False, estimate=None, rest=affine_wfa):
    """Align pairs start..stop of a batch, single-threaded.

    pairs: PairBatch. penalties: object with ``triple`` (mismatch, gap_open, gap_extend). scope: "score" or "cigar".
    budget_bytes: bound of the working memory. modelled: leave pairs to wavefronts where those are likely to be faster.
    estimate: estimate_of(...), amended, which ranges of a batch may share; it changes no result.
    rest: the kernel for the pairs that are left.
    Returns (scores int32[k], status uint8[k], packed CIGARs uint32[m], elements per pair int64[k]), k = stop - start;
    the last two are None for scope "score". A pair that does not fit has status OUT_OF_MEMORY and NO_SCORE.
    """
    traced = int(scope == "cigar")
    cell = make_cell(*penalties.triple)
    vector = vector_bits()
    step_ns = double_step_ns(cell, vector)
    costs = (*cell.triple, cell.step_bits, step_ns, 2 * len(codes_kept(cell)))
    sequences = read_only_arrays(pairs)
    table = np.zeros((stop - start, PAIR_COLUMNS), np.int64)
    runs = without_letters(sequences, start, table, costs, traced)
    codes, functions = start_codes(*penalties.triple), _functions(cell.triple, vector)
    estimate = estimate_of(penalties) if estimate is None else estimate
    while True:
        missing, runs = align_pairs(
            sequences, start, table, costs, codes, vector, functions, modelled, traced, budget_bytes, estimate, runs
        )
        if missing < 0:
            break
        _compile(functions, missing, cell.triple, vector, traced)
    return _joined(rest, pairs, penalties, scope, start, budget_bytes, cell.divisor, table, runs)


def estimate_of(penalties, rate=-1.0):
    """float64[3], what pairs are likely to cost before any is aligned (see bit_plan), for align_range to amend.

    rate: score, in units of the penalties' common divisor, for each letter that is expected, besides that of unlike
    lengths; below 0: not known.
    Threads may share an estimate: whatever they find there, a score is proven.
    """
    return fresh_estimate(*make_cell(*penalties.triple).triple, rate)


def double_step_ns(cell, vector):
    """Nanoseconds of two antidiagonals of one word of a vector."""
    return _GATE_NS[vector] * 2 * len(cell.gates)


@cache
def _functions(triple, vector):
    """Addresses of the vector kernels for some penalties, int64[6, border, traced]: 0 for those not compiled yet."""
    return np.zeros((6, 2, 2), np.int64)


def _compile(functions, number, triple, vector, traced):
    """Put the kernels of a row of functions (see bit_batch.function_number) there."""
    lane, single = 16 << number // 2, 1 - number % 2
    with _COMPILING:
        for keeps_codes in range(traced + 1):
            for border in (1, 0):
                made = _kernel(*triple, vector, lane, single, border, keeps_codes)
                functions[number, border, keeps_codes] = made.address


@cache
def _kernel(mismatch, gap_open, gap_extend, vector, lane, single, border, traced):
    """bit_lanes.advance for a Shape, as a C function; this cache keeps it alive."""

    def advance_bits(group, text, pattern, words, first, last, codes):
        shape = (mismatch, gap_open, gap_extend, vector, lane, single, border, traced)
        advance(shape, group, text, pattern, words, first, last, codes)

    numbers = (mismatch, gap_open, gap_extend, vector, lane, single, border, traced)
    advance_bits.__qualname__ = "advance_bits_" + "_".join(map(str, numbers))  # Numba's cache tells functions by it
    return cfunc(_SIGNATURE, cache=True)(advance_bits)


def _joined(rest, pairs, penalties, scope, start, budget_bytes, divisor, table, runs):
    """The results of the batch; pairs that were left are aligned by ``rest``."""
    scores = np.where(table[:, STATE] == DONE, table[:, SCORE] * divisor, NO_SCORE).astype(np.int32)
    first = table[:, FIRST_RUN].copy()
    lengths = table[:, LAST_RUN] - first
    return with_rest(rest, pairs, penalties, scope, start, budget_bytes, scores, runs, lengths, first)
