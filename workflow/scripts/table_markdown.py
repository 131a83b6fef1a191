"""A table as Markdown: its blocks, then the notes, then the details of every measured cell."""

from workflow.scripts.table_text import (
    DETAIL_HEAD,
    HOW_TO_READ,
    detail_rows,
    provenance,
    shown_lines,
    small_texts,
    threads_text,
    time_text,
    tool_name,
    where_text,
)


def _cell_markdown(table, cell):
    if cell.time_s is None:
        return f"*{cell.short}*"
    text = f"~~{time_text(cell)}~~" if cell.struck else time_text(cell)
    told = " · ".join([text, *small_texts(table, cell)])
    return told + (f" **({', '.join(cell.marks)})**" if cell.marks else "")


def markdown(table, command=""):
    """The table as Markdown text. command: how to make it, for the last line."""
    layout, (lines, further) = table.layout, shown_lines(table)
    head = ["Tool", "Measured by", "Threads", *(column.name for column in layout.columns)]
    out = [f"# {layout.title}", "", layout.caption, ""]
    for block in dict.fromkeys(line.row.block for line in lines):
        out += [f"## {block}", "", _markdown_row(head), _markdown_row(["---"] * 3 + ["---:"] * len(layout.columns))]
        for line in lines:
            if line.row.block == block:
                first = [tool_name(line), where_text(table, line), threads_text(line, table.lines)]
                out.append(_markdown_row(first + [_cell_markdown(table, cell) for cell in line.cells]))
        out.append("")
    out += [*(f"- {note}" for note in [*HOW_TO_READ, *provenance(table), *further, *table.notes]), ""]
    details = [_markdown_row(row) for row in detail_rows(table)]
    if details:
        head = [_markdown_row(DETAIL_HEAD), _markdown_row(["---"] * len(DETAIL_HEAD))]
        out += ["## Details of every measured cell", "", *head, *details, ""]
    if command:
        out += [f"Made by `{command}`.", ""]
    return "\n".join(out)


def _markdown_row(cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
