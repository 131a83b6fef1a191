"""The sentences under a table of measured times."""

import json

from workflow.scripts.doubts import broken_promise, race_identity
from workflow.scripts.papers import WORDS


def printed(paper, lines):
    """Sentences on the paper's own values: each doubt once with its rows, and columns where not all; its words.

    paper: its name. lines: of a table.Table.
    """
    doubts, words = {}, {}
    for line in lines:
        for cell in line.cells if line.source == "paper" else ():
            shown = (cell.short, cell.recall_word if cell.time_s is not None else "")
            words |= {word: None for word in shown if word in WORDS}
            if cell.note:
                doubts.setdefault(cell.note, {}).setdefault(line.row.label, []).append(cell.column.paper_column)
    everywhere = {cell.column.paper_column for line in lines for cell in line.cells}
    for doubt, rows in doubts.items():
        columns = dict.fromkeys(column for of_row in rows.values() for column in of_row)
        where = "" if columns.keys() == everywhere else f" ({', '.join(columns)})"
        yield f"{paper}, {', '.join(rows)}{where}: {doubt}"
    if words:
        yield f"{paper}: {'; '.join(f'{word}: {WORDS[word]}' for word in words)}"


def notes(lines):
    """Every reason for a missing time once, and what the races themselves had to say. lines: of a table.Table."""
    found = {}  # sentence -> places, empty where it holds for many

    def note(text, place=None):
        found.setdefault(text, []).extend([place] if place else [])

    for line in lines:
        if line.source in ("paper", "external"):
            continue
        for cell in (one for shown in line.cells for one in (shown, *shown.also)):
            record, place = cell.record, f"{line.row.label}, {cell.column.name}"
            if cell.short and cell.reason != cell.short and not cell.measured:
                note(cell.missing, place if record else None)
            if cell.struck and cell.time_s is not None:
                note(f"Struck out: {broken_promise(record)}", place)
            if cell.measured and record["reason"]:
                note(f"Timed on fewer pairs, as it failed {record['reason']}", place)
            for name, n in json.loads(record["refused"] or "{}").items() if cell.measured else ():
                note(f"{n} of {cell.pairs} pairs refused: {name.replace('_', ' ')}", place)
    told = [f"{text} ({'; '.join(dict.fromkeys(places))})" if places else text for text, places in found.items()]
    return told + of_races(lines)


def at_other_penalties(measurements, asked):
    """Sentences on the races that a table leaves out, one for each host and its penalties. asked: the table's."""
    races = {}
    for m in measurements:
        if m["penalties"] != asked:
            races.setdefault((m["host"], m["penalties"]), set()).add(race_identity(m))
    for (host, penalties), of_host in sorted(races.items()):
        told = f"{len(of_host)} race{'s' * (len(of_host) > 1)} on {host}: at {_penalties_text(penalties)}"
        yield f"Left out: {told}, not {_penalties_text(asked)}"


def _penalties_text(penalties):
    return f"penalties {penalties}" if penalties else "those of edit distance"


def notes_of(line, record):
    """What the race of a record had to say of a line's tool, as a list of texts."""
    told = [record.get("race_note"), record.get("slices_note") if line.row.device == "CPU" else ""]
    return [text for text in told if text]


def of_races(lines):
    """What the races had to say, and of those with times on the CPU what became of the slices of these."""
    races = {}  # (host, what its races had to say) -> data sets
    for line in lines:
        for record in (cell.record for cell in line.cells if cell.record):
            for told in notes_of(line, record):
                races.setdefault((line.host, told), {})[record["dataset"]] = None
    return [
        f"Race{'s' * (len(datasets) > 1)} of {', '.join(datasets)} on {host}: {text}"
        for (host, text), datasets in races.items()
    ]
