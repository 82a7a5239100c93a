"""Answers of llama-server with their `timings`: one, a list, one a line, or the events of a stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..records import Counters
from .findings import Findings
from .imported import Imported, Importer, ImportFailed, Tally
from .json_documents import DEPTH, documents
from .llamacpp_request import MS_NS, Request, counters_of
from .model_names import name_without_path
from .written_numbers import LARGEST_COUNT, LARGEST_NUMBER, nanoseconds

ENGINE = "llama.cpp"
FORM = "llama.cpp timings"
OPEN_STREAMS = 1024
RATE_AGREEMENT = 0.02

FIGURES = ("predicted_n", "predicted_ms", "predicted_per_token_ms", "predicted_per_second", "draft_n")
_OTHERS = ("cache_n", "prompt_n", "prompt_ms", "prompt_per_token_ms", "prompt_per_second", "draft_n_accepted")
_KNOWN = frozenset((*FIGURES, *_OTHERS))
_SIGN = re.compile(r'"(?:predicted_per_second|predicted_ms|draft_n_accepted|predicted_n)"\s*:')


class _Reader:
    """Turns timings into requests; of a stream that tells them with every token only the last ones count."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.counters: list[Counters] = []
        self.findings = Findings()
        self.model: str | None = None
        self._streams: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._count = self._t_ns = 0
        self._plain = self._drafting = 0
        self._lengths: set[int] = set()

    def take(self, answer: dict[str, Any]) -> None:
        """Read one object: it may be timings, hold them, or hold answers that do."""
        if not any(self._keep(holder, timings) for holder, timings in tuple(_timings_in(answer))):
            self.tally.ignore()

    def _keep(self, answer: dict[str, Any], timings: dict[str, Any]) -> bool:
        name = answer.get("id")
        if answer.get("object") == "chat.completion.chunk" and isinstance(name, str):
            if name in self._streams:
                self.tally.ignore()
            elif len(self._streams) >= OPEN_STREAMS:
                self._end(next(iter(self._streams)))
            self._streams[name] = (answer, timings)
        elif answer.get("stop") is False and "content" in answer:
            self.tally.ignore()  # figures so far: the event that stops has all of them
        else:
            self._request(answer, timings)
        return True

    def _end(self, stream: str) -> None:
        self._request(*self._streams.pop(stream))

    def _request(self, answer: dict[str, Any], timings: dict[str, Any]) -> None:
        self._count += 1
        request = Request(f"request {self._count}")
        before = self.tally.not_understood
        for name, value in timings.items():
            if name not in _KNOWN and isinstance(value, int | float) and not isinstance(value, bool):
                self.tally.puzzle(f"timings.{name}")
        request.tokens = self._whole(timings, "predicted_n")
        request.decode_ms = self._number(timings, "predicted_ms")
        per_token = self._number(timings, "predicted_per_token_ms")
        request.tokens_per_second = self._number(timings, "predicted_per_second") or None
        request.drafted = self._whole(timings, "draft_n")
        request.accepted = self._whole(timings, "draft_n_accepted")
        if request.drafted is None or request.accepted is None:
            if (request.drafted, request.accepted) != (None, None):
                self.tally.puzzle("timings: one of draft_n and draft_n_accepted without the other")
            request.drafted = request.accepted = None
        if request.decode_ms is None and per_token and request.tokens:
            request.decode_ms = per_token * request.tokens
        self._settings(answer, request)
        self._t_ns += nanoseconds(request.decode_ms, MS_NS) or 1
        counters = counters_of(request, FORM, self._t_ns, self.findings)
        if counters is not None:
            self.counters.append(counters)
            self.tally.understand()
            self._plain += not request.drafts
            self._drafting += request.drafts
        elif self.tally.not_understood == before:
            self.tally.ignore()  # nothing was generated
        self._check(request)

    def _settings(self, answer: dict[str, Any], request: Request) -> None:
        settings = answer.get("generation_settings")
        settings = settings if isinstance(settings, dict) else {}
        temperature = settings.get("temperature")
        if isinstance(temperature, int | float) and not isinstance(temperature, bool) and 0 <= temperature <= 100:
            request.temperature = float(temperature)
        longest = settings.get("speculative.n_max")
        if request.drafts and type(longest) is int and 0 < longest <= 1024:
            request.k = longest
            self._lengths.add(longest)
        model = answer.get("model")
        if self.model is None and isinstance(model, str) and model:
            self.model = name_without_path(model)

    def _check(self, request: Request) -> None:
        """Compare the speed it tells with its counts; newer builds leave out the first token, which the prompt gave."""
        if request.drafted == 0:
            text = f"{request.label}: draft_n is 0: the drafting loop without drafts, which is no plain decoding."
            self.findings.note("k0", text)
        tokens, ms, told = request.tokens, request.decode_ms, request.tokens_per_second
        if tokens and ms and told:
            low, high = (tokens - 1) / ms * 1000, tokens / ms * 1000
            if not low * (1 - RATE_AGREEMENT) <= told <= high * (1 + RATE_AGREEMENT):
                text = f"{request.label}: says {told:g} tokens per second, its counts say {high:.2f}."
                self.findings.contradict(text, "speed")

    def _number(self, timings: dict[str, Any], name: str) -> float | None:
        value = timings.get(name)
        if value is None:
            return None
        if type(value) in (int, float) and 0 <= value <= LARGEST_NUMBER:
            return float(value)
        self.tally.puzzle(f"timings.{name}: {str(value)[:60]}")
        return None

    def _whole(self, timings: dict[str, Any], name: str) -> int | None:
        value = self._number(timings, name)
        if value is None or (value == int(value) and value <= LARGEST_COUNT):
            return None if value is None else int(value)
        self.tally.puzzle(f"timings.{name}: {value:g}")
        return None

    def finish(self) -> Imported:
        """Everything that was read; ImportFailed without any figure."""
        for stream in tuple(self._streams):
            self._end(stream)
        if not self._plain + self._drafting:
            raise ImportFailed(
                "No answer in it has timings with a speed; save whole answers of llama-server's /completion "
                "or /v1/chat/completions."
            )
        if self._plain and self._drafting:
            text = (
                f"{self._plain} answers without draft counts are taken as plain decoding; llama-server leaves the "
                "counts out, too, where it drafts and found nothing to propose."
            )
            self.findings.note("plain_or_without_drafts", text)
        return Imported(
            engine=ENGINE,
            form=FORM,
            records=(*self.counters, *self.findings.notes(self._t_ns)),
            tally=self.tally,
            model=self.model,
            k=next(iter(self._lengths)) if len(self._lengths) == 1 else None,
        )


