"""The tables of measured times: the paper's cell, every recorded host's and this host's, side by side.

A table script gives a Layout (the paper's rows and columns); build() places the paper's values and the collected
measurements in it. Nothing is measured here and no cell is left empty: a cell without a time carries its reason.
"""

import json
from dataclasses import dataclass, field

from workflow.scripts.format_numbers import percent, significant

#: Names of the tools in tables, figures and the report, by tool id.
TOOL_NAMES = {
    "edlib": "Edlib",
    "rapidfuzz": "RapidFuzz",
    "parasail:striped": "Parasail (striped)",
    "parasail:scan": "Parasail (scan)",
    "parasail:diag": "Parasail (diag)",
    "wfa2-lib:unidirectional": "WFA2-lib",
    "wfa2-lib:biwfa": "WFA2-lib (BiWFA)",
    "wavebench-wfa:cpu": "wavebench WFA (CPU)",
    "wavebench-bpm:cpu": "wavebench BPM (CPU)",
    "wavebench-ond:cpu": "wavebench O(ND) (CPU)",
    "wavebench-wfa:fast": "wavebench WFA (GPU)",
}
#: The one time a cell of the table shows, the first of these that a race has.
CELL_TIMES = ("time_end_to_end", "time_end_to_end_pinned", "time_end_to_end_pageable")
#: A time scaled from fewer pairs than this says little where lengths differ.
FEW_PAIRS = 30
#: Below this coverage the tool did other work than its neighbours: no scaled time, no ratio.
MOST_COVERAGE = 0.99


@dataclass(frozen=True)
class Row:
    """A row of the table. paper_row: its key in config/papers, "" for a tool that the paper lacks.

    tool: id of the tool, raced here or not yet. scope: "score" or "cigar". device: "CPU" or "GPU".
    """

    block: str
    label: str
    paper_row: str
    device: str
    scope: str
    tool: str


@dataclass(frozen=True)
class Column:
    """A column of the table: one data set, in the paper's count of pairs (times are scaled to it)."""

    group: str
    label: str
    paper_column: str
    dataset: str
    pairs: int
    paper_dataset: str = ""
    length_bp: int | None = None
    error: float | None = None

    @property
    def name(self):
        return f"{self.group} {self.label}".strip()


@dataclass(frozen=True)
class Layout:
    """What a table looks like. recall: the fraction shown beside the time, "" to show it only in the details."""

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
    others: list = field(default_factory=list)  # records of other quantities of the same run

    @property
    def missing(self):
        """Why there is no time: the few words and the sentence, without saying a thing twice."""
        return self.reason if self.reason.startswith(self.short) else f"{self.short}: {self.reason}".removesuffix(": ")

    @property
    def answered(self):
        """Measured pairs that the tool did not refuse: only these carry its time."""
        coverage = self.record["coverage"] if self.record else None
        return self.pairs if coverage is None else round(self.pairs * coverage)

    @property
    def measured(self):
        """There is a time of ours, even where it must not stand beside other tools' times."""
        record = self.record
        return bool(record and record["status"] == "ok" and record["median_s"] is not None and record["pairs"])

    @property
    def scale(self):
        return self.column.pairs / self.answered

    @property
    def struck(self):
        """The tool claims exactness and was wrong: its time does not count."""
        return bool(self.record and self.record["exact"] and (self.record["recall_native"] or 0) < 1) and (
            self.record["recall_native"] is not None
        )

    @property
    def gcups(self):
        """Of the measured pairs; None where some were refused, as their cells were not computed."""
        record = self.record
        whole = record and self.time_s and self.answered == self.pairs and record["cells"]
        return record["cells"] / record["median_s"] / 1e9 if whole else None

    @property
    def marks(self):
        """Words a reader must see beside the time."""
        if not self.measured:
            return []
        record = self.record
        found = []
        if self.struck:
            found.append(f"recall {percent(record['recall_native'])}")
        if record["coverage"] is not None and record["coverage"] < 1:
            found.append(f"coverage {percent(record['coverage'])}")
        if self.answered < FEW_PAIRS and self.answered < self.column.pairs:
            found.append("few pairs")
        if idle_threads(record):
            found.append("fewer pairs than threads")
        if record["stale"]:
            found.append("stale")
        if not record["race_valid"]:
            found.append("race invalid")
        return found


@dataclass
class Line:
    """One line of the table: a tool on the paper's machine or on one host at one number of threads."""

    row: Row
    source: str  # "paper" | "recorded" | "here"
    host: str
    threads: int | None
    cells: list
    lanes: tuple = ()


