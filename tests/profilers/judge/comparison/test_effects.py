"""Intervals over units: right about nothing in 93 of 100 tries or more, and paired where texts are shared."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specview.profilers.judge.comparison.effects import Effect, difference_of, effect_of, error_of, jackknifed
from specview.profilers.judge.comparison.measures import changes_of
from specview.profilers.judge.comparison.split import log_mean, split_of
from specview.profilers.judge.comparison.units import Matched, Sum
from specview.profilers.judge.statistics import Floats, t_interval

TRIES = 200


def totals(random: np.random.Generator, speeds: Floats, acceptances: Floats) -> Floats:
    """One session: each prompt's own speed and acceptance, and times with noise of 8% a prompt."""
    n = len(speeds)
    rows = np.zeros((n, len(Sum)))
    rounds = 30.0

    def ns(ms: float) -> Floats:
        return np.asarray(ms * 1e6 * speeds * np.exp(random.normal(0, 0.08, n)), dtype=np.float64)

    accepted = random.binomial(int(rounds), acceptances).astype(float)
    rows[:, Sum.PLAIN_TOKENS], rows[:, Sum.PLAIN_NS] = 60, 60 * ns(10)
    rows[:, Sum.ROUNDS], rows[:, Sum.TOKENS] = rounds, rounds + accepted
    rows[:, Sum.ROUND_NS] = rounds * ns(14)
    rows[:, Sum.DRAFTED], rows[:, Sum.ACCEPTED], rows[:, Sum.TESTED] = rounds, accepted, rounds
    rows[:, Sum.SPLITS] = rounds / 2
    rows[:, Sum.DRAFT_NS], rows[:, Sum.VERIFY_NS], rows[:, Sum.REST_NS] = (
        rounds / 2 * ns(1), rounds / 2 * ns(12), rounds / 2 * ns(0.5),
    )  # fmt: skip
    return rows


def made(random: np.random.Generator, n: int, paired: bool) -> Matched:
    """Two sessions of nothing different; prompts differ much among themselves, alike in both where paired."""

    def prompts() -> tuple[Floats, Floats]:
        return np.exp(random.normal(0, 0.15, n)), random.uniform(0.5, 0.9, n)

    first = prompts()
    second = first if paired else prompts()
    return Matched(
        base=totals(random, *first), other=totals(random, *second), paired=paired, serial=False, scope="prompts",
        shared=n if paired else 0, base_prompts=n, other_prompts=n,
    )  # fmt: skip


@pytest.mark.parametrize(("n", "paired"), [(3, True), (9, True), (9, False)])
def test_nothing_is_called_noise_in_at_least_93_of_100_tries(n: int, paired: bool) -> None:
    random = np.random.default_rng(5)
    real: dict[str, int] = {}
    for _ in range(TRIES):
        units = made(random, n, paired)
        for change in changes_of(units):
            real[change.key] = real.get(change.key, 0) + (change.finding == "real")
        split = split_of(units, None, lengths_differ=False)
        assert split is not None
        for part in split.parts:
            real[part.key] = real.get(part.key, 0) + (part.log_speed.finding == "real")
    # 200 tries at 5% have a standard error of 1.5%, so 9.5% is as far as chance goes.
    assert {key: count / TRIES for key, count in real.items() if count / TRIES > 0.095} == {}
    assert sum(real.values()) / len(real) / TRIES < 0.07


def test_pairing_leaves_out_what_is_special_about_a_prompt() -> None:
    random = np.random.default_rng(6)
    units = made(random, 12, True)
    apart = Matched(
        base=units.base, other=units.other, paired=False, serial=False, scope="prompts", shared=0, base_prompts=12,
        other_prompts=12,
    )  # fmt: skip
    together, alone = changes_of(units)[0].log_ratio, changes_of(apart)[0].log_ratio
    assert together is not None and alone is not None and together.estimate == pytest.approx(alone.estimate)
    assert error_of(together) < 0.6 * error_of(alone)


def test_a_change_of_the_visible_size_is_found_in_about_four_of_five_tries() -> None:
    random = np.random.default_rng(7)
    size = float(np.median([_visible(random) for _ in range(60)]))
    found = 0
    for _ in range(TRIES):
        units = made(random, 9, True)
        units.other[:, Sum.ROUND_NS] *= math.exp(size)
        found += changes_of(units)[0].finding == "real"
    assert 0.7 < found / TRIES < 0.9


def _visible(random: np.random.Generator) -> float:
    effect = changes_of(made(random, 9, True))[0].log_ratio
    assert effect is not None and effect.visible is not None
    return effect.visible


def test_leaving_one_out_of_a_mean_is_its_t_interval() -> None:
    values = np.array([[1.0, 1.0], [2.0, 1.0], [4.0, 1.0], [5.0, 1.0]])

    def mean(base: Floats, other: Floats, least: int) -> Floats:
        return np.stack([other[..., 0] / other[..., 1]], axis=-1)

    found = jackknifed(mean, values, values, paired=True, serial=False)[0]
    told = t_interval([1.0, 2.0, 4.0, 5.0])
    assert found.low == pytest.approx(told.low) and found.high == pytest.approx(told.high)


def test_fewer_than_three_units_have_no_interval() -> None:
    units = made(np.random.default_rng(1), 2, True)
    assert {change.finding for change in changes_of(units)} == {"unknown"}


def test_an_effect_keeps_its_finding_in_another_unit() -> None:
    effect = effect_of(2.0, 0.5, 8)
    turned = effect.scaled(-3.0)
    assert effect.finding == turned.finding == "real" and turned.low is not None and turned.high is not None
    assert turned.low < turned.estimate == -6.0 < turned.high < 0
    assert Effect(1.0).scaled(2.0) == Effect(2.0) and Effect(1.0).finding == "unknown"
    assert error_of(effect) == pytest.approx(0.5) and math.isnan(error_of(Effect(1.0)))


def test_welch_takes_the_freedom_of_the_noisier_side() -> None:
    found = difference_of((10.0, 0.0, 1000.0), (11.0, 0.2, 5.0))
    assert found.estimate == 1.0 and found.freedom == pytest.approx(4.0)
    assert difference_of((1.0, math.nan, 1.0), (2.0, 0.1, 5.0)) == Effect(1.0)


def test_the_logarithmic_mean_lies_between_and_meets_at_equal_values() -> None:
    a, b = np.array([2.0, 3.0, 5.0]), np.array([4.0, 3.0, 5.0 * (1 + 1e-9)])
    found = log_mean(a, b)
    assert found[0] == pytest.approx(2.0 / math.log(2.0)) and found[1] == pytest.approx(3.0)
    assert found[2] == pytest.approx(5.0)
