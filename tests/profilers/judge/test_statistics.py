"""Intervals, effective sizes and looks on numbers that can be checked by hand."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from specview.engine.errors import SpecviewError
from specview.profilers.judge.statistics import (
    LOOKS,
    Interval,
    effective_size,
    last_look,
    live_interval,
    log_ratio_interval,
    look_error,
    median_and_mad,
    next_look,
    prompts_still_needed,
    ratio_of_intervals,
    ratio_of_means_interval,
    rounds_still_needed,
    t_interval,
    upper_bound_when_none,
    wilson,
)


def test_a_t_interval_of_three_values_uses_the_quantile_at_two_degrees() -> None:
    interval = t_interval([1.0, 2.0, 3.0])
    assert interval.estimate == 2.0 and interval.n == 3
    assert interval.high - 2.0 == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)


def test_an_interval_below_two_values_says_what_to_do() -> None:
    with pytest.raises(SpecviewError, match="record more"):
        t_interval([1.0])


def test_a_value_that_is_not_finite_is_refused() -> None:
    with pytest.raises(SpecviewError, match="finite"):
        t_interval([1.0, math.nan])


def test_the_speedup_interval_is_symmetric_in_ratio_not_in_difference() -> None:
    s = log_ratio_interval([math.log(0.8), math.log(0.9), math.log(0.85)])
    assert s.estimate == pytest.approx((0.8 * 0.9 * 0.85) ** (1 / 3))
    assert s.high / s.estimate == pytest.approx(s.estimate / s.low)


def test_throughput_is_total_tokens_over_total_time_and_not_a_mean_of_speeds() -> None:
    interval = ratio_of_means_interval([30, 10, 20], [1.0, 1.0, 2.0])
    assert interval.estimate == pytest.approx(15.0)
    assert interval.low < 15 < interval.high


def test_a_ratio_of_means_covers_its_truth() -> None:
    rng = np.random.default_rng(4)
    seconds = rng.lognormal(0, 0.2, (2000, 12))
    tokens = 50 * seconds * rng.normal(1, 0.1, seconds.shape)
    covered = [
        ratio_of_means_interval(a, b).holds(50.0) for a, b in zip(tokens.tolist(), seconds.tolist(), strict=True)
    ]
    assert 0.92 <= np.mean(covered) <= 0.97


def test_median_and_mad_ignore_one_wild_value() -> None:
    spread = median_and_mad([1.0, 2.0, 3.0, 4.0, 1000.0])
    assert (spread.median, spread.mad, spread.n) == (3.0, 1.0, 5)


def test_wilson_of_the_short_run_in_article_a() -> None:
    interval = wilson(25, 47)
    assert (interval.low, interval.high) == (
        pytest.approx(0.3923, abs=1e-3),
        pytest.approx(0.6667, abs=1e-3),
    )


def test_fewer_effective_trials_widen_wilson() -> None:
    assert wilson(25, 47, effective=20).low < wilson(25, 47).low


def test_none_of_387_drafts_bounds_the_share_below_one_percent() -> None:
    assert upper_bound_when_none(387) == pytest.approx(0.00771, abs=1e-5)
    assert upper_bound_when_none(1000) == pytest.approx(3 / 1000, rel=0.01)


def test_independent_values_count_in_full_and_a_constant_series_too() -> None:
    rng = np.random.default_rng(8)
    sizes = [effective_size(rng.normal(size=400).tolist()) for _ in range(50)]
    assert np.mean(sizes) > 340
    assert effective_size([1.0] * 50) == 50


def test_a_series_that_repeats_itself_counts_for_less() -> None:
    rng = np.random.default_rng(9)
    sizes = []
    for _ in range(60):
        series = rng.normal(size=1000)
        for i in range(1, 1000):
            series[i] = 0.5 * series[i - 1] + math.sqrt(0.75) * series[i]
        sizes.append(effective_size(series.tolist()))
    assert np.mean(sizes) == pytest.approx(1000 / 3, rel=0.15)


def test_alternating_values_never_count_for_more_than_there_are() -> None:
    assert effective_size([0.0, 1.0] * 40) <= 80


def test_looks_are_declared_and_double_beyond_sixty() -> None:
    assert [last_look(n) for n in (2, 3, 5, 6, 59, 60, 119, 120, 500)] == [
        None,
        3,
        3,
        6,
        36,
        60,
        60,
        120,
        480,
    ]
    assert [next_look(n) for n in (1, 3, 17, 60, 120)] == [3, 6, 18, 120, 240]
    assert last_look(5, serial=True) is None and last_look(6, serial=True) == 6


def test_later_looks_beyond_sixty_have_little_left_to_spend() -> None:
    tail = sum(look_error(60 * 2**i) for i in range(1, 40))
    assert tail < 0.005


def test_between_looks_the_watched_interval_does_not_move() -> None:
    values = [0.1, 0.12, 0.08, 0.3, -0.4]
    assert live_interval(values[:2]) is None
    assert live_interval(values[:3]) == live_interval(values[:5])


def test_a_closing_look_counts_every_prompt_and_is_narrower_than_a_watched_one() -> None:
    values = [0.1, 0.12, 0.08, 0.11, 0.09, 0.1]
    closing, watched = live_interval(values, closing=True), live_interval(values)
    assert closing is not None and watched is not None
    assert watched.low < closing.low < closing.high < watched.high
    assert live_interval(values[:5], closing=True) is not None


def test_a_closing_look_at_three_is_the_plain_interval() -> None:
    values = [0.1, 0.2, 0.15]
    assert live_interval(values, closing=True) == log_ratio_interval(values)


def test_segments_that_drift_together_give_a_wider_interval_than_prompts() -> None:
    drifting = [0.00, 0.02, 0.04, 0.06, 0.08, 0.10]
    segments, prompts = live_interval(drifting, serial=True), live_interval(drifting)
    assert segments is not None and prompts is not None
    assert segments.high > prompts.high


def test_a_clear_loss_needs_no_more_prompts() -> None:
    assert prompts_still_needed([-0.30, -0.31, -0.29]) == 0


def test_a_small_effect_needs_more_prompts_than_a_large_one_and_ends_on_a_look() -> None:
    noise = [-0.1, 0.1, -0.05, 0.05, 0.0, 0.0]
    large = prompts_still_needed([0.06 + e for e in noise])
    small = prompts_still_needed([0.02 + e for e in noise])
    assert large is not None and small is not None and 0 < large < small
    assert large + 6 in LOOKS


def test_no_number_of_prompts_decides_a_speedup_of_exactly_one() -> None:
    assert prompts_still_needed([-0.1, 0.1, -0.05, 0.05]) is None
    assert prompts_still_needed([0.1]) is None


def test_an_effect_too_small_for_any_budget_has_no_number_either() -> None:
    assert prompts_still_needed([1e-6 + e for e in (-0.1, 0.1, -0.1, 0.1)]) is None


def test_rounds_still_needed_scale_with_rounds_per_prompt() -> None:
    values = [0.06 + e for e in (-0.1, 0.1, -0.05, 0.05, 0.0, 0.0)]
    prompts = prompts_still_needed(values)
    assert prompts is not None
    assert rounds_still_needed(values, rounds=300) == prompts * 50


def test_the_projection_is_reached_when_prompts_go_on_as_before() -> None:
    rng = np.random.default_rng(3)
    values = (0.05 + rng.normal(0, 0.08, 400)).tolist()
    now = values[:6]
    more = prompts_still_needed(now)
    assert more is not None and more > 0
    # Within a look or two: the spread of six prompts is itself uncertain.
    reached = next(n for n in range(6, 401) if (s := live_interval(values[:n])) and not s.holds(1.0))
    assert reached <= 4 * (6 + more)


def test_a_quotient_of_intervals_is_wider_than_either() -> None:
    a, b = Interval(2.0, 1.9, 2.1, 0.95, 10), Interval(1.0, 0.97, 1.03, 0.95, 8)
    ratio = ratio_of_intervals(a, b)
    assert ratio.estimate == pytest.approx(2.0) and ratio.n == 8
    assert ratio.low < 1.9 and ratio.high > 2.1
    with pytest.raises(SpecviewError, match="above zero"):
        ratio_of_intervals(a, Interval(0.1, -0.1, 0.3, 0.95, 3))


def test_importing_the_judge_brings_neither_scipy_nor_mlx() -> None:
    code = (
        "import sys; import specview.profilers.judge.verdict, specview.profilers.judge.prediction; "
        "print([m for m in sys.modules if m.split('.')[0] in ('scipy', 'mlx', 'textual')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
