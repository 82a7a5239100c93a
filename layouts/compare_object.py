"""A comparison as one JSON object: every number raw, its unit in its name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..profilers.judge.comparison.comparing import Compared, Side
from ..profilers.judge.comparison.effects import Effect
from ..profilers.judge.comparison.gate import Gate
from ..profilers.judge.comparison.measures import Change
from ..profilers.judge.comparison.split import Part, Split
from .compare_words import sentences

SCHEMA = 1


def compare_object(compared: Sequence[Compared], letters: Sequence[str], gates: Sequence[Gate] = ()) -> dict[str, Any]:
    """The base, every other session against it, and the answers to `--fail-if-slower` where that was asked."""
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "base": _side(compared[0].base),
        "others": [_compared(each, letter) for each, letter in zip(compared, letters, strict=True)],
    }
    if gates:
        found["gates"] = [_gate(each, letter) for each, letter in zip(gates, letters, strict=True)]
    return found


def _side(side: Side) -> dict[str, Any]:
    setting, ledger = side.setting, side.ledger
    return {
        "name": side.name,
        "drafter": None if setting is None else setting.drafter,
        "k": None if setting is None else setting.k,
        "rule": None if setting is None else setting.rule,
        "verdict": None if ledger is None else ledger.verdict.kind,
        "why_no_ledger": side.why_not or None,
        "doubts": list(side.doubts),
    }


def _compared(compared: Compared, letter: str) -> dict[str, Any]:
    split = compared.split
    return {
        "letter": letter,
        **_side(compared.other),
        "sentences": ["".join(span.text for span in each) for each in sentences(compared, letter)],
        "headline_given": not compared.doubts,
        "doubts": list(compared.doubts),
        "cautions": list(compared.cautions),
        "differences": [
            {"fact": d.fact, "base": d.base or None, "other": d.other or None, "standing": d.standing}
            for d in compared.differences
        ],
        "intervals_over": compared.scope,
        "paired": compared.paired,
        "units": list(compared.units),
        "shared_prompts": compared.shared,
        "quantities": {each.key: _change(each) for each in compared.changes},
        "wider_passes_ms": compared.wider_ms,
        "dearer_passes_ms": compared.dearer_ms,
        "split": None if split is None else _split(split),
    }


def _change(change: Change) -> dict[str, Any]:
    found: dict[str, Any] = {
        "base": change.base,
        "other": change.other,
        **_effect("difference", change.difference),
        "finding": change.finding,
        "ruler": change.ruler or None,
    }
    effect = change.log_ratio
    if effect is not None:
        found |= {
            "ratio": math.exp(effect.estimate),
            "ratio_low": None if effect.low is None else _exp(effect.low),
            "ratio_high": None if effect.high is None else _exp(effect.high),
            "smallest_visible_fraction": None if effect.visible is None else _exp(effect.visible) - 1,
        }
    return found


def _split(split: Split) -> dict[str, Any]:
    return {
        "base_ms_per_token": split.base_token_ms,
        "other_ms_per_token": split.other_token_ms,
        **_effect("change_ms_per_token", split.token_ms),
        **_effect("change_log_speed", split.log_speed),
        "finding": split.log_speed.finding,
        "parts": [_part(each) for each in split.parts],
        **_effect("decode_log_speedup", split.decode),
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "part": part.key,
        "name": part.name,
        "level": part.level,
        "ruler": part.ruler or None,
        "base_ms_per_round": part.base_ms,
        "other_ms_per_round": part.other_ms,
        **_effect("change_ms_per_token", part.token_ms),
        **_effect("change_log_speed", part.log_speed),
        "finding": part.log_speed.finding,
    }


def _gate(gate: Gate, letter: str) -> dict[str, Any]:
    return {
        "letter": letter,
        "quantity": gate.quantity,
        "limit_fraction": gate.limit_fraction,
        "outcome": gate.outcome,
        "sentence": gate.sentence,
        "change_fraction": gate.change_fraction,
        "change_low_fraction": gate.low_fraction,
        "change_high_fraction": gate.high_fraction,
    }


def _effect(name: str, effect: Effect | None) -> dict[str, Any]:
    if effect is None:
        return {name: None}
    return {name: effect.estimate, f"{name}_low": effect.low, f"{name}_high": effect.high}


def _exp(value: float) -> float:
    return math.exp(min(value, 300.0))
