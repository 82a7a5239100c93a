"""llama.cpp's logs: llama-server, llama-cli and llama-speculative, builds old and new."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from ..records import Counters
from . import llamacpp_lines as said
from .findings import Findings
from .imported import Imported, Importer, ImportFailed, Tally
from .llamacpp_request import MS_NS, DraftWindow, Request, counters_of, near
from .written_numbers import LINE_CHARACTERS, nanoseconds, number, plain_line, whole

ENGINE = "llama.cpp"
FORM = "llama.cpp log"
OPEN_REQUESTS = 64
KNOWN_STATES = 64
RATE_ROUNDING = 0.006

_SIGNS = (
    re.compile(r"draft acceptance(?: rate)? = "),
    re.compile(r"\bstatistics\s+[\w.+-]+\s*:\s*#calls"),
    re.compile(r"\beval time\s*=\s*[\d.,]+ ms /"),
    re.compile(r"\bn_drafted\s*= "),
    re.compile(r"slot\s+\w+(?:\(\))?: id\s+\d+ \| task"),
    re.compile(r"\[ Prompt: [\d.,]+ t/s \| Generation:"),
    re.compile(r"acc per pos = \("),
)


class _Reader:
    """Gathers lines into requests. A request is open until its slot tells of another one, or too many are open."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.counters: list[Counters] = []
        self.findings = Findings()
        self.model: str | None = None
        self.device: str | None = None
        self._open: dict[tuple[str, str] | None, Request] = {}
        self._here: tuple[str, str] | None = None
        self._drafter_loaded = False
        self._states: dict[str, list[said.Statistics]] = {}
        self._decoded: Request | None = None
        self._in_sums = False
        self._slots: set[str] = set()
        self._count = 0
        self._t_ns = 0

    def take(self, raw: str) -> None:
        """Read one line."""
        if len(raw) > LINE_CHARACTERS:
            self.tally.puzzle(raw[:LINE_CHARACTERS])
            return
        if said.WORTH_READING.search(raw) is None:
            self.tally.ignore()
            return
        line = plain_line(raw)
        if (where := said.WHERE.search(line)) is not None:
            self._here = (where[1], where[2])
        if self._figures(line):
            self.tally.understand()
        elif said.LIKE_FIGURES.search(line) and not said.OTHER_FIGURES.search(line):
            self.tally.puzzle(line)
        else:
            self._facts(line)
            self.tally.ignore()

    def _facts(self, line: str) -> None:
        if said.STARTED.search(line):
            self._finish_all()
            self._drafter_loaded = self._in_sums = False
            self._states.clear()
        elif said.DRAFTER_LOADED.search(line):
            self._drafter_loaded = True
        elif (name := said.MODEL_NAME.search(line) or said.MODEL_FILE.search(line)) is not None:
            self.model = self.model or name[1]
        elif (device := said.DEVICE.search(line)) is not None:
            self.device = self.device or device[1]

    def _figures(self, line: str) -> bool:
        """Take the figures of a line; False if it has none that are understood."""
        if (found := said.ACCEPTANCE.search(line)) is not None:
            return self._acceptance(*found.groups())
        if (found := said.BY_POSITION.search(line)) is not None:
            shares = said.read_shares(found[1])
            if shares is not None:
                request = self._request()
                request.by_position, request.k = shares, len(shares)
            return shares is not None
        if (found := said.STATISTICS.search(line)) is not None:
            statistics = said.read_statistics(found[1], found[2])
            if statistics is not None:
                self._statistics(statistics)
            return statistics is not None
        if (found := said.ONE_ROUND.search(line)) is not None:
            kept, drafted = whole(found[1]), whole(found[2])
            if kept is None or drafted is None or kept > drafted or kept > 1024:
                return False
            steps = self._request().steps_by_kept
            steps[kept] = steps.get(kept, 0) + 1
            return True
        return self._speeds(line)

    def _speeds(self, line: str) -> bool:
        if (found := said.EVAL.search(line)) is not None:
            ms, tokens = number(found[1]), whole(found[2])
            if ms is None or tokens is None:
                return False
            if not self._in_sums:  # below llama-speculative's sums: its two models on their own, verify as prompt
                request = self._request(lambda known: known.tokens is not None)
                request.tokens, request.decode_ms = tokens, ms
            return True
        if (found := said.RATES.search(line)) is not None:
            self._request(lambda known: known.tokens_per_second is not None).tokens_per_second = number(found[1])
            return True
        if (found := said.DECODED.search(line)) is not None:
            tokens, seconds = whole(found[1]), number(found[2])
            if tokens is None or seconds is None:
                return False
            self._finish_all()
            self._in_sums = True
            self._decoded = self._request()
            self._decoded.tokens, self._decoded.decode_ms = tokens, seconds * 1000
            return True
        found = said.SUMMED.search(line)
        return found is not None and self._summed(*found.groups())

    def _summed(self, name: str, value: str, percent: str) -> bool:
        """A line of the sums that llama-speculative ends with; `n_draft` is its longest draft."""
        if name in ("n_draft", "n_drafted", "n_accept") or self._in_sums:
            count = number(value) if name == "accept" else whole(value)
            if count is None:
                return False
            if name == "n_draft" and self._decoded is not None and self._decoded.drafted is not None:
                self._finish_all()
            if self._decoded is None or not self._in_sums:
                self._in_sums = True
                self._decoded = self._request()
            request = self._decoded
            if name == "n_draft":
                request.k = int(count) or None
            elif name == "n_predict":
                request.tokens = request.tokens or int(count)
            elif name == "n_drafted":
                request.drafted = int(count)
            elif name == "n_accept":
                request.accepted = int(count)
            elif percent:
                self._check_share(request, count / 100)
            return True
        return False

    def _acceptance(self, share: str, percent: str, accepted: str, drafted: str, mean_length: str | None) -> bool:
        kept, of, told = whole(accepted), whole(drafted), number(share)
        if kept is None or of is None or told is None:
            return False
        request = self._request(lambda known: known.drafted is not None)
        request.accepted, request.drafted = kept, of
        request.mean_length = None if mean_length is None else number(mean_length)
        self._check_share(request, told / 100 if percent else told)
        return True

    def _check_share(self, request: Request, told: float) -> None:
        if request.drafted and request.accepted is not None:
            counted = request.accepted / request.drafted
            if abs(told - counted) > RATE_ROUNDING:
                text = f"{request.label}: says {told:g} accepted of those drafted, its counts say {counted:.5f}."
                self.findings.contradict(text, "share")

    def _request(self, is_over: Callable[[Request], bool] | None = None) -> Request:
        """The open request of this slot and task; a new one where that is over."""
        known = self._open.get(self._here)
        if known is not None and is_over is not None and is_over(known):
            self._finish(self._here)
            known = None
        if known is None:
            if len(self._open) >= OPEN_REQUESTS:
                self._finish(next(iter(self._open)))
            self._count += 1
            task = "" if self._here is None else f", slot {self._here[0]}, task {self._here[1]}"
            known = self._open[self._here] = Request(f"request {self._count}{task}")
            known.drafting_loop = self._drafter_loaded
            if self._here is not None:
                self._slots.add(self._here[0])
        return known

    def _statistics(self, now: said.Statistics) -> None:
        """Give a drafter's counts to the request that ended just before: what came on top of those it told before."""
        states = self._states.setdefault(now.name, [])
        before = None if now.begins == 1 else _state_before(now, states)
        if before is not None:
            states.remove(before)
        states.append(now)
        del states[:-KNOWN_STATES]
        window = _window(now, before)

        def is_over(known: Request) -> bool:
            told = [other for other in known.windows if other.name == window.name]
            alone = known.tokens is None and known.drafted is None and not known.steps_by_kept
            unlike = alone and any(not near(other.calls, window.calls) for other in known.windows)
            return bool(told) or unlike

        self._request(is_over).windows.append(window)

    def _finish(self, key: tuple[str, str] | None) -> None:
        request = self._open.pop(key)
        if request is self._decoded:
            self._decoded = None
        self._t_ns += nanoseconds(request.decode_ms, MS_NS) or 1
        counters = counters_of(request, FORM, self._t_ns, self.findings)
        if counters is not None:
            self.counters.append(counters)

    def _finish_all(self) -> None:
        for key in tuple(self._open):
            self._finish(key)

    def _of_one_server(self, lengths: set[int], names: set[str]) -> tuple[Counters, ...]:
        """All stretches, those of the only drafter and k that the log tells of named by them."""
        k = next(iter(lengths)) if len(lengths) == 1 else None
        drafter = next(iter(names)) if len(names) == 1 else None
        return tuple(_named(one, k, drafter) for one in self.counters)

    def finish(self) -> Imported:
        """Everything that was read; ImportFailed without any figure."""
        self._finish_all()
        if not self.counters:
            raise ImportFailed(
                "No request in it tells its speed or its drafts; log a whole generation, with -lv 4 for all figures."
            )
        if len(self._slots) > 1:
            text = f"{len(self._slots)} slots: requests that ran at once share the time that each of them tells."
            self.findings.note("batch", text)
        lengths = {one.k for one in self.counters if one.k is not None}
        names = {one.drafter for one in self.counters if one.drafter is not None}
        return Imported(
            engine=ENGINE,
            form=FORM,
            records=(*self._of_one_server(lengths, names), *self.findings.notes(self._t_ns)),
            tally=self.tally,
            model=self.model,
            drafter=next(iter(names)) if len(names) == 1 else None,
            device=self.device,
            k=next(iter(lengths)) if len(lengths) == 1 else None,
        )


