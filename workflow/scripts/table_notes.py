"""The sentences under a table of measured times."""

import json

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
    races = {}  # (host, what its races had to say) -> data sets

    def note(text, place=None):
        found.setdefault(text, []).extend([place] if place else [])

    for line in lines:
        if line.source in ("paper", "external"):
            continue
        for cell in line.cells:
            record, place = cell.record, f"{line.row.label}, {cell.column.name}"
            if cell.short and cell.reason != cell.short and not cell.measured:
                note(cell.missing, place if record else None)
            if record and record["race_note"]:
                races.setdefault((line.host, record["race_note"]), {})[cell.column.dataset] = None
            if cell.struck and cell.time_s is not None:
                note("Struck out: claims exactness and was not optimal on every pair", place)
            for name, n in json.loads(record["refused"] or "{}").items() if cell.measured else ():
                note(f"{n} of {cell.pairs} pairs refused: {name.replace('_', ' ')}", place)
    told = [f"{text} ({'; '.join(dict.fromkeys(places))})" if places else text for text, places in found.items()]
    return told + [
        f"Race{'s' * (len(datasets) > 1)} of {', '.join(datasets)} on {host}: {text}"
        for (host, text), datasets in races.items()
    ]
