"""Peers called through their C libraries, a whole batch in one call: no binding's overhead counts against them.

The shared library is ours (workflow/peers/, built by ``make peers``). What is timed ends with scores and the library's
own form of its alignments; bringing those into our CIGARs is not.
"""

import ctypes
import functools
import weakref

import numpy as np

from wfa_kernels import Affine, AlignmentResult
from wfa_kernels.cigar import DELETION, INSERTION
from wfa_kernels.result import NO_SCORE, OK, OUT_OF_MEMORY, UNSUPPORTED
from workflow import peers
from workflow.aligners import WORKING_MEMORY_BYTES, ToolMissing
from workflow.aligners._library import PeerAdapter


class _Job(ctypes.Structure):
    """peer_job of workflow/peers/peers.h."""

    _fields_ = [(name, ctypes.c_char_p) for name in ("variant", "library", "letters")]
    _fields_ += [("memory_bytes", ctypes.c_int64)]
    _fields_ += [(name, ctypes.c_int32) for name in ("edit", "mismatch", "gap_open", "gap_extend", "cigar")]


class _Batch(ctypes.Structure):
    """peer_batch of workflow/peers/peers.h."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("pattern", "text", "pattern_offsets", "text_offsets")]
    _fields_ += [("start", ctypes.c_int64), ("stop", ctypes.c_int64)]
    _fields_ += [(name, ctypes.c_void_p) for name in ("scores", "statuses", "room", "room_offsets")]


@functools.cache
def library():
    """The shared library, its functions declared. Raises OSError when it does not load."""
    loaded = ctypes.CDLL(str(peers.LIBRARY))
    for part, told in peers.record()["parts"].items():
        if "version" in told:
            opens, aligns, closes = _functions(loaded, part)
            opens.argtypes, opens.restype = [ctypes.POINTER(_Job)], ctypes.c_void_p
            aligns.argtypes, aligns.restype = [ctypes.c_void_p, ctypes.POINTER(_Batch)], None
            closes.argtypes, closes.restype = [ctypes.c_void_p], None
    loaded.peer_letters.argtypes, loaded.peer_letters.restype = [ctypes.POINTER(_Batch), ctypes.c_void_p], None
    loaded.peer_pack.argtypes = [ctypes.POINTER(_Batch), ctypes.c_int, *[ctypes.c_void_p] * 3]
    loaded.peer_pack.restype = ctypes.c_int64
    return loaded


def _functions(loaded, part):
    return [getattr(loaded, f"peer_{part}_{name}") for name in ("open", "align", "close")]


class NativeAdapter(PeerAdapter):
    """A variant of a C library that is handed the batch's own arrays.

    part: its name in workflow/peers/. runs: its alignments are uint32 runs, else letters, a byte a column.
    operations: {its code of an operation: ours}, 0 for a code that stands for match and mismatch. reserved: bytes that
    it cannot compare literally; a pair with one is refused. edit_only: see PeerAdapter.
    """

    part = ""
    runs = False
    operations = {}
    reserved = b""
    held_bytes_a_pair = 60  # lengths, places and scores

    @property
    def held_bytes_a_base(self):
        """Room for its alignments."""
        return 4 if self.runs else 1

    @property
    def sources(self):
        """Its C file beside what all of them share."""
        names = ("__init__.py", "build.py", "packing.c", "peers.h")
        own = next(path.name for path in peers.SOURCES.glob(f"{self.part}.c*"))
        shared = (*PeerAdapter.sources, "workflow/aligners/_native.py")
        return (*shared, *(f"workflow/peers/{name}" for name in (*names, own)))

    def version(self):
        """Its sources and their compiler. Raises ToolMissing when it was not built here or does not load."""
        try:
            told = peers.version(self.part)
            library()
        except peers.NotBuilt as reason:
            raise ToolMissing(str(reason)) from None
        except OSError as error:
            raise ToolMissing(f"{peers.LIBRARY.name} does not load: {error}") from None
        return told

    def too_large(self, pattern_lengths, text_lengths, job):
        """bool[n]: the pairs that need more than the memory bound, where the library keeps none itself."""
        return np.zeros(len(pattern_lengths), bool)

    def shared_library(self):
        """Path of a further shared library that the peer loads, or None."""
        return

    def prepare(self, pairs, job):
        """Untimed: sort out the pairs that the library is not asked, and open it for the job."""
        self._job, self._lengths = job, np.stack([pairs.pattern_lengths, pairs.text_lengths])
        both, letters = self._lengths.all(axis=0), _letters(pairs)
        self._status = np.full(len(pairs), OK, np.uint8)
        self._status[both & self.too_large(*self._lengths, job)] = OUT_OF_MEMORY
        self._status[both & _holds(pairs, letters, self.reserved)] = UNSUPPORTED
        self._asked = np.flatnonzero((self._status == OK) & both)
        if len(self._asked) < len(pairs):
            pairs = pairs.take(self._asked)
            letters = _letters(pairs)
        self._pairs = pairs
        self._letters = int(self._lengths[:, self._asked].sum())
        self._open(letters)

    def _open(self, letters):
        opens, self._align, closes = _functions(library(), self.part)
        mismatch, gap_open, gap_extend = self.objective(self._job).triple
        edit = not isinstance(self.objective(self._job), Affine)
        job = _Job(
            variant=self.variant.encode(),
            library=self.shared_library(),
            letters=bytes(np.union1d(np.frombuffer(b"ACGT", np.uint8), letters)),
            memory_bytes=WORKING_MEMORY_BYTES,
            edit=edit,
            mismatch=mismatch,
            gap_open=gap_open,
            gap_extend=gap_extend,
            cigar=self._job.scope == "cigar",
        )
        self._peer = opens(ctypes.byref(job))
        if not self._peer:
            raise RuntimeError(f"native {self.part} does not open: {self.id}")
        weakref.finalize(self, closes, self._peer)

    def run(self):
        """One call for the batch."""
        n, pairs = len(self._pairs), self._pairs
        scores, statuses = np.empty(n, np.int32), np.empty(n, np.uint8)
        room = offsets = None
        if self._job.scope == "cigar":
            room, offsets = np.empty(self._letters, np.uint32 if self.runs else np.uint8), np.empty(n + 1, np.int64)
        batch = _batch(pairs, scores, statuses, room, offsets)
        self._align(self._peer, ctypes.byref(batch))
        self._raw = scores, statuses, room, offsets, batch

    def outputs(self):
        """Untimed: the library's answers and those of the pairs with an empty side, in order of the batch."""
        asked_scores, asked_statuses = self._raw[:2]
        status = self._status.copy()
        scores = np.full(len(status), NO_SCORE, np.int32)
        status[self._asked], scores[self._asked] = asked_statuses, asked_scores
        gaps = np.flatnonzero(~self._lengths.all(axis=0))
        gap_lengths = self._lengths[:, gaps].sum(axis=0)
        _, gap_open, gap_extend = self.objective(self._job).triple
        scores[gaps] = np.where(gap_lengths > 0, gap_open + gap_lengths * gap_extend, 0)
        if self._job.scope == "score":
            return AlignmentResult(scores, status)
        operations = np.where(self._lengths[0, gaps] > 0, DELETION, INSERTION)
        gap_cigars = (gap_lengths << 4 | operations)[gap_lengths > 0].astype(np.uint32)
        return AlignmentResult(scores, status, *self._joined(gaps[gap_lengths > 0], gap_cigars))

    def _joined(self, gap_rows, gap_cigars):
        """Packed CIGARs and offsets of the whole batch: the library's, and one element for each of the gap rows."""
        packed, offsets = self._packed()
        counts = np.zeros(len(self._status), np.int64)
        counts[self._asked] = np.diff(offsets)
        counts[gap_rows] = 1
        joined = np.concatenate([[0], counts.cumsum()])
        from_library = np.ones(joined[-1], bool)
        from_library[joined[gap_rows]] = False
        cigars = np.empty(joined[-1], np.uint32)
        cigars[from_library], cigars[~from_library] = packed, gap_cigars
        return cigars, joined

    def _packed(self):
        *_, batch = self._raw
        operations = np.zeros(256, np.uint8)
        for code, operation in self.operations.items():
            operations[code] = operation
        offsets = np.empty(len(self._pairs) + 1, np.int64)
        pack = functools.partial(library().peer_pack, ctypes.byref(batch), self.runs, _address(operations))
        packed = np.empty(pack(None, _address(offsets)), np.uint32)
        pack(_address(packed), _address(offsets))
        return packed, offsets


