"""Files of another engine as one session: read each, put their records one behind the other, write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from .. import records
from ..privacy import without_paths
from ..store import SessionStore, new_session_path
from .imported import Imported, Importer, ImportFailed, Tally
from .reading import ReadFile, read_files

UNKNOWN = "unknown"
# forms that hold figures of any engine, so that they go with the files of one
ANY_ENGINE = ("unknown", "a table", "AIPerf", "Spec-Bench")

_WINDOWS_PATH = re.compile(r"(?<![\w])[A-Za-z]:\\(?:[^\\\s'\"]+\\)+")


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
    files = read_files(paths, importers, kind)
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


def _engine_of(usable: Sequence[tuple[str, Imported]]) -> str:
    by_engine: dict[str, str] = {}
    for name, imported in usable:
        if imported.engine not in ANY_ENGINE:
            by_engine.setdefault(imported.engine, name)
    if len({engine.casefold() for engine in by_engine}) > 1:
        listed = " and ".join(f"{name} of {engine}" for engine, name in by_engine.items())
        raise ImportFailed(f"One session holds one engine, but these are several: {listed}; import them on their own.")
    return next(iter(by_engine), usable[0][1].engine)


def _records(usable: Sequence[tuple[str, Imported]], engine: str, started: datetime) -> Iterator[records.Record]:
    """The header, then every file's origin and records: times after those of the file before, runs with new numbers."""
    yield _header([imported for _, imported in usable], engine, started)
    at_ns = runs = 0
    models = {imported.model for _, imported in usable if imported.model is not None}
    if len(models) > 1:
        text = (
            f"The files name the model differently: {', '.join(sorted(models))}; "
            "if these are several models, their figures do not belong together."
        )
        yield records.Note(t_ns=0, text=_shown(text), tags=("import", "models"))
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
