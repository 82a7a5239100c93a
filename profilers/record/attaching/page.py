"""A metrics page as one look at an engine's counters, or the sentence that says what the page is instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ....engine.errors import SpecviewError
from ..importers.prometheus import (
    Engine,
    EngineCounters,
    Key,
    Sample,
    counters_of,
    engine_of,
    is_metric,
    matters,
    samples_of_line,
)
from .fetch import Answer

LINE_CHARACTERS = 4096
MOST_LINES = 20_000

_ANY_METRIC = re.compile(r"^[a-zA-Z_:][\w:]*(?:\{.*\})? [-+.\dNI]", re.MULTILINE)
# when the counters began, in Unix seconds: it tells a restart even where they have overtaken what they were
_BORN = (
    re.compile(r"^process_start_time_seconds(?:\{[^}\n]*\})? (\S+)$", re.MULTILINE),
    re.compile(r"^\w+[:_]generation_tokens_created(?:\{[^}\n]*\})? (\S+)$", re.MULTILINE),
)


class NotMetrics(SpecviewError):
    """A page that is no metrics page of an engine we know; the text says what it is and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a page said at `t_ns`, give or take `slack_ns`; `born_s` is when its counters began, where it says."""

    t_ns: int
    slack_ns: int
    engine: Engine
    samples: dict[Key, Sample]
    counters: EngineCounters
    born_s: float | None = None


def text_of(answer: Answer) -> str:
    """Return the page's text; bytes that are no UTF-8 become replacement characters."""
    return answer.body.decode("utf-8", "replace").removeprefix("\ufeff")


def look_at(text: str, shown: str, t_ns: int, slack_ns: int = 0) -> Look:
    """Return the engine's counters on a page; NotMetrics names the address as `shown`."""
    lines = [line for line in _lines(text) if is_metric(line)]
    if len(lines) > MOST_LINES:
        raise NotMetrics(f"{shown} lists {len(lines):,} figures, too many to follow; ask one server, not a collection.")
    found: dict[Key, Sample] = {}
    for line in lines:
        for sample in samples_of_line(line) or ():
            if matters(sample):
                found[sample.key] = sample
    engine = engine_of(found.values())
    if engine is None:
        raise NotMetrics(_what_else(text, shown, bool(lines)))
    own = "llamacpp:" if engine == "llama.cpp" else f"{engine}:"
    samples = {key: sample for key, sample in found.items() if sample.name.startswith(own)}
    return Look(
        t_ns=t_ns,
        slack_ns=slack_ns,
        engine=engine,
        samples=samples,
        counters=counters_of(samples.values(), engine),
        born_s=_born(text),
    )


def _lines(text: str) -> Iterator[str]:
    # a label may hold what str.splitlines takes for line ends
    for line in text.split("\n"):
        if len(line) <= LINE_CHARACTERS and not line.partition("{")[0].endswith("_bucket"):
            yield line.rstrip("\r")


def _born(text: str) -> float | None:
    for pattern in _BORN:
        match = pattern.search(text)
        if match is not None:
            try:
                return float(match[1])
            except ValueError:
                return None
    return None


def _what_else(text: str, shown: str, engine_known: bool) -> str:
    start = text.lstrip()[:1]
    if engine_known:
        return f"{shown} has no counters of tokens or drafts; send the server a request first, then attach again."
    if not start:
        return (
            f"{shown} is an empty page; SGLang shows nothing before its first request, "
            "so send the server one, then attach again."
        )
    if start == "<":
        return f"{shown} is a web page, not metrics; give the address of the server's metrics page."
    if start in "{[":
        return f"{shown} answers in JSON, not metrics; the metrics page is mostly at /metrics of the same server."
    if _ANY_METRIC.search(text[:65536]):
        return (
            f"{shown} has metrics, but none of vLLM, SGLang or llama-server; "
            "attach to the engine itself, not to another exporter."
        )
    return f"{shown} is no metrics page; give the address of one of vLLM, SGLang or llama-server."
