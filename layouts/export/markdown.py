"""A document as GitHub Markdown: sentences, tables with numbers at the right, and nothing that could be markup."""

from __future__ import annotations

import re

from ..tables import TableView
from .document import Document, one_line

SPECIAL = re.compile(r"[\\`*|~]|(?<!\w)_|_(?!\w)|\](?=[(\[:])")  # T_verify and [0.81, 0.94] stay as they are
AT_START = re.compile(r"^(?:([-+=#])(?=[-+=#\s]|$)|(\d+)([.)])(?=\s))")
HEADING = re.compile(r"^── ?")


def markdown_text(*documents: Document) -> str:
    """The documents one below the other; what is known of their session stands once, first."""
    lines: list[str] = []
    facts: tuple[tuple[str, str], ...] = ()
    for document in documents:
        lines += [f"## {escaped(document.title)}", ""]
        if document.facts and document.facts != facts:
            facts = document.facts
            lines += [f"- {escaped(name)}: {escaped(value)}" for name, value in facts]
            lines.append("")
        for sentence in document.sentences:
            lines += [escaped(sentence), ""]
        for table in document.tables:
            if len(document.tables) > 1:
                lines += [f"### {escaped(table.title)}", ""]
            lines += [*table_lines(table.shown), ""]
        for note in document.notes:
            lines += [f"> Note: {escaped(note)}", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def table_lines(view: TableView) -> list[str]:
    """One table; a heading among its rows becomes a row in bold."""
    titles = [escaped(column.title) or " " for column in view.columns]
    rules = [":---" if column.text else "---:" for column in view.columns]
    rows = [_row([escaped(cell) for cell in row.cells]) for row in view.rows]
    return [f"| {' | '.join(titles)} |", f"| {' | '.join(rules)} |", *rows]


def _row(cells: list[str]) -> str:
    if cells and HEADING.match(cells[0]):
        cells = [f"**{HEADING.sub('', cells[0])}**", *cells[1:]]
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Text that reads the same in Markdown: no markup, no HTML, no line break, no new cell of a table."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = SPECIAL.sub(lambda found: f"\\{found[0]}", text)
    return AT_START.sub(lambda found: f"{found[2] or ''}\\{found[1] or found[3]}", text)
