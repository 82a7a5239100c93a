"""Events of the loops as a session keeps them: with times, flags and the text not shown before."""

from __future__ import annotations

from dataclasses import dataclass

from ...engine.events import Round, Step
from . import records
from .pieces import PieceWriter


@dataclass(frozen=True, slots=True)
class EventWriter:
    """Makes the records of one visit of one arm; without `pieces` no text is kept."""

    run: int
    segment: int
    pieces: PieceWriter | None

    def record(self, event: Step | Round, i: int, t_ns: int, warm_up: bool, known: int) -> records.Step | records.Round:
        """One event; the pieces of its first `known` tokens, shown before, are empty."""
        tokens = event.tokens if isinstance(event, Round) else (event.token,)
        replay = known >= len(tokens)
        texts = self.pieces.committed(tokens) if self.pieces is not None else ()
        texts = ("",) * known + texts[known:]
        if isinstance(event, Step):
            return records.Step(
                run=self.run,
                i=i,
                segment=self.segment,
                t_ns=t_ns,
                context=event.context,
                tokens=1,
                pieces=None if self.pieces is None or replay else texts,
                step_ns=event.step_ns,
                pipelined=event.pipelined,
                warm_up=warm_up,
                replay=replay,
            )
        shown = None
        if self.pieces is not None and not replay:
            shown = records.Pieces(texts, self.pieces.rejected(event.drafted[event.accepted :]))
        return records.Round(
            run=self.run,
            i=i,
            segment=self.segment,
            t_ns=t_ns,
            context=event.context,
            drafted=len(event.drafted),
            accepted=event.accepted,
            width=event.width,
            tokens=len(event.tokens),
            pieces=shown,
            round_ns=event.round_ns,
            draft_ns=event.draft_ns,
            catch_up_width=event.catch_up_width,
            verify_ns=event.verify_ns,
            rest_ns=event.rest_ns,
            rewind_ns=event.rewind_ns,
            warm_up=warm_up,
            replay=replay,
        )
