"""The generated text in the order it came, drafts told apart, without what another arm had shown before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..profilers.judge.event_rows import E, Rows, columns_of
from ..profilers.record.columns import Kept
from ..profilers.record.records import Round, Run, Step
from ..profilers.record.session import Session
from . import figures
from .view_models import PieceKind, StreamPiece, StreamView

MOST_PIECES = 3000
LINE_BREAK = "¶"


def stream_view(session: Session) -> StreamView:
    """The last stretch of text; pieces of one kind next to each other are joined."""
    if not session.header.text_kept:
        return StreamView(message="This session was recorded without its text (--no-text).", where=_where(session))
    rounds, steps = columns_of(session.rounds, Round), columns_of(session.steps, Step)
    found: list[Round | Step] = [*_latest(rounds), *_latest(steps)]
    latest = sorted(found, key=lambda event: event.t_ns)
    events = latest[-MOST_PIECES:]
    runs = {run.run: run for run in session.runs}
    pieces: list[StreamPiece] = []
    if len(latest) > MOST_PIECES:
        pieces.append(StreamPiece("… earlier text is left out\n", "mark"))
    prompt: tuple[str, int] | None = None
    for event in events:
        run = runs.get(event.run)
        now = None if run is None else (run.prompt.suite, run.prompt.index)
        if now != prompt and run is not None:
            prompt = now
            _add(pieces, "\n\n" if pieces else "", "mark")
            _add(pieces, f"▸ {_name(run)}\n", "mark")
        for text, kind in _texts(event):
            _add(pieces, text, kind)
    return StreamView(message="" if pieces else "No text yet.", where=_where(session), pieces=tuple(pieces))


def _latest(events: Kept[E]) -> Iterator[E]:
    """The last events that brought a text of their own, one more than are shown."""
    texts = np.flatnonzero(events.has_text() & (events.column("replay") == 0))
    if texts.size > MOST_PIECES + 1:
        late = np.argsort(events.column("t_ns")[texts], kind="stable")[-MOST_PIECES - 1 :]
        texts = texts[np.sort(late)]
    return iter(Rows(events, texts))


def _texts(event: Round | Step) -> Iterator[tuple[str, PieceKind]]:
    if isinstance(event, Step):
        for piece in event.pieces or ():
            yield piece, "plain"
        return
    if event.pieces is None:
        return
    *accepted, own = event.pieces.committed or ("",)
    for piece in accepted:
        yield piece, "accepted"
    for piece in event.pieces.rejected:
        yield piece.replace("\n", LINE_BREAK), "rejected"
    yield own, "own"


def _add(pieces: list[StreamPiece], text: str, kind: PieceKind) -> None:
    text = text.replace("\t", "    ")
    if not text:
        return
    if pieces and pieces[-1].kind == kind:
        pieces[-1] = StreamPiece(pieces[-1].text + text, kind)
    else:
        pieces.append(StreamPiece(text, kind))


def _name(run: Run) -> str:
    kind = run.prompt.kind if run.prompt.kind == run.prompt.suite else f"{run.prompt.suite}, {run.prompt.kind}"
    return f"{kind} {run.prompt.index + 1}"


def _where(session: Session) -> str:
    """The prompt that is on, and how many there were."""
    if not session.runs:
        return ""
    prompts = {(run.prompt.suite, run.prompt.index) for run in session.runs}
    return f"{_name(session.runs[-1])} · {figures.count(len(prompts), 'prompt')}"
