"""Sessions of another engine's windows, built in code: speeds and counts in, records out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specview.profilers.record import records as r
from specview.profilers.record.session import Session, session_of

ENGINE = "vLLM"


def header(source: str = ENGINE) -> r.Header:
    """A header of imported figures, which says little."""
    return r.Header(
        specview="0.1.0",
        plan="imported: metrics",
        environment=r.Environment(device="cuda"),
        model=r.ModelFacts(
            id="org/model", architecture="unknown", layers=(), dtype="unknown", weight_bytes=0, vocabulary=0,
            tokenizer_hash="unknown",
        ),
        drafter=r.DrafterFacts(kind="eagle", k=3),
        started_unix_ns=1_783_000_000_000_000_000,
        text_kept=False,
        prompts_kept=False,
        source=source,
    )  # fmt: skip


def plain(tps: float | None, at: int = 0, **more: Any) -> r.Counters:
    """A window without drafts."""
    return r.Counters(t_ns=at, arm="plain", source=ENGINE, tokens_per_second=tps, **{"batch": 1, **more})


def drafting(tps: float | None, at: int = 0, **more: Any) -> r.Counters:
    """A window with drafts: k = 3, 100 rounds, 170 of 300 accepted."""
    counts = {"k": 3, "rounds": 100, "drafted": 300, "accepted": 170, "drafter": "eagle", "batch": 1}
    return r.Counters(t_ns=at, arm="drafting", source=ENGINE, tokens_per_second=tps, **{**counts, **more})


def session(*records: r.Record, source: str = ENGINE) -> Session:
    """A finished session of these records."""
    return session_of(whole(*records, source=source))


def whole(*records: r.Record, source: str = ENGINE) -> tuple[r.Record, ...]:
    """Header, records, footer."""
    return (header(source), *records, r.Footer(status="finished", rounds=0, steps=0, tokens=0, t_ns=0))


def requests(plain_tps: Sequence[float], drafting_tps: Sequence[float]) -> tuple[r.Counters, ...]:
    """The same requests in both arms, each by its own name."""
    return (
        *(plain(v, i, label=f"request {i}") for i, v in enumerate(plain_tps)),
        *(drafting(v, 100 + i, label=f"request {i}") for i, v in enumerate(drafting_tps)),
    )


def imported_half() -> tuple[r.Record, ...]:
    """What a server's metrics give: counts and a speed with drafts, and no plain baseline."""
    origin = r.Origin(
        t_ns=0, form="metrics", name="metrics.txt", lines=40, understood=12, ignored=28, not_understood=0
    )  # fmt: skip
    windows = (drafting(v, i, accepted_by_position=(80, 55, 35)) for i, v in enumerate((61.0, 58.0, 63.0, 60.0)))
    return whole(origin, *windows)
