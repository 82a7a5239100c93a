"""What differs between where and how two sessions were measured, and whether that forbids comparing them unasked.

A difference is *unlike* where it makes another machine or another model of it, a *change* where it is what people
compare on purpose (drafter, k, rule, MLX), and *told* where it seldom matters. What one of the two does not say is
told too: it may or may not differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ....engine.errors import SpecviewError
from ...record.records import Environment, Header, ModelFacts
from ..visits import Setting

Standing = Literal["unlike", "change", "told"]
NOT_SAID = ("", "unknown", "none", "None")


class UnlikeError(SpecviewError):
    """Sessions that must not be compared unless that is asked for; the text names what differs, `differences` all."""

    def __init__(self, text: str, found: tuple[Difference, ...] = ()) -> None:
        super().__init__(text)
        self.differences = found


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One fact that is not the same in both sessions; an empty text is one that a session does not say."""

    fact: str
    base: str
    other: str
    standing: Standing


def differences(
    base: Header, other: Header, base_setting: Setting | None, other_setting: Setting | None
) -> tuple[Difference, ...]:
    """Every fact of machine, model, drafts and software that differs, those that forbid a comparison first."""
    found = [
        *_machine(base.environment, other.environment),
        *_model(base.model, other.model),
        *_drafts(base, other, base_setting, other_setting),
        *_software(base, other),
        *_told(base.environment, other.environment),
    ]
    return in_order(found)


def in_order(found: Iterable[Difference]) -> tuple[Difference, ...]:
    """Those that forbid a comparison first, then those that are compared, then those that are only told."""
    order = {"unlike": 0, "change": 1, "told": 2}
    return tuple(sorted(found, key=lambda each: order[each.standing]))


def unlike(found: Iterable[Difference]) -> tuple[Difference, ...]:
    """The differences that forbid a comparison unless it is asked for."""
    return tuple(each for each in found if each.standing == "unlike")


def told(difference: Difference, base: str = "A", other: str = "B") -> str:
    """A difference in words: `chip Apple M1 Max in A, Apple M3 in B`."""
    left, right = difference.base or "not said", difference.other or "not said"
    return f"{difference.fact} {left} in {base}, {right} in {other}"


def _machine(base: Environment, other: Environment) -> list[Difference]:
    return _compared(
        ("chip", base.chip, other.chip, "unlike"),
        ("system", _family(base.os), _family(other.os), "unlike"),
        ("device", base.device, other.device, "unlike"),
        ("BLAS", base.blas, other.blas, "unlike"),
        ("power", base.power, other.power, "unlike"),
    )


def _model(base: ModelFacts, other: ModelFacts, whose: str = "", standing: Standing = "unlike") -> list[Difference]:
    return _compared(
        (f"{whose}model", base.id, other.id, standing),
        (f"{whose}architecture", base.architecture, other.architecture, standing),
        (f"{whose}layers", _layers(base), _layers(other), standing),
        (f"{whose}quantisation", _stored(base), _stored(other), standing),
        (f"{whose}dtype", base.dtype, other.dtype, standing),
        (f"{whose}parameters", _number(base.parameters), _number(other.parameters), standing),
        (f"{whose}vocabulary", _number(base.vocabulary), _number(other.vocabulary), standing),
        (f"{whose}tokenizer", base.tokenizer_hash, other.tokenizer_hash, standing),
        (f"{whose}weights", _weights(base), _weights(other), standing),
    )


def _drafts(base: Header, other: Header, before: Setting | None, after: Setting | None) -> list[Difference]:
    found: list[Difference] = []
    if before is not None and after is not None:
        found += _compared(
            ("drafter", before.drafter, after.drafter, "change"),
            ("k", str(before.k), str(after.k), "change"),
            ("draft length", _adaptive(before), _adaptive(after), "change"),
            ("rule", before.rule, after.rule, "change"),
            ("sampling", _sampling(before), _sampling(after), "change"),
            ("verify policy", before.policy or "one pass", after.policy or "one pass", "change"),
            ("keys and values", _kv(before), _kv(after), "change"),
            ("MTP heads", _number(before.heads), _number(after.heads), "change"),
        )
    drafters = base.drafter, other.drafter
    if drafters[0] is not None and drafters[1] is not None:
        found += _compared(("drafter's detail", drafters[0].detail, drafters[1].detail, "change"))
        models = drafters[0].model, drafters[1].model
        if models[0] is not None and models[1] is not None:
            found += [each for each in _model(models[0], models[1], "draft ", "change") if each.base and each.other]
    return found


def _software(base: Header, other: Header) -> list[Difference]:
    before, after = base.environment, other.environment
    return _compared(
        ("engine", base.source or "specview", other.source or "specview", "change"),
        ("MLX", before.mlx, after.mlx, "change"),
        ("mlx-lm", before.mlx_lm, after.mlx_lm, "change"),
        ("specview", base.specview, other.specview, "change"),
    )


def _told(base: Environment, other: Environment) -> list[Difference]:
    found = _compared(("Python", base.python, other.python, "told"), ("memory", _memory(base), _memory(other), "told"))
    if _family(base.os) == _family(other.os):
        found += _compared(("system version", base.os, other.os, "told"))
    return found


def _compared(*facts: tuple[str, str | None, str | None, Standing]) -> list[Difference]:
    """The facts that differ; where one side is silent that is told and forbids nothing."""
    found = []
    for fact, base, other, standing in facts:
        left, right = _said(base), _said(other)
        if left != right:
            found.append(Difference(fact=fact, base=left, other=right, standing=standing if left and right else "told"))
    return found


def _said(text: str | None) -> str:
    return "" if text is None or text in NOT_SAID else text


def _family(system: str | None) -> str:
    return (system or "").partition(" ")[0]


def _layers(model: ModelFacts) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in model.layers)


def _stored(model: ModelFacts) -> str:
    """Silence of a model that was looked at means that nothing is quantised."""
    return model.quantisation or ("" if _said(model.dtype) == "" else "not quantised")


def _weights(model: ModelFacts) -> str:
    return "random" if model.random_weights else "its own"


def _number(count: int | None) -> str:
    return f"{count:,}" if count else ""


def _memory(environment: Environment) -> str:
    return f"{environment.memory_bytes / 1e9:.0f} GB" if environment.memory_bytes else ""


def _adaptive(setting: Setting) -> str:
    return "chosen each round" if setting.adaptive else "fixed"


def _kv(setting: Setting) -> str:
    from_where = f" from token {setting.kv_start}" if setting.kv_start else ""
    return f"{setting.kv_bits}-bit{from_where}" if setting.kv_bits else "as computed"


def _sampling(setting: Setting) -> str:
    if not setting.temperature:
        return "temperature 0"
    parts = [f"temperature {setting.temperature:g}"]
    parts += [f"top-p {setting.top_p:g}"] if setting.top_p < 1 else []
    parts += [f"top-k {setting.top_k}"] if setting.top_k else []
    parts += [f"min-p {setting.min_p:g}"] if setting.min_p else []
    return ", ".join(parts)
