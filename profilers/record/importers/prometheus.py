"""A server's metrics text as samples with labels, and the counters of drafting in them, whatever the engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal, TypeAlias

from prometheus_client.parser import text_string_to_metric_families

from ..codec import LARGEST
from .counter_differences import Reset, differences
from .model_names import name_without_path
from .written_numbers import LINE_CHARACTERS

Engine: TypeAlias = Literal["vllm", "sglang", "llama.cpp"]
Labels: TypeAlias = tuple[tuple[str, str], ...]
Key: TypeAlias = tuple[str, Labels]

# a gateway may put a prefix before the name; some exporters replace the colon
_NAME = re.compile(r"^\{?\"?(?:[a-z][a-z0-9]*_)?(vllm|sglang|llamacpp)[:_]")
_ENGINE_BY_PREFIX: dict[str, Engine] = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama.cpp"}
# each of these runs the same batch, so only the lowest rank counts; engines and dp_rank have batches of their own
_SHARED_RANKS = ("tp_rank", "pp_rank", "moe_ep_rank", "attn_tp_rank", "attn_cp_rank")

_COUNTERS: dict[Engine, dict[str, str]] = {
    "vllm": {
        "rounds": "vllm:spec_decode_num_drafts_total",
        "drafted": "vllm:spec_decode_num_draft_tokens_total",
        "accepted": "vllm:spec_decode_num_accepted_tokens_total",
        "by_position": "vllm:spec_decode_num_accepted_tokens_per_pos_total",
        "emitted": "vllm:spec_decode_num_emitted_tokens_total",
        "generated": "vllm:generation_tokens_total",
        "prompt": "vllm:prompt_tokens_total",
        "decode_seconds": "vllm:request_decode_time_seconds_sum",
        "decoded": "vllm:request_generation_tokens_sum",
        "decodes": "vllm:request_generation_tokens_count",
    },
    "sglang": {
        "rounds": "sglang:spec_verify_calls_total",
        "generated": "sglang:generation_tokens_total",
        "prompt": "sglang:prompt_tokens_total",
    },
    "llama.cpp": {
        "rounds": "llamacpp:spec_decode_num_drafts_total",
        "drafted": "llamacpp:spec_decode_num_draft_tokens_total",
        "accepted": "llamacpp:spec_decode_num_accepted_tokens_total",
        "by_position": "llamacpp:spec_decode_num_accepted_tokens_per_pos_total",
        "generated": "llamacpp:tokens_predicted_total",
        "prompt": "llamacpp:prompt_tokens_total",
        "decode_seconds": "llamacpp:tokens_predicted_seconds_total",
        "decoded": "llamacpp:tokens_predicted_total",
    },
}
_GAUGES: dict[Engine, dict[str, str]] = {
    "vllm": {
        "running": "vllm:num_requests_running",
        "generated_per_second": "vllm:avg_generation_throughput_toks_per_s",
        "prompt_per_second": "vllm:avg_prompt_throughput_toks_per_s",
    },
    "sglang": {
        "running": "sglang:num_running_reqs",
        "generated_per_second": "sglang:gen_throughput",
        "tokens_per_round": "sglang:spec_accept_length",
        "acceptance_rate": "sglang:spec_accept_rate",
        "steps": "sglang:spec_num_steps",
        "positions": "sglang:spec_num_draft_tokens",
    },
    "llama.cpp": {
        "running": "llamacpp:requests_processing",
        "generated_per_second": "llamacpp:predicted_tokens_seconds",
        "prompt_per_second": "llamacpp:prompt_tokens_seconds",
    },
}
_ADDED_UP = {"running", "generated_per_second", "prompt_per_second"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one metric; `labels` are sorted by name, `time_s` is the Unix time beside it, rarely there."""

    name: str
    labels: Labels
    value: float
    time_s: float | None = None

    @property
    def key(self) -> Key:
        """What tells this value apart from the others of a text."""
        return self.name, self.labels


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCounters:
    """The counters of drafting of one engine, its workers added up; None is what it does not say.

    Counters: `rounds`, `drafted`, `accepted`, `accepted_by_position` (cumulative: rounds that kept at least i + 1),
    `generated` and `prompt_tokens`, `decoded` tokens in `decode_seconds` without prompts. vLLM's `decode_seconds` and
    `decoded` are of finished requests and add up what ran side by side, so they give the speed of one sequence.
    `emitted` is of vLLM before its rewrite. Gauges, of this moment: `running` requests, `generated_per_second` and
    `prompt_per_second` (llama.cpp: averages since the start), `tokens_per_round` (bonus included), `acceptance_rate`
    (of a kind that changed between versions), `steps` and `positions` of a draft. `workers` were added up.
    """

    engine: Engine
    workers: int = 1
    models: tuple[str, ...] = ()
    drafts: bool = False
    rounds: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    accepted_by_position: tuple[int, ...] | None = None
    emitted: int | None = None
    generated: int | None = None
    prompt_tokens: int | None = None
    decoded: int | None = None
    decode_seconds: float | None = None
    running: int | None = None
    generated_per_second: float | None = None
    prompt_per_second: float | None = None
    tokens_per_round: float | None = None
    acceptance_rate: float | None = None
    steps: int | None = None
    positions: int | None = None


