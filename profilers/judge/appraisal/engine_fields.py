"""The raw fields of llama.cpp, vLLM, SGLang and MLX engines, as their servers print them, as one tally.

Names are matched leniently: without the engine's prefix, labels and `_total`. Source of the names: the engines'
servers as read in 2026; docs/judge.md lists them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from . import checks
from .cautions import ROUNDING, Notes, agree
from .reading import FactsError
from .tally import Tally, histogram_of

COUNTS = {
    "rounds": (
        *("rounds", "num_spec_steps", "spec_decode_num_drafts", "spec_verify_ct", "spec_verify_calls"),
        *("cycles", "verify_calls"),
    ),
    "drafted": (
        *("drafted", "num_draft_tokens", "draft_n", "n_drafted", "spec_decode_num_draft_tokens"),
        *("spec_decode_draft_tokens", "spec_num_proposed_drafts", "spec_draft_token_num"),
    ),
    "accepted": (
        *("accepted", "num_accepted_draft_tokens", "draft_n_accepted", "n_accept", "spec_decode_num_accepted_tokens"),
        *("spec_decode_accepted_tokens", "spec_num_correct_drafts", "spec_accept_token_num", "accepted_from_draft"),
    ),
    "generated": ("predicted_n", "completion_tokens"),
    "k": ("num_spec_tokens", "num_speculative_tokens", "n_draft"),
    # positions a round, one more than drafts
    "width": ("spec_num_draft_tokens", "speculative_num_draft_tokens"),
}
MEAN_LENGTHS = (
    *("mean_acceptance_length", "spec_decode_acceptance_length", "spec_accept_length", "acc_length"),
    *("tokens_per_cycle", "mean_len", "acceptance_length", "accept_length"),
)
SHARES_PER_DRAFT = ("draft_acceptance_rate", "spec_accept_rate", "draft_acceptance")
PERCENTAGES_PER_DRAFT = ("spec_decode_acceptance_rate", "accept")
SHARES_PER_GENERATED = ("acceptance_ratio",)
CUMULATIVE = ("spec_decode_per_position_acceptance_rates", "per_position_acceptance_rate", "acc_per_pos")
ACCEPTED_AT = ("spec_decode_num_accepted_tokens_per_pos", "accepted_by_depth")
DRAFTED_AT = ("drafted_by_depth",)
HISTOGRAMS = ("acceptance_histogram", "spec_correct_drafts_histogram")
PER_STEP = ("per_step_accepted", "per_step_drafted")
ELAPSED_MS = {"predicted_ms": 1.0, "decode_elapsed_s": 1000.0}
MS_PER_TOKEN = ("predicted_per_token_ms", "mean_tpot_ms")
# The last counts prompts in, so it comes last.
SPEEDS = ("predicted_per_second", "generation_tps", "decode_tok_s", "gen_throughput", "speed", "output_throughput")
CONCURRENCY = ("max_concurrency", "batch_size")
NESTED = ("timings", "meta_info")
UNUSED = frozenset(
    {
        *("cache_n", "prompt_n", "prompt_ms", "prompt_per_token_ms", "prompt_per_second", "prompt_tps", "peak_memory"),
        *("n_predict", "topk", "steps", "step_time", "spec_num_steps", "ttft_ms", "mean_ttft_ms"),
        *("phase_timings_us", "draft_time_s", "verify_time_s", "accept_time_s", "engine", "model_name", "e2e_latency"),
        *("id", "finish_reason", "prompt_tokens", "cached_tokens"),
    }
)
_PREFIX = re.compile(r"^(?:vllm|llamacpp|sglang):")
_LABELS = re.compile(r"\{[^}]*\}$")
_POSITION = re.compile(r'position="(\d{1,4})"')


def known_fields() -> frozenset[str]:
    """Every raw name that is read or knowingly left unread, without prefix, labels and `_total`."""
    counted = [name for names in COUNTS.values() for name in names]
    return frozenset(
        {
            *counted,
            *(MEAN_LENGTHS + SHARES_PER_DRAFT + PERCENTAGES_PER_DRAFT + SHARES_PER_GENERATED + CUMULATIVE),
            *(
                ACCEPTED_AT
                + DRAFTED_AT
                + HISTOGRAMS
                + PER_STEP
                + tuple(ELAPSED_MS)
                + MS_PER_TOKEN
                + SPEEDS
                + CONCURRENCY
                + NESTED
            ),
            *UNUSED,
        }
    )


def plain_name(name: str) -> str:
    """A raw name without the engine's prefix, labels and `_total`."""
    return _LABELS.sub("", _PREFIX.sub("", name)).removesuffix("_total")


