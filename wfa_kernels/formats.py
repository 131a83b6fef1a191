"""Readers and writers of pair files: ``.seq``, two FASTA or FASTQ files in parallel, Arrow.

A ``.seq`` file has two lines a pair: ``>PATTERN`` and ``<TEXT`` (WFA's format; either may be empty). Its last line may
lack a line end, with a warning, unless the text is empty: a file that ends in a bare ``<`` was cut off. FASTA sequences
may run over several lines; FASTQ records have four lines. All three may be gzipped and may end lines with CRLF. What a
file is, is read from its first bytes, not from its name.

Two passes over the bytes, so that the flat buffers are allocated once at their exact size: read_pairs() takes 1.0 to
1.8 s for 1M x 150 bp pairs, one core of two shared ones, its scans compiled.
"""

import gzip
import os
import sys
import warnings
import zlib
from dataclasses import dataclass

import numpy as np

from wfa_kernels import line_scan as scan
from wfa_kernels import whole_file
from wfa_kernels.pairs import PairBatch, PairsError

FORMATS = ("seq", "fasta", "fastq", "arrow")
#: First bytes of an Arrow IPC file.
_ARROW = b"ARROW1"


@dataclass(frozen=True)
class Sequences:
    """The records of one FASTA or FASTQ file.

    flat: uint8[...], offsets: int64[n + 1] as in PairBatch. headers: n rows of (start, stop) in ``data``, the file.
    """

    flat: np.ndarray
    offsets: np.ndarray
    data: np.ndarray
    headers: np.ndarray

    def __len__(self):
        return len(self.headers)

    def names(self):
        """n str: each header up to its first white space."""
        heads = (self.data[start:stop].tobytes().split(None, 1) for start, stop in self.headers.tolist())
        return [head[0].decode("ascii", "replace") if head else "" for head in heads]

    def sequence(self, i):
        """Record i as a view, uint8[length]."""
        return self.flat[self.offsets[i] : self.offsets[i + 1]]


def read_pairs(path, text_path=None, uppercase=True, format=None):
    """Read a pair file: one .seq or Arrow file, or FASTA or FASTQ patterns with their texts in ``text_path``.

    ``-`` is .seq on standard input. uppercase: ASCII letters a-z become A-Z; an Arrow file without any is still
    memory-mapped without a copy. format: one of FORMATS, instead of looking at the first bytes.
    Raises PairsError, with the file, the line and what is allowed, for anything that is not such a file. Warns of a
    .seq file whose last line does not end: it may have been cut off within the text.
    """
    if format is not None and format not in FORMATS:
        raise PairsError(f"unknown format {format!r}: one of {', '.join(FORMATS)}")
    if text_path is not None:
        return _read_two(path, text_path, uppercase, format)
    if _is_arrow(path, format):
        return _read_arrow(path, uppercase)
    name = _name(path)
    whole = _read_bytes(path)
    data = _without_last_line_ends(whole, name)
    kind = format or _sniff(data, name)
    if kind == "arrow":
        raise PairsError(f"{name}: an Arrow pair file is read from a plain file, neither gzipped nor through a pipe")
    if kind != "seq":
        raise PairsError(f"{name}: {kind.upper()} holds one side of the pairs: give the texts as a second file")
    return _read_seq(data, name, uppercase, ended=len(data) < len(whole))


def read_sequences(path, uppercase=True, format=None):
    """Read one FASTA or FASTQ file (gzip too) as Sequences. Raises PairsError as read_pairs does."""
    data = _without_last_line_ends(_read_bytes(path), path)
    kind = format or _sniff(data, path)
    if kind == "seq" and not _second_line_starts(data, scan.LESS):
        kind = "fasta"
    if kind not in ("fasta", "fastq"):
        raise PairsError(f"{path}: this is {kind}, where FASTA or FASTQ is needed")
    count, fill = (scan.scan_fasta, scan.fill_fasta) if kind == "fasta" else (scan.scan_fastq, scan.fill_fastq)
    records, size, code, line = count(data)
    if code != scan.OK:
        raise PairsError(f"{path}: line {line}: {_fault(kind, code)}")
    flat, offsets, headers = np.empty(size, np.uint8), np.zeros(records + 1, np.int64), np.empty((records, 2), np.int64)
    line = fill(data, uppercase, flat, offsets, headers)
    if line:
        raise PairsError(f"{path}: line {line}: {_BINARY}")
    return Sequences(flat, offsets, data, headers)


