"""The table of the user's reads and references, config/real_data.tsv."""

import re
import urllib.parse
from dataclasses import dataclass

from simulators import PROFILES
from workflow.race.planning import REAL

COLUMNS = ("name", "technology", "preset", "reads", "reads_sha256", "reference", "reference_sha256")
#: minimap2's presets for reads against a reference (mappy ignores a name it does not know: hence this list).
PRESETS = ("sr", "map-hifi", "map-pb", "map-ont", "lr:hq", "asm5", "asm10", "asm20")
TECHNOLOGIES = tuple(PROFILES)


class RealDataError(ValueError):
    """A user's mistake about real data: the message names the file, the line or the read set, and what is allowed."""


@dataclass(frozen=True)
class RealData:
    """One row. reads, reference: a path (relative to the working folder) or a file, http or https URL.

    The sha256 are 64 hex digits or "".
    """

    name: str
    technology: str
    preset: str
    reads: str
    reads_sha256: str
    reference: str
    reference_sha256: str

    @property
    def dataset(self):
        """Id of the data set the row becomes."""
        return f"{REAL}{self.name}"


def mapped_text(technology, reads, reference, preset):
    """What a data set's source begins with, and its races' cards. reads, reference: names of the files."""
    return f"real {technology} reads of {reads}, mapped to {reference} with minimap2 ({preset}):"


def read_table(path):
    """Rows of a real_data.tsv as RealData; blank lines and lines that start with # are skipped.

    Raises RealDataError, naming file, line and column, for anything else than the header and valid rows.
    """
    try:
        with open(path, encoding="utf-8") as source:
            lines = [(number, line.rstrip("\r\n")) for number, line in enumerate(source, 1)]
    except FileNotFoundError:
        raise RealDataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RealDataError(f"{path}: cannot be read ({error})") from None
    lines = [(number, line) for number, line in lines if line.strip() and not line.startswith("#")]
    if not lines or tuple(lines[0][1].split("\t")) != COLUMNS:
        number = lines[0][0] if lines else 1
        raise RealDataError(
            f"{path}: line {number}: the header must be these tab-separated columns: {' '.join(COLUMNS)}"
        )
    rows = []
    for number, line in lines[1:]:
        row = _row(line, f"{path}: line {number}")
        if row.name in {other.name for other in rows}:
            raise RealDataError(f"{path}: line {number}: column name: {row.name!r} stands twice")
        rows.append(row)
    return rows


def _row(line, where):
    fields = [field.strip() for field in line.split("\t")]
    if len(fields) != len(COLUMNS):
        raise RealDataError(f"{where}: {len(fields)} tab-separated columns, not {len(COLUMNS)} ({' '.join(COLUMNS)})")
    row = RealData(*fields)
    check_name(row.name, f"{where}: column name")
    _check_choice(row.technology, TECHNOLOGIES, f"{where}: column technology")
    _check_choice(row.preset, PRESETS, f"{where}: column preset")
    for column in ("reads", "reference"):
        if not getattr(row, column):
            raise RealDataError(f"{where}: column {column}: is empty; it takes a path or a file, http or https URL")
        split_url(getattr(row, column), f"{where}: column {column}: ")
    for column in ("reads_sha256", "reference_sha256"):
        if not re.fullmatch(r"(?:[0-9a-fA-F]{64})?", getattr(row, column)):
            raise RealDataError(
                f"{where}: column {column}: must be 64 hex digits or empty, not {getattr(row, column)!r}"
            )
    return row


def split_url(source, where=""):
    """urllib.parse.urlsplit(source). Raises RealDataError, which begins with where, for what only looks like a URL."""
    try:
        return urllib.parse.urlsplit(source)
    except ValueError as error:
        raise RealDataError(f"{where}{source}: not a URL ({error})") from None


def check_name(name, where):
    """Raise RealDataError unless name can stand in a file name and a data-set id."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise RealDataError(f"{where}: {name!r} must be letters, digits, '_', '.' and '-', the first a letter or digit")


def _check_choice(value, allowed, where):
    if value not in allowed:
        raise RealDataError(f"{where}: {value!r} is not one of {', '.join(allowed)}")
