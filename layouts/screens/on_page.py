"""A page as a document: its tables as they are shown now, and what it says in words."""

from __future__ import annotations

from collections.abc import Sequence

from ..export.document import Document
from ..export.shown import shown_document
from ..panels.table import TablePanel
from ..tables import TableView
from .page import PageScreen


def page_document(page: PageScreen) -> Document:
    """The document of any page. One that has no table panels may offer `tables()`, pairs of a title and a table."""
    told = page.explanation()
    offered: Sequence[tuple[str, TableView]] = getattr(page, "tables", tuple)()
    drawn = [(str(panel.border_title or ""), panel.rows.view) for panel in page.query(TablePanel)]
    return shown_document(page.NAME, told.title, (*offered, *drawn), told.numbers)