def is_metric(line: str) -> bool:
    """Say whether a line of text is a sample of one of the engines."""
    return _NAME.match(line.lstrip()) is not None


def samples_of_line(line: str) -> tuple[Sample, ...] | None:
    """Return the samples of one line of text; None if it is damaged or its value is of no use (NaN, below zero)."""
    if len(line) > LINE_CHARACTERS:
        return None
    try:
        parsed = [
            (one.name, one.labels, float(one.value), None if one.timestamp is None else float(one.timestamp))
            for family in text_string_to_metric_families(line.strip() + "\n")
            for one in family.samples
        ]
    except Exception:
        # the parser meets damaged text with whatever its slicing runs into
        return None
    found = []
    for given, labels, value, time_s in parsed:
        if not isfinite(value) or not 0 <= value < LARGEST or not isfinite(time_s or 0):
            return None
        name = _NAME.sub(lambda match: f"{match[1]}:", given)
        found.append(Sample(name, tuple(sorted(labels.items())), value, time_s))
    return tuple(found) or None


def engine_of(samples: Iterable[Sample]) -> Engine | None:
    """Return whose samples these are, None if of none we know; a mixture is the one with most samples."""
    counts: dict[Engine, int] = {}
    for sample in samples:
        found = _ENGINE_BY_PREFIX.get(sample.name.partition(":")[0])
        if found is not None:
            counts[found] = counts.get(found, 0) + 1
    most = max(counts.values(), default=0)
    return next((engine for engine in counts if counts[engine] == most), None)


def matters(sample: Sample) -> bool:
    """Say whether `counters_of` makes use of a sample."""
    return sample.name in _USED


