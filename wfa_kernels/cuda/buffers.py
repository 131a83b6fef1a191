"""What a batch in flight has of the GPU: buffers, a CUDA stream for its kernels, events."""

from concurrent.futures import wait
from dataclasses import dataclass

import numpy as np
from numba import cuda

from wfa_kernels.cuda.compaction import record_words
from wfa_kernels.cuda.launching import Launcher
from wfa_kernels.cuda.memory import device_array, host_array, pinned_array
from wfa_kernels.cuda.packing import LEAD_WORDS, LETTERS, TAIL_WORDS
from wfa_kernels.cuda.records import blocks_of
from wfa_kernels.cuda.source import Source, found_strange

#: Sets of buffers, which go round; more of long reads, as they wait for a batch's longest way back.
SLOTS, READS_SLOTS = 4, 6
#: Part of the device memory that the batches may take; the kernels have the rest.
BATCHES_SHARE = 0.5
#: Bytes of device memory that a stream takes however small its batches are: of each slot where the CIGARs of its batch
#: lie, the words before and behind the letters, flags and what rounding adds.
FIXED_BYTES = 1 << 17


class Slot:
    """Device and page-locked buffers of one batch in flight."""

    def __init__(self, pairs, letters, levels, scratch_words, traced, learned, record_bits):
        blocks = blocks_of(pairs)
        words = -(-letters // LETTERS) + 1
        self.ascii = [device_array(words * LETTERS // 8, np.uint64) for _ in range(2)]
        self.planes = [device_array(LEAD_WORDS + words + TAIL_WORDS, np.uint64) for _ in range(2)]
        self.odd = [device_array(LEAD_WORDS + words + TAIL_WORDS, np.uint32) for _ in range(2)]
        self.records = device_array(blocks * record_words(record_bits), np.uint32)
        self.shape = device_array(pairs, np.uint64)
        self.place = device_array((2, pairs), np.uint32)
        self.queues = device_array((levels + 2, max(pairs, levels + 2 + learned)), np.int32)
        self.scores = device_array(pairs, np.int32)
        self.counts = device_array(pairs, np.uint32)
        self.runs_at = device_array(pairs, np.uint32)
        self.ends = device_array(pairs, np.uint32)
        self.sums = device_array(blocks, np.int64)
        self.flag = device_array(1, np.int64)
        # A CIGAR has no more runs than its pair has letters.
        self.runs, self.cigars = (device_array(2 * letters if traced else 1, np.uint32) for _ in range(2))
        self.scratch = device_array(scratch_words, np.uint64)
        self.scratch_words, self.scratch_numbers = self.scratch.view(np.uint32), self.scratch.view(np.int32)
        self.staged_records = pinned_array(blocks * record_words(record_bits), np.uint32)
        self.staged_ends = pinned_array(pairs if traced else 1, np.uint32)
        self.staged = self.staged_planes = None
        self.late = ()  # futures of what still writes to staged_planes, for a batch that has gone without
        self.marked = False  # a letter without a code has been marked there
        self.tallies = pinned_array(levels + 2 + learned, np.int32)
        self.cigar_span = pinned_array(2, np.int64)
        self.compute = cuda.stream()
        self.launch = Launcher(self.compute)
        self.told, self.summed, self.beyond_done = cuda.event(), cuda.event(), cuda.event()
        self._never = cuda.event()
        self.forget()

    def forget(self):
        """Nothing is under way. The newest of each kind: letters are here, kernels are done, all has left."""
        self.arrived = self.computed = self.left = self._never
        self.widening = None  # what reads staged_ends

    def stage(self, letters):
        """Two buffers, page-locked where there is room, for the letters of a batch in ordinary memory."""
        if self.staged is None:
            self.staged = [host_array(letters, np.uint8) for _ in range(2)]
        return self.staged

    def stage_packed(self, letters):
        """[(planes, odd)], two times, page-locked where there is room: for letters of a batch that the host packs. odd
        is 0 unless marked."""
        wait(self.late)
        self.marked |= any(map(found_strange, self.late))
        if self.staged_planes is None:
            words = -(-letters // LETTERS)
            self.staged_planes = [(host_array(words, np.uint64), host_array(words, np.uint32)) for _ in range(2)]
            for _, odd in self.staged_planes:
                odd[:] = 0
        return self.staged_planes


@dataclass
class Batch:
    """Pairs start .. stop of a call, in a slot of their own."""

    number: int
    start: int
    stop: int
    longest: int
    slot: Slot
    source: Source
    records: np.ndarray  # what the GPU is told of the pairs, page-locked
    bits: int  # of a length in the records
    before: tuple  # what is to be subtracted from the records' places, of patterns and of texts
    first_level: int = 0
    last_level: int = 0
    trial: bool = False  # it begins a level lower than it would, to see whether that is enough
    likely: bool = False  # its design told by its lengths where it begins

    @property
    def pairs(self):
        return self.stop - self.start

    @property
    def blocks(self):
        return blocks_of(self.pairs)

    @property
    def input(self):
        """First arguments of every kernel that aligns."""
        return *self.slot.planes, self.pairs, self.slot.shape, self.slot.place, self.slot.queues

    @property
    def output(self):
        """What those kernels write."""
        return self.slot.scores, self.slot.runs_at, self.slot.counts, self.slot.runs

    @property
    def scratch(self):
        """Device memory for the kernels, uint64[...]."""
        return self.slot.scratch


def bytes_of(letters, pairs, levels, traced, slots=SLOTS):
    """Bytes of device memory, at most, of all slots' buffers for batches of so many letters a side and pairs."""
    letter = 2 + 2 / 4 + 2 / 8 + (16 if traced else 0)
    pair = 36 + 4 * (levels + 2) + 1
    return slots * (letter * letters + pair * pairs)


def letters_within(memory, levels, traced, letters_per_pair, slots=SLOTS):
    """Most letters, on each side, of batches whose buffers take their share of so many bytes of device memory."""
    return int(BATCHES_SHARE * memory / bytes_of(1, 1 / letters_per_pair, levels, traced, slots))
