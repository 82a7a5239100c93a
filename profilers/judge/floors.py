"""The floors of a session for any number of positions: its demands against its machine's ceilings, by its routes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ..record.records import Demand
from ..record.session import Session
from .alike_probes import alike, in_order
from .ceilings import Ceilings, ceilings_of
from .least import Least, StateMoves, least_of, total
from .places import Place
from .places_timed import Scale, as_built
from .routes import experts_touched
from .sided import one_side

ENGINE_STATE = StateMoves()


@dataclass(frozen=True, slots=True)
class NoFloor:
    """Why there is no floor: one sentence that says what to do."""

    reason: str


class Floors:
    """The floors of a session at one context, for any number of positions."""

    def __init__(
        self, session: Session, ceilings: Ceilings, context: int, state: StateMoves, layer_scale: Scale
    ) -> None:
        self.context = context
        # a census taken again says the same again, so the last one counts
        last = {(place_of_demand(d), d.dtype): d for d in session.demands if d.context == context}
        self.demands = tuple(last.values())
        self.ceilings = ceilings
        self._routes, self._state, self._scale = session.routes, state, layer_scale
        self.bandwidth, self.from_cache = ceilings.bandwidth(sum(self._swept(d) for d in self.demands))

    def _swept(self, demand: Demand) -> float:
        """What passes come back to, sooner or later: all experts too."""
        held = demand.weight_bytes + demand.expert_bytes + demand.kv_bytes + demand.state_bytes
        return held * self._scale(place_of_demand(demand))

    def verify(self, positions: int) -> Least:
        """The least of a whole pass."""
        return total(self.of(d, positions) for d in self.demands)

    def of(self, demand: Demand, positions: int, experts_read: float | None = None) -> Least:
        """The least of one place; by the experts its routes name unless told how many are read."""
        return least_of(
            demand,
            positions,
            experts_read=self.touched(demand, positions)[0] if experts_read is None else experts_read,
            bandwidth=self.bandwidth,
            peak=self.ceilings.peak_by_dtype.get(demand.dtype),
            state=self._state,
            scale=self._scale(place_of_demand(demand)),
        )

    def touched(self, demand: Demand, positions: int) -> tuple[float, bool]:
        """Distinct experts a layer, and whether they were recorded at this width."""
        if not routed(demand):
            return float(demand.experts or 0), True
        assert demand.experts is not None and demand.active is not None
        found = experts_touched(self._routes, demand.block, demand.experts, demand.active, positions)
        return found.distinct, found.recorded


def floors_of(
    session: Session,
    context: int | None = None,
    *,
    state: StateMoves = ENGINE_STATE,
    layer_scale: Scale = as_built,
) -> Floors | NoFloor:
    """The floors at the recorded context nearest to `context`, or to where blocks were timed when None is named.

    `layer_scale` multiplies what a place demands, for a model of which not all layers were built.
    """
    if not session.demands:
        return NoFloor(
            "This session holds no demands, so it has no floor: specview floor takes the census they come from."
        )
    ceilings = ceilings_of(session)
    if ceilings is None:
        return NoFloor(
            "No bandwidth was calibrated, so there is no floor: specview floor makes that calibration first."
        )
    wanted = context if context is not None else _timed_context(session)
    contexts = sorted({d.context for d in session.demands})
    return Floors(session, ceilings, nearest(contexts, wanted), state, layer_scale)


def place_of_demand(demand: Demand) -> Place:
    """Where a demand lies."""
    return Place(demand.category, demand.detail, demand.block)


def routed(demand: Demand) -> bool:
    """Whether a pass needs only some of the demand's experts."""
    return bool(demand.expert_bytes and demand.experts and demand.active and demand.active <= demand.experts)


def nearest(contexts: Sequence[int], wanted: float | None) -> int:
    """The context nearest to the wanted one, the longest when none is wanted."""
    return contexts[-1] if wanted is None else min(contexts, key=lambda context: abs(context - wanted))


def _timed_context(session: Session) -> float | None:
    """Where blocks were timed on the mean, else where whole passes were; None without probes."""
    for blocks in (True, False):
        mine = [p for p in alike(one_side(session).probes) if (p.one.ruler != "whole") is blocks]
        if mine:
            return fmean(in_order(mine).column("context").tolist())
    return None
