"""A table as HTML: a fragment for the report, and a whole offline page around it."""

import re
from html import escape

from workflow.scripts.format_numbers import percent, significant
from workflow.scripts.table_text import (
    DETAIL_HEAD,
    HOW_TO_READ,
    detail_rows,
    provenance,
    shown_lines,
    small_texts,
    threads_text,
    time_parts,
    tool_name,
    where_text,
)

STYLE = """
.wb { font: 14px/1.45 system-ui, "Segoe UI", "DejaVu Sans", Arial, sans-serif; color: #1a1a1a; background: #fff; }
.wb .scroll { overflow-x: auto; }
.wb table { border-collapse: collapse; font-size: 12px; font-variant-numeric: tabular-nums; }
.wb th, .wb td { padding: 3px; text-align: left; vertical-align: top; border-bottom: 1px solid #e3e3e3; }
.wb td.v { text-align: right; white-space: nowrap; }
.wb td.time { white-space: normal; }
.wb td.time > * { white-space: nowrap; }
.wb td.time > small { white-space: normal; }
.wb th { font-weight: 600; background: #f4f4f2; white-space: nowrap; }
.wb thead th { border-bottom: 2px solid #777; text-align: center;
  white-space: normal; min-width: 4em; max-width: 16em; }
.wb thead th.tool { width: 11em; }
.wb thead th.where { width: 10em; min-width: 8em; }
.wb tr.block th { background: #fff; border-bottom: 1px solid #777; padding-top: 12px; }
.wb tr.first > td { border-top: 1px solid #999; }
.wb tr.paper > td { background: #faf7ee; }
.wb tr.ours > td { background: #eef5fb; }
.wb tr.ours td.v { font-weight: 600; }
.wb table.ranked tr.ours td.v { font-weight: 400; }
.wb td:first-child { min-width: 8.5em; position: sticky; left: 0; background: #fff; }
.wb td.why { color: #595959; font-style: italic; text-align: left; white-space: normal; min-width: 4.5em; }
.wb td.v.why { text-align: right; }
.wb .ci { font-weight: 400; font-size: 11px; }
.wb small { color: #595959; font-weight: 400; display: block; }
.wb small.mark { color: #a02c00; }
.wb .notes { font-size: 13px; color: #333; max-width: 75em; }
.wb caption, .wb .caption { text-align: left; max-width: 75em; margin: 0 0 8px; }
"""


def page(title, body, style=""):
    """A whole offline HTML document."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}{style}</style></head>\n'
        f'<body class="wb">\n{body}\n</body></html>\n'
    )


def _cell_html(table, cell):
    if cell.time_s is None:
        return f'<td class="v why" title="{escape(cell.reason, quote=True)}">{escape(cell.short)}</td>'
    time, interval = map(escape, time_parts(cell))
    text = f"<span>{time}</span>" + (f' <span class="ci">{interval}</span>' if interval else "")
    text = f"<s>{text}</s>" if cell.struck else text
    for small in small_texts(table, cell, word=""):  # without it nine columns fit a page of 1300 px
        text += f"<small>{escape(_units_kept(small))}</small>"
    text += f'<small class="mark">{escape(", ".join(cell.marks))}</small>' if cell.marks else ""
    title = _tooltip(cell) if cell.record else cell.note
    return f'<td class="v time" title="{escape(title, quote=True)}">{text}</td>'


def _units_kept(text):
    """The text, breaking between words, before an interval or a remark, and not between a number and its unit."""
    return re.sub(r"(?<=\d) (?=[^\s±(])", "\N{NO-BREAK SPACE}", text)


def _tooltip(cell):
    record = cell.record
    told = [f"{cell.pairs} of {cell.column.pairs} pairs", f"{record['rounds']} rounds"]
    if cell.gcups:
        told.append(f"{significant(cell.gcups)} GCUPS end to end")
    for key in ("recall_native", "recall_affine", "coverage"):
        if record[key] is not None:
            told.append(f"{key} {percent(record[key])}")
    return ", ".join(told)


def _head_html(layout):
    groups = []
    for column in layout.columns:
        if groups and groups[-1][0] == column.group:
            groups[-1][1] += 1
        else:
            groups.append([column.group, 1])
    top = "".join(f'<th colspan="{n}">{escape(name)}</th>' for name, n in groups)
    low = "".join(f"<th>{escape(column.label)}</th>" for column in layout.columns)
    names = ("Tool", ' class="tool"'), ("Measured by", ' class="where"'), ("Threads", "")
    fixed = "".join(f'<th rowspan="2"{kind}>{name}</th>' for name, kind in names)
    return f"<thead><tr>{fixed}{top}</tr><tr>{low}</tr></thead>"


def _line_html(table, line, first):
    kind = "paper" if line.source == "paper" else ("ours" if line.row.tool.startswith("wavebench") else "peer")
    cells = [_cell_html(table, cell) for cell in line.cells]
    if all(c.time_s is None and c.short == line.cells[0].short for c in line.cells):
        reasons = {cell.reason for cell in line.cells} - {line.cells[0].short, ""}
        told = ": ".join([line.cells[0].short, *reasons]) if len(reasons) == 1 else line.cells[0].short
        cells = [f'<td class="why" colspan="{len(cells)}">{escape(told)}</td>']
    told = (tool_name(line), where_text(table, line), threads_text(line, table.lines))
    head = "".join(f"<td>{escape(text)}</td>" for text in told)
    return f'<tr class="{kind}{" first" if first else ""}">{head}{"".join(cells)}</tr>'


def article(table):
    """The table as an HTML fragment: title, caption, table, notes, details."""
    layout = table.layout
    width = 3 + len(layout.columns)
    rows, block = [], None
    lines, further = shown_lines(table)
    for at, line in enumerate(lines):
        if line.row.block != block:
            block = line.row.block
            rows.append(f'<tr class="block"><th colspan="{width}">{escape(block)}</th></tr>')
        rows.append(_line_html(table, line, first=at == 0 or lines[at - 1].row != line.row))
    body = f"<table>{_head_html(layout)}<tbody>{''.join(rows)}</tbody></table>"
    notes = [*HOW_TO_READ, *provenance(table), *further, *table.notes]
    details = details_html(DETAIL_HEAD, list(detail_rows(table)))
    return wrap(layout.id, layout.title, layout.caption, body, notes) + details + "</article>"


def wrap(id_, title, caption, body, notes):
    """Head of an article (left open): what the report takes over from a table's page."""
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        f'<article id="{id_}"><h2>{escape(title)}</h2><p class="caption">{escape(caption)}</p>'
        f'<div class="scroll">{body}</div><ul class="notes">{listed}</ul>'
    )


def details_html(head, rows):
    """A folded table of plain text cells, or nothing without rows."""
    if not rows:
        return ""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        "<details><summary>Details of every measured cell</summary>"
        f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div></details>'
    )
