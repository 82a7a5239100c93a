"""vLLM's per-request acceptance metrics, alone or inside saved responses; each request checked against itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..records import Counters
from .findings import Findings
from .imported import Imported, Importer, ImportFailed, Tally
from .json_documents import documents
from .model_names import name_without_path
from .object_fields import Fields, count_loose, objects_with
from .stretches import Stretches

FORM = "vLLM per-request metrics"
ENGINE = "vllm"

_MARK = "num_spec_steps"
_KNOWN = {
    "mean_acceptance_length",
    "draft_acceptance_rate",
    "acceptance_histogram",
    "num_spec_steps",
    "num_accepted_draft_tokens",
    "num_draft_tokens",
    "num_spec_tokens",
    "per_step_accepted",
    "per_step_drafted",
}
# longer drafts than this nobody makes
_LONGEST = 1024
# printed with seven digits, or rounded to three by those who keep them
_CLOSE = 6e-4


def likely(head: str) -> float:
    """Say how likely a text holds per-request metrics of vLLM (AIPerf's records hold the same and name an engine)."""
    if f'"{_MARK}"' not in head or ('"acceptance_histogram"' not in head and '"num_draft_tokens"' not in head):
        return 0.0
    return 0.6 if '"engine"' in head else 0.9


def read(lines: Iterable[str]) -> Imported:
    """Return one stretch a request."""
    tally, findings, stretches = Tally(), Findings(), Stretches()
    models: dict[str, None] = {}
    requests = 0
    for found in documents(lines):
        if found.value is None:
            count_loose(found, tally)
            continue
        here = 0
        for values, around in objects_with(found.value, _MARK):
            here += 1
            stretches.add(_request(values, around, requests + here, tally, findings))
            for outer in around:
                if isinstance(outer.get("model"), str):
                    models[name_without_path(outer["model"])] = None
        requests += here
        if not here:
            tally.ignore()
    counters = stretches.all()
    if not counters:
        raise ImportFailed(
            "No request here has vLLM's acceptance metrics; start the server with per-request spec decode metrics and "
            "save its responses."
        )
    if stretches.merged:
        findings.note("merged", "There were so many requests that neighbours which are alike were merged.")
    return Imported(
        engine=ENGINE,
        form=FORM,
        records=(*counters, *findings.notes()),
        tally=tally,
        model=", ".join(models) or None,
        k=max((one.k for one in counters if one.k), default=None),
    )


def _request(
    values: dict[str, Any], around: tuple[dict[str, Any], ...], number: int, tally: Tally, findings: Findings
) -> Counters:
    fields = Fields(values)
    rounds, accepted = fields.count("num_spec_steps"), fields.count("num_accepted_draft_tokens")
    drafted, k = fields.count("num_draft_tokens"), fields.count("num_spec_tokens")
    histogram = fields.counts("acceptance_histogram")
    if histogram and len(histogram) > _LONGEST:
        fields.wrong.append(f"acceptance_histogram: {len(histogram):,} entries")
        histogram = None
    per_round, rate = fields.number("mean_acceptance_length"), fields.number("draft_acceptance_rate")
    steps = fields.counts("per_step_accepted"), fields.counts("per_step_drafted")
    usage = next((outer["usage"] for outer in around if isinstance(outer.get("usage"), dict)), None)
    tokens = Fields(usage).count("completion_tokens") if usage else fields.count("completion_tokens")
    fields.wrong += [
        f"{name}: {str(value)[:80]}"
        for name, value in values.items()
        if name not in _KNOWN and ("spec" in name or "draft" in name or "accept" in name)
    ]
    fields.settle(tally)
    _check(number, rounds, accepted, drafted, k, histogram, per_round, rate, steps, findings)
    derived = []
    positions = None
    if histogram and sum(histogram) == (rounds or sum(histogram)):
        # histogram[j] rounds kept exactly j drafts
        positions = tuple(sum(histogram[kept:]) for kept in range(1, len(histogram)))
        derived.append("accepted_by_position")
    if per_round is None and rounds and accepted is not None:
        per_round = 1 + accepted / rounds
        derived.append("tokens_per_round")
    return Counters(
        t_ns=0,
        arm="drafting",
        source=ENGINE,
        k=k,
        rounds=rounds,
        drafted=drafted,
        accepted=accepted,
        accepted_by_position=positions,
        tokens=tokens,
        tokens_per_round=per_round,
        derived=tuple(derived),
    )


def _check(
    number: int,
    rounds: int | None,
    accepted: int | None,
    drafted: int | None,
    k: int | None,
    histogram: tuple[int, ...] | None,
    per_round: float | None,
    rate: float | None,
    steps: tuple[tuple[int, ...] | None, tuple[int, ...] | None],
    findings: Findings,
) -> None:
    """Remark every pair of fields of a request that cannot both be right."""

    def contradict(fault: str, text: str) -> None:
        findings.contradict(f"Request {number}: {text}", fault)

    if rounds and accepted is not None and per_round is not None and abs(1 + accepted / rounds - per_round) > _CLOSE:
        contradict(
            "length",
            f"mean_acceptance_length is {per_round:.4f}, but 1 + {accepted} accepted ÷ {rounds} steps is "
            f"{1 + accepted / rounds:.4f}.",
        )
    if drafted and accepted is not None and rate is not None and abs(accepted / drafted - rate) > _CLOSE:
        if abs(100 * accepted / drafted - rate) <= 100 * _CLOSE:
            findings.note("percent", "draft_acceptance_rate is in percent here; it was taken so.")
        else:
            contradict(
                "rate",
                f"draft_acceptance_rate is {rate:.4f}, but {accepted} accepted ÷ {drafted} drafted is "
                f"{accepted / drafted:.4f}.",
            )
    if histogram:
        kept = sum(drafts * count for drafts, count in enumerate(histogram))
        if accepted is not None and kept != accepted:
            contradict(
                "histogram",
                f"acceptance_histogram holds {kept} accepted drafts, num_accepted_draft_tokens says {accepted}.",
            )
        if rounds is not None and sum(histogram) != rounds:
            contradict("steps", f"acceptance_histogram holds {sum(histogram)} steps, num_spec_steps says {rounds}.")
        if k is not None and any(histogram[k + 1 :]):
            contradict("k", f"acceptance_histogram holds more than the {k} drafts of num_spec_tokens.")
    if accepted is not None and drafted is not None and accepted > drafted:
        contradict("more", f"more drafts were accepted ({accepted}) than drafted ({drafted}).")
    if drafted is not None and rounds is not None and k is not None and drafted > rounds * k:
        contradict("drafted", f"num_draft_tokens is {drafted}, more than {rounds} steps of {k}.")
    for name, listed, total in (
        ("per_step_accepted", steps[0], accepted),
        ("per_step_drafted", steps[1], drafted),
    ):
        if listed and total is not None and sum(listed) != total:
            contradict(name, f"{name} adds up to {sum(listed)}, the total says {total}.")


IMPORTERS = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
