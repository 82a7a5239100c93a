"""A recorder of another engine's server: polls its metrics page and fills an ordinary session with the differences."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from ....engine.errors import SpecviewError
from .. import records
from ..privacy import without_paths
from ..steering import Steering
from ..store import SessionStore
from .attach_plan import AttachPlan
from .counting import Counted, Counting
from .fetch import Answer
from .first_records import first_records
from .page import Look, look_at, text_of
from .polling import NS, Missed, polled

SAME_REMARKS = 3


class Attachment:
    """Watches one server. The first look is taken in the constructor, so that its errors come before a file exists.

    `read` fetches the page, `clock` counts nanoseconds; `told` is called after each look, as a sign of life.
    """

    def __init__(
        self,
        plan: AttachPlan,
        read: Callable[[], Answer],
        steering: Steering,
        clock: Callable[[], int],
        told: Callable[[], None] = lambda: None,
    ) -> None:
        self.plan = plan.checked()
        self._read, self._steering, self._clock, self._told = read, steering, clock, told
        self._began_ns = clock()
        text = text_of(read())
        half_ns = self._now() // 2
        self.first = look_at(text, plan.shown, half_ns, half_ns)
        self._first_text = text
        self._counting = Counting(self.first)
        self._gap = False
        self._missed: Missed | None = None
        self._several = False
        self._rounds = 0
        self._said: dict[tuple[str, ...], set[str]] = {}
        self._end: tuple[Literal["finished", "stopped"], str | None] = ("stopped", None)

    def _now(self) -> int:
        return self._clock() - self._began_ns

    def record(self, store: SessionStore, started_unix_ns: int) -> records.Footer:
        """Poll until somebody or the budget ends it; the footer is written in every case but a crash."""
        try:
            for record in first_records(self.plan, self.first, self._first_text, started_unix_ns):
                store.append(record)
            self._first_text = ""
            for seen in polled(self._read, self.plan.shown, self._now, self._nap, self.plan.pace):
                for record in self._after(seen):
                    store.append(record)
                self._told()
                if self._over():
                    break
        except BaseException as error:
            with suppress(SpecviewError):  # the first error is the one to tell
                self._close(store, "failed", without_paths(str(error)) or type(error).__name__)
            raise
        return self._close(store, *self._end)

    def _close(
        self, store: SessionStore, status: Literal["finished", "stopped", "failed"], reason: str | None
    ) -> records.Footer:
        counts = store.counts
        footer = records.Footer(
            status=status,
            reason=reason,
            rounds=counts.rounds,
            steps=counts.steps,
            tokens=counts.tokens,
            t_ns=self._now(),
        )
        store.finish(footer)
        return footer

    # ------------------------------------------------------------- what ends it

    def _nap(self, seconds: float) -> bool:
        """Wait so long, obeying commands meanwhile; False when it is over."""
        until_ns = self._now() + round(seconds * NS)
        if self.plan.budget.seconds is not None:
            end_ns = round(self.plan.budget.seconds * NS)
            if self._now() >= end_ns:
                self._end = ("finished", None)
                return False
            until_ns = min(until_ns, end_ns)
        while (left_ns := until_ns - self._now()) > 0 and not self._steering.nap(left_ns / NS):
            command = self._steering.poll()
            while command is not None and command.action == "pause":
                self._gap = True
                command = self._steering.wait()
            if command is not None and command.action == "stop":
                self._end = ("stopped", command.reason)
                return False
        return True

    def _over(self) -> bool:
        if self.plan.budget.rounds is not None and self._rounds >= self.plan.budget.rounds:
            self._end = ("finished", None)
            return True
        return self._end[1] is not None

    # ------------------------------------------------------------- what is written

    def _after(self, seen: Look | Missed) -> list[records.Record]:
        if isinstance(seen, Missed):
            return self._after_miss(seen)
        found: list[records.Record] = []
        if self._missed is not None:
            seconds = (seen.t_ns - self._missed.t_ns) / NS
            found.append(
                _note(
                    seen.t_ns,
                    f"The server answers again after about {seconds:.0f} seconds; what it counted meanwhile is left "
                    "out.",
                    "outage",
                )
            )
            self._missed, self._gap = None, True
        other = self._changed(seen)
        if other:
            self._end = ("stopped", other)
            return [*found, _note(seen.t_ns, other, "changed")]
        if self._gap:
            self._gap = False
            if self._counting.resume(seen):
                found.append(
                    _note(seen.t_ns, "The server was restarted meanwhile: its counters began anew.", "restart")
                )
            return found
        counted = self._counting.take(seen)
        return [*found, *self._of_counted(counted, seen.t_ns)]

    def _after_miss(self, missed: Missed) -> list[records.Record]:
        if missed.last:
            minutes = self.plan.pace.patience_s / 60
            self._end = ("stopped", f"The server did not answer for {minutes:.0f} minutes.")
        if self._missed is not None:
            return []
        self._missed = missed
        return [_note(missed.t_ns, f"No answer: {_without(missed.sentence, self.plan)}", "outage")]

    def _changed(self, look: Look) -> str | None:
        """Why these counters are another server's, None if they are not: unlike figures are never pooled."""
        if look.engine != self.first.engine:
            return f"Another engine answers there now, {look.engine}; attach again for a session of its own."
        before, now = set(self.first.counters.models), set(look.counters.models)
        if before and now and not before & now:
            names = ", ".join(sorted(now))[:200]
            return f"The server has another model now, {names}; attach again for a session of its own."
        return None

    def _of_counted(self, counted: Counted, t_ns: int) -> list[records.Record]:
        found: list[records.Record] = []
        if counted.restarted:
            text = "The server's counters began anew: it was restarted; what it counted in between is left out."
            found.append(_note(t_ns, text, "restart"))
        for note in counted.notes:
            # texts with changing figures would else fill the file
            said = self._said.setdefault(note.tags, set())
            if note.text not in said and len(said) < SAME_REMARKS:
                said.add(note.text)
                found.append(note)
        if counted.running > 1 and not self._several:
            self._several = True
            found.append(_several(t_ns, counted.running))
        if counted.counters is not None:
            self._rounds += counted.counters.rounds or 0
            found.append(counted.counters)
        return found


def _note(t_ns: int, text: str, tag: str) -> records.Note:
    return records.Note(t_ns=t_ns, text=text, tags=("attach", tag))


def _several(t_ns: int, running: int) -> records.Guard:
    return records.Guard(
        t_ns=t_ns,
        code="several_requests",
        message=f"The server ran {running} requests at once, so its speed is not that of a single answer.",
        value=float(running),
        remedy="Send one request at a time to learn what drafting does to a single answer.",
    )


def _without(sentence: str, plan: AttachPlan) -> str:
    """The sentence without the server's address: a session names no hosts."""
    return sentence.replace(plan.shown, "the server")
