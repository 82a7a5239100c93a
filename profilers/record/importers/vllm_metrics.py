"""vLLM's /metrics text: counters of drafting, in one look or between several."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .imported import Imported, Importer
from .metrics_text import read_metrics

FORM = "vLLM metrics"

_SAMPLE = re.compile(r"^\s*\{?\"?(?:[a-z][a-z0-9]*_)?vllm[:_][a-zA-Z_]+[\"{\s]", re.MULTILINE)


def likely(head: str) -> float:
    """Say how likely a text is a metrics page of vLLM."""
    if not _SAMPLE.search(head):
        return 0.0
    return 0.95 if re.search(r"vllm[:_]spec_", head) else 0.85


def read(lines: Iterable[str]) -> Imported:
    """Return what vLLM counted; engines are added up, and looks one after another give their differences."""
    return read_metrics(lines, engine="vllm", form=FORM)


IMPORTERS = (Importer(form=FORM, engine="vllm", likely=likely, read=read),)
