"""The facts of one benchmark, checked: numbers from an article, a thread or a server, and their units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..acceptance import AcceptanceKind
from . import checks
from .cautions import Notes
from .engine_fields import flattened, tally_of
from .reading import FactsError, shown
from .tally import Tally

WHOLE_GRAPH, BLOCK_SUM = "whole_graph", "block_sum"
FLAT = "flat"
RULES = ("greedy", "exact_match", "rejection")
UNSAID = ("unknown", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceFacts:
    """Acceptance as it was published: a value or positions with their kind (None where it was not said).

    `mean_accepted` is drafts accepted a round; counts are tokens, rounds are rounds.
    """

    kind: AcceptanceKind | None = None
    value: float | None = None
    positions: tuple[float, ...] = ()
    mean_accepted: float | None = None
    accepted: int | None = None
    drafted: int | None = None
    rounds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """A mixture of experts: how many there are, how many one position uses, and the position counts asked for."""

    experts: int
    active: int
    positions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was published; None or empty where nothing was. Times in ms, speeds in tok/s.

    Several numbers for a speed are repeated runs. `verify_ms` is by number of positions; `flat` says that every width
    costs one decode step. `k_listed` says that k was a list.
    """

    decode_ms: tuple[float, ...] = ()
    decode_tps: tuple[float, ...] = ()
    decode_tps_first: float | None = None
    verify_ms: Mapping[int, float]
    flat: bool = False
    verify_ruler: str = WHOLE_GRAPH
    verify_passes: float | None = None
    block_sum_ms: float | None = None
    wall_ms: float | None = None
    draft_ms: float | None = None
    draft_step_ms: float | None = None
    overhead_ms: float | None = None
    round_ms: float | None = None
    speculative_tps: tuple[float, ...] = ()
    speculative_ms_per_token: tuple[float, ...] = ()
    k: tuple[int, ...] = ()
    k_listed: bool = False
    tokens_per_round: float | None = None
    acceptance: AcceptanceFacts
    temperature: float | None = None
    rule: str | None = None
    content: str | None = None
    moe: Experts | None = None
    tally: Tally


_ONE: Mapping[str, Callable[[str, Any], Any]] = {
    "decode_ms": checks.runs,
    "decode_tps": checks.runs,
    "decode_tps_first": checks.above_zero,
    "verify_ruler": lambda name, value: checks.one_of(name, value, (WHOLE_GRAPH, BLOCK_SUM)),
    "verify_passes": checks.above_zero,
    "block_sum_ms": checks.above_zero,
    "wall_ms": checks.above_zero,
    "draft_ms": checks.number,
    "draft_step_ms": checks.number,
    "overhead_ms": checks.number,
    "round_ms": checks.above_zero,
    "speculative_tps": checks.runs,
    "speculative_ms_per_token": checks.runs,
    "tokens_per_round": checks.number,
    "temperature": checks.number,
    "rule": checks.text,
    "content": checks.text,
}
FIELDS = frozenset({*_ONE, "verify_ms", "k", "acceptance", "moe"})
ACCEPTANCE_FIELDS = ("kind", "value", "positions", "mean_accepted", "accepted", "drafted", "rounds")
MOE_FIELDS = ("experts", "active", "positions")


def facts_of(given: Mapping[str, Any], notes: Notes) -> Facts:
    """Check a parsed object of facts; a null counts as not given. Raises FactsError, notes unknown fields."""
    flat = {name: value for name, value in flattened(given).items() if value is not None}
    tally, engine_names = tally_of({n: v for n, v in flat.items() if n not in FIELDS}, notes)
    unknown = [name for name in flat if name not in FIELDS and name not in engine_names]
    _unknown(unknown, "", notes)
    if len(unknown) == len(flat):
        raise FactsError(
            "There is nothing to judge: no known fact is given, such as decode_tps, round_ms, k or acceptance."
        )
    checked = {name: read(name, flat[name]) for name, read in _ONE.items() if name in flat}
    verify, is_flat = _verify(flat.get("verify_ms"))
    k, listed = _draft_lengths(flat["k"]) if "k" in flat else ((), False)
    return Facts(
        **checked,
        verify_ms=verify,
        flat=is_flat,
        k=k,
        k_listed=listed,
        acceptance=_acceptance(flat.get("acceptance"), notes),
        moe=_experts(flat["moe"], notes) if "moe" in flat else None,
        tally=tally,
    )


