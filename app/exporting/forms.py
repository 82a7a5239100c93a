"""A session in each form that needs no screen: report, trace, events, redacted copy, and documents as text."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ... import __version__
from ...layouts.export.document import Document
from ...layouts.export.names import EVENTS, REPORT, Form
from ...layouts.views import Reckoning
from ...profilers.record.records import Record
from ...profilers.record.session import Session, SessionReader, read_session
from .files import ExportError

CHUNK_BYTES = 1 << 20
SALT_BYTES = 32


def document_text(documents: Sequence[Document], form: Form) -> str:
    """Documents as Markdown, CSV or JSON; ExportError for a CSV of something without a table."""
    if form == "md":
        from ...layouts.export.markdown import markdown_text

        return markdown_text(*documents)
    if form == "json":
        from ...layouts.export.json_text import json_text

        return json_text(*documents)
    from ...layouts.export.csv_text import csv_text

    if not documents[0].tables:
        said = " ".join(documents[0].sentences[:1])
        raise ExportError(
            f"The screen {documents[0].screen} has no table here, so there is no CSV of it. {said}".strip()
        )
    return csv_text(documents[0])


def session_pieces(
    session: Session, path: Path, screen: str, form: Form, reckoning: Reckoning | None = None
) -> Iterable[str] | None:
    """An export of a session that needs no screen, piece by piece; None for one that does."""
    if form == "html":
        from ...layouts.export.html import html_text
        from ...layouts.export.report import report_of

        return (html_text(report_of(session, path.name, digest_of(path), reckoning), __version__),)
    if form == "trace":
        from ...layouts.export.trace import trace_lines

        return trace_lines(session, path.name)
    if screen == EVENTS:
        from ...layouts.export.csv_text import csv_lines
        from ...layouts.export.events import KEYS, event_rows

        return csv_lines(KEYS, event_rows(session))
    from ...layouts.export.documents import raw_documents

    documents = raw_documents(screen, session, path.name, reckoning)
    return None if documents is None else (document_text(documents, form),)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, empty where it cannot be read."""
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                found.update(chunk)
    except OSError:
        return ""
    return found.hexdigest()


def redacted_lines(path: Path, *, keep_notes: bool = False, salt: bytes | None = None) -> Iterator[bytes]:
    """The lines of a session file as they may be posted, one by one; unreadable lines are left out.

    `salt` is made afresh where none is given. Raises SessionError for a file that is no session.
    """
    from ...profilers.record.records import to_line
    from ...profilers.record.redaction import Redaction, shipped_hashes

    read_session(path)  # a file that is none is told of before anything is written
    redaction = Redaction(os.urandom(SALT_BYTES) if salt is None else salt, shipped_hashes(), keep_notes)
    reader = SessionReader(path.name)

    def lines(records: Sequence[Record]) -> Iterator[bytes]:
        made = (redaction.record(record) for record in records)
        return (to_line(record) for record in made if record is not None)

    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield from lines(reader.feed(chunk))
    yield from lines(reader.finish())


def whole(screen: str, form: Form) -> bool:
    """Whether an export is of the whole session rather than of one screen."""
    return form in ("html", "trace", "session") or screen in (REPORT, EVENTS)
