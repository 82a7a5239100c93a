"""The change in drafting speed, taken apart: how much of it acceptance, verify, draft and the rest of a round made.

log(tok/s) = log E − log T_round, and T_round is a sum of parts. Along the straight line from one session to the other
each part gets its own share of the change: Δ ÷ logarithmic mean, where the logarithmic mean of a and b is
(b − a) ÷ log(b ÷ a). Shares add up exactly, no part comes first, swapping the sessions turns every sign, and a part
cut in pieces keeps its share. Source: Aumann and Shapley 1974; Ang 2004 (LMDI).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..statistics import Floats
from .blocks import BlockChanges
from .effects import Effect, effect_of, error_of, jackknifed
from .measures import features, measured
from .units import Matched, Sum

PartKey = Literal["acceptance", "length", "verify", "block", "no_block", "draft", "rest", "between", "round"]
NAMES: dict[str, str] = {
    "acceptance": "acceptance",
    "length": "draft length",
    "verify": "verify",
    "draft": "draft",
    "rest": "rest",
    "between": "overlap, fences",
    "round": "round",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One cause: what it is worth in log speed (below zero: slower) and in ms a token (above zero: slower).

    `base_ms` and `other_ms` are its times in a round, None for what a round yields. `level` 1 is a piece of the part
    above, by blocks of one `ruler`; only parts of level 0 add up to the whole.
    """

    key: PartKey
    name: str
    base_ms: float | None
    other_ms: float | None
    round_ms: Effect | None
    log_speed: Effect
    token_ms: Effect
    level: int = 0
    ruler: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The whole change in drafting speed and its parts; ms are per token where nothing else is said.

    `decode` is what plain decode adds to the change in speedup: log S changes by `log_speed` + it.
    """

    base_token_ms: float
    other_token_ms: float
    log_speed: Effect
    token_ms: Effect
    parts: tuple[Part, ...]
    decode: Effect | None


def log_mean(a: Floats, b: Floats) -> Floats:
    """(b − a) ÷ log(b ÷ a), and a where both are the same; both above zero."""
    ratio = np.asarray(b / a, dtype=np.float64)
    near = np.abs(ratio - 1.0) < 1e-6
    safe = np.where(near, 2.0, ratio)
    return np.asarray(np.where(near, (a + b) / 2, a * (safe - 1.0) / np.log(safe)), dtype=np.float64)


def split_of(units: Matched, blocks: BlockChanges | None, *, lengths_differ: bool) -> Split | None:
    """The change in drafting speed by cause; None where one of the sessions has no rounds with their times.

    Where split rounds are missing on a side, the round is one part. `blocks` takes verify apart by op category.
    """
    rows = features(units.base), features(units.other)
    with np.errstate(all="ignore"):
        before, after = _costs(rows[0].sum(axis=0)), _costs(rows[1].sum(axis=0))
    if not all(math.isfinite(float(side[key])) and side[key] > 0 for side in (before, after) for key in ("E", "round")):
        return None
    timed = all(math.isfinite(float(side[key])) for side in (before, after) for key in ("verify", "draft", "rest"))
    causes = ["acceptance", *(["length"] if lengths_differ else [])]
    costs = ["verify", "draft", "rest", "between"] if timed else ["round"]

    def reckon(base: Floats, other: Floats, least: int) -> Floats:
        left, right = _costs(base, least), _costs(other, least)
        yielded, whole = log_mean(left["E"], right["E"]), log_mean(left["round"], right["round"])
        tokens = log_mean(left["round"] / left["E"], right["round"] / right["E"])
        further = right["further"] - left["further"] if lengths_differ else np.zeros_like(left["E"])
        shares = [(right["E"] - left["E"] - further) / yielded]
        if lengths_differ:
            shares.append(further / yielded)
        moved = [right[key] - left[key] for key in costs]
        shares += [-each / whole for each in moved]
        total = np.log(right["E"] / left["E"]) - np.log(right["round"] / left["round"])
        decode = np.log(right["decode"] / left["decode"])
        columns = [total, -total * tokens, decode, *shares, *(-each * tokens for each in shares), *moved]
        return np.stack(columns, axis=-1)

    effects = jackknifed(reckon, *rows, paired=units.paired, serial=units.serial)
    names, shares = [*causes, *costs], effects[3:]
    speeds, tokens, moved = shares[: len(names)], shares[len(names) : 2 * len(names)], shares[2 * len(names) :]
    parts: list[Part] = []
    for at, name in enumerate(names):
        cost = name in costs
        part = Part(
            key=name,  # type: ignore[arg-type]
            name=NAMES[name],
            base_ms=float(before[name]) if cost else None,
            other_ms=float(after[name]) if cost else None,
            round_ms=moved[costs.index(name)] if cost else None,
            log_speed=speeds[at],
            token_ms=tokens[at],
        )
        parts.append(part)
        if name == "verify" and blocks is not None:
            scale = float(log_mean(before["round"], after["round"]))
            per_token = float(log_mean(before["round"] / before["E"], after["round"] / after["E"]))
            parts += _by_category(part, blocks, scale, per_token)
    return Split(
        base_token_ms=float(before["round"] / before["E"]),
        other_token_ms=float(after["round"] / after["E"]),
        log_speed=effects[0],
        token_ms=effects[1],
        parts=tuple(parts),
        decode=effects[2] if math.isfinite(effects[2].estimate) else None,
    )


def _costs(sums: Floats, least: int = 1) -> dict[str, Floats]:
    """E, the round and its parts in ms; `between` is what the parts of split rounds leave of a free round."""
    found = measured(sums, least)
    parts = found["verify_ms"] + found["draft_ms"] + found["rest_ms"]
    return {
        "E": found["tokens_per_round"],
        "further": np.asarray(sums[..., Sum.FURTHER] / sums[..., Sum.ROUNDS], dtype=np.float64),
        "round": found["round_ms"],
        "verify": found["verify_ms"],
        "draft": found["draft_ms"],
        "rest": found["rest_ms"],
        "between": found["round_ms"] - parts,
        "decode": found["decode_ms"],
    }


def _by_category(verify: Part, blocks: BlockChanges, round_ms: float, token_ms: float) -> list[Part]:
    """Verify's pieces: each op category by its blocks, and what is in no block, so that they add up to verify."""
    assert verify.round_ms is not None and verify.base_ms is not None and verify.other_ms is not None
    pieces = [(each.category, each.base_ms, each.other_ms, each.change) for each in blocks.rows]
    sums = [math.fsum(each[at] for each in pieces) for at in (1, 2)]  # type: ignore[misc]
    errors = [error_of(verify.round_ms), *(error_of(each[3]) for each in pieces)]
    left = verify.round_ms.estimate - math.fsum(each[3].estimate for each in pieces)
    freedom = min((each[3].freedom for each in pieces), default=0.0)
    freedom = min(freedom, verify.round_ms.freedom)
    outside = effect_of(left, math.sqrt(math.fsum(e * e for e in errors)), freedom)
    pieces.append(("in no block", verify.base_ms - sums[0], verify.other_ms - sums[1], outside))
    found = []
    for at, (name, base, other, change) in enumerate(pieces):
        share = change.scaled(-1.0 / round_ms)
        found.append(
            Part(
                key="no_block" if at == len(pieces) - 1 else "block",
                name=name,
                base_ms=base,
                other_ms=other,
                round_ms=change,
                log_speed=share,
                token_ms=share.scaled(-token_ms),
                level=1,
                ruler=blocks.ruler,
            )
        )
    return found
