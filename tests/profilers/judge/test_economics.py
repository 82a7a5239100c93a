"""The division, with the numbers of both articles and of public reports."""

from __future__ import annotations

import pytest

from specview.engine.errors import SpecviewError
from specview.profilers.judge.acceptance import cumulative_from_alpha
from specview.profilers.judge.economics import (
    DrafterKind,
    RoundCosts,
    break_even_acceptance,
    break_even_acceptance_of_one,
    break_even_verify,
    cannot_win,
    cannot_win_over_widths,
    decode_from,
    draft_steps,
    expected_experts,
    gap,
    round_in_decode_steps,
    round_of_decode_steps,
    round_steps,
    round_time,
    round_time_over_widths,
    speedup,
    speedup_at,
    width_ratio,
)
from specview.profilers.judge.spans import Fenced, Pipelined, Queued, Span, Synchronous

JULY_DECODE = 10.941


def whole(ms: float) -> Span[Synchronous]:
    return Span(ms, Synchronous)


def plain(ms: float) -> Span[Pipelined]:
    return Span(ms, Pipelined)


def made(
    kind: DrafterKind, verify: dict[int, float], draft: dict[int, float], rest: float, search: float = 0.0
) -> RoundCosts:
    """Costs in ms."""
    by_width = ({width: whole(ms) for width, ms in each.items()} for each in (verify, draft))
    return RoundCosts(kind, *by_width, whole(rest), whole(search))


def article_b(k: int) -> RoundCosts:
    return made(DrafterKind.MODEL, {k + 1: 1.0}, {1: 0.12, 2: 0.12}, 0.0)


def test_july_on_one_ruler_runs_at_0799() -> None:
    steps = round_in_decode_steps(whole(2 * JULY_DECODE + 0.643), decode_from(91.4))
    assert speedup(1.6457, steps) == pytest.approx(0.799, abs=1e-3)


def test_july_at_full_acceptance_stays_at_0971() -> None:
    assert speedup(2.0, (2 * JULY_DECODE + 0.643) / JULY_DECODE) == pytest.approx(0.971, abs=1e-3)


def test_july_on_two_rulers_would_say_1066_and_is_refused() -> None:
    wrong_round = 2 * 8.128 + 0.643
    assert speedup(1.6457, wrong_round / (1000 / 91.4)) == pytest.approx(1.066, abs=1e-3)
    with pytest.raises(SpecviewError, match="two rulers"):
        round_in_decode_steps(Span(wrong_round, Fenced), plain(10.941))


def test_a_synchronous_baseline_is_refused_for_a_verdict_and_allowed_for_a_category() -> None:
    wide, single = whole(20.4), whole(10.6)
    with pytest.raises(SpecviewError, match="pipelined"):
        round_in_decode_steps(wide, single)
    assert width_ratio(wide, single) == pytest.approx(1.925, abs=1e-3)
    with pytest.raises(SpecviewError, match="one ruler"):
        width_ratio(wide, plain(10.6))


def test_the_gap_of_july_is_a_third_of_the_sum() -> None:
    found = gap(whole(JULY_DECODE), Span(8.128, Queued))
    assert (found.ms, found.of_sum, found.of_wall) == pytest.approx((2.813, 0.3461, 0.2571), abs=1e-3)
    assert found.interval is None
    with pytest.raises(SpecviewError, match="queued"):
        gap(plain(JULY_DECODE), Span(8.128, Fenced))


def test_a_gap_of_two_means_with_errors_has_an_interval() -> None:
    found = gap(Span(10.0, Synchronous, 0.3, 50), Span(8.0, Queued, 0.4, 50))
    assert found.interval is not None and found.interval.estimate == pytest.approx(2.0)
    assert found.interval.high - found.interval.low == pytest.approx(2 * 1.984 * 0.5, rel=1e-2)


def test_a_round_of_so_many_decode_steps_costs_so_many() -> None:
    decode = Span(10.0, Pipelined, 0.1, 50)
    budget = round_of_decode_steps(1.5, decode)
    assert (budget.ms, budget.se_ms) == pytest.approx((15.0, 0.15))
    assert round_in_decode_steps(budget, decode) == pytest.approx(1.5)


