"""The papers' own numbers: config/papers/<id>.csv, one value a row, words where the paper has no number."""

from dataclasses import dataclass
from itertools import product

from workflow.scripts import csv_file

COLUMNS = ["table", "row", "column", "quantity", "value", "unit", "note"]
#: What stands as a value where the paper has no number, and what it means.
WORDS = {
    "error": "the tool failed",
    "timeout": "more than 48 h",
    "n/a": "not available",
    "n/c": "not comparable",
    "dash": "a dash in the paper",
    "missing": "lost in the source's text",
}
_TO_SECONDS = {"ms": 1e-3, "s": 1.0}


class PapersError(ValueError):
    """A file that does not hold a paper's values: the message names the file and what is wrong."""


@dataclass(frozen=True)
class PaperValue:
    """One value as printed. quantity, unit and note are the transcription's."""

    quantity: str
    value: str
    unit: str
    note: str

    @property
    def number(self):
        """The value as a float in its own unit, or None for a word."""
        try:
            return float(self.value)
        except ValueError:
            return None

    @property
    def seconds(self):
        """The value in seconds, or None for a word. Raises PapersError for a value that is no time."""
        if self.unit not in _TO_SECONDS:
            raise PapersError(f"{self.quantity} is in {self.unit!r}, which is no time")
        return None if self.number is None else self.number * _TO_SECONDS[self.unit]


def read(path):
    """{(row, column): {"time" | quantity: PaperValue}} of one file, in its order.

    Every quantity in a unit of time is named "time": each of these tables times one thing, which its layout names.
    Raises PapersError for a missing file, other columns, or a time or rate that is neither a number nor one of WORDS.
    """
    values = {}
    for place, row in csv_file.read(path, COLUMNS, PapersError):
        value = PaperValue(row["quantity"], row["value"], row["unit"], row["note"])
        _check(value, place)
        name = "time" if value.unit in _TO_SECONDS else value.quantity
        values.setdefault((row["row"], row["column"]), {})[name] = value
    return values


def read_grid(path):
    """What read() gives, of a table whose every row has every column. Raises PapersError naming what is missing."""
    values = read(path)
    rows, columns = (dict.fromkeys(key[side] for key in values) for side in (0, 1))
    for row, column in product(rows, columns):
        if (row, column) not in values:
            raise PapersError(f"{path}: row {row!r} has no column {column!r}, which another row has")
    return values


def _check(value, place):
    """place: file and line, for the message."""
    kind = "time" if value.unit in _TO_SECONDS else "rate" if value.unit == "GCUPS" else ""
    if kind and value.number is None and value.value not in WORDS:
        raise PapersError(f"{place}: {value.value!r} is no {kind}; allowed are a number, {', '.join(WORDS)}")
