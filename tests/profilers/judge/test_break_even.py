"""The break-even line against the closed formulas."""

from __future__ import annotations

from dataclasses import replace

import pytest
from session_builder import CASES, Made, built

from specview.engine.errors import SpecviewError
from specview.profilers.judge.break_even import break_even_line, drafter_kind
from specview.profilers.judge.economics import DrafterKind, break_even_acceptance_of_one
from specview.profilers.judge.ledger import Ledger, ledger_of
from specview.profilers.judge.spans import Span, Synchronous
from specview.profilers.record.session import session_of


def ledger(case: str) -> Ledger:
    return ledger_of(session_of(CASES[case]))


def test_the_crossing_is_the_closed_form_at_one_draft() -> None:
    found = ledger("normal")
    line = break_even_line(found, {1: 1.0})
    assert found.verify and found.draft and found.rest and found.decode
    flat = replace(line, draft_by_width={1: line.draft, 2: line.draft})
    closed = break_even_acceptance_of_one(line.verify, flat.draft_by_width, line.rest, line.decode)
    assert flat.crossing() == pytest.approx(closed, abs=0.006)


def test_speed_is_one_on_the_line_and_the_limit_rises_with_acceptance() -> None:
    line = break_even_line(ledger("normal"), {1: 1.0})
    crossing = line.crossing()
    assert crossing is not None and line.speedup(crossing) == pytest.approx(1.0, abs=0.002)
    limits = [line.limit_ms(i / 20) for i in range(21)]
    assert limits == sorted(limits)


def test_a_run_that_cannot_win_has_no_crossing_and_a_free_one_crosses_at_zero() -> None:
    line = break_even_line(ledger("cannot-win"), {1: 1.0})
    assert line.crossing() is None
    assert replace(line, verify=Span(0.001, Synchronous)).crossing() == 0.0


def test_another_k_keeps_the_measured_draft_and_adds_steps() -> None:
    found = ledger("wins")
    here, one = break_even_line(found, {3: 1.0}), break_even_line(found, {3: 1.0}, 1)
    assert one.k == 1 and one.draft.ms < here.draft.ms
    assert one.verify.ms == pytest.approx(12.4, rel=0.02)
    assert one.alpha == here.alpha


@pytest.mark.parametrize("k", [0, 5])
def test_an_unmeasured_k_is_refused(k: int) -> None:
    with pytest.raises(SpecviewError):
        break_even_line(ledger("cannot-win"), {1: 1.0}, k)


def test_missing_parts_are_named() -> None:
    found = ledger("normal")
    for changes, words in (
        ({"decode": None}, "still to be measured"),
        ({"draft": None}, "split rounds"),
        ({"verify": None, "verify_by_width": {}}, "verify pass over 2"),
    ):
        with pytest.raises(SpecviewError, match=words):
            break_even_line(replace(found, **changes), {1: 1.0})  # type: ignore[arg-type]


def test_varying_drafts_solve_for_the_acceptance_that_yields_their_tokens() -> None:
    found = ledger_of(session_of(built(Made(k=2, drafter="lookup", draft=0.1))))
    line = break_even_line(found, {0: 0.25, 2: 0.75})
    assert found.acceptance is not None
    assert line.tokens(line.alpha.estimate) == pytest.approx(found.acceptance.tokens_per_round.estimate)


def test_names_of_drafters() -> None:
    assert drafter_kind("mtp") is DrafterKind.MTP and drafter_kind("org/model") is DrafterKind.MODEL
