"""CIGARs: packed as ``length << 4 | op`` with BAM's operation numbers.

The pattern is the reference: ``I`` consumes text, ``D`` consumes pattern, ``=`` and ``X`` consume both.
"""

import numpy as np
from numba import njit

INSERTION = 1
DELETION = 2
MATCH = 7
MISMATCH = 8
#: Longest run one packed element can hold; a longer one is split.
MAX_RUN = 2**28 - 1

_OPERATION_OF_LETTER = np.zeros(256, np.uint8)
for _letter, _operation in (("I", INSERTION), ("D", DELETION), ("=", MATCH), ("X", MISMATCH)):
    _OPERATION_OF_LETTER[ord(_letter)] = _operation
_LETTER_OF_OPERATION = np.zeros(16, np.uint8)
for _letter in "ID=X":
    _LETTER_OF_OPERATION[_OPERATION_OF_LETTER[ord(_letter)]] = ord(_letter)


class CigarError(ValueError):
    """CIGAR text that is not runs of ``<length><one of = X I D>``."""


@njit(cache=True)
def _count_letters(text):
    count = 0
    for byte in text:
        if byte > 57:  # past '9': a letter or '='
            count += 1
    return count


@njit(cache=True)
def _parse(text, operation_of_letter, stop_byte, packed, offsets):
    run = -1
    filled = 0
    row = 0
    for byte in text:
        if 48 <= byte <= 57:
            run = max(run, 0) * 10 + (byte - 48)
            if run > MAX_RUN:
                return -1
        elif byte == stop_byte:
            if run >= 0:
                return -1
            row += 1
            offsets[row] = filled
        else:
            operation = operation_of_letter[byte]
            if operation == 0 or run < 1:
                return -1
            packed[filled] = (run << 4) | operation
            filled += 1
            run = -1
    return filled if run < 0 else -1


def pack_strings(cigars):
    """Pack CIGAR strings (or bytes).

    cigars: sequence of str or bytes in the letters ``= X I D``; ``""`` and ``"*"`` are an empty CIGAR.
    Returns (packed uint32[m], offsets int64[n + 1]). Raises CigarError.
    """
    cigars = list(cigars)
    for cigar in cigars:
        if not isinstance(cigar, str | bytes):
            raise CigarError(f"not a CIGAR, which is str or bytes: {cigar!r}")
    cigars = [cigar if isinstance(cigar, bytes) else cigar.encode(errors="replace") for cigar in cigars]
    cleaned = [b"" if cigar == b"*" else cigar for cigar in cigars]
    offsets = np.zeros(len(cleaned) + 1, np.int64)
    if not cleaned:
        return np.zeros(0, np.uint32), offsets
    lines = b"\n".join(cleaned) + b"\n"
    text = np.frombuffer(lines, np.uint8)
    packed, filled = np.empty(_count_letters(text), np.uint32), -1
    if lines.count(b"\n") == len(cleaned):
        filled = _parse(text, _OPERATION_OF_LETTER, 10, packed, offsets)
    if filled < 0:
        bad = next((c for c in cleaned if not _is_valid(c)), b"")
        raise CigarError(f"not a CIGAR of runs of '=', 'X', 'I', 'D': {bad[:60].decode(errors='replace')!r}")
    return packed[:filled], offsets


def _is_valid(cigar):
    import re

    whole = re.fullmatch(rb"(0*[1-9][0-9]*[=XID])*", cigar) is not None
    runs = [run.lstrip(b"0") for run in re.findall(rb"[0-9]+", cigar)]
    return whole and all(len(run) <= len(str(MAX_RUN)) and int(run) <= MAX_RUN for run in runs)


@njit(cache=True)
def _text_length(packed):
    total = 0
    for element in packed:
        run = element >> 4
        digits = 1
        while run >= 10:
            run //= 10
            digits += 1
        total += digits + 1
    return total


@njit(cache=True)
def _format(packed, offsets, letters, text, ends):
    at = 0
    for i in range(len(offsets) - 1):
        for j in range(offsets[i], offsets[i + 1]):
            run = packed[j] >> 4
            digits = 1
            left = run
            while left >= 10:
                left //= 10
                digits += 1
            left = run
            for d in range(digits - 1, -1, -1):
                text[at + d] = 48 + left % 10
                left //= 10
            at += digits
            text[at] = letters[packed[j] & 15]
            at += 1
        ends[i] = at


def format_packed(packed, offsets):
    """Text of packed CIGARs: list of str, ``""`` for an empty one.

    packed: uint32[m]; offsets: int64[n + 1].
    """
    text = np.empty(_text_length(packed), np.uint8)
    ends = np.zeros(max(len(offsets) - 1, 0), np.int64)
    _format(packed, offsets, _LETTER_OF_OPERATION, text, ends)
    whole = text.tobytes().decode("ascii")
    start = 0
    out = []
    for end in ends.tolist():
        out.append(whole[start:end])
        start = end
    return out
