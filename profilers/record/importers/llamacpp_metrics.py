"""llama-server's /metrics text: counters of drafting, or only tokens and times in older builds."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .imported import Imported, Importer
from .metrics_text import read_metrics

ENGINE = "llama.cpp"
FORM = "llama.cpp metrics"

_SAMPLE = re.compile(r"^\s*\{?\"?(?:[a-z][a-z0-9]*_)?llamacpp[:_][a-zA-Z_]+[\"{\s]", re.MULTILINE)


def likely(head: str) -> float:
    """From the names of its samples."""
    return 0.95 if _SAMPLE.search(head) else 0.0


def read(lines: Iterable[str]) -> Imported:
    """Read what the server counted: since its start for one look, between the looks of several."""
    return read_metrics(lines, engine="llama.cpp", form=FORM)


IMPORTERS: tuple[Importer, ...] = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
