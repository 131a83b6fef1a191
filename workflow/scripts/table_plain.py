"""A table of plain text cells as Markdown and HTML, for the tables that are no table of times."""

import os
from dataclasses import dataclass
from html import escape

from workflow.scripts.table_html import page, wrap
from workflow.scripts.table_output import TIDY_COLUMNS, prepare, write_csv, write_text
from workflow.scripts.table_text import small_texts, time_text


@dataclass(frozen=True)
class Text:
    """One cell as a reader sees it.

    small: what stands below the text. mark: a doubt that must be seen. number: set to the right. why: there is no
    value, and the text says why. best: it stands out among its like. struck: it does not count.
    """

    text: str
    small: str = ""
    mark: str = ""
    number: bool = False
    why: bool = False
    best: bool = False
    struck: bool = False

    @property
    def markdown(self):
        around = "*" if self.why else "~~" if self.struck else "**" if self.best else ""
        told = f"{around}{self.text}{around}"
        return " · ".join(filter(None, [told, self.small, f"**{self.mark}**" if self.mark else ""])).replace("|", "\\|")

    @property
    def html(self):
        kind = ' class="why"' if self.why else ' class="v"' if self.number else ""
        text = escape(self.text)
        text = f"<s>{text}</s>" if self.struck else f"<b>{text}</b>" if self.best else text
        small = f"<small>{escape(self.small)}</small>" if self.small else ""
        mark = f'<small class="mark">{escape(self.mark)}</small>' if self.mark else ""
        return f"<td{kind}>{text}{small}{mark}</td>"


@dataclass(frozen=True)
class Value:
    """A cell of a table of properties. text: "" where there is none, and then why says so. note: where it is from, or
    a doubt."""

    text: str = ""
    why: str = ""
    note: str = ""

    @property
    def status(self):
        """For a CSV file: ``ok``, or why there is none."""
        return "ok" if self.text else self.why

    def shown(self, printed):
        """The Text. printed: the value is a paper's, whose notes stand below the table."""
        if not self.text:
            return Text(self.why, why=True)
        return Text(self.text + " †" * bool(printed and self.note), number=True)


def of_cell(filled, cell, best=False):
    """The Text of a cell of times. filled: the table.Table that it is of."""
    if cell.time_s is None:
        return Text(cell.short, why=True)
    small, marks = " · ".join(small_texts(filled, cell)), ", ".join(cell.marks)
    return Text(time_text(cell), small, marks, number=True, best=best, struck=cell.struck)


@dataclass(frozen=True)
class TextLine:
    """One line: its cells (Texts), and its kind, which colours it in HTML: "paper", "ours", or "" for neither."""

    cells: list
    kind: str = ""


@dataclass(frozen=True)
class PlainTable:
    """What a reader sees. head: names of the columns. lines: TextLines. notes: sentences."""

    id: str
    title: str
    caption: str
    head: list
    lines: list
    notes: list


def write_all(table, out, columns, rows, tidy):
    """Write OUT.csv (rows: dicts of these columns), OUT.tidy.csv (tidy: dicts), OUT.md and OUT.html."""
    prepare(out)
    write_csv(f"{out}.csv", columns, rows)
    write_csv(f"{out}.tidy.csv", TIDY_COLUMNS, tidy)
    write_text(f"{out}.md", markdown(table, f"snakemake {os.path.relpath(out)}.md"))
    write_text(f"{out}.html", page(table.title, article(table)))


def markdown(table, command):
    """The table as Markdown text. command: how to make it, for the last line."""
    rows = [table.head, _rule(table), *([cell.markdown for cell in line.cells] for line in table.lines)]
    body = ["| " + " | ".join(row) + " |" for row in rows]
    notes = [f"- {note}" for note in table.notes]
    return "\n".join([f"# {table.title}", "", table.caption, "", *body, "", *notes, "", f"Made by `{command}`.", ""])


def _rule(table):
    """The line under the head: columns of numbers, and of the reasons for having none, are set to the right."""
    columns = zip(*(line.cells for line in table.lines), strict=True)
    right = [any(c.number for c in column) and all(c.number or c.why for c in column) for column in columns]
    return ["---:" if number else "---" for number in right] or ["---"] * len(table.head)


def article(table):
    """The table as an HTML fragment, which the report takes over."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.head)
    body = ""
    for line in table.lines:
        kind = f' class="{line.kind}"' if line.kind else ""
        body += f"<tr{kind}>{''.join(cell.html for cell in line.cells)}</tr>"
    # Where the best stand out, nothing else is bold.
    ranked = ' class="ranked"' if any(cell.best for line in table.lines for cell in line.cells) else ""
    whole = f"<table{ranked}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return wrap(table.id, table.title, table.caption, whole, table.notes) + "</article>"
