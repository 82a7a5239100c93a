"""What a session can be asked: rounds that were recorded, rounds of another engine, or passes alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine.errors import SpecviewError
from ..profilers.judge.asked import recorded_basis
from ..profilers.judge.asked_costs import CostsBasis
from ..profilers.judge.question import Basis
from .costs_only import NO_PASSES
from .imported_line import imported_basis

if TYPE_CHECKING:  # it imports what is imported here
    from .views import Reckoning

NOT_YET = "Rounds are still to be measured: record drafts and plain decoding, or import an engine's figures."


def basis_of(reckoning: Reckoning) -> Basis | str:
    """What questions are asked of, as on the break-even line, or the sentence why nothing can be asked."""
    if reckoning.costs is not None:
        costs = reckoning.costs.costs
        return NO_PASSES if costs is None else CostsBasis(costs=costs, batch_costs=reckoning.costs.batches)
    why = reckoning.why_not or NOT_YET
    if reckoning.ledger is not None:
        try:
            return recorded_basis(reckoning.ledger, reckoning.share_by_drafted, reckoning.batches)
        except (SpecviewError, ArithmeticError, ValueError) as error:
            why = str(error)
    if reckoning.imported is None:
        return why
    found = reckoning.imported.line
    return found if isinstance(found, str) else imported_basis(found)
