"""`meta_info` of SGLang's responses: the rounds of each request, checked against each other."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from ..records import Counters
from .findings import Findings
from .imported import Imported, Importer, ImportFailed, Tally
from .json_documents import documents
from .model_names import name_without_path
from .object_fields import Fields, count_loose, objects_with
from .served_counters import about_rate
from .stretches import Stretches

FORM = "SGLang responses"
ENGINE = "sglang"

_MARK = "spec_verify_ct"
# the names changed with the versions; the first that is there holds
_CORRECT = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num", "spec_accepted_tokens")
_PROPOSED = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")
_HISTOGRAM = ("spec_correct_drafts_histogram", "spec_accept_histogram", "spec_acceptance_histogram")
_KNOWN = {_MARK, "spec_accept_rate", "spec_accept_length", *_CORRECT, *_PROPOSED, *_HISTOGRAM}
_OTHER = ("spec_cap", "spec_block", "spec_num_cap", "spec_num_block", "spec_proposed_drafts_histogram")
_IN_FLIGHT = 1024
_LONGEST = 1024
_CLOSE = 0.006


def likely(head: str) -> float:
    """Say how likely a text holds responses of SGLang with speculative counts."""
    if f'"{_MARK}"' in head:
        return 0.95
    return 0.4 if '"meta_info"' in head and '"completion_tokens"' in head else 0.0


def read(lines: Iterable[str]) -> Imported:
    """Return one stretch a request; of a streamed one the last piece holds, because its counts include the others."""
    tally, findings, stretches = Tally(), Findings(), Stretches()
    models: dict[str, None] = {}
    streams: OrderedDict[str, Fields] = OrderedDict()
    for found in documents(lines):
        if found.value is None:
            count_loose(found, tally)
            continue
        here = list(_metas(found.value))
        if isinstance(found.value.get("model"), str):
            models[name_without_path(found.value["model"])] = None
        if not here:
            tally.ignore()
        for values in here:
            fields = Fields(values)
            name = values.get("id")
            if isinstance(name, str) and found.event:
                if name in streams:
                    tally.ignore()
                streams[name] = fields
                streams.move_to_end(name)
                if len(streams) > _IN_FLIGHT:
                    stretches.add(_request(streams.popitem(last=False)[1], tally, findings))
            else:
                stretches.add(_request(fields, tally, findings))
    for fields in streams.values():
        stretches.add(_request(fields, tally, findings))
    counters = stretches.all()
    if not counters:
        raise ImportFailed(
            "No response here has SGLang's meta_info; save the responses of its /generate endpoint, one a line."
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


def _metas(value: dict[str, Any]) -> Iterable[dict[str, Any]]:
    seen = False
    for values, _ in objects_with(value, _MARK):
        seen = True
        yield values
    if not seen:
        # plain requests have no verify calls, and are the baseline
        for outer, _ in objects_with(value, "meta_info"):
            meta = outer["meta_info"]
            if isinstance(meta, dict) and "completion_tokens" in meta:
                yield meta


def _request(fields: Fields, tally: Tally, findings: Findings) -> Counters:
    rounds = fields.count(_MARK)
    accepted, drafted = _first(fields, _CORRECT), _first(fields, _PROPOSED)
    per_round, rate = fields.number("spec_accept_length"), fields.number("spec_accept_rate")
    tokens, seconds = fields.count("completion_tokens"), fields.number("e2e_latency")
    speed = fields.number("decode_throughput")
    histogram = next((fields.counts(name) for name in _HISTOGRAM if fields.values.get(name)), None)
    if histogram and len(histogram) > _LONGEST:
        fields.wrong.append(f"a histogram of {len(histogram):,} entries")
        histogram = None
    fields.wrong += [
        f"{name}: {str(value)[:80]}"
        for name, value in fields.values.items()
        if name.startswith("spec_") and name not in _KNOWN and not name.startswith(_OTHER)
    ]
    fields.settle(tally)
    drafts = bool(rounds)
    derived: list[str] = []
    _check(rounds, accepted, drafted, histogram, tokens, per_round, rate, findings)
    positions, k = None, None
    if histogram and rounds and sum(histogram) == rounds:
        positions = tuple(sum(histogram[kept:]) for kept in range(1, len(histogram)))
        derived.append("accepted_by_position")
    if rounds and drafted and drafted % rounds == 0:
        k = drafted // rounds
        derived.append("k")
    if rounds and accepted is not None:
        counted = 1 + accepted / rounds
        if per_round is None or abs(per_round - counted) > _CLOSE:
            per_round = counted
            derived.append("tokens_per_round")
    elapsed_ns = None
    if speed is None and tokens and seconds and seconds < 1e9:
        elapsed_ns, speed = round(seconds * 1e9), tokens / seconds
        derived.append("tokens_per_second")
        findings.note("prompt_time", "Speeds are tokens by the latency of whole requests: prompt time is inside.")
    return Counters(
        t_ns=0,
        arm="drafting" if drafts else "plain",
        source=ENGINE,
        k=k,
        rounds=rounds if drafts else None,
        drafted=drafted if drafts else None,
        accepted=accepted if drafts else None,
        accepted_by_position=positions or None,
        tokens=tokens,
        elapsed_ns=elapsed_ns,
        tokens_per_second=speed,
        tokens_per_round=per_round if drafts else None,
        derived=tuple(derived),
    )


def _first(fields: Fields, names: tuple[str, ...]) -> int | None:
    return next((fields.count(name) for name in names if name in fields.values), None)


def _check(
    rounds: int | None,
    accepted: int | None,
    drafted: int | None,
    histogram: tuple[int, ...] | None,
    tokens: int | None,
    per_round: float | None,
    rate: float | None,
    findings: Findings,
) -> None:
    if accepted is not None and drafted is not None and accepted > drafted:
        findings.contradict(f"More drafts were right ({accepted:,}) than proposed ({drafted:,}).", "more")
    if histogram and accepted is not None:
        kept = sum(drafts * count for drafts, count in enumerate(histogram))
        if kept != accepted:
            findings.contradict(f"The histogram holds {kept:,} right drafts, the total says {accepted:,}.", "histogram")
    if histogram and rounds is not None and sum(histogram) != rounds:
        findings.contradict(
            f"The histogram holds {sum(histogram):,} verify calls, spec_verify_ct says {rounds:,}.", "calls"
        )
    if rounds and per_round is not None:
        by_drafts = None if accepted is None else 1 + accepted / rounds
        by_tokens = None if tokens is None else tokens / rounds
        fits = [value for value in (by_drafts, by_tokens) if value is not None]
        if fits and all(abs(value - per_round) > _CLOSE for value in fits):
            findings.contradict(
                f"spec_accept_length is {per_round:.3f}, but the counts make it {fits[0]:.3f}.", "length"
            )
        elif by_drafts is not None and abs(by_drafts - per_round) > _CLOSE:
            findings.note(
                "kind",
                "spec_accept_length is tokens ÷ verify calls, the first token from the prompt included; tokens per "
                "round are taken from the drafts instead.",
            )
    if drafted and accepted is not None and rate is not None and abs(accepted / drafted - rate) > _CLOSE:
        if rounds and per_round and abs(rate - per_round / (drafted / rounds + 1)) <= _CLOSE:
            about_rate(rate, per_round, round(drafted / rounds) + 1, findings)
        else:
            findings.contradict(
                f"spec_accept_rate is {rate:.3f}, but {accepted:,} right of {drafted:,} proposed is "
                f"{accepted / drafted:.3f}.",
                "rate",
            )


IMPORTERS = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