def test_a_round_in_decode_steps_is_as_uncertain_as_both() -> None:
    found = round_steps(Span(20.0, Synchronous, 0.2, 60), Span(10.0, Pipelined, 0.1, 60))
    assert found.estimate == pytest.approx(2.0)
    assert found.low < 2.0 - 1.9 * 0.02 < 2.0 + 1.9 * 0.02 < found.high


def test_october_breaks_even_at_a_verify_of_13_8_ms_and_was_measured_at_071() -> None:
    decode = decode_from(92.0)
    assert break_even_verify(1.51, decode, whole(2.6), whole(0.0)).ms == pytest.approx(13.8, abs=0.05)
    assert speedup(1.51, 23.6) * 1000 == pytest.approx(63.98, abs=0.01)
    assert speedup(1.51, round_in_decode_steps(whole(23.6), decode)) == pytest.approx(0.6955, abs=1e-3)
    assert speedup(65.26, 92.0) == pytest.approx(0.7093, abs=1e-4)


def test_october_cannot_win_and_has_no_break_even_acceptance() -> None:
    costs = made(DrafterKind.MTP, {2: 21.0}, {1: 2.6, 2: 2.6}, 0.0)
    decode = decode_from(92.0)
    assert cannot_win(costs, 1, decode)
    assert break_even_acceptance(costs, 1, decode) is None
    assert break_even_acceptance_of_one(whole(21.0), costs.draft_by_width, whole(0.0), decode) is None


@pytest.mark.parametrize(
    ("alpha", "by_k"),
    [
        (0.32, {1: 1.1786, 2: 1.1471, 4: 0.9903, 8: 0.7503, 16: 0.5036}),
        (0.71, {1: 1.5268, 2: 1.7856, 4: 1.9095, 8: 1.6787, 16: 1.1774}),
    ],
)
def test_the_table_of_article_b_comes_out(alpha: float, by_k: dict[int, float]) -> None:
    for k, expected in by_k.items():
        assert speedup_at(article_b(k), alpha, k, plain(1.0)) == pytest.approx(expected, abs=2e-4)


def test_a_llamacpp_cliff_makes_three_drafts_unwinnable_and_five_winnable_at_092() -> None:
    verify = {2: 77.16, 3: 77.18, 4: 77.027, 5: 77.773, 6: 77.519, 7: 77.856, 8: 77.715}
    costs = made(DrafterKind.NONE, verify, {}, 0.0)
    assert [k for k in range(1, 8) if cannot_win(costs, k, plain(15.718))] == [1, 2, 3]
    expected = {4: 0.9948, 5: 0.9209, 6: 0.8818, 7: 0.8561}
    for k, alpha in expected.items():
        assert break_even_acceptance(costs, k, plain(15.718)) == pytest.approx(alpha, abs=1e-3)


def test_a_draft_model_catches_up_only_after_full_acceptance() -> None:
    assert draft_steps(DrafterKind.MODEL, (0.7, 0.5)) == {1: 1.5, 2: 0.5}
    assert draft_steps(DrafterKind.MODEL, (0.0,)) == {1: 1.0}


def test_an_mtp_head_takes_in_what_was_accepted_and_the_bonus_every_round() -> None:
    assert draft_steps(DrafterKind.MTP, (0.7, 0.5)) == pytest.approx({1: 1.3, 2: 0.2, 3: 0.5})
    assert draft_steps(DrafterKind.MTP, (1.0,) * 3) == pytest.approx({1: 2.0, 4: 1.0})


def test_each_of_several_mtp_heads_takes_in_one_position_more_than_the_one_before():
    assert draft_steps(DrafterKind.MTP, (0.7, 0.5), 2) == pytest.approx({1: 0.3, 2: 0.5, 3: 0.7, 4: 0.5})
    assert draft_steps(DrafterKind.MTP, (1.0,) * 3, 2) == pytest.approx({1: 1.0, 4: 1.0, 5: 1.0})
    assert draft_steps(DrafterKind.MTP, (0.0,), 3) == pytest.approx({1: 1.0})
    assert draft_steps(DrafterKind.MODEL, (0.7, 0.5), 3) == draft_steps(DrafterKind.MODEL, (0.7, 0.5))