def _address(array):
    return None if array is None else array.ctypes.data


def _batch(pairs, *answers):
    """The _Batch of a PairBatch. answers: arrays for scores, statuses, room and its offsets, None where not asked."""
    arrays = (pairs.pattern, pairs.text, pairs.pattern_offsets, pairs.text_offsets)
    return _Batch(*map(_address, arrays), 0, len(pairs), *map(_address, answers))


def _letters(pairs):
    """uint8[k]: the bytes that a batch holds, sorted. To count them numpy makes 8 bytes of each, 17 GB of 2."""
    seen = np.zeros(256, np.uint8)
    library().peer_letters(ctypes.byref(_batch(pairs)), _address(seen))
    return np.flatnonzero(seen).astype(np.uint8)


def _holds(pairs, letters, reserved):
    """bool[n]: the pairs that hold one of the reserved bytes. letters: what _letters() gives."""
    found = np.zeros(len(pairs), bool)
    if not np.isin(letters, np.frombuffer(reserved, np.uint8)).any():
        return found
    for flat, offsets in ((pairs.pattern, pairs.pattern_offsets), (pairs.text, pairs.text_offsets)):
        places = np.flatnonzero(np.isin(flat[: offsets[-1]], np.frombuffer(reserved, np.uint8)))
        rows = np.searchsorted(offsets, places, side="right") - 1
        found[rows[rows >= 0]] = True
    return found