def _timings_in(answer: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each object that is timings, with the object that holds it; the walk is as deep as documents are let in."""
    waiting: list[tuple[dict[str, Any], int]] = [(answer, 0)]
    while waiting:
        holder, depth = waiting.pop()
        if sum(name in holder for name in FIGURES) >= 2:
            yield holder, holder
            continue
        inner = holder.get("timings")
        if isinstance(inner, dict) and any(name in inner for name in FIGURES):
            yield holder, inner
            continue
        if depth < DEPTH:
            found: list[dict[str, Any]] = []
            for value in holder.values():
                items = value if isinstance(value, list) else [value]
                found += [item for item in items if isinstance(item, dict)]
            waiting += [(item, depth + 1) for item in reversed(found)]


def likely(head: str) -> float:
    """From the names of its timings, in a text that is JSON or a stream of events."""
    start = head.lstrip("\ufeff \r\n\t")
    if start[:1] not in "{[" and not start.startswith("data:"):
        return 0.0
    return 0.95 if '"predicted_n"' in head and len(set(_SIGN.findall(head))) > 1 else 0.0


def read(lines: Iterable[str]) -> Imported:
    """Read answers: one Counters for each, with drafts or plain; ImportFailed if none has timings."""
    reader = _Reader()
    for found in documents(lines):
        if found.value is not None:
            reader.take(found.value)
        elif found.broken:
            reader.tally.puzzle(found.text)
        else:
            reader.tally.ignore()
    return reader.finish()


IMPORTERS: tuple[Importer, ...] = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
