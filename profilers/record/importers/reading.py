"""Files to import, each read by the importer for it; pages of one server's counters are read as one text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from .. import records
from ..codec import RecordError
from .detection import detected_importer, named_importer
from .imported import Imported, Importer, ImportFailed
from .source_text import opened_text

MOST_RECORDS = 4_000_000
PAGE_CHARACTERS = 16 << 20
# counters since a server's start: of two pages only the difference says anything of the time between them
COUNTING_FORMS = ("llama.cpp metrics", "vLLM metrics", "SGLang metrics")

_SESSION = re.compile(r'^\ufeff?\{"kind":\s*"header",')
_SERVER_START = re.compile(r"^process_start_time_seconds(?:\{[^}]*\})?\s+(\S+)", re.MULTILINE)
_DRAFTS = re.compile(r"^[^#\n]*(?:spec_decode|sglang[:_]spec)_", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """One file and what came of it: `imported`, or `failure`, a sentence. `name` has no path.

    Pages of one server's counters are one, named by all of them.
    """

    name: str
    imported: Imported | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class _Page:
    """One page of counters, to be read with the others of its server."""

    name: str
    text: str
    importer: Importer


def read_files(
    paths: Sequence[Path], importers: Mapping[str, Importer], kind: str | None = None
) -> tuple[ReadFile, ...]:
    """Read every file, in order; one that cannot be used says why. ImportFailed if no kind is called `kind`."""
    chosen = None if kind is None else named_importer(kind, importers)
    found: list[ReadFile | list[_Page]] = []
    seen: set[Path] = set()
    for path in paths:
        if (real := _real(path)) in seen:
            found.append(ReadFile(name=path.name, failure=f"{path.name} is given twice; it is used once."))
            continue
        seen.add(real)
        one = _read_file(path, importers, chosen)
        if isinstance(one, ReadFile):
            found.append(one)
            continue
        known = next((each for each in found if isinstance(each, list) and _of_one_server(each[-1], one)), None)
        if known is None:
            found.append([one])
        else:
            known.append(one)
    return tuple(each if isinstance(each, ReadFile) else _read_pages(each) for each in found)


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):
        return path


def _read_file(path: Path, importers: Mapping[str, Importer], chosen: Importer | None) -> ReadFile | _Page:
    name = path.name or "the file"
    try:
        with opened_text(path) as text:
            name = text.name
            if _SESSION.match(text.head):
                raise ImportFailed(f"{name} is a session of specview; open it with specview {name}.")
            if not text.head.strip():
                raise ImportFailed(f"{name} is empty; save the engine's output and import that.")
            importer = chosen or detected_importer(text.head, name, importers)
            lines: Iterator[str] = text.lines()
            if importer.form in COUNTING_FORMS:
                page, ended = _page(lines)
                if ended:
                    return _Page(name, page, importer)
                lines = chain(page.splitlines(keepends=True), lines)
            return _used(name, importer, lines)
    except ImportFailed as failed:
        return _failed(name, failed)


def _page(lines: Iterator[str]) -> tuple[str, bool]:
    """The text of a page, and whether it is whole: one that is too long to be held is not."""
    held, size = [], 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size > PAGE_CHARACTERS:
            return "".join(held), False
    return "".join(held), True


def _of_one_server(before: _Page, page: _Page) -> bool:
    """Whether two pages may be of one server: it was started once, and drafts in both or in neither."""
    starts = [_SERVER_START.search(each.text) for each in (before, page)]
    if None not in starts and starts[0][1] != starts[1][1]:  # type: ignore[index]
        return False
    drafts = [_DRAFTS.search(each.text) is not None for each in (before, page)]
    return before.importer is page.importer and drafts[0] == drafts[1]


def _read_pages(pages: Sequence[_Page]) -> ReadFile:
    name = ", ".join(page.name for page in pages)
    lines = chain.from_iterable(f"{page.text}\n".splitlines(keepends=True) for page in pages)
    try:
        return _used(name, pages[0].importer, lines)
    except ImportFailed as failed:
        return _failed(name, failed)


def _used(name: str, importer: Importer, lines: Iterable[str]) -> ReadFile:
    return ReadFile(name=name, imported=_checked(importer.read(lines)))


def _failed(name: str, failed: ImportFailed) -> ReadFile:
    sentence = str(failed)
    return ReadFile(name=name, failure=sentence if name in sentence else f"{name}: {sentence}")


def _checked(imported: Imported) -> Imported:
    """Without the records that no session may hold, which count as not understood."""
    if len(imported.records) > MOST_RECORDS:
        raise ImportFailed(f"It gives {len(imported.records):,} records, too many to open; cut out a part of it.")
    kept = []
    for record in imported.records:
        try:
            records.to_line(record)
        except RecordError as error:
            imported.tally.puzzle(str(error))
        else:
            kept.append(record)
    if not any(not isinstance(record, records.Note) for record in kept):
        raise ImportFailed("Nothing in it could be used; it may be cut off, or of another kind: name that with --kind.")
    return replace(imported, records=tuple(kept))
