"""A table as files: CSV (one row a cell), tidy CSV for machines (one value a row), Markdown and HTML for readers."""

import csv

import click

from workflow.scripts import out_file
from workflow.scripts.papers import WORDS
from workflow.scripts.table import PACKED
from workflow.scripts.table_floor import FLOOR
from workflow.scripts.table_html import article, page
from workflow.scripts.table_markdown import markdown
from workflow.scripts.table_notes import notes_of

TIDY_COLUMNS = [
    "table", "tool", "variant", "threads", "host", "source", "lane", "dataset", "length_bp", "error", "pairs", "scope",
    "metric", "penalties", "input", "quantity", "unit", "value", "ci_low", "ci_high", "rounds", "recall_native",
    "coverage", "status", "commit", "note",
]  # fmt: skip
CSV_COLUMNS = [
    "table", "block", "row", "tool", "variant", "source", "host", "lane", "threads", "scope", "dataset", "column",
    "quantity", "pairs_measured", "pairs_paper", "time_measured_s", "time_s", "ci_low_s", "ci_high_s", "rounds",
    "gcups_end_to_end", "gcups_kernel", "recall_native", "recall_affine", "coverage", "refused", "rescued", "exact",
    "struck_out", "stale", "race_valid", "race_note", "status", "reason", "tool_version", "commit", "note",
]  # fmt: skip


def write_all(table, out, command=""):
    """Write OUT.csv, OUT.md, OUT.html and OUT.tidy.csv."""
    prepare(out)
    write_csv(f"{out}.csv", CSV_COLUMNS, csv_rows(table))
    write_csv(f"{out}.tidy.csv", TIDY_COLUMNS, tidy_rows(table))
    write_text(f"{out}.md", markdown(table, command))
    write_text(f"{out}.html", page(table.layout.title, article(table)))


def prepare(out):
    """Make the folder of a table's files. What cannot be written is one message and exit code 2."""
    try:
        for suffix in ("csv", "md", "html", "tidy.csv"):
            out_file.prepare(f"{out}.{suffix}")
    except out_file.OutError as error:
        raise click.UsageError(str(error)) from None


