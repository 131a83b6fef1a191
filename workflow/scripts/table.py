"""The parts of a table of measured times: its rows and columns as a script lays them out, its filled cells and lines.

Times are seconds. A cell without a time carries its reason; none is empty.
"""

from dataclasses import dataclass, field

from workflow import aligners
from workflow.scripts import scaling
from workflow.scripts.doubts import (
    answered_pairs,
    broken_promise,
    few_pairs,
    idle_threads,
    rescued_text,
    short_call,
    unverified_text,
)
from workflow.scripts.format_numbers import percent
from workflow.scripts.tools import TOOL_NAMES

#: Ends the id of a tool whose input was packed to 2 bits beforehand.
PACKED = "@packed"
#: Why a tool of a GPU has no time on a host without one: a few words, a sentence.
NO_GPU = "no GPU", "not measured on a host without one"


@dataclass(frozen=True)
class Row:
    """A row of the table. paper_row: its key in config/papers, "" for a tool that the paper lacks.

    tool: id of the tool, raced here or not yet; with "@packed" its times from input packed beforehand, which is another
    quantity. scope: "score" or "cigar". device: "CPU" or "GPU".
    """

    block: str
    label: str
    paper_row: str
    device: str
    scope: str
    tool: str

    @property
    def input(self):
        """What is timed from: "ascii" or "packed2", as in the samples."""
        return "packed2" if self.tool.endswith(PACKED) else "ascii"


@dataclass(frozen=True)
class Column:
    """A column of the table: one data set, in the paper's count of pairs (times are scaled to it).

    real_here: of real reads: config/real_data.tsv names them; of simulated ones: it names others of their technology.
    """

    group: str
    label: str
    paper_column: str
    dataset: str
    pairs: int
    paper_dataset: str = ""
    length_bp: int | None = None
    error: float | None = None
    real_here: bool = False

    @property
    def name(self):
        return f"{self.group} {self.label}".strip()


@dataclass(frozen=True)
class Layout:
    """What a table looks like. recall: the fraction shown beside the time, "" to show it only in the details.

    kernel_rates: the rate of a GPU's kernels alone is shown, too.
    unmapped: why the user's real reads cannot be mapped on this host, "" where they can.
    """

    id: str
    title: str
    caption: str
    rows: tuple
    columns: tuple
    metric: str
    penalties: str
    paper: str
    paper_host: dict  # device -> machine of the paper
    paper_threads: int
    recall: str = ""
    kernel_rates: bool = False
    unmapped: str = ""


