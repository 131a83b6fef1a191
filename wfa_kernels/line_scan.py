"""Scans over the bytes of text pair files: where lines, records and sequences are, and their copy to flat buffers.

``scan_*`` checks the layout and counts, ``fill_*`` copies into buffers of exactly that size. Both walk uint8[...]
``data`` that holds at least one byte and no trailing line ends; nothing is raised here, faults are codes and line
numbers (from 1).
"""

import numpy as np
from numba import njit

NEWLINE, RETURN, GREATER, LESS, AT, PLUS = (np.uint8(ord(c)) for c in "\n\r><@+")
#: What a scan found.
OK, BAD_PREFIX, BAD_LENGTH, TRUNCATED, BAD_LINE_END = range(5)


@njit(cache=True, nogil=True)
def line_at(data, start):
    """(end of the line's content, start of the next line); the line end (LF or CRLF) is not content."""
    stop = start
    while stop < len(data) and data[stop] != NEWLINE:
        stop += 1
    content = stop - 1 if stop > start and data[stop - 1] == RETURN else stop
    return content, stop + 1


@njit(cache=True, nogil=True)
def _copy(data, start, stop, fold, out, at):
    """Copy data[start:stop] to out[at:], upper-cased if fold; False when a byte is a control byte or a space."""
    bad = False
    for k in range(stop - start):  # no early exit: this way the loop is vectorised
        letter = data[start + k]
        bad |= (letter <= 32) | (letter == 127)
        lower = fold & (letter >= 97) & (letter <= 122)
        out[at + k] = letter - np.uint8(32) if lower else letter
    return not bad


@njit(cache=True, nogil=True)
def scan_seq(data):
    """(lines, pattern bytes, text bytes, code, line number at fault) of a .seq file."""
    at, line, sizes = 0, 0, np.zeros(2, np.int64)
    while at < len(data):
        content, following = line_at(data, at)
        if content == at or data[at] != (LESS if line & 1 else GREATER):
            return line, sizes[0], sizes[1], BAD_PREFIX, line + 1
        sizes[line & 1] += content - at - 1
        line += 1
        at = following
    return line, sizes[0], sizes[1], OK, 0


@njit(cache=True, nogil=True)
def fill_seq(data, fold, pattern, pattern_offsets, text, text_offsets):
    """Fill the buffers of a scanned .seq file; the number of the line with a bad byte, or 0."""
    at = 0
    for pair in range(len(pattern_offsets) - 1):
        content, following = line_at(data, at)
        if not _copy(data, at + 1, content, fold, pattern, pattern_offsets[pair]):
            return 2 * pair + 1
        pattern_offsets[pair + 1] = pattern_offsets[pair] + content - at - 1
        at = following
        content, following = line_at(data, at)
        if not _copy(data, at + 1, content, fold, text, text_offsets[pair]):
            return 2 * pair + 2
        text_offsets[pair + 1] = text_offsets[pair] + content - at - 1
        at = following
    return 0


@njit(cache=True, nogil=True)
def scan_fasta(data):
    """(records, sequence bytes, code, line number at fault) of a FASTA file; blank lines are skipped."""
    at, line, records, size = 0, 0, 0, 0
    while at < len(data):
        content, following = line_at(data, at)
        line += 1
        if content > at:
            if data[at] == GREATER:
                for byte in data[at:content]:
                    if byte == RETURN:
                        return records, size, BAD_LINE_END, line
                records += 1
            elif records == 0:
                return records, size, BAD_PREFIX, line
            else:
                size += content - at
        at = following
    return records, size, OK, 0


@njit(cache=True, nogil=True)
def fill_fasta(data, fold, flat, offsets, headers):
    """Fill the buffers of a scanned FASTA file; the number of the line with a bad byte, or 0."""
    at, line, record, filled = 0, 0, -1, 0
    while at < len(data):
        content, following = line_at(data, at)
        line += 1
        if content > at:
            if data[at] == GREATER:
                record += 1
                offsets[record] = filled
                headers[record, 0], headers[record, 1] = at + 1, content
            else:
                if not _copy(data, at, content, fold, flat, filled):
                    return line
                filled += content - at
        at = following
    offsets[record + 1] = filled
    return 0


@njit(cache=True, nogil=True)
def scan_fastq(data):
    """(records, sequence bytes, code, line number at fault) of a FASTQ file of four-line records."""
    at, line, records, size = 0, 0, 0, 0
    while at < len(data):
        content, following = line_at(data, at)
        if content == at or data[at] != AT:
            return records, size, BAD_PREFIX, line + 1
        start = following
        stop, at = line_at(data, start)
        plus = at
        if plus >= len(data):
            return records, size, TRUNCATED, line + 1
        content, at = line_at(data, plus)
        if content == plus or data[plus] != PLUS:
            return records, size, BAD_PREFIX, line + 3
        if at >= len(data) and stop > start:
            return records, size, TRUNCATED, line + 1
        content, following = line_at(data, at)
        if content - at != stop - start:
            return records, size, BAD_LENGTH, line + 4
        at = following
        records, size, line = records + 1, size + stop - start, line + 4
    return records, size, OK, 0


@njit(cache=True, nogil=True)
def fill_fastq(data, fold, flat, offsets, headers):
    """Fill the buffers of a scanned FASTQ file; the number of the line with a bad byte, or 0."""
    at = 0
    for record in range(len(offsets) - 1):
        headers[record, 0] = at + 1
        headers[record, 1], start = line_at(data, at)
        stop, plus = line_at(data, start)
        if not _copy(data, start, stop, fold, flat, offsets[record]):
            return 4 * record + 2
        offsets[record + 1] = offsets[record] + stop - start
        _, quality = line_at(data, plus)
        _, at = line_at(data, quality)
    return 0


@njit(cache=True, nogil=True)
def has_lower(flat):
    found = False
    for letter in flat:
        found |= (letter >= 97) & (letter <= 122)
    return found


@njit(cache=True, nogil=True)
def all_visible(flat):
    """Whether no byte is a control byte or a space."""
    bad = False
    for letter in flat:
        bad |= (letter <= 32) | (letter == 127)
    return not bad


@njit(cache=True, nogil=True)
def start_of_line(data, number):
    """Index of the first byte of line ``number``, counted from 1."""
    at = 0
    for _ in range(number - 1):
        _, at = line_at(data, at)
    return at


@njit(cache=True, nogil=True)
def write_lines(flat, offsets, prefix, starts, out):
    """Write line i, prefix + sequence i + LF, at out[starts[i]:]."""
    for i in range(len(offsets) - 1):
        at, size = starts[i], offsets[i + 1] - offsets[i]
        out[at] = prefix
        out[at + 1 : at + 1 + size] = flat[offsets[i] : offsets[i + 1]]
        out[at + 1 + size] = NEWLINE
