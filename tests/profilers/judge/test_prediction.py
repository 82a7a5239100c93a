"""Predictions from parts, their intervals and the reasons when they miss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from specview.engine.errors import SpecviewError
from specview.profilers.judge.economics import DrafterKind, draft_steps
from specview.profilers.judge.parts import Part, part_from, quotient, weighted_sum
from specview.profilers.judge.prediction import (
    PredictionError,
    PredictionFacts,
    PredictionParts,
    explain,
    predict,
)
from specview.profilers.judge.spans import Pipelined, Span, Synchronous

OCTOBER = PredictionParts(
    draft=Span(2.6, Synchronous, 0.05, 60),
    verify=Span(21.0, Synchronous, 0.1, 60),
    rest=Span(0.2, Synchronous, 0.01, 60),
    tokens_per_round=Part(1.51, 0.03, 60),
    decode=Span(10.87, Pipelined, 0.05, 100),
)
ENOUGH = PredictionFacts(split_rounds=100, free_rounds=100)


def synchronous(values: list[float]) -> Span[Synchronous]:
    part = part_from(values)
    return Span(part.mean, Synchronous, part.se, part.n)


def pipelined(values: list[float]) -> Span[Pipelined]:
    part = part_from(values)
    return Span(part.mean, Pipelined, part.se, part.n)


def test_parts_add_up_to_the_round_and_divide_into_the_speedup() -> None:
    p = predict(OCTOBER)
    assert p.round_ms.estimate == pytest.approx(23.8)
    assert p.round_steps.estimate == pytest.approx(23.8 / 10.87)
    assert p.speedup.estimate == pytest.approx(1.51 * 10.87 / 23.8)
    assert p.tokens_per_second.estimate == pytest.approx(1510 / 23.8)
    for interval in (p.round_ms, p.round_steps, p.speedup, p.tokens_per_second):
        assert interval.low < interval.estimate < interval.high


def test_a_less_certain_part_widens_the_prediction() -> None:
    vague = replace(OCTOBER, verify=Span(21.0, Synchronous, 2.0, 60))
    assert predict(vague).speedup.high > predict(OCTOBER).speedup.high


def test_a_part_of_few_values_uses_few_degrees_of_freedom() -> None:
    few, many = Part(10.0, 0.1, 3).interval(), Part(10.0, 0.1, 300).interval()
    assert few.high - few.low > 2 * (many.high - many.low)


def test_a_weighted_sum_builds_a_draft_at_full_acceptance_from_probes() -> None:
    step = {1: Part(1.0, 0.01, 20), 4: Part(1.6, 0.02, 20)}
    draft = weighted_sum([(n, step[w]) for w, n in draft_steps(DrafterKind.MTP, (1.0,) * 3).items()])
    assert draft.mean == pytest.approx(2 * 1.0 + 1.6)
    assert draft.se == pytest.approx(np.hypot(0.02, 0.02))
    assert 20 <= draft.n <= 40


def test_a_part_without_noise_adds_none() -> None:
    total = weighted_sum([(1.0, Part(3.0, 0.0, 5)), (2.0, Part(1.0, 0.0, 5))])
    assert (total.mean, total.se) == (5.0, 0.0)


def test_a_serial_part_counts_its_effective_values() -> None:
    rng = np.random.default_rng(2)
    series = rng.normal(size=600)
    for i in range(1, 600):
        series[i] = 0.6 * series[i - 1] + 0.8 * series[i]
    honest, naive = part_from((10 + series).tolist()), part_from((10 + series).tolist(), serial=False)
    assert honest.se > 1.5 * naive.se and honest.n < naive.n == 600


def test_a_quotient_needs_positive_parts() -> None:
    with pytest.raises(SpecviewError, match="above zero"):
        quotient([Part(0.0, 0.1, 5)], [Part(1.0, 0.1, 5)])


def test_the_predicted_interval_covers_the_true_speed_of_free_rounds() -> None:
    rng = np.random.default_rng(10)
    true_speed = 1000 * 1.8 / 16.5
    covered = 0
    for _ in range(800):
        parts = PredictionParts(
            draft=synchronous(rng.normal(3.0, 0.5, 40).tolist()),
            verify=synchronous(rng.normal(13.0, 1.0, 40).tolist()),
            rest=synchronous(rng.normal(0.5, 0.1, 40).tolist()),
            tokens_per_round=part_from((1.0 + (rng.random(40) < 0.8)).tolist()),
            decode=pipelined(rng.normal(10.0, 0.5, 60).tolist()),
        )
        covered += predict(parts).tokens_per_second.holds(true_speed)
    assert covered / 800 > 0.92


def test_an_error_within_three_percent_needs_no_reason() -> None:
    assert explain(PredictionError(98, 100, -0.02, -0.03, -0.01), ENOUGH) == ()


@pytest.mark.parametrize(
    ("facts", "match"),
    [
        (PredictionFacts(100, 100, drift=1.05), "5.0% slower"),
        (
            PredictionFacts(100, 100, split_share_by_width={5: 0.9, 1: 0.1}, free_share_by_width={5: 0.6, 1: 0.4}),
            "30% of the rounds had other widths",
        ),
        (PredictionFacts(100, 100, split_context=200.0, free_context=500.0), "300 positions more"),
        (PredictionFacts(100, 100, rest_share=0.12), "T_rest is 12%"),
        (PredictionFacts(100, 100, fence_cost=0.03), "3.0% slower than a free one, because of its fences"),
        (
            PredictionFacts(100, 100, fence_cost=-0.096),
            "Split rounds took 9.6% less than free ones, which fences cannot explain: the machine was unsteady.",
        ),
        (PredictionFacts(12, 100), "12 split and 100 free"),
        (ENOUGH, "Nothing that was recorded explains it"),
    ],
)
def test_a_larger_error_is_explained_by_what_differed(facts: PredictionFacts, match: str) -> None:
    reasons = explain(PredictionError(106, 100, 0.06, 0.04, 0.08), facts)
    assert len(reasons) == 1 and match in reasons[0]


def test_an_error_whose_interval_holds_zero_may_be_noise() -> None:
    (reason,) = explain(PredictionError(106, 100, 0.06, -0.01, 0.13), ENOUGH)
    assert "holds zero" in reason


def test_all_reasons_that_apply_are_given() -> None:
    facts = PredictionFacts(10, 10, drift=0.9, rest_share=0.2)
    reasons = explain(PredictionError(94, 100, -0.06, -0.1, -0.02), facts)
    assert len(reasons) == 3 and "faster" in reasons[0]