@dataclass
class Table:
    layout: Layout
    lines: list
    notes: list


def tool_id(record):
    """``tool`` or ``tool:variant`` of a measurement."""
    return f"{record['tool']}:{record['variant']}" if record["variant"] else record["tool"]


def idle_threads(record):
    """Threads had no pair to align: the time is not one of that many threads."""
    return record["threads"] > 1 and 0 < record["pairs"] < record["threads"]


def race_rank(valid, stale, pairs_total, time_utc):
    """Sort key of races of one host and data set: the greatest is shown."""
    return bool(valid), not stale, pairs_total or 0, time_utc or ""


def refused_share(coverage):
    """``refused 93 %``."""
    return f"refused {significant(100 * (1 - coverage), 2)} %"


def refused_text(refused):
    """``27 out of memory, 2 over limit`` of a record's refused pairs, a JSON object; "" for none."""
    return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in json.loads(refused or "{}").items() if n)


def with_unlisted_tools(rows, experiment, blocks):
    """The rows in the order of blocks, with a row for every tool of the experiment that the paper lacks.

    blocks: {name of a block: scope of the unlisted tools that join it, or None for none}.
    """
    found = []
    for block, scope in blocks.items():
        listed = [row for row in rows if row.block == block]
        found.extend(listed)
        if scope in experiment["scopes"]:
            named = {row.tool for row in rows if row.scope == scope}
            unlisted = (tool for tool in experiment["tools"] if tool not in named)
            found.extend(Row(block, TOOL_NAMES.get(tool, tool), "", "CPU", scope, tool) for tool in unlisted)
    return tuple(found)


def build(layout, measurements, values, experiment, lane):
    """The filled table.

    measurements: list of dicts of collected rows; those marked main count (not twins, nor the smaller subsets that
    our kernel runs for ratios). values: papers.read(). experiment, lane: their YAML as dicts.
    """
    ours = [m for m in measurements if m["experiment"] == layout.id and m["main"]]
    hosts = sorted({(m["source"], m["host"]) for m in ours if m["source"] == "recorded"})
    here = sorted({(m["source"], m["host"]) for m in ours if m["source"] == "here"}) or [("here", "this host")]
    chosen = _choose(ours)
    gpu_hosts = {m["host"] for m in measurements if m.get("gpu")}
    lines = []
    for row in layout.rows:
        if row.paper_row:
            lines.append(_paper_line(layout, row, values))
        for source, host in hosts + here:
            of_host = [m for m in ours if (m["source"], m["host"]) == (source, host)]
            lines.extend(_host_lines(layout, row, source, host, host in gpu_hosts, of_host, chosen, experiment, lane))
    return Table(layout, lines, _notes(layout, lines))


def _choose(measurements):
    """{(source, host, tool, scope, threads, data set): records of the race that is shown}."""
    stale = {m["race_id"] for m in measurements if m["stale"]}
    races = {}
    for m in measurements:
        key = (m["source"], m["host"], m["dataset"])
        order = race_rank(m["race_valid"], m["race_id"] in stale, m["pairs_total"], m["time_utc"])
        rank = (*order, m["race_id"])
        races[key] = max(races.get(key, rank), rank)
    chosen = {}
    for m in measurements:
        if m["race_id"] == races[(m["source"], m["host"], m["dataset"])][-1]:
            key = (m["source"], m["host"], tool_id(m), m["scope"], m["threads"], m["dataset"])
            chosen.setdefault(key, []).append(m)
    return chosen


def _paper_line(layout, row, values):
    cells = []
    for column in layout.columns:
        printed = values.get((row.paper_row, column.paper_column), {})
        time, recall = printed.get("time"), printed.get("recall")
        cell = Cell(column, pairs=column.pairs)
        if time is None:
            cell.short, cell.reason = "not in the paper", f"{layout.paper} has no such column"
        elif time.seconds is None:
            cell.short, cell.reason = time.value, time.note or f"{layout.paper} prints {time.value!r}"
        else:
            cell.time_s, cell.note = time.seconds, time.note
        if recall is not None:
            cell.recall = None if recall.number is None else recall.number / 100
            cell.recall_word = "" if recall.number is not None else recall.value
        cells.append(cell)
    threads = layout.paper_threads if row.device == "CPU" else None
    return Line(row, "paper", layout.paper_host[row.device], threads, cells)