def write_seq(pairs, path):
    """Write a PairBatch as a .seq file, whole or not at all.

    Raises PairsError when the path cannot be written or a sequence holds a control byte or a space.
    """
    _require_visible(pairs, path)
    ends = np.empty(2 * len(pairs) + 1, np.int64)
    ends[0], ends[1::2], ends[2::2] = 0, pairs.pattern_lengths + 2, pairs.text_lengths + 2
    np.cumsum(ends, out=ends)
    out = np.empty(ends[-1], np.uint8)
    scan.write_lines(pairs.pattern, pairs.pattern_offsets, scan.GREATER, ends[0:-1:2], out)
    scan.write_lines(pairs.text, pairs.text_offsets, scan.LESS, ends[1:-1:2], out)
    _write_whole(path, out)


def write_fasta(pairs, pattern_path, text_path):
    """Write patterns and texts as two FASTA files, one line a sequence, named by the pair's index from 0.

    Raises PairsError as write_seq does, and for a sequence that starts with > as a header does.
    """
    _require_visible(pairs, pattern_path)
    sides = ((pattern_path, pairs.patterns()), (text_path, pairs.texts()))
    for path, sequences in sides:
        if any(sequence.startswith(b">") for sequence in sequences):
            raise PairsError(f"{path}: a sequence starts with '>', which in FASTA would read as a header")
    for path, sequences in sides:
        _write_whole(path, b"".join(b">%d\n%s\n" % record for record in enumerate(sequences)))


def require_writable(path):
    """Raise PairsError unless a file could be written at path now: to be asked before long work."""
    try:
        whole_file.require_writable(path)
    except (OSError, ValueError) as error:  # the latter: the path holds a zero byte
        raise PairsError(f"{path}: cannot be written ({_why(error)})") from None


def _require_visible(pairs, path):
    if not isinstance(pairs, PairBatch):
        raise PairsError(f"{path}: pairs must be a PairBatch, not {type(pairs).__name__}")
    for flat, offsets in ((pairs.pattern, pairs.pattern_offsets), (pairs.text, pairs.text_offsets)):
        if not scan.all_visible(flat[offsets[0] : offsets[-1]]):
            raise PairsError(f"{path}: a sequence {_BINARY}")


_BINARY = "holds a control byte or a space; a sequence is visible characters, usually A, C, G, T, N"


def _fault(kind, code):
    if code == scan.BAD_LENGTH:
        return "the qualities are not as long as the sequence"
    if code == scan.TRUNCATED:
        return "this record is cut short; a FASTQ record is four lines: @name, sequence, +, qualities"
    if code == scan.BAD_LINE_END:
        return "a carriage return within a header: lines end with LF or CRLF"
    if kind == "fasta":
        return "a FASTA file starts with a header line >name"
    return "wrong first character; a FASTQ record is four lines: @name, sequence, +, qualities"


