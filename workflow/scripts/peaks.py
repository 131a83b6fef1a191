"""The highest GCUPS of each of our tools on each host, over the data sets of a table of measured times."""

from collections import Counter
from dataclasses import dataclass

from workflow.scripts.doubts import broken_promise
from workflow.scripts.table import Cell, Line


@dataclass(frozen=True)
class Peak:
    """One rate of one cell. cells: of the measured pairs' full matrices. record: the measurement of the time used."""

    line: Line
    cell: Cell
    record: dict

    @property
    def gcups(self):
        return self._rate("median_s")

    @property
    def low(self):
        return self._rate("ci_high_s")

    @property
    def high(self):
        return self._rate("ci_low_s")

    def _rate(self, key):
        seconds = self.record[key]
        return self.record["cells"] / seconds / 1e9 if seconds else None

    @property
    def rank(self):
        """A rate without a mark comes before a higher one with, and any of a valid race before those of others."""
        marks = [mark for mark in self.cell.marks if mark != "race invalid"]
        return self.record["race_valid"], not marks, self.gcups


@dataclass(frozen=True)
class Standing:
    """A tool at one scope on one host. lines: of the table, one a number of threads. end_to_end, kernel: Peaks or None.

    why: the reason for having no end-to-end rate, "" with one. faster_end_to_end, faster_kernel: the Peak of a higher
    rate that came behind for its doubts, or None.
    """

    lines: list
    end_to_end: Peak | None
    kernel: Peak | None
    why: str
    faster_end_to_end: Peak | None = None
    faster_kernel: Peak | None = None

    @property
    def line(self):
        """The line of the best rate, or the first."""
        return self.end_to_end.line if self.end_to_end else self.lines[0]


def standings(table):
    """One Standing a row of ours and host, in the order of the table. table: table.Table."""
    groups = {}
    for line in table.lines:
        if line.source != "paper" and line.row.tool.startswith("wavebench") and line.row.input == "ascii":
            groups.setdefault((line.row, line.source, line.host), []).append(line)
    return [_standing(lines) for lines in groups.values()]


def _standing(lines):
    counted = [(line, cell) for line in lines for cell in line.cells if cell.gcups and not cell.struck]
    whole = [Peak(line, cell, cell.record) for line, cell in counted]
    kernel = [Peak(line, cell, cell.kernel) for line, cell in counted if cell.kernel]
    why = "" if whole else _why(lines)
    return Standing(lines, _best(whole), _best(kernel), why, _faster(whole), _faster(kernel))


def _best(peaks):
    return max(peaks, key=lambda peak: peak.rank, default=None)


def _faster(peaks):
    """The Peak of the highest rate where the best one's is lower, else None."""
    fastest = max(peaks, key=lambda peak: peak.gcups, default=None)
    return fastest if fastest and fastest.gcups > _best(peaks).gcups else None


def _why(lines):
    """The reason that most cells share."""
    reasons = Counter(_reason(cell) for line in lines for cell in line.cells)
    return reasons.most_common(1)[0][0]


def _reason(cell):
    if cell.struck:
        return f"wrong answers: {broken_promise(cell.record)}"
    return cell.missing if cell.short else "refused some pairs"