def _host_lines(layout, row, source, host, has_gpu, of_host, chosen, experiment, lane):
    threads = sorted({m["threads"] for m in of_host if tool_id(m) == row.tool and m["scope"] == row.scope})
    lines = []
    for count in threads or [None]:
        cells = []
        for column in layout.columns:
            records = chosen.get((source, host, row.tool, row.scope, count, column.dataset))
            if records:
                cells.append(_measured(column, records, layout))
            else:
                short, reason = _why_missing(layout, row, column, source, has_gpu, experiment, lane)
                cells.append(Cell(column, short=short, reason=reason))
        lanes = tuple(sorted({c.record["lane"] for c in cells if c.record}))
        lines.append(Line(row, source, host, count, cells, lanes))
    return lines


def _measured(column, records, layout):
    times = [r for name in CELL_TIMES for r in records if r["quantity"] == name]
    record = times[0] if times else records[0]
    cell = Cell(column, record=record, others=[r for r in records if r is not record])
    if record["status"] != "ok" or record["median_s"] is None or not record["pairs"]:
        cell.short = (record["status"] if record["status"] != "ok" else "no time").replace("_", " ")
        cell.reason = record["reason"] or cell.short
        return cell
    cell.pairs = record["pairs"]
    if record["coverage"] is not None and record["coverage"] < MOST_COVERAGE:
        cell.short = refused_share(record["coverage"]) if cell.answered else "all refused"
        cell.reason = _what_was_answered(cell)
        return cell
    cell.recall = record[layout.recall] if layout.recall else record["recall_native"]
    cell.time_s = record["median_s"] * cell.scale
    cell.low_s, cell.high_s = (record[name] and record[name] * cell.scale for name in ("ci_low_s", "ci_high_s"))
    if cell.pairs != column.pairs:
        cell.note = f"{cell.pairs} of {column.pairs} pairs"
    return cell


def _what_was_answered(cell):
    """Sentence on a cell whose tool refused too many pairs to be compared."""
    record = cell.record
    told = f"answered {cell.answered} of {cell.pairs} pairs in {significant(record['median_s'])} s"
    refused = refused_text(record["refused"])
    told += f"; refused: {refused}" if refused else ""
    return told + (f"; recall {percent(record['recall_native'])}" if cell.struck else "")


def _why_missing(layout, row, column, source, has_gpu, experiment, lane):
    """(a few words, a sentence) on a cell for which there is no measurement."""
    if row.device == "GPU" and not has_gpu:
        return "no GPU", "not measured on a host without one"
    if row.tool not in experiment["tools"]:
        return "not raced yet", "no race has this tool yet"
    if row.scope not in experiment["scopes"]:
        return "not raced yet", f"no race asks for scope {row.scope} yet"
    if source == "recorded":
        return "not recorded", "no sample recorded on this host"
    real = column.dataset.startswith("real_")
    if not real and any(other.group == column.group and other.dataset.startswith("real_") for other in layout.columns):
        return "real reads instead", "real reads of this technology are raced here in its place"
    narrowed = lane.get("narrow", {}).get(layout.id, {}).get("datasets", lane["pairs"])
    if not real and (column.dataset not in lane["pairs"] or column.dataset not in narrowed):
        return "not in this lane", f"the data set is not in lane {lane['name']}"
    return "no sample yet", f"lane {lane['name']} has not measured this cell yet"


def _notes(layout, lines):
    """Sentences under the table: every reason once, and what the races themselves had to say."""
    notes = {}  # sentence -> places, empty where it holds for many

    def note(text, place=None):
        notes.setdefault(text, []).extend([place] if place else [])

    for line in lines:
        if line.source == "paper":
            continue
        for cell in line.cells:
            record, place = cell.record, f"{line.row.label}, {cell.column.name}"
            if cell.short and cell.reason != cell.short and not cell.measured:
                note(cell.missing, place if record else None)
            if record and record["race_note"]:
                note(f"Race of {cell.column.dataset} on {line.host}: {record['race_note']}")
            if cell.struck and cell.time_s is not None:
                note("Struck out: claims exactness and was not optimal on every pair", place)
            for name, n in json.loads(record["refused"] or "{}").items() if cell.measured else ():
                note(f"{n} of {cell.pairs} pairs refused: {name.replace('_', ' ')}", place)
    return [f"{text} ({'; '.join(dict.fromkeys(places))})" if places else text for text, places in notes.items()]
