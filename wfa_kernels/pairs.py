"""PairBatch: the sequences of n pairs as flat bytes and offsets.

On disk a batch is an Arrow IPC file of two large_binary columns, ``pattern`` and ``text``, in one record batch:
their Arrow buffers are the flat bytes and the int64 offsets, so a memory-mapped file is read without a copy.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numba import config, njit

from wfa_kernels import whole_file

#: Pairs whose cells are summed at once.
_CHUNK = 1 << 16
#: Lengths and letters that a thread hashes at once.
_HASHED_LENGTHS, _HASHED_LETTERS = 1 << 20, 1 << 24


class PairsError(ValueError):
    """Input that does not hold pairs: the message names the file, the line and what is allowed."""


@dataclass(frozen=True, eq=False)
class PairBatch:
    """n pattern/text pairs.

    pattern, text: uint8[...] flat bytes. pattern_offsets, text_offsets: int64[n + 1]; pair i's pattern is
    ``pattern[pattern_offsets[i]:pattern_offsets[i + 1]]`` (offsets need not start at 0).
    metadata: free str -> str notes that travel in the Arrow schema.
    Bytes compare literally: no case folding, no wild cards. Views that are not contiguous are copied.
    """

    pattern: np.ndarray
    pattern_offsets: np.ndarray
    text: np.ndarray
    text_offsets: np.ndarray
    metadata: dict = field(default_factory=dict)

    def __post_init__(self):
        for name in ("pattern", "text"):
            flat, offsets = getattr(self, name), getattr(self, f"{name}_offsets")
            for array, what in ((flat, name), (offsets, f"{name}_offsets")):
                if not isinstance(array, np.ndarray):
                    raise PairsError(f"{what} must be a NumPy array, not {type(array).__name__}; see from_strings")
                object.__setattr__(self, what, np.ascontiguousarray(array))
            if flat.dtype != np.uint8 or flat.ndim != 1:
                raise PairsError(f"{name} must be a flat uint8 array, not {flat.dtype}[{flat.ndim}d]")
            if offsets.dtype != np.int64 or offsets.ndim != 1 or len(offsets) < 1:
                raise PairsError(f"{name}_offsets must be an int64 array of n + 1 values")
            if offsets[0] < 0 or offsets[-1] > len(flat) or (offsets[1:] < offsets[:-1]).any():
                raise PairsError(f"{name}_offsets must not decrease and must stay within the {len(flat)} bytes")
        if len(self.pattern_offsets) != len(self.text_offsets):
            raise PairsError(f"{len(self.pattern_offsets) - 1} patterns but {len(self.text_offsets) - 1} texts")
        if not isinstance(self.metadata, dict):
            raise PairsError(f"metadata must be a dict, not {type(self.metadata).__name__}")
        for item in self.metadata.items():
            if not all(isinstance(word, str) for word in item):
                raise PairsError("metadata holds {!r}: {!r}; it must be str to str".format(*item))

    @classmethod
    def from_strings(cls, patterns, texts, metadata=None):
        """A batch of two equally long lists of str (ASCII) or bytes, taken literally.

        Letters are compared as they are: ``a`` is not ``A``, and an ``N`` matches an ``N``. Raises PairsError when the
        counts differ, a str is not ASCII, or what stands for a list is one str or bytes, a set or a dict.
        """
        for name, given in (("patterns", patterns), ("texts", texts)):
            if isinstance(given, str | bytes | bytearray):
                raise PairsError(f"{name} must be a list of sequences, not one {type(given).__name__}; write [{name}]")
            if isinstance(given, Set | Mapping):
                raise PairsError(f"{name} must be a list of sequences, not a {type(given).__name__}")
            if not isinstance(given, Iterable):
                raise PairsError(f"{name} must be a list of sequences, not {given!r}")
        patterns, texts = list(patterns), list(texts)
        if len(patterns) != len(texts):
            raise PairsError(f"{len(patterns)} patterns but {len(texts)} texts")
        return cls(*_flatten(patterns, "pattern"), *_flatten(texts, "text"), {} if metadata is None else metadata)

    def __len__(self):
        return len(self.pattern_offsets) - 1

    def __getitem__(self, rows):
        """A slice (step 1) of the batch; shares its bytes."""
        if not isinstance(rows, slice):
            raise TypeError("a PairBatch takes a slice; use pair(i) for one pair")
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ValueError("a PairBatch is sliced with step 1 only")
        ends = slice(start, max(start, stop) + 1)
        return PairBatch(self.pattern, self.pattern_offsets[ends], self.text, self.text_offsets[ends], self.metadata)

    def take(self, rows):
        """The pairs of the given row numbers (int array-like of one dimension), copied, in that order.

        Raises IndexError for a row that is not one of 0 to n - 1, TypeError for what is no list of integers.
        """
        rows = np.asarray(rows)
        if rows.ndim != 1:
            raise TypeError(f"rows must be a list of integers, not an array of {rows.ndim} dimensions")
        if rows.size and rows.dtype.kind not in "iu":
            raise TypeError(f"rows must be integers, not {rows.dtype}")
        outside = rows[(rows < 0) | (rows >= len(self))]
        if outside.size:
            raise IndexError(self._no_row(outside.flat[0]))
        rows = rows.astype(np.int64)
        pattern = gather_rows(self.pattern, self.pattern_offsets, rows)
        return PairBatch(*pattern, *gather_rows(self.text, self.text_offsets, rows), self.metadata)

    def pair(self, i):
        """(pattern, text) of pair i, 0 <= i < n, as bytes. Raises IndexError."""
        if not 0 <= i < len(self):
            raise IndexError(self._no_row(i))
        return (
            self.pattern[self.pattern_offsets[i] : self.pattern_offsets[i + 1]].tobytes(),
            self.text[self.text_offsets[i] : self.text_offsets[i + 1]].tobytes(),
        )

    def _no_row(self, row):
        return f"no pair {row} in a batch of {len(self)} pairs; they count from 0, negative numbers are not taken"

    def patterns(self):
        """All patterns as a list of bytes."""
        return _split(self.pattern, self.pattern_offsets)

    def texts(self):
        """All texts as a list of bytes."""
        return _split(self.text, self.text_offsets)

    @property
    def pattern_lengths(self):
        """int64[n], in bp."""
        return np.diff(self.pattern_offsets)

    @property
    def text_lengths(self):
        """int64[n], in bp."""
        return np.diff(self.text_offsets)

    @property
    def cells(self):
        """Sum over pairs of pattern length x text length: the cells of GCUPS."""
        return _sum_of_products(self.pattern_lengths, self.text_lengths)

    def content_hash(self):
        """Hex SHA-256 of the pairs, not of their place in a buffer: over their number (int64), then the SHA-256 of each
        piece of the patterns' lengths (int64), of their bytes, of the texts' lengths and of their bytes.

        By a thread a core: one would take half a minute for 30 GB.
        """
        digest = hashlib.sha256(np.int64(len(self)).tobytes())
        with ThreadPoolExecutor(config.NUMBA_DEFAULT_NUM_THREADS) as threads:
            for flat, offsets in ((self.pattern, self.pattern_offsets), (self.text, self.text_offsets)):
                lengths = (offsets[at : at + _HASHED_LENGTHS + 1] for at in range(0, len(self), _HASHED_LENGTHS))
                letters = flat[offsets[0] : offsets[-1]]
                pieces = (letters[at : at + _HASHED_LETTERS] for at in range(0, len(letters), _HASHED_LETTERS))
                for part in threads.map(lambda ends: hashlib.sha256(np.diff(ends)).digest(), lengths):
                    digest.update(part)
                for part in threads.map(lambda piece: hashlib.sha256(piece).digest(), pieces):
                    digest.update(part)
        return digest.hexdigest()

    @classmethod
    def from_arrow(cls, path):
        """Memory-map an Arrow IPC file (see the module's text); no copy when it holds one record batch.

        Raises PairsError when the file is missing, is not such a file, or lacks the columns.
        """
        table = _open_arrow(path)
        try:
            metadata = {
                k.decode(errors="replace"): v.decode(errors="replace") for k, v in (table.schema.metadata or {}).items()
            }
            return cls(*_arrays(table), metadata)
        except PairsError as error:
            raise PairsError(f"{path}: {error}") from None
        except ValueError as error:  # names that are no text, buffers that are cut short
            raise PairsError(f"{path}: damaged ({error})") from None

    def to_arrow(self, path):
        """Write the batch as an Arrow IPC file, whole or not at all (written beside, then renamed)."""
        columns = [_column(self.pattern, self.pattern_offsets), _column(self.text, self.text_offsets)]
        schema = pa.schema([("pattern", pa.large_binary()), ("text", pa.large_binary())], metadata=self.metadata)
        try:
            with (
                whole_file.beside(path) as part,
                pa.OSFile(os.fspath(part), "wb") as sink,
                pa.ipc.new_file(sink, schema) as writer,
            ):
                writer.write_batch(pa.record_batch(columns, schema=schema))
        except OSError as error:
            raise PairsError(f"{path}: cannot be written ({error.strerror or error})") from None


def _flatten(sequences, name):
    for sequence in sequences:
        if not isinstance(sequence, str | bytes | bytearray):
            raise PairsError(f"a {name} is {sequence!r}: sequences are ASCII text or bytes")
    try:
        raw = [s.encode("ascii") if isinstance(s, str) else bytes(s) for s in sequences]
    except UnicodeEncodeError as error:
        raise PairsError(f"a {name} holds {error.object[error.start]!r}: sequences are ASCII text or bytes") from None
    return np.frombuffer(b"".join(raw), np.uint8), offsets_of([len(s) for s in raw])


def _sum_of_products(a, b):
    """Exact sum of a * b as a Python int; int64[n] each, values >= 0 (numpy alone would wrap around)."""
    total = 0
    for start in range(0, len(a), _CHUNK):
        x, y = a[start : start + _CHUNK], b[start : start + _CHUNK]
        if int(x.max()) * int(y.max()) * len(x) < 2**63:
            total += int(x @ y)
        else:
            total += sum(i * j for i, j in zip(x.tolist(), y.tolist(), strict=True))
    return total


def gather_rows(flat, offsets, rows):
    """(flat, offsets) of the given rows, copied, in that order. flat: [...]; offsets: int64[n + 1]; rows: int64[k]."""
    new = offsets_of(offsets[rows + 1] - offsets[rows])
    gathered = np.empty(new[-1], flat.dtype)
    gather_into(flat, offsets, rows, gathered, new)
    return gathered, new


def offsets_of(lengths):
    """int64[n + 1], offsets of rows of these lengths, int64[n], one behind the other from 0 on."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


@njit(nogil=True, cache=True)
def gather_into(flat, offsets, rows, out, new):
    """Copy the given rows of (flat, offsets) into (out, new), where new has their lengths.

    Element by element: Numba copies slices at a tenth of the speed.
    """
    for i in range(len(rows)):
        source = flat[offsets[rows[i]] : offsets[rows[i] + 1]]
        target = out[new[i] : new[i + 1]]
        for j in range(len(source)):
            target[j] = source[j]


def _split(flat, offsets):
    whole = flat[offsets[0] : offsets[-1]].tobytes()
    ends = (offsets - offsets[0]).tolist()
    return [whole[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]


def _open_arrow(path):
    try:
        source = pa.memory_map(os.fspath(path), "r")
    except FileNotFoundError:
        raise PairsError(f"{path}: no such file") from None
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error).splitlines()[0]
        raise PairsError(f"{path}: cannot be read ({'it is a directory' if os.path.isdir(path) else why})") from None
    except pa.ArrowInvalid as error:
        raise _not_arrow(path, error) from None
    try:
        with source:
            return pa.ipc.open_file(source).read_all()
    except (pa.ArrowInvalid, OSError) as error:  # a map is not read but looked at: here OSError is a file cut short
        raise _not_arrow(path, error) from None


def _not_arrow(path, error):
    return PairsError(f"{path}: not an Arrow IPC file ({str(error).splitlines()[0]})")


def _arrays(table):
    """(pattern, pattern_offsets, text, text_offsets) of the table of a pair file. Raises ValueError."""
    arrays = []
    for name in ("pattern", "text"):
        found = table.column_names.count(name)
        if found != 1:
            told = f"{found or 'no'} column{'s' * (found > 1)} {name!r}"
            raise PairsError(f"{told}; a pair file has one large_binary column pattern and one text")
        column = table.column(name)
        if column.type != pa.large_binary() or column.null_count:
            told = f"{column.type} with {column.null_count} nulls" if column.null_count else column.type
            raise PairsError(f"column {name!r} must be large_binary without nulls, not {told}")
        arrays.extend(_buffers(column))
    return arrays


def _buffers(column):
    """(flat uint8, offsets int64) of a large_binary column; a view of the map when it is one chunk."""
    chunk = (
        column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
    )
    _, offsets, data = chunk.buffers()
    flat = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    if offsets is None or not offsets.size:
        return flat, np.zeros(1, np.int64)
    return flat, np.frombuffer(offsets, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]


def _column(flat, offsets):
    used, shifted = flat[offsets[0] : offsets[-1]], offsets - offsets[0]
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(shifted), pa.py_buffer(used)]
    )
