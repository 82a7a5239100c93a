"""The division's costs from a recorded session."""

from __future__ import annotations

from dataclasses import replace

import pytest
from session_builder import CASES, Made, built

from specview.engine.errors import SpecviewError
from specview.profilers.judge.acceptance import AcceptanceRule
from specview.profilers.judge.best_k import scan
from specview.profilers.judge.division import divide
from specview.profilers.judge.economics import DrafterKind
from specview.profilers.judge.ledger import Ledger, ledger_of
from specview.profilers.judge.measured_costs import measured_costs
from specview.profilers.judge.nearest import nearest_changes
from specview.profilers.judge.surfaces import over_acceptance_and_k
from specview.profilers.record.session import session_of


def ledger(case: str) -> Ledger:
    return ledger_of(session_of(CASES[case]))


@pytest.mark.parametrize("case", ["normal", "cannot-win", "wins"])
def test_the_division_of_a_session_agrees_with_its_measured_speedup(case: str) -> None:
    found = ledger(case)
    made = measured_costs(found, {})
    divided = divide(made.costs, made.by_position, made.k, made.decode)
    assert found.verdict.speedup is not None
    assert divided.speedup == pytest.approx(found.verdict.speedup.estimate, rel=0.06)
    assert divided.cannot_win == (found.verdict.kind == "cannot_win")


def test_a_scan_and_a_surface_of_a_session_take_its_measured_widths() -> None:
    made = measured_costs(ledger("wins"), {})
    found = scan(made.costs, made.alpha, made.decode)
    assert {row.k + 1 for row in found.rows} | {k + 1 for k in found.left_out} == set(made.costs.verify_by_width) - {1}
    assert found.best.speedup > 1 and found.best_k == 3
    # an MTP head takes in up to k + 1 positions, and steps that wide were not timed for a longer draft than was run
    assert made.costs.kind is DrafterKind.MTP and found.left_out == (4, 5, 6, 7)
    surface = over_acceptance_and_k(made.costs, made.decode)
    assert surface.low and len(surface.low) == len(surface.lengths)


def test_a_loser_is_told_what_is_nearest() -> None:
    made = measured_costs(ledger("cannot-win"), {})
    found = nearest_changes(made.costs, made.by_position, made.k, made.decode)
    assert found.now.cannot_win and found.acceptance is None and found.verify is not None


def test_the_rule_of_the_run_is_carried_along() -> None:
    made = measured_costs(ledger("normal"), {})
    assert made.alpha.rule is made.by_position.rule is AcceptanceRule.GREEDY


def test_lookup_pays_its_search_and_no_drafter_steps() -> None:
    made = measured_costs(ledger_of(session_of(built(Made(k=2, drafter="lookup", draft=0.1)))), {2: 1.0})
    assert made.costs.kind is DrafterKind.LOOKUP and made.costs.search.ms == pytest.approx(0.1, rel=0.1)


def test_what_was_not_measured_is_named() -> None:
    with pytest.raises(SpecviewError, match="Drafter steps were not timed alone"):
        measured_costs(replace(ledger("normal"), draft_by_width={}), {})
    with pytest.raises(SpecviewError, match="still to be measured"):
        measured_costs(replace(ledger("normal"), decode=None), {})
