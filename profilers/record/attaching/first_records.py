"""The records a session of a watched server begins with: who it is, what its page holds, and a baseline if given."""

from __future__ import annotations

from collections.abc import Iterator

from .. import records
from ..importers.findings import Findings
from ..importers.imported import Tally
from ..importers.metrics_text import snapshots_in
from ..privacy import without_paths
from .attach_plan import AttachPlan
from .page import Look

UNKNOWN = "unknown"
GIVEN = "given on the command line"
NAMES = {"vllm": "vLLM", "sglang": "SGLang", "llama.cpp": "llama.cpp"}


def first_records(plan: AttachPlan, first: Look, text: str, started_unix_ns: int) -> Iterator[records.Record]:
    """Yield header, origin, guards and the given baseline; `text` is the page of the first look."""
    yield _header(plan, first, started_unix_ns)
    yield _origin(plan, first, text)
    if first.engine == "llama.cpp" and not first.counters.drafts:
        yield records.Guard(
            t_ns=first.t_ns,
            code="drafts_not_counted",
            message="This llama-server has no counters of drafts, so drafting cannot be told from plain decode here.",
            remedy="Use a build that has them (August 2026 or later), or import its log instead.",
        )
    if plan.baseline_tps is not None:
        yield records.Counters(
            t_ns=first.t_ns,
            arm="plain",
            source=first.engine,
            label=GIVEN,
            tokens_per_second=plan.baseline_tps,
            derived=("tokens_per_second",),
        )


def _header(plan: AttachPlan, first: Look, started_unix_ns: int) -> records.Header:
    from .... import __version__

    counters = first.counters
    k = len(counters.accepted_by_position) if counters.accepted_by_position else None
    return records.Header(
        specview=__version__,
        plan=f"attached to a server of {NAMES[first.engine]}, a look every {plan.pace.interval_s:g} s",
        environment=records.Environment(),
        model=records.ModelFacts(
            id=without_paths(", ".join(counters.models)) or UNKNOWN,
            architecture=UNKNOWN,
            layers=(),
            dtype=UNKNOWN,
            weight_bytes=0,
            vocabulary=0,
            tokenizer_hash=UNKNOWN,
        ),
        drafter=records.DrafterFacts(kind=UNKNOWN, k=k) if counters.drafts else None,
        started_unix_ns=started_unix_ns,
        text_kept=False,
        prompts_kept=False,
        source=first.engine,
    )


def _origin(plan: AttachPlan, first: Look, text: str) -> records.Origin:
    """An account of the first page; the server goes by its port, because a session names no hosts."""
    tally = Tally()
    for _ in snapshots_in(text.split("\n"), first.engine, tally, Findings()):
        pass
    return records.Origin(
        t_ns=first.t_ns,
        form=f"{NAMES[first.engine]} metrics, attached",
        name=f"port {plan.port}",
        lines=tally.lines,
        understood=tally.understood,
        ignored=tally.ignored,
        not_understood=tally.not_understood,
        examples=tuple(map(without_paths, tally.examples)),
    )
