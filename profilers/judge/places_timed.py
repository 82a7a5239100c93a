"""What the places of a model took in decode and in verify, in ms a pass, by one ruler for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..record.session import Session
from .alike_probes import Probes
from .extrapolation import extrapolation
from .places import Place, fenced_places, queued_places
from .spans import Ruler

Scale = Callable[[Place], float]


def as_built(place: Place) -> float:
    """The scale of a model whose layers are all there."""
    return 1.0


def scale_in_full(session: Session) -> Scale:
    """By what each place grows from the layers that were built to those of the architecture; `as_built` otherwise."""
    model = session.header.model
    whole = extrapolation(model.layers, model.layers_in_full)
    return as_built if whole is None else lambda place: whole.factor(place.category, place.block, place.detail)[0]


@dataclass(frozen=True, slots=True)
class PlacesTimed:
    """ms a pass of each place, all its layers together, at one position and at several, queued or fenced."""

    ruler: Ruler
    decode: dict[Place, float]
    verify: dict[Place, float]


def places_timed(
    decode: Probes, verify: Probes, needed: Iterable[tuple[str, str]], scale: Scale = as_built
) -> PlacesTimed | None:
    """By the queued ruler if it timed all `needed` (category, place name) on both sides, else by the fenced one.

    None where neither timed both sides. `scale` multiplies each place's ms.
    """
    queued = PlacesTimed(Ruler.QUEUED, _queued(decode, scale), _queued(verify, scale))
    wanted = set(needed)
    if queued.decode and all(
        wanted <= {(p.category, p.block) for p in side} for side in (queued.decode, queued.verify)
    ):
        return queued
    fenced = PlacesTimed(Ruler.FENCED, _fenced(decode, scale), _fenced(verify, scale))
    return fenced if fenced.decode and fenced.verify else None


def _queued(probes: Probes, scale: Scale) -> dict[Place, float]:
    """Copies that stayed at one layer count only where none went round all layers, because they are too fast."""
    spans = {**queued_places(probes, "hot"), **queued_places(probes, "cycled")}
    return {place: span.ms * scale(place) for place, span in spans.items()}


def _fenced(probes: Probes, scale: Scale) -> dict[Place, float]:
    return {place: span.ms * scale(place) for place, span in fenced_places(probes).items()}
