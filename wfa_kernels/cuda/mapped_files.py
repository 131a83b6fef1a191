"""Mappings of files, as Linux tells of them: another one of the same pages where a driver cannot lock a mapping.

A driver does not come back from locking a private mapping of a file that can only be read, which is how Apache Arrow
maps files: seen with CUDA 13.0's driver 580 on Linux 6.18, 60 to 100 MB not within 8, 110 and 190 s, a try each, where
shared ones of 100 MB took 2 to 4 ms. Both show the same pages, those of the file.
"""

import mmap
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np


class MappingError(RuntimeError):
    """The file of a mapping cannot be mapped again; the text is why."""


@dataclass(frozen=True)
class _Mapping:
    """A row of /proc/self/maps. at: of the first byte in its file."""

    first: int
    stop: int
    permissions: str
    at: int
    device: str
    inode: int
    path: str


def lockable(array):
    """The array, uint8[n] without gaps; one of the same pages of its file where it lies in a mapping as above.

    Raises MappingError.
    """
    first = array.ctypes.data
    found = _mapping_at(first)
    if found is None or found.permissions != "r--p" or not found.inode:
        return array
    if first + array.nbytes > found.stop:
        raise MappingError(f"they lie in more than one private mapping of {found.path}")
    return _shared(found, first - found.first + found.at, array.nbytes)


def _mapping_at(address):
    """The mapping there; None where the system does not tell."""
    maps = Path("/proc/self/maps")
    rows = maps.read_text(encoding="utf-8", errors="surrogateescape").splitlines() if maps.exists() else []
    for mapping in map(_read, rows):
        if mapping.first <= address < mapping.stop:
            return mapping
    return None


def _read(row):
    ends, permissions, at, device, inode, *path = row.split(maxsplit=5)
    first, stop = (int(end, 16) for end in ends.split("-"))
    return _Mapping(first, stop, permissions, int(at, 16), device, int(inode), path[0] if path else "")


def _shared(found, at, size):
    """uint8[size] from byte ``at`` on of the file of a mapping, which must be there still."""
    before = at % mmap.ALLOCATIONGRANULARITY
    try:
        with open(found.path, "rb") as file:
            stat = os.fstat(file.fileno())
            device = f"{os.major(stat.st_dev):02x}:{os.minor(stat.st_dev):02x}"
            if (device, stat.st_ino) != (found.device, found.inode):
                raise MappingError(f"{found.path} is another file now than the one that is mapped")
            pages = mmap.mmap(file.fileno(), before + size, access=mmap.ACCESS_READ, offset=at - before)
    except (OSError, ValueError) as error:
        raise MappingError(f"{found.path}, which is mapped privately, cannot be mapped again: {error}") from None
    return np.frombuffer(pages, np.uint8, size, before)