def write_csv(path, columns, rows):
    """rows: dicts; an absent key or None is an empty field."""
    with open(path, "w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: _plain(v) for k, v in row.items()} for row in rows)


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def _plain(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.9g}" if isinstance(value, float) else value


def _shared(table, line, cell):
    """Fields that csv and tidy rows of a cell have in common."""
    layout, record, column = table.layout, cell.record or {}, cell.column
    named = line.row.paper_row if line.source == "paper" else line.row.tool or line.row.label
    tool, _, variant = (named, "", "") if line.source == "paper" else named.removesuffix(PACKED).partition(":")
    return {
        "table": layout.id,
        "tool": record.get("tool") or tool,
        "variant": record.get("variant") or variant,
        "threads": line.threads,
        "host": line.host,
        "source": line.source,
        "lane": record.get("lane"),
        "dataset": (column.paper_dataset or column.dataset) if line.source == "paper" else column.dataset,
        "scope": line.row.scope,
        "recall_native": record.get("recall_native"),
        "coverage": record.get("coverage"),
        "rounds": record.get("rounds"),
        "commit": record.get("commit"),
        "status": "ok" if cell.time_s is not None else _why(cell),
        "note": "; ".join(filter(None, [*cell.marks, cell.note])),
    }


def _why(cell):
    return cell.missing


def csv_rows(table):
    """One dict a cell of the table."""
    for line in table.lines:
        for cell in _cells_once(line):
            record = cell.record or {}
            yield _shared(table, line, cell) | {
                "block": line.row.block,
                "row": line.row.label,
                "column": cell.column.name,
                "quantity": record.get("quantity"),
                "pairs_measured": cell.pairs,
                "pairs_paper": cell.column.pairs,
                "time_measured_s": cell.unscaled_s,
                "time_s": cell.time_s,
                "ci_low_s": cell.low_s,
                "ci_high_s": cell.high_s,
                "gcups_end_to_end": cell.gcups,
                "gcups_kernel": cell.gcups_kernel,
                "recall_affine": cell.recall if line.source == "paper" else record.get("recall_affine"),
                "refused": record.get("refused"),
                "rescued": record.get("rescued"),
                "exact": record.get("exact"),
                "struck_out": cell.struck,
                "stale": record.get("stale"),
                "race_valid": record.get("race_valid"),
                "race_note": "; ".join(notes_of(line, record)),
                "reason": cell.reason,
                "tool_version": record.get("tool_version"),
            }


def _cells_once(line):
    """The cells of a line; of a paper's line each of its columns once, even where two of our data sets share one."""
    seen = set()
    for cell in line.cells:
        key = cell.column.paper_column if line.source == "paper" else cell.column
        if key not in seen:
            seen.add(key)
            yield cell


def tidy_rows(table):
    """One dict a value. Times are seconds of exactly ``pairs`` pairs; nothing is scaled or left out for its doubts."""
    for line in table.lines:
        for cell in _cells_once(line):
            if cell.record is None:
                yield from _stated_values(line, cell, _tidy_base(table, line, cell))
                continue
            yield from _measured_values(cell, _tidy_base(table, line, cell))
            yield from (_time_of(run.record, _tidy_base(table, line, run)) for run in cell.also)


def _tidy_base(table, line, cell):
    """Fields that the tidy rows of a cell have in common."""
    base = _shared(table, line, cell) | {
        "length_bp": cell.column.length_bp,
        "error": cell.column.error,
        "pairs": cell.pairs,
        "metric": table.layout.metric,
        "penalties": table.layout.penalties if line.source != "paper" else "",
        "input": line.row.input if line.source != "paper" else "",
    }
    record = cell.record or {}
    base |= {k: record[k] for k in ("length_bp", "error", "penalties", "input") if record.get(k) is not None}
    return base | ({"status": record["status"]} if cell.measured else {})


def _time_of(record, base):
    """The tidy row of a record's time."""
    timed = {k: record.get(n) for k, n in (("value", "median_s"), ("ci_low", "ci_low_s"), ("ci_high", "ci_high_s"))}
    return base | timed | {"quantity": record["quantity"] or "time_end_to_end", "unit": "s", "rounds": record["rounds"]}


def _stated_values(line, cell, base):
    """Of a cell without a measurement of ours: the paper's, an external or a computed value, or none at all."""
    yield base | {"quantity": _quantity(line.row), "unit": "s", "value": cell.unscaled_s}
    if cell.recall is not None or cell.recall_word:
        status = _meaning(cell.recall_word) if cell.recall_word else "ok"
        yield base | {"quantity": "recall_affine", "unit": "fraction", "value": cell.recall, "status": status}


def _meaning(word):
    """A paper's word with what it means: a bare "n/a" reads as a missing value in many programs."""
    return f"{word}: {WORDS[word]}" if word in WORDS else word


def _quantity(row):
    """What the time of a row is called."""
    if row.tool == FLOOR:
        return "time_floor"
    if row.input == "packed2":
        return "time_end_to_end_packed"
    return "time_end_to_end" if row.device == "CPU" else "time_end_to_end_pinned"


def _measured_values(cell, base):
    record = cell.record
    yield from (_time_of(one, base) for one in [record, *cell.others])
    if not cell.measured:
        return
    for quantity, timed in (("gcups_end_to_end", cell.gcups and record), ("gcups_kernel", cell.kernel)):
        if timed:
            value, low, high = (timed["cells"] / timed[k] / 1e9 for k in ("median_s", "ci_high_s", "ci_low_s"))
            yield base | {"quantity": quantity, "unit": "GCUPS", "value": value, "ci_low": low, "ci_high": high}
    for quantity, key, unit in (
        ("recall_native", "recall_native", "fraction"),
        ("recall_affine", "recall_affine", "fraction"),
        ("coverage", "coverage", "fraction"),
        ("time_jit" if record.get("jit_compiled") is True else "time_first_call", "jit_s", "s"),
        ("peak_rss", "peak_rss_bytes", "bytes"),
        ("peak_pinned", "peak_pinned_bytes", "bytes"),
        ("peak_device", "peak_device_bytes", "bytes"),
        ("rescued", "rescued", "pairs"),
        ("bytes_in", "bytes_in", "bytes"),
        ("bytes_out", "bytes_out", "bytes"),
    ):
        if record.get(key) is not None:
            yield base | {"quantity": quantity, "unit": unit, "value": record[key], "rounds": None}