def test_lookup_takes_no_drafter_step() -> None:
    assert draft_steps(DrafterKind.LOOKUP, (0.7, 0.5)) == {}


@pytest.mark.parametrize("kind", [DrafterKind.MODEL, DrafterKind.MTP])
def test_every_draft_has_k_steps(kind: DrafterKind) -> None:
    assert sum(draft_steps(kind, cumulative_from_alpha(0.8, 5)).values()) == pytest.approx(5)


def test_catch_up_is_part_of_the_round_and_of_what_cannot_win() -> None:
    costs = made(DrafterKind.MODEL, {2: 15.0}, {1: 3.0, 2: 6.0}, 0.5)
    assert round_time(costs, (0.0,)).ms == pytest.approx(18.5)
    assert round_time(costs, (1.0,)).ms == pytest.approx(21.5)
    assert cannot_win(costs, 1, plain(10.5)) and not cannot_win(costs, 1, plain(11.0))
    assert round_time(costs, (1.0,)).ms < 2 * 11.0


def test_the_closed_form_at_one_draft_agrees_with_the_search() -> None:
    widths = {1: 3.0, 2: 4.0}
    spans = {width: whole(ms) for width, ms in widths.items()}
    closed = break_even_acceptance_of_one(whole(12.0), spans, whole(0.5), plain(10.0))
    assert closed == pytest.approx((12 + 3 + 0.5 - 10) / (10 - 1))
    for kind in (DrafterKind.MODEL, DrafterKind.MTP):
        costs = made(kind, {2: 12.0}, widths, 0.5)
        assert break_even_acceptance(costs, 1, plain(10.0)) == pytest.approx(closed, abs=1e-9)


def test_a_round_cheaper_than_a_decode_step_breaks_even_without_any_acceptance() -> None:
    costs = made(DrafterKind.LOOKUP, {5: 8.0}, {}, 0.0)
    assert break_even_acceptance(costs, 4, plain(10.0)) == 0.0
    assert break_even_acceptance_of_one(whole(5.0), {1: whole(1.0), 2: whole(1.0)}, whole(0.0), plain(10.0)) == 0.0


def test_at_break_even_the_speedup_is_one() -> None:
    costs = made(DrafterKind.MTP, {5: 16.0}, {1: 1.0, 2: 1.2, 3: 1.4, 4: 1.6, 5: 1.8}, 0.4)
    alpha = break_even_acceptance(costs, 4, plain(10.0))
    assert alpha is not None and speedup_at(costs, alpha, 4, plain(10.0)) == pytest.approx(1.0)


def test_lookup_is_judged_over_the_widths_that_occur() -> None:
    costs = made(DrafterKind.LOOKUP, {1: 10.0, 3: 28.0, 9: 60.0}, {}, 1.0, search=0.5)
    mostly_short = {0: 0.2, 2: 0.8}
    assert round_time_over_widths(costs, mostly_short).ms == pytest.approx(0.2 * 10 + 0.8 * 28 + 1.5)
    assert not cannot_win_over_widths(costs, mostly_short, plain(10.0))
    assert cannot_win_over_widths(costs, mostly_short, plain(9.0))
    assert not cannot_win_over_widths(costs, {8: 1.0}, plain(9.0))


def test_a_width_that_was_not_measured_is_never_interpolated() -> None:
    costs = made(DrafterKind.MODEL, {2: 12.0, 4: 14.0}, {1: 1.0, 2: 1.0}, 0.0)
    with pytest.raises(SpecviewError, match="verify pass 3 wide"):
        round_time(costs, (0.5, 0.2))
    mtp = made(DrafterKind.MTP, {3: 14.0}, {1: 1.0, 2: 1.0}, 0.0)
    with pytest.raises(SpecviewError, match="drafter step 3 wide"):
        round_time(mtp, (0.5, 0.2))


def test_two_positions_touch_nearly_twice_the_experts_of_one() -> None:
    assert [expected_experts(256, 8, n) for n in (1, 2, 4, 8)] == pytest.approx([8.0, 15.75, 30.53, 57.42], abs=0.01)
