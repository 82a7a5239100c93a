"""Which importer a text is for: the one that knows its signs best, or the one a person names."""

from __future__ import annotations

from collections.abc import Mapping

from ..codec import Text, safe_text
from .imported import Importer, ImportFailed

HEAD_CHARACTERS = 64 * 1024
LEAST = 0.3
TIE = 0.05

_SHOWN = Text(limit=80)


def named_importer(kind: str, importers: Mapping[str, Importer]) -> Importer:
    """The importer of a kind, however it is spelled; ImportFailed lists the kinds."""
    by_plain = {_plain(name): importer for name, importer in importers.items()}
    found = by_plain.get(_plain(kind))
    if found is None:
        raise ImportFailed(f"There is no kind {safe_text(kind, _SHOWN)!r}; --kind takes {_listed(importers)}.")
    return found


def detected_importer(head: str, name: str, importers: Mapping[str, Importer]) -> Importer:
    """The importer whose signs the beginning of the file `name` shows; ImportFailed for none, and for a tie."""
    scores = sorted(((_score(importer, head), kind) for kind, importer in importers.items()), reverse=True)
    best = scores[0][0] if scores else 0.0
    if best < LEAST:
        raise ImportFailed(
            f"{name} shows no sign of a form that can be imported; if it is one of {_listed(importers)}, "
            "say which with --kind."
        )
    tied = sorted(kind for score, kind in scores if score >= LEAST and best - score < TIE)
    if len(tied) > 1:
        listed = f"{', '.join(tied[:-1])} or {tied[-1]}"
        raise ImportFailed(f"{name} could be {listed}; say which with --kind.")
    return importers[tied[0]]


def _score(importer: Importer, head: str) -> float:
    score = importer.likely(head[:HEAD_CHARACTERS])
    return score if 0 <= score <= 1 else 0.0


def _plain(kind: str) -> str:
    return "".join(c for c in kind.casefold() if c.isalnum())


def _listed(importers: Mapping[str, Importer]) -> str:
    return ", ".join(importers)
