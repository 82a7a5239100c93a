"""`vllm bench serve --save-result`: one object a run; runs without drafts are the baseline of those with."""

from __future__ import annotations

from collections.abc import Iterable

from ..records import Counters
from .findings import Findings
from .imported import Imported, Importer, ImportFailed, Tally
from .json_documents import documents
from .model_names import name_without_path
from .object_fields import Fields, count_loose
from .serving_benchmark import about_prompts, run_label, served_speed

FORM = "vLLM benchmark"
ENGINE = "vllm"

_PREFIX = "spec_decode_"
_KNOWN = {
    _PREFIX + name
    for name in (
        "acceptance_rate",
        "acceptance_length",
        "num_drafts",
        "draft_tokens",
        "accepted_tokens",
        "per_position_acceptance_rates",
    )
}
_LONGEST = 1024


def likely(head: str) -> float:
    """Say how likely a text is a saved result of `vllm bench serve`."""
    if f'"{_PREFIX}num_drafts"' in head or f'"{_PREFIX}acceptance_length"' in head:
        return 0.97
    if '"output_throughput"' not in head or '"accept_length"' in head or '"backend": "sglang' in head:
        return 0.0
    return 0.85 if '"mean_tpot_ms"' in head and '"duration"' in head else 0.5


def read(lines: Iterable[str]) -> Imported:
    """Return one stretch a run; a run that says nothing of drafts is plain."""
    tally, findings = Tally(), Findings()
    counters: list[Counters] = []
    models: dict[str, None] = {}
    for found in documents(lines):
        if found.value is None:
            count_loose(found, tally)
            continue
        fields = Fields(found.value)
        if not _is_run(fields):
            tally.ignore()
            continue
        counters.append(_run(fields, findings))
        model = fields.text("model_id") or fields.text("model")
        if model:
            models[name_without_path(model)] = None
        fields.settle(tally)
    if not counters:
        raise ImportFailed(
            "No run of vllm bench serve is in this text; give it the JSON file that --save-result wrote."
        )
    arms = {one.arm for one in counters}
    if arms == {"drafting"}:
        findings.note(
            "no_baseline",
            "No run without drafts is here; import a result of the same benchmark against a server without "
            "speculative decoding together with this one, to have a speedup.",
        )
    if len(models) > 1:
        findings.note("mixed", f"Runs of {len(models)} models are here: {', '.join(list(models)[:5])}.")
    return Imported(
        engine=ENGINE,
        form=FORM,
        records=(*counters, *findings.notes()),
        tally=tally,
        model=next(iter(models)) if len(models) == 1 else None,
        k=next((one.k for one in counters if one.k), None),
    )


def _is_run(fields: Fields) -> bool:
    values = fields.values
    return any(name in values for name in ("output_throughput", "mean_tpot_ms")) or any(n in values for n in _KNOWN)


def _run(fields: Fields, findings: Findings) -> Counters:
    drafts = any(fields.values.get(name) is not None for name in _KNOWN)
    rounds, drafted = fields.count(_PREFIX + "num_drafts"), fields.count(_PREFIX + "draft_tokens")
    accepted, per_round = fields.count(_PREFIX + "accepted_tokens"), fields.number(_PREFIX + "acceptance_length")
    rates = fields.numbers(_PREFIX + "per_position_acceptance_rates")
    fields.wrong += [
        f"{name}: {str(value)[:80]}"
        for name, value in fields.values.items()
        if name.startswith(_PREFIX) and name not in _KNOWN
    ]
    derived: list[str] = []
    _check(rounds, drafted, accepted, per_round, fields.number(_PREFIX + "acceptance_rate"), rates, findings)
    positions = None
    if rates and rounds and len(rates) <= _LONGEST and max(rates) <= 1:
        positions = tuple(round(rate * rounds) for rate in rates)
        derived.append("accepted_by_position")
    k = len(rates) if rates and len(rates) <= _LONGEST else None
    if k is None and rounds and drafted and drafted % rounds == 0:
        k = drafted // rounds
    if k is not None:
        derived.append("k")
    if per_round is None and rounds and accepted is not None:
        per_round = 1 + accepted / rounds
        derived.append("tokens_per_round")
    about_prompts(fields, findings)
    temperature = fields.number("temperature") if "temperature" in fields.values else None
    counters = Counters(
        t_ns=0,
        arm="drafting" if drafts else "plain",
        source=ENGINE,
        label=run_label(fields),
        k=k,
        rounds=rounds,
        drafted=drafted,
        accepted=accepted,
        accepted_by_position=positions,
        tokens_per_round=per_round if drafts else None,
        temperature=temperature,
        derived=tuple(derived),
    )
    return served_speed(fields, findings).on(counters)


def _check(
    rounds: int | None,
    drafted: int | None,
    accepted: int | None,
    per_round: float | None,
    rate: float | None,
    rates: tuple[float, ...] | None,
    findings: Findings,
) -> None:
    if rounds and accepted is not None and per_round is not None and abs(1 + accepted / rounds - per_round) > 0.006:
        findings.contradict(
            f"The acceptance length is {per_round:.3f}, but 1 + {accepted:,} accepted ÷ {rounds:,} drafts is "
            f"{1 + accepted / rounds:.3f}.",
            "length",
        )
    if drafted and accepted is not None and rate is not None:
        counted = accepted / drafted
        if abs(rate / 100 - counted) <= 0.0006:
            pass
        elif abs(rate - counted) <= 0.0006:
            findings.note("percent", "The acceptance rate is a fraction here, where vLLM writes a percentage.")
        else:
            findings.contradict(
                f"The acceptance rate is {rate:.2f}%, but {accepted:,} accepted of {drafted:,} is {counted:.2%}.",
                "rate",
            )
    if accepted is not None and drafted is not None and accepted > drafted:
        findings.contradict(f"More drafts were accepted ({accepted:,}) than drafted ({drafted:,}).", "more")
    if rates and max(rates) > 1:
        findings.contradict("A per-position acceptance rate is above 1, though these are fractions.", "positions")
    elif rates and per_round is not None and abs(1 + sum(rates) - per_round) > 0.006 + 0.0006 * len(rates):
        findings.contradict(
            f"The per-position rates add up to {1 + sum(rates):.3f} tokens a round, the length is {per_round:.3f}.",
            "positions",
        )


IMPORTERS = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
