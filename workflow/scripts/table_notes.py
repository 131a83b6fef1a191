"""The sentences under a table of measured times."""

import json


def notes(lines):
    """Every reason for a missing time once, and what the races themselves had to say. lines: of a table.Table."""
    found = {}  # sentence -> places, empty where it holds for many

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
                note(f"Race of {cell.column.dataset} on {line.host}: {record['race_note']}")
            if cell.struck and cell.time_s is not None:
                note("Struck out: claims exactness and was not optimal on every pair", place)
            for name, n in json.loads(record["refused"] or "{}").items() if cell.measured else ():
                note(f"{n} of {cell.pairs} pairs refused: {name.replace('_', ' ')}", place)
    return [f"{text} ({'; '.join(dict.fromkeys(places))})" if places else text for text, places in found.items()]