def flattened(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts with the objects that servers wrap their counters in laid open."""
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        if name in NESTED and value is not None:
            for inner, raw in checks.table(name, value).items():
                if inner in flat or inner in facts:
                    raise FactsError(f"The facts name {inner[:60]!r} twice, once inside {name}; keep one.")
                flat[inner] = raw
        else:
            flat[name] = value
    return flat


def tally_of(facts: Mapping[str, Any], notes: Notes) -> tuple[Tally, frozenset[str]]:
    """The counts among raw facts, and the names that were understood; raises FactsError for wrong values."""
    known = known_fields()
    names = {n for n in facts if plain_name(n) in known or n.endswith("_created")}
    raw = _gathered({name: facts[name] for name in names if facts[name] is not None and not name.endswith("_created")})
    counts = {slot: _first_count(raw, slot_names, notes) for slot, slot_names in COUNTS.items()}
    if "acc_length" in raw:  # SGLang's benchmark calls positions a round num_draft_tokens
        counts["width"], counts["drafted"] = counts["drafted"], None
    k = counts["k"]
    if k is None and counts["width"]:
        k = counts["width"] - 1
    histogram = _histogram(raw)
    if steps := raw.get("per_step_accepted"):
        accepted = [checks.whole("per_step_accepted", v, 0, 1024) for v in checks.items("per_step_accepted", steps)]
        histogram = histogram or histogram_of(accepted)
    if (steps := raw.get("per_step_drafted")) and counts["drafted"] is None:
        counts["drafted"] = sum(checks.whole("per_step_drafted", v, 0, 1024) for v in checks.items("drafted", steps))
    if "drafted_by_depth" in raw and counts["drafted"] is None:
        depths = _listed("drafted_by_depth", raw["drafted_by_depth"])
        counts["drafted"] = sum(checks.whole("drafted_by_depth", v) for v in depths)
    return (
        Tally(
            rounds=counts["rounds"],
            drafted=counts["drafted"],
            accepted=counts["accepted"],
            generated=counts["generated"],
            tokens_per_round=_mean_length(raw),
            per_draft=_rate(raw),
            per_generated=_first_share(raw, SHARES_PER_GENERATED),
            positions=_shares(raw),
            accepted_at=_accepted_at(raw),
            histogram=histogram,
            k=checks.whole("k", k, 0, checks.LONGEST_DRAFT) if k is not None else None,
            width=counts["width"],
            ms_per_token=_ms_per_token(raw, counts["generated"], notes),
            concurrency=_first(raw, CONCURRENCY),
        ),
        frozenset(names),
    )


def _gathered(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Plain names; counters that come once for each position become lists, and others with labels are added up."""
    raw: dict[str, Any] = {}
    for name, value in facts.items():
        plain = plain_name(name)
        at = _POSITION.search(name)
        if at:
            by_position = raw.setdefault(plain, {})
            checks.table(name, by_position)
            key = at.group(1)
            by_position[key] = by_position.get(key, 0) + checks.whole(name, value)
        elif plain in raw and name.endswith("}"):
            raw[plain] = checks.number(name, raw[plain], most=checks.MOST_COUNTED) + checks.number(
                name, value, most=checks.MOST_COUNTED
            )
        else:
            raw[plain] = value
    return raw


def _first_count(raw: Mapping[str, Any], names: tuple[str, ...], notes: Notes) -> int | None:
    found = [(name, checks.whole(name, raw[name])) for name in names if name in raw]
    for name, value in found[1:]:
        if not agree(value, found[0][1], ROUNDING):
            notes.warn("contradictory_facts", f"{found[0][0]} is {found[0][1]} and {name} is {value}.")
    return found[0][1] if found else None


def _first(raw: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    return next((checks.above_zero(name, raw[name]) for name in names if name in raw), None)


def _first_share(raw: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    return next((checks.share(name, raw[name]) for name in names if name in raw), None)


def _rate(raw: Mapping[str, Any]) -> float | None:
    fraction = _first_share(raw, SHARES_PER_DRAFT)
    if fraction is not None:
        return fraction
    if "spec_decode_acceptance_rate" in raw:
        return checks.number("spec_decode_acceptance_rate", raw["spec_decode_acceptance_rate"], 0, 100) / 100
    return checks.number("accept", raw["accept"], 0, 100) / 100 if _accept_is_percentage(raw) else None


def _mean_length(raw: Mapping[str, Any]) -> float | None:
    found = _first(raw, MEAN_LENGTHS)
    if found is None and "accept" in raw and not _accept_is_percentage(raw):
        return checks.above_zero("accept", raw["accept"])
    return found


def _accept_is_percentage(raw: Mapping[str, Any]) -> bool:
    """llama-speculative prints `accept` as a percentage beside its counts; mlx-dspark as a mean length alone."""
    return "accept" in raw and ("n_accept" in raw or "n_drafted" in raw)


def _shares(raw: Mapping[str, Any]) -> tuple[float, ...]:
    for name in CUMULATIVE:
        if name in raw:
            return tuple(checks.share(name, value) for value in _listed(name, raw[name]))
    return ()


def _accepted_at(raw: Mapping[str, Any]) -> tuple[int, ...]:
    for name in ACCEPTED_AT:
        if name in raw:
            return tuple(checks.whole(name, value) for value in _listed(name, raw[name]))
    return ()


def _histogram(raw: Mapping[str, Any]) -> tuple[int, ...]:
    for name in HISTOGRAMS:
        if name in raw:
            return tuple(checks.whole(name, value) for value in _listed(name, raw[name]))
    return ()


def _listed(name: str, value: Any) -> list[Any]:
    """A list, or an object by position ("0", "1", …) as one, with 0 where a position is left out."""
    if isinstance(value, list):
        return checks.items(name, value, checks.LONGEST_DRAFT + 1)
    by_position = checks.table(name, value)
    wrong = [key for key in by_position if not (key.isascii() and key.isdigit() and len(key) <= 4)]
    if wrong or not by_position:
        raise FactsError(f"{name} must be a list, or an object by position from 0.")
    last = max(map(int, by_position))
    if last > checks.LONGEST_DRAFT:
        raise FactsError(f"{name} names position {last}; drafts longer than {checks.LONGEST_DRAFT} make no sense.")
    found = {int(key): item for key, item in by_position.items()}
    return [found.get(i, 0) for i in range(last + 1)]


def _ms_per_token(raw: Mapping[str, Any], generated: int | None, notes: Notes) -> float | None:
    """End-to-end ms per token: total ÷ tokens, else per token as printed, else from a speed."""
    found: list[tuple[str, float]] = []
    for name, ms in ELAPSED_MS.items():
        if name in raw and generated:
            found.append((name, checks.above_zero(name, raw[name]) * ms / generated))
    found += [(name, checks.above_zero(name, raw[name])) for name in MS_PER_TOKEN if name in raw]
    found += [(name, 1000 / checks.above_zero(name, raw[name])) for name in SPEEDS if name in raw]
    for name, value in found[1:]:
        # Throughput counts prompts and requests side by side, so it may differ from the time of one token.
        if name != "output_throughput" and not agree(value, found[0][1]):
            notes.warn(
                "contradictory_facts",
                f"{found[0][0]} gives {found[0][1]:.3g} ms per token and {name} gives {value:.3g}.",
            )
    return found[0][1] if found else None
