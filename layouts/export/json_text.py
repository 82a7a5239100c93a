"""A document as JSON: raw numbers under names with their units; valid for every parser, without NaN."""

from __future__ import annotations

import json
from typing import Any

from .document import Document, finite, one_line


def json_text(*documents: Document) -> str:
    """One object for one document; several stand in a list under `documents`."""
    made = [as_object(document) for document in documents]
    whole = made[0] if len(made) == 1 else {"documents": made}
    return json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_object(document: Document) -> dict[str, Any]:
    """The document in dicts and lists. `numbers` says whether they are raw or with the digits of the screen."""
    return {
        "screen": document.screen,
        "title": one_line(document.title),
        "session": {one_line(name): one_line(value) for name, value in document.facts},
        "numbers": "as shown" if document.as_shown else "raw",
        "sentences": [one_line(each) for each in document.sentences],
        "tables": {
            table.name: [
                {
                    key: one_line(value) if isinstance(value, str) else finite(value)
                    for key, value in zip(table.keys, row, strict=True)
                }
                for row in table.rows
            ]
            for table in document.tables
        },
        "notes": [one_line(each) for each in document.notes],
    }