def _read_seq(data, path, uppercase, ended):
    """ended: a line end followed data in the file."""
    lines, pattern_bytes, text_bytes, code, line = scan.scan_seq(data)
    if code != scan.OK:
        start = scan.start_of_line(data, line)
        found = data[start : start + 1].tobytes()
        if found and (found[0] < 32 and found not in b"\t\r\n"):
            raise PairsError(f"{path}: line {line}: {_BINARY}")
        wanted = "'<' and the text" if line % 2 == 0 else "'>' and the pattern"
        hint = " (FASTA? give patterns and texts as two files)" if line == 2 else ""
        raise PairsError(f"{path}: line {line} must start with {wanted}, not {_shown(found)}{hint}")
    if lines % 2:
        raise PairsError(
            f"{path}: line {lines}: odd number of lines, the last pattern has no text; a .seq file has two lines a pair"
        )
    if not ended and data[-2] == scan.NEWLINE:
        raise PairsError(f"{path}: line {lines}: the file is cut off after '<'; an empty text needs its line end")
    if not ended:
        warnings.warn(f"{path}: line {lines}: no line end; if the file was cut off, this text is short", stacklevel=3)
    pattern, text = np.empty(pattern_bytes, np.uint8), np.empty(text_bytes, np.uint8)
    pattern_offsets, text_offsets = np.zeros(lines // 2 + 1, np.int64), np.zeros(lines // 2 + 1, np.int64)
    line = scan.fill_seq(data, uppercase, pattern, pattern_offsets, text, text_offsets)
    if line:
        raise PairsError(f"{path}: line {line}: {_BINARY}")
    return PairBatch(pattern, pattern_offsets, text, text_offsets)


def _read_two(path, text_path, uppercase, format):
    if format in ("seq", "arrow"):
        raise PairsError(f"a {format} file holds both sides of the pairs: no second file {text_path}")
    if "-" in (str(path), str(text_path)):
        raise PairsError("standard input (-) takes .seq only, not one of two files")
    patterns = read_sequences(path, uppercase, format)
    texts = read_sequences(text_path, uppercase, format)
    if len(patterns) != len(texts):
        raise PairsError(f"{path} has {len(patterns)} records but {text_path} has {len(texts)}; they pair up in order")
    return PairBatch(patterns.flat, patterns.offsets, texts.flat, texts.offsets)


def _read_arrow(path, uppercase):
    batch = PairBatch.from_arrow(path)
    if not uppercase or not (scan.has_lower(batch.pattern) or scan.has_lower(batch.text)):
        return batch
    fold = np.arange(256, dtype=np.uint8)
    fold[97:123] -= 32
    return PairBatch(fold[batch.pattern], batch.pattern_offsets, fold[batch.text], batch.text_offsets, batch.metadata)


def _is_arrow(path, format):
    if str(path) == "-" or format not in (None, "arrow"):
        return False
    return format == "arrow" or (os.path.isfile(path) and _head(path) == _ARROW)


def _name(path):
    return "standard input" if str(path) == "-" else path


def _head(path):
    try:
        with open(path, "rb") as source:
            return source.read(len(_ARROW))
    except OSError as error:
        raise PairsError(f"{path}: cannot be read ({error.strerror})") from None


def _read_bytes(path):
    """The whole (unzipped) content as uint8[...]; a regular file is memory-mapped."""
    if str(path) == "-":
        if sys.stdin is None:
            raise PairsError("standard input is closed")
        raw = sys.stdin.buffer.read()
        return np.frombuffer(_unzip(raw, _name(path)) if raw[:2] == b"\x1f\x8b" else raw, np.uint8)
    if not os.path.exists(path):
        raise PairsError(f"{path}: no such file")
    if os.path.isdir(path):
        raise PairsError(f"{path}: is a directory, not a pair file")
    return _read_file(path)


def _without_last_line_ends(data, name):
    stop = len(data)
    while stop and data[stop - 1] in (scan.NEWLINE, scan.RETURN):
        stop -= 1
    if not stop:
        raise PairsError(f"{name}: is empty; it must hold at least one pair")
    return data[:stop]


def _read_file(path):
    try:
        if os.path.isfile(path) and os.path.getsize(path) and _head(path)[:2] != b"\x1f\x8b":
            return np.memmap(path, np.uint8, "r").view(np.ndarray)
        with open(path, "rb") as source:
            raw = source.read()
    except OSError as error:
        raise PairsError(f"{path}: cannot be read ({error.strerror})") from None
    return np.frombuffer(_unzip(raw, path) if raw[:2] == b"\x1f\x8b" else raw, np.uint8)


def _unzip(raw, path):
    try:
        return gzip.decompress(raw)
    except (EOFError, OSError, zlib.error) as error:
        raise PairsError(f"{path}: truncated or damaged gzip ({error})") from None


def _sniff(data, path):
    """ "seq" (also for FASTA, which starts with > too), "fastq", "arrow"; PairsError for anything else."""
    kind = {scan.GREATER: "seq", scan.AT: "fastq"}.get(data[0])
    if data[: len(_ARROW)].tobytes() == _ARROW:
        kind = "arrow"
    if kind is None:
        raise PairsError(
            f"{path}: line 1 starts with {_shown(data[:1].tobytes())}: not a pair file; "
            f"allowed are .seq ('>PATTERN', '<TEXT'), FASTA ('>'), FASTQ ('@'), these gzipped, and Arrow IPC files"
        )
    return kind


def _shown(byte):
    if byte in (b"", b"\n", b"\r"):
        return "an empty line"
    return repr(byte.decode("ascii")) if 32 <= byte[0] < 127 else f"byte 0x{byte[0]:02x}"


def _second_line_starts(data, letter):
    second = scan.start_of_line(data, 2)
    return second < len(data) and data[second] == letter


def _write_whole(path, content):
    try:
        with whole_file.beside(path) as part, open(part, "wb") as sink:
            sink.write(content)
    except (OSError, ValueError) as error:
        raise PairsError(f"{path}: cannot be written ({_why(error)})") from None


def _why(error):
    return getattr(error, "strerror", None) or error