def counters_of(samples: Iterable[Sample], engine: Engine) -> EngineCounters:
    """Return the engine's counters and gauges, those of several workers added up, ranks of one worker counted once."""
    counters, gauges = _COUNTERS[engine], _GAUGES[engine]
    values: dict[str, dict[Labels, float]] = {}
    models: dict[str, None] = {}
    workers: dict[tuple[str | None, str | None], None] = {}
    for sample in _of_lowest_rank(samples):
        if sample.name in _USED:
            values.setdefault(sample.name, {})[sample.labels] = sample.value
            labels = dict(sample.labels)
            workers[labels.get("engine"), labels.get("dp_rank")] = None
            if "model_name" in labels:
                models[name_without_path(labels["model_name"])] = None

    def total(field: str) -> float | None:
        found = values.get(counters.get(field, ""))
        return sum(found.values()) if found else None

    def count(field: str) -> int | None:
        value = total(field)
        return None if value is None else min(round(value), LARGEST)

    def gauge(field: str) -> float | None:
        found = values.get(gauges.get(field, ""))
        if not found:
            return None
        # a worker without drafts shows a length of 0
        telling = [value for value in found.values() if value] or [0.0]
        return sum(found.values()) if field in _ADDED_UP else sum(telling) / len(telling)

    decodes, decoded = count("decodes"), count("decoded")
    steps, positions, per_round = gauge("steps"), gauge("positions"), gauge("tokens_per_round")
    return EngineCounters(
        engine=engine,
        workers=max(len(workers), 1),
        models=tuple(models),
        drafts=(
            bool(total("rounds") or per_round or positions)
            if engine == "sglang"
            else any(total(field) is not None for field in ("rounds", "drafted", "accepted"))
        ),
        rounds=count("rounds"),
        drafted=count("drafted"),
        accepted=count("accepted"),
        accepted_by_position=_by_position(values.get(counters.get("by_position", ""), {})),
        emitted=count("emitted"),
        generated=count("generated"),
        prompt_tokens=count("prompt"),
        # a request's first token comes from its prompt and is in no decode time
        decoded=None if decoded is None else max(decoded - (decodes or 0), 0),
        decode_seconds=total("decode_seconds"),
        running=None if (running := gauge("running")) is None else round(running),
        generated_per_second=gauge("generated_per_second"),
        prompt_per_second=gauge("prompt_per_second"),
        tokens_per_round=per_round,
        acceptance_rate=gauge("acceptance_rate"),
        steps=None if steps is None else round(steps),
        positions=None if positions is None else round(positions),
    )


def cumulative(samples: Iterable[Sample], engine: Engine) -> dict[Key, float]:
    """Return the samples that only grow, by name and labels, as `counter_differences.differences` takes them."""
    names = set(_COUNTERS[engine].values())
    return {sample.key: sample.value for sample in samples if sample.name in names}


def counted_between(before: Iterable[Sample], after: Iterable[Sample], engine: Engine) -> EngineCounters | Reset[Key]:
    """Return what was counted between two looks, with the gauges of the later one; Reset if the counters began anew."""
    after = tuple(after)
    grown = differences(cumulative(before, engine), cumulative(after, engine))
    if isinstance(grown, Reset):
        return grown
    names = set(_COUNTERS[engine].values())
    return counters_of(_grown_samples(after, grown, names), engine)


def _grown_samples(after: Iterable[Sample], grown: Mapping[Key, float], names: set[str]) -> Iterator[Sample]:
    for sample in after:
        if sample.name not in names:
            yield sample
        elif sample.key in grown:
            yield replace(sample, value=grown[sample.key])


def _of_lowest_rank(samples: Iterable[Sample]) -> Iterator[Sample]:
    lowest: dict[tuple[str, Labels], tuple[tuple[str, ...], Sample]] = {}
    for sample in samples:
        labels = dict(sample.labels)
        ranks = tuple(labels.get(name, "").rjust(8, "0") for name in _SHARED_RANKS)
        alike = sample.name, tuple(pair for pair in sample.labels if pair[0] not in _SHARED_RANKS)
        if alike not in lowest or ranks <= lowest[alike][0]:
            lowest[alike] = ranks, sample
    return (sample for _, sample in lowest.values())


def _by_position(values: Mapping[Labels, float]) -> tuple[int, ...] | None:
    totals: dict[int, float] = {}
    for labels, value in values.items():
        position = dict(labels).get("position", "")
        if position.isascii() and position.isdecimal() and len(position) < 4:
            totals[int(position)] = totals.get(int(position), 0) + value
    if not totals or set(totals) != set(range(len(totals))):
        # with a position missing the others cannot be told to be in their places
        return None
    return tuple(min(round(totals[position]), LARGEST) for position in range(len(totals)))


_USED = {name for table in (_COUNTERS, _GAUGES) for names in table.values() for name in names.values()}
