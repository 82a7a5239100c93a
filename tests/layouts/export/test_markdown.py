"""Markdown: readable as it is, and nothing in it becomes markup."""

from __future__ import annotations

import pytest

from specview.layouts.export.document import Document, Table
from specview.layouts.export.markdown import escaped, markdown_text, table_lines
from specview.layouts.tables import Column, TableRow, TableView

VIEW = TableView(
    (Column("name", "number", text=True), Column("value", "value")),
    (TableRow("h", ("── Baseline", "")), TableRow("a", ("T_decode | x", "6.51 ms"))),
)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("T_verify(2) [0.81, 0.94] -5.4%", "T_verify(2) [0.81, 0.94] -5.4%"),
        ("[x](http://a)", "[x\\](http://a)"),
        ("a | b", "a \\| b"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("# title", "\\# title"),
        ("1. item", "1\\. item"),
        ("---", "\\---"),
        ("two\nlines\x1b[31m", "two lines[31m"),
        ("_em_ `c` **b**", "\\_em\\_ \\`c\\` \\*\\*b\\*\\*"),
    ],
)
def test_text_reads_the_same(text: str, written: str) -> None:
    assert escaped(text) == written


def test_numbers_stand_at_the_right_and_headings_are_bold() -> None:
    assert table_lines(VIEW) == [
        "| number | value |",
        "| :--- | ---: |",
        "| **Baseline** |  |",
        "| T_decode \\| x | 6.51 ms |",
    ]


def test_facts_stand_once_over_several_documents() -> None:
    facts = (("model", "m"),)
    table = Table("a", "A", ("x",), ((1,),), VIEW)
    text = markdown_text(
        Document(screen="a", title="One", facts=facts, sentences=("Said.",), tables=(table,), notes=("noted",)),
        Document(screen="b", title="Two", facts=facts),
    )
    assert text.count("- model: m") == 1
    assert text.startswith("## One\n\n- model: m\n\nSaid.\n\n| number")
    assert "> Note: noted" in text and text.endswith("## Two\n")
