"""The best draft length by scanning, and where the marginal rule is right or overruled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from round_costs import DECODE, alphas, any_costs, convex_costs, costs, flat, no_deadline, plain

from specview.engine.errors import SpecviewError
from specview.profilers.judge.best_k import scan
from specview.profilers.judge.division import Conditional, Cumulative, PerDraft
from specview.profilers.judge.economics import speedup_at

CLIFF_AT_TWO = {1: 15.718, 2: 77.16, 3: 77.18, 4: 77.027, 5: 77.773, 6: 77.519, 7: 77.856, 8: 77.715}


@pytest.mark.parametrize(("alpha", "best"), [(0.32, 1), (0.71, 4)])
def test_article_b_drafts_one_token_of_prose_and_four_of_code(alpha: float, best: int) -> None:
    found = scan(flat(16, 0.12), Conditional(alpha=alpha), DECODE, range(1, 17))
    assert found.best_k == found.by_the_rule == best
    assert {row.k: row.speedup for row in found.rows}[16] == pytest.approx(0.5036 if best == 1 else 1.1774, abs=1e-4)


def test_a_public_thread_behind_a_cliff_needs_all_the_drafts_it_can_get() -> None:
    found = scan(costs(CLIFF_AT_TWO), Conditional(alpha=0.95), plain(15.718))
    assert [row.k for row in found.rows if row.cannot_win] == [1, 2, 3]
    assert found.best_k == 7
    needed = {row.k: row.break_even_acceptance for row in found.rows}
    assert [needed[k] for k in (4, 5, 6, 7)] == pytest.approx([0.9948, 0.9209, 0.8818, 0.8561], abs=1e-4)


def test_the_scan_overrules_the_marginal_rule_at_a_cliff() -> None:
    stairs = costs({2: 1.0, 3: 1.0, 4: 1.0, 5: 1.9, 6: 1.9, 7: 1.9, 8: 1.9, 9: 1.9, 10: 1.9, 11: 1.9})
    found = scan(stairs, Conditional(alpha=0.95), DECODE)
    assert found.by_the_rule == 3 and found.best_k == 10
    assert "stop at k = 3" in found.sentence() and "Draft 10 a round" in found.sentence()


@no_deadline
@given(convex_costs(), alphas)
def test_the_rule_agrees_with_the_scan_where_the_cost_is_convex(made, alpha: float) -> None:
    found = scan(made, Conditional(alpha=alpha), DECODE)
    by_rule = next(row for row in found.rows if row.k == found.by_the_rule)
    assert by_rule.speedup == pytest.approx(found.best.speedup, rel=1e-9)


@no_deadline
@given(any_costs(), alphas)
def test_the_best_k_is_as_fast_as_any_and_off_where_all_lose(made, alpha: float) -> None:
    found = scan(made, Conditional(alpha=alpha), DECODE)
    every = [speedup_at(made, alpha, k, DECODE) for k in range(1, 9)]
    assert found.best.speedup == pytest.approx(max(every))
    assert (found.best_k == 0) == (found.best.speedup <= 1)


@no_deadline
@given(any_costs(), st.floats(0.01, 1.0))
def test_a_step_pays_exactly_where_the_speedup_rises(made, alpha: float) -> None:
    found = scan(made, Conditional(alpha=alpha), DECODE)
    for step, before, after in zip(found.steps, found.rows, found.rows[1:], strict=False):
        if after.speedup != pytest.approx(before.speedup, rel=1e-9):
            assert step.pays == (after.speedup > before.speedup)


def test_catch_up_counts_and_a_missing_width_or_position_is_left_out() -> None:
    dear = costs({2: 1.0, 3: 1.0, 5: 1.0}, {1: 0.1, 2: 0.6})
    cheap = costs({2: 1.0, 3: 1.0, 5: 1.0}, {1: 0.1, 2: 0.1})
    known = Cumulative(shares=(0.9, 0.8))
    slow, fast = (scan(made, known, DECODE, [1, 2, 3, 4]) for made in (dear, cheap))
    assert slow.left_out == fast.left_out == (3, 4)
    assert slow.rows[0].round_ms - fast.rows[0].round_ms == pytest.approx(0.9 * 0.5)


def test_acceptance_per_draft_is_carried_to_other_lengths_by_its_alpha() -> None:
    as_mean = scan(flat(7), PerDraft(value=0.38, k=7), DECODE)
    as_alpha = scan(flat(7), Conditional(alpha=0.75589), DECODE)
    assert [r.speedup for r in as_mean.rows] == pytest.approx([r.speedup for r in as_alpha.rows], rel=1e-4)


def test_where_nothing_was_measured_the_missing_width_is_named() -> None:
    with pytest.raises(SpecviewError, match="No verify pass 4 wide"):
        scan(costs({1: 1.0}), Conditional(alpha=0.5), DECODE, [3])
    with pytest.raises(SpecviewError, match="at least one draft length"):
        scan(costs({1: 1.0}), Conditional(alpha=0.5), DECODE)


def test_a_step_that_noise_makes_dear_is_overruled_without_a_word() -> None:
    found = scan(costs({2: 1.0, 3: 1.31, 4: 1.0}), Conditional(alpha=0.1), DECODE)
    assert found.by_the_rule == 1 != found.best.k and "Step by step" not in found.sentence()


def test_a_loser_is_told_to_turn_drafting_off() -> None:
    found = scan(costs({2: 3.0, 3: 4.0}), Conditional(alpha=0.5), DECODE)
    assert found.best_k == 0 and found.sentence().startswith("Turn drafting off")