def _verify(value: Any) -> tuple[Mapping[int, float], bool]:
    if value is None:
        return {}, False
    if isinstance(value, str):
        checks.one_of("verify_ms", value, (FLAT,))
        return {}, True
    if not isinstance(value, dict):
        raise FactsError('verify_ms is by number of positions, such as {"2": 21.0}, or "flat".')
    found = {checks.width("verify_ms", key): checks.above_zero("verify_ms", ms) for key, ms in value.items()}
    return dict(sorted(found.items())), False


def _draft_lengths(value: Any) -> tuple[tuple[int, ...], bool]:
    found = {checks.whole("k", k, 0, checks.LONGEST_DRAFT) for k in checks.items("k", value, checks.MOST_DRAFT_LENGTHS)}
    return tuple(sorted(found)), isinstance(value, list)


def _acceptance(value: Any, notes: Notes) -> AcceptanceFacts:
    if value is None:
        return AcceptanceFacts()
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = {"value": value}
    given = {name: item for name, item in checks.table("acceptance", value).items() if item is not None}
    _unknown([name for name in given if name not in ACCEPTANCE_FIELDS], "acceptance.", notes)
    kind = _kind(given.get("kind"))
    mean = given.get("mean_accepted")
    if kind is AcceptanceKind.MEAN_ACCEPTED and mean is None:
        mean = given.pop("value", None)
    positions: tuple[float, ...] = ()
    if "positions" in given:
        many = checks.items("acceptance.positions", given["positions"], checks.LONGEST_DRAFT)
        positions = tuple(_fraction("acceptance.positions", item, notes) for item in many)
        if kind not in (None, AcceptanceKind.CUMULATIVE, AcceptanceKind.CONDITIONAL):
            raise FactsError(f"Acceptance of the kind {kind} is one number, not one by position.")
        if kind is None and len(positions) > 1:
            raise FactsError("acceptance.positions needs a kind: cumulative or conditional.")
    if kind is AcceptanceKind.CUMULATIVE and not positions and "value" in given:
        raise FactsError("Cumulative acceptance is by position: give acceptance.positions, one number for each draft.")
    share = _fraction("acceptance.value", given["value"], notes) if "value" in given else None
    if kind is AcceptanceKind.ACCEPTED_PER_GENERATED and share == 1:
        raise FactsError("Accepted ÷ generated stays below 1: the target adds a token every round.")
    return AcceptanceFacts(
        kind=kind,
        value=share,
        positions=positions,
        mean_accepted=checks.number("acceptance.mean_accepted", mean) if mean is not None else None,
        **{
            name: checks.whole(f"acceptance.{name}", given[name])
            for name in ("accepted", "drafted", "rounds")
            if name in given
        },
    )


def _kind(value: Any) -> AcceptanceKind | None:
    if value is None or value in UNSAID:
        return None
    return AcceptanceKind(checks.one_of("acceptance.kind", value, tuple(AcceptanceKind)))


def _fraction(name: str, value: Any, notes: Notes) -> float:
    found = checks.number(name, value, 0.0, 100.0)
    if found <= 1:
        return found
    if found < 2:
        raise FactsError(
            f"{name} is {found:g}, no share of 1 and hardly a percentage; drafts accepted a round are mean_accepted."
        )
    notes.warn("percent_rate", f"{name} is {found:g}, read as {found:g}%.")
    return found / 100


def _experts(value: Any, notes: Notes) -> Experts:
    given = checks.table("moe", value)
    _unknown([name for name in given if name not in MOE_FIELDS], "moe.", notes)
    if "experts" not in given or "active" not in given:
        raise FactsError("moe needs experts and active: how many there are and how many a position uses.")
    experts = checks.whole("moe.experts", given["experts"], 1, 1_000_000)
    active = checks.whole("moe.active", given["active"], 1, 1_000_000)
    if active > experts:
        raise FactsError(f"moe.active is {active}, more than the {experts} experts there are.")
    positions = given.get("positions")
    asked = [] if positions is None else checks.items("moe.positions", positions, checks.LONGEST_DRAFT)
    return Experts(
        experts=experts,
        active=active,
        positions=tuple(checks.whole("moe.positions", n, 0, checks.MOST_COUNTED) for n in asked),
    )


def _unknown(names: list[str], where: str, notes: Notes) -> None:
    for name in names[:8]:
        notes.warn("unknown_fact", f"{where}{shown(name)} is not a fact known here and was not used.")
    if len(names) > 8:
        notes.warn("unknown_fact", f"{len(names) - 8} more fields are not known here and were not used.")
