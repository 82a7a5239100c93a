"""Files of another engine as one session: read each, put their records one behind the other, write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from .. import records
from ..codec import RecordError
from ..privacy import without_paths
from ..store import SessionStore, new_session_path
from .detection import detected_importer, named_importer
from .imported import Imported, Importer, ImportFailed, Tally
from .source_text import opened_text

UNKNOWN = "unknown"
MOST_RECORDS = 4_000_000

_WINDOWS_PATH = re.compile(r"(?<![\w])[A-Za-z]:\\(?:[^\\\s'\"]+\\)+")
_SESSION = re.compile(r'^\ufeff?\{"kind":\s*"header",')


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """One file and what came of it: `imported`, or `failure`, a sentence. `name` has no path."""

    name: str
    imported: Imported | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSession:
    """A saved session of imported figures, and the files it was made of, in their order."""

    path: Path
    engine: str
    files: tuple[ReadFile, ...]
    origins: tuple[records.Origin, ...]


def import_source(
    paths: Sequence[Path],
    *,
    folder: Path,
    started: datetime,
    importers: Mapping[str, Importer],
    kind: str | None = None,
    out: Path | None = None,
) -> ImportedSession:
    """Read files of one engine into a new session, in `out` or named after the engine and the first file in `folder`.

    A file that cannot be used is told of in `files`. ImportFailed where none can be used, where they are of several
    engines, or where no kind is called `kind`; StoreError where the session cannot be written.
    """
    chosen = None if kind is None else named_importer(kind, importers)
    files = tuple(read_file(path, importers, chosen) for path in paths)
    usable = [(file.name, file.imported) for file in files if file.imported is not None]
    if not usable:
        failures = dict.fromkeys(f"{file.failure}" for file in files)
        raise ImportFailed(" ".join(failures) or "Give at least one file to import.")
    engine = _engine_of(usable)
    path = out or new_session_path(folder, f"{engine}-{Path(usable[0][0]).stem}", started)
    found = tuple(_records(usable, engine, started))
    with SessionStore.create(path) as store:
        for record in found:
            store.append(record)
        counts = store.counts
        store.finish(
            records.Footer(
                status="finished",
                rounds=counts.rounds,
                steps=counts.steps,
                tokens=counts.tokens,
                t_ns=max((getattr(record, "t_ns", 0) for record in found), default=0),
            )
        )
    origins = tuple(record for record in found if isinstance(record, records.Origin))
    return ImportedSession(path=path, engine=engine, files=files, origins=origins)


def read_file(path: Path, importers: Mapping[str, Importer], chosen: Importer | None = None) -> ReadFile:
    """Read one file with the importer chosen, or the one its text shows signs of."""
    name = path.name or "the file"
    try:
        with opened_text(path) as text:
            name = text.name
            if _SESSION.match(text.head):
                raise ImportFailed(f"{name} is a session of specview; open it with specview {name}.")
            if not text.head.strip():
                raise ImportFailed(f"{name} is empty; save the engine's output and import that.")
            importer = chosen or detected_importer(text.head, name, importers)
            imported = _checked(importer.read(text.lines()))
    except ImportFailed as failed:
        sentence = str(failed)
        return ReadFile(name=name, failure=sentence if name in sentence else f"{name}: {sentence}")
    return ReadFile(name=name, imported=imported)


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


def _engine_of(usable: Sequence[tuple[str, Imported]]) -> str:
    by_engine: dict[str, str] = {}
    for name, imported in usable:
        if imported.engine != UNKNOWN:
            by_engine.setdefault(imported.engine, name)
    if len(by_engine) > 1:
        listed = " and ".join(f"{name} of {engine}" for engine, name in by_engine.items())
        raise ImportFailed(f"One session holds one engine, but these are several: {listed}; import them on their own.")
    return next(iter(by_engine), UNKNOWN)


def _records(usable: Sequence[tuple[str, Imported]], engine: str, started: datetime) -> Iterator[records.Record]:
    """The header, then every file's origin and records: times after those of the file before, runs with new numbers."""
    yield _header([imported for _, imported in usable], engine, started)
    at_ns = runs = 0
    models = {imported.model for _, imported in usable if imported.model is not None}
    if len(models) > 1:
        text = f"The files are of several models: {', '.join(sorted(models))}; their figures do not belong together."
        yield records.Note(t_ns=0, text=_shown(text), tags=("import", "contradiction"))
    for name, imported in usable:
        yield _origin(name, imported.form, imported.tally, at_ns)
        last_ns, last_run = at_ns, runs
        for record in imported.records:
            moved = _moved(record, at_ns, runs)
            yield moved
            last_ns = max(last_ns, getattr(moved, "t_ns", at_ns))
            if isinstance(moved, records.Run):
                last_run = max(last_run, moved.run + 1)
        at_ns, runs = last_ns, last_run


def _moved(record: records.Record, at_ns: int, runs: int) -> records.Record:
    if isinstance(record, records.Run):
        return replace(record, run=record.run + runs, started_ns=record.started_ns + at_ns)
    if isinstance(record, records.Round | records.Step):
        return replace(record, run=record.run + runs, t_ns=record.t_ns + at_ns)
    if isinstance(record, records.Probe):
        return replace(record, run=None if record.run is None else record.run + runs, t_ns=record.t_ns + at_ns)
    if isinstance(record, records.Counters):
        label = None if record.label is None else _shown(record.label)
        return replace(record, label=label, t_ns=record.t_ns + at_ns)
    if isinstance(record, records.Note):
        return replace(record, text=_shown(record.text), t_ns=record.t_ns + at_ns)
    return record


def _origin(name: str, form: str, tally: Tally, at_ns: int) -> records.Origin:
    return records.Origin(
        t_ns=at_ns,
        form=form,
        name=name,
        lines=tally.lines,
        understood=tally.understood,
        ignored=tally.ignored,
        not_understood=tally.not_understood,
        examples=tuple(map(_shown, tally.examples)),
    )


def _header(sources: Sequence[Imported], engine: str, started: datetime) -> records.Header:
    from .... import __version__

    drafting = [
        record
        for source in sources
        for record in source.records
        if isinstance(record, records.Counters | records.Run) and record.arm != "plain"
    ]
    lengths = {source.k for source in sources if source.k is not None}
    drafters = {source.drafter for source in sources if source.drafter is not None}
    facts = records.DrafterFacts(
        kind=drafters.pop() if len(drafters) == 1 else UNKNOWN, k=lengths.pop() if len(lengths) == 1 else None
    )
    forms = dict.fromkeys(source.form for source in sources)
    text_kept = any(
        isinstance(record, records.Round | records.Step) and record.pieces is not None
        for source in sources
        for record in source.records
    )
    return records.Header(
        specview=__version__,
        plan=f"imported: {', '.join(forms)}",
        environment=records.Environment(device=_first(source.device for source in sources)),
        model=records.ModelFacts(
            id=_first(source.model for source in sources) or UNKNOWN,
            architecture=UNKNOWN,
            layers=(),
            dtype=UNKNOWN,
            weight_bytes=0,
            vocabulary=0,
            tokenizer_hash=UNKNOWN,
        ),
        drafter=facts if drafting else None,
        started_unix_ns=round(started.timestamp() * 1e9),
        text_kept=text_kept,
        prompts_kept=False,
        source=engine,
    )


def _first(values: Iterator[str | None]) -> str | None:
    value = next((value for value in values if value), None)
    return None if value is None else _shown(value)


def _shown(text: str) -> str:
    """The text with names of files where it had paths: a session says nothing of anybody's disk."""
    return _WINDOWS_PATH.sub("", without_paths(text))
