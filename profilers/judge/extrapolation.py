"""Costs of a whole architecture from a few of its layers: each place times how often its kind of layer occurs in full.

Only for shapes that were built with fewer layers. What comes out is computed, not measured, and stays marked so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isclose

CountByKind = tuple[tuple[str, int], ...]
LAYER_MARK = "*"  # stands for the layer in a place's name: model.layers.*.mlp
_ATTENTION = ("linear attention", "full attention")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceCost:
    """What the blocks of one place cost together in one pass, in ms, as measured on the built layers.

    `place` and `category` as in block probes; `detail` tells kinds within a category apart ("sliding window").
    """

    place: str
    category: str
    ms: float
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledCost:
    """A place's cost in the whole architecture: `ms` = `built_ms` · `factor`.

    `extrapolated` is the mark: true wherever the factor is not 1. `alike` is false where the place stands for several
    kinds of layers that were not built in one proportion, so that their mean cost had to do.
    """

    place: str
    category: str
    built_ms: float
    ms: float
    factor: float
    extrapolated: bool
    alike: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledPass:
    """A pass of the whole architecture in ms, between `low_ms` and `high_ms`.

    What lies in no place (the gap) is taken once at one end and as often as the layers at the other, because a few
    layers cannot tell how it grows.
    """

    built_ms: float
    low_ms: float
    high_ms: float
    extrapolated: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Extrapolation:
    """From the layers that were built to those of the architecture, by kind; both hold the same kinds."""

    layers_built: CountByKind
    layers_in_full: CountByKind

    def factor(self, category: str, place: str, detail: str | None = None) -> tuple[float, bool]:
        """By what a place's cost grows, and whether that holds for all kinds of layers it stands for.

        Places outside the layers (embedding, head, sampling) occur once: 1.
        """
        if LAYER_MARK not in place:
            return 1.0, True
        built, full = dict(self.layers_built), dict(self.layers_in_full)
        kinds = [kind for kind in full if _has(kind, category, detail, full)] or list(full)
        ratios = [full[kind] / built[kind] for kind in kinds]
        own_cost_by_kind = category in _ATTENTION
        alike = not own_cost_by_kind or all(isclose(ratio, ratios[0]) for ratio in ratios)
        return sum(full[kind] for kind in kinds) / sum(built[kind] for kind in kinds), alike

    def scaled(self, cost: PlaceCost) -> ScaledCost:
        """One place's cost in the whole architecture."""
        factor, alike = self.factor(cost.category, cost.place, cost.detail)
        return ScaledCost(
            place=cost.place,
            category=cost.category,
            built_ms=cost.ms,
            ms=cost.ms * factor,
            factor=factor,
            extrapolated=factor != 1.0,
            alike=alike,
        )

    def whole_pass(self, built_ms: float, costs: Iterable[PlaceCost]) -> ScaledPass:
        """A whole-graph pass of the architecture from one of the built layers and the costs of all its places."""
        scaled = [self.scaled(cost) for cost in costs]
        gap = built_ms - sum(each.built_ms for each in scaled)
        places = sum(each.ms for each in scaled)
        growth = sum(n for _, n in self.layers_in_full) / sum(n for _, n in self.layers_built)
        ends = sorted((places + gap, places + gap * growth))
        return ScaledPass(built_ms=built_ms, low_ms=ends[0], high_ms=ends[1])


def extrapolation(layers_built: CountByKind, layers_in_full: CountByKind | None) -> Extrapolation | None:
    """How to get from the built layers to all; None where all were built, or where the kinds do not match.

    Arguments are a session's `layers` and `layers_in_full` of its model.
    """
    if layers_in_full is None or sorted(layers_in_full) == sorted(layers_built):
        return None
    built, full = dict(layers_built), dict(layers_in_full)
    if built.keys() != full.keys() or any(not 0 < built[kind] <= full[kind] for kind in full):
        return None
    return Extrapolation(layers_built=layers_built, layers_in_full=layers_in_full)


def _has(kind: str, category: str, detail: str | None, full: dict[str, int]) -> bool:
    """Whether layers of a kind ("full attention, MoE") have blocks of a category."""
    mixer, _, feed_forward = kind.partition(", ")
    if category == "linear attention":
        return mixer == "linear attention"
    if category == "full attention":
        sliding = detail is not None and "sliding" in detail
        return mixer == "sliding attention" if sliding else mixer != "linear attention" and _unless_told(mixer, detail)
    if category in ("MoE", "MLP") and feed_forward:
        return feed_forward == category
    return True


def _unless_told(mixer: str, detail: str | None) -> bool:
    """Without a detail a full attention place may stand for sliding layers too."""
    return detail is None or mixer != "sliding attention"