def _named(one: Counters, k: int | None, drafter: str | None) -> Counters:
    """A drafting stretch with what its own lines left out, because it had no draft or they are not logged."""
    if one.arm == "plain":
        return one
    missing = [name for name, value in (("k", k), ("drafter", drafter)) if value and getattr(one, name) is None]
    k, drafter = one.k or k, one.drafter or drafter
    return replace(one, k=k, drafter=drafter, derived=(*one.derived, *missing))


def _state_before(now: said.Statistics, states: list[said.Statistics]) -> said.Statistics | None:
    """The counts that these go on from, the nearest that are nowhere larger; several slots may count on their own."""

    def counts(state: said.Statistics) -> tuple[int, ...]:
        return (state.begins or 0, state.calls, state.drafts, state.drafted, state.accepted, state.draft_ns or 0)

    fitting = [state for state in states if all(b <= n for b, n in zip(counts(state), counts(now), strict=True))]
    return max(fitting, key=counts, default=None)


def _window(now: said.Statistics, before: said.Statistics | None) -> DraftWindow:
    if before is None:
        return DraftWindow(now.name, now.calls, now.drafted, now.accepted, now.draft_ns, False)
    spent = None if now.draft_ns is None else now.draft_ns - (before.draft_ns or 0)
    return DraftWindow(
        now.name,
        now.calls - before.calls,
        now.drafted - before.drafted,
        now.accepted - before.accepted,
        spent,
        True,
    )


def likely(head: str) -> float:
    """From the messages that only llama.cpp's programs print."""
    found = sum(sign.search(head) is not None for sign in _SIGNS)
    return 0.0 if head.lstrip()[:1] == "{" else min(0.95, 0.6 + 0.15 * found) if found else 0.0


def read(lines: Iterable[str]) -> Imported:
    """Read a log: one Counters for each request, with drafts or plain; ImportFailed if it tells of none."""
    reader = _Reader()
    for line in lines:
        reader.take(line)
    return reader.finish()


IMPORTERS: tuple[Importer, ...] = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