@dataclass
class Cell:
    """One value of the table. Times are seconds; scaled ones are for the paper's count of pairs.

    short, reason: why there is no time (a few words; a sentence). record: the collected measurement, or None.
    """

    column: Column
    pairs: int | None = None
    time_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    recall: float | None = None
    recall_word: str = ""  # what the paper has in the place of a recall
    short: str = ""
    reason: str = ""
    note: str = ""
    record: dict | None = None
    floor_s: float | None = None  # of a GPU's time: what the letters, or packed ones and the answers, need on the wire
    wire: object = None  # the table_floor.Wire of that floor
    others: list = field(default_factory=list)  # records of other quantities of the same run
    also: list = field(default_factory=list)  # Cells of its runs on the same pairs from other kinds of memory

    @property
    def missing(self):
        """Why there is no time: the few words and the sentence, without saying a thing twice."""
        return self.reason if self.reason.startswith(self.short) else f"{self.short}: {self.reason}".removesuffix(": ")

    @property
    def answered(self):
        """Measured pairs that the tool did not refuse: only these carry its time."""
        answered = answered_pairs(self.record) if self.record else None
        return self.pairs if answered is None else answered

    @property
    def measured(self):
        """There is a time of ours, even where it must not stand beside other tools' times."""
        record = self.record
        return bool(record and record["status"] == "ok" and record["median_s"] is not None and record["pairs"])

    @property
    def unscaled_s(self):
        """Seconds of the measured pairs alone; None where nothing was measured."""
        if self.record is None:
            return self.time_s and self.time_s * self.pairs / self.column.pairs
        return self.record["median_s"] if self.measured else None

    @property
    def scale(self):
        """What the measured time is multiplied by, for as many pairs as the column has of the data set's lengths."""
        return self.column.pairs / (scaling.mean_pairs(self.record) * self.answered / self.pairs)

    @property
    def struck(self):
        """The tool was wrong: its time does not count."""
        return bool(self.record and broken_promise(self.record))

    @property
    def gcups(self):
        """Of the measured pairs; None where some were refused, as their cells were not computed, and for input that
        was packed beforehand, whose time is not from end to end.
        """
        record = self.record
        whole = record and self.time_s and self.answered == self.pairs and record["cells"]
        whole = whole and record["input"] == "ascii"
        return record["cells"] / record["median_s"] / 1e9 if whole else None

    @property
    def kernel(self):
        """The record of the kernels' own time of the run; None where there is no end-to-end rate, or where the CPU did
        some of the pairs: the kernels did not compute all cells then.
        """
        if not self.gcups or rescued_text(self.record):
            return None
        return next((one for one in self.others if one["quantity"] == "time_kernel" and one["median_s"]), None)

    @property
    def gcups_kernel(self):
        """Of the measured pairs; None where kernel is."""
        return self.kernel and self.kernel["cells"] / self.kernel["median_s"] / 1e9

    @property
    def marks(self):
        """Words a reader must see beside the time."""
        if not self.measured:
            return []
        record = self.record
        found = []
        if self.struck:
            found.append(f"recall {percent(record['recall_native'])}" if record["exact"] else "wrong answers")
        if record["coverage"] is not None and record["coverage"] < 1:
            found.append(f"coverage {percent(record['coverage'])}")
        if unverified_text(record):
            found.append(unverified_text(record))
        if rescued_text(record):
            found.append(rescued_text(record))
        scaled = self.answered < self.column.pairs
        if scaled and few_pairs(record):
            found.append("few pairs")
        if scaled and short_call(record):
            found.append("short call")
        if idle_threads(record):
            found.append("fewer pairs than threads")
        if record["stale"]:
            found.append("stale")
        if record["older_way"]:
            found.append("older way of measuring")
        if not record["race_valid"]:
            found.append("race invalid")
        return found


@dataclass
class Line:
    """One line of the table: a tool on the paper's machine or on one host at one number of threads.

    source: "external" was measured outside the race, on the host that is named.
    """

    row: Row
    source: str  # "paper" | "external" | "recorded" | "here"
    host: str
    threads: int | None
    cells: list
    lanes: tuple = ()


@dataclass
class Table:
    layout: Layout
    lines: list
    notes: list


def with_unlisted_tools(rows, experiment, blocks):
    """The rows in the order of blocks, with a row for every tool of the experiment that the paper lacks.

    blocks: {name of a block: (device, scopes) of the unlisted tools that join it}.
    """
    found, adapters = [], aligners.load()
    ids = dict.fromkeys(tool.split("@")[0] for tool in experiment["tools"])  # "@" tells quantities of one tool
    for block, (device, scopes) in blocks.items():
        found.extend(row for row in rows if row.block == block)
        for scope in (scope for scope in scopes if scope in experiment["scopes"]):
            named = {row.tool for row in rows if row.scope == scope}
            for tool in (tool for tool in ids if tool not in named and _device(adapters.get(tool)) == device):
                label = TOOL_NAMES.get(tool, tool) + " (distance)" * (scope == "score" and len(scopes) > 1)
                found.append(Row(block, label, "", device, scope, tool))
    return tuple(found)


def _device(adapter):
    """What a tool's rows are of, CPU or GPU; one that no adapter is of counts among those of the CPU."""
    return "GPU" if adapter and adapter.device == "cuda" else "CPU"
