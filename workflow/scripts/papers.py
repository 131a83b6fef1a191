"""The papers' own numbers: config/papers/<id>.csv, one value a row, words where the paper has no number."""

import csv
from dataclasses import dataclass

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
    Raises PapersError for a missing file, other columns, or a time that is neither a number nor one of WORDS.
    """
    try:
        with open(path, newline="", encoding="utf-8") as lines:
            reader = csv.DictReader(lines)
            if reader.fieldnames != COLUMNS:
                raise PapersError(f"{path}: columns must be {','.join(COLUMNS)}, not {reader.fieldnames}")
            rows = [_checked(row, f"{path}: line {reader.line_num}") for row in reader]
    except OSError as error:
        raise PapersError(f"{path}: cannot be read ({error.strerror or error})") from None
    values = {}
    for row in rows:
        name = "time" if row["unit"] in _TO_SECONDS else row["quantity"]
        value = PaperValue(row["quantity"], row["value"], row["unit"], row["note"])
        values.setdefault((row["row"], row["column"]), {})[name] = value
    return values


def _checked(row, place):
    """The row, whose fields are all there. place: file and line, for the message."""
    if None in row or None in row.values():
        raise PapersError(f"{place}: must have the columns {','.join(COLUMNS)}, no more and no fewer")
    value = PaperValue(row["quantity"], row["value"], row["unit"], row["note"])
    if row["unit"] in _TO_SECONDS and value.number is None and row["value"] not in WORDS:
        raise PapersError(f"{place}: {row['value']!r} is no time; allowed are a number, {', '.join(WORDS)}")
    return row
