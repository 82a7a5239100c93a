"""Rounds simulated with a known truth: the intervals cover it and live looks hold their error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from specview.profilers.judge.statistics import (
    LOOKS,
    effective_size,
    live_interval,
    log_ratio_interval,
    look_error,
    t_interval,
    t_quantile,
    wilson,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Machine:
    """A drafter at k = 2 on prompts that differ, with rounds that remember the one before."""

    draft_and_verify: float = 1.45
    catch_up: float = 0.15
    rest: float = 0.05
    sticky: float = 0.35
    segments: int = 4
    rounds: int = 14
    steps: int = 32

    def alphas(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        return rng.beta(9.0, 6.0, size=shape)

    def truth(self, alpha: Floats) -> Floats:
        """log S of a prompt, in decode steps."""
        tokens = 1 + alpha + alpha**2
        return np.log(tokens) - np.log(self.draft_and_verify + self.catch_up * alpha**2 + self.rest)

    def log_ratios(self, rng: np.random.Generator, runs: int, prompts: int) -> Floats:
        """Measured log ratio of each prompt: (runs, prompts)."""
        alpha = self.alphas(rng, (runs, prompts))
        tokens, drafting, plain = (np.zeros_like(alpha) for _ in range(3))
        accepted = self._fresh(rng, alpha)
        for _ in range(self.segments):
            machine = rng.lognormal(0.0, 0.05, alpha.shape)
            plain += machine * self.steps * (1 + rng.normal(0, 0.15 / np.sqrt(self.steps), alpha.shape))
            for _ in range(self.rounds):
                before = accepted
                stay = rng.random(alpha.shape) < self.sticky
                accepted = np.where(stay, before, self._fresh(rng, alpha))
                cost = self.draft_and_verify + self.catch_up * (before == 2) + self.rest
                drafting += machine * cost * (1 + rng.normal(0, 0.15, alpha.shape))
                tokens += accepted + 1
        steps = self.segments * self.steps
        return np.log(tokens / drafting) - np.log(steps / plain)

    def _fresh(self, rng: np.random.Generator, alpha: Floats) -> Floats:
        first, second = rng.random((2, *alpha.shape)) < alpha
        return first * (1.0 + second)


@pytest.fixture(scope="module")
def population_log_speedup() -> float:
    machine = Machine()
    return float(machine.truth(machine.alphas(np.random.default_rng(1), (2_000_000,))).mean())


@pytest.mark.parametrize("prompts", [3, 6, 18])
def test_the_interval_over_prompts_covers_the_true_speedup(prompts: int, population_log_speedup: float) -> None:
    measured = Machine().log_ratios(np.random.default_rng(prompts), 5000, prompts)
    truth = float(np.exp(population_log_speedup))
    covered = np.mean([log_ratio_interval(row.tolist()).holds(truth) for row in measured])
    assert 0.92 <= covered <= 0.97


def test_watching_after_every_prompt_gives_fewer_than_five_percent_false_verdicts(
    population_log_speedup: float,
) -> None:
    measured = Machine().log_ratios(np.random.default_rng(60), 4000, 60) - population_log_speedup
    watched, plain = (np.zeros(len(measured), dtype=bool) for _ in range(2))
    for n in range(3, 61):
        seen = measured[:, :n]
        t = np.abs(seen.mean(1)) / (seen.std(1, ddof=1) / np.sqrt(n))
        plain |= t > t_quantile(0.975, n - 1)
        if n in LOOKS:
            watched |= t > t_quantile(1 - look_error(n) / 2, n - 1)
    assert watched.mean() < 0.05
    assert plain.mean() > 0.2, "the rule would not be needed"


def test_the_watched_interval_is_the_rule_that_was_simulated() -> None:
    values = np.random.default_rng(2).normal(0.1, 0.2, 60)
    for n in range(3, 61):
        watched = live_interval(values[:n].tolist())
        look = max(look for look in LOOKS if look <= n)
        once = t_interval(values[:look].tolist(), 1 - look_error(look))
        assert watched is not None and watched.n == look and watched.level == 0.95
        assert np.allclose(np.log([watched.low, watched.high]), [once.low, once.high])


@pytest.mark.parametrize("end", [3, 4, 5, 6, 8, 12, 18, 24, 60])
def test_the_closing_look_at_any_planned_end_keeps_the_error_at_five_percent(end: int) -> None:
    values = np.random.default_rng(end).normal(size=(60_000, end))
    false = np.zeros(len(values), dtype=bool)
    for n in [*(look for look in LOOKS if look < end), end]:
        seen = values[:, :n]
        t = np.abs(seen.mean(1)) / (seen.std(1, ddof=1) / np.sqrt(n))
        false |= t > t_quantile(1 - look_error(n, closing=n == end) / 2, n - 1)
    assert false.mean() < 0.051


@pytest.mark.parametrize(("memory", "most"), [(0.0, 0.04), (0.2, 0.05), (0.3, 0.065)])
def test_segments_of_one_prompt_hold_their_error_though_they_are_correlated(memory: float, most: float) -> None:
    rng = np.random.default_rng(11)
    values = rng.normal(size=(3000, 60))
    for i in range(1, 60):
        values[:, i] = memory * values[:, i - 1] + np.sqrt(1 - memory**2) * values[:, i]
    false = 0
    for row in (0.03 * values).tolist():
        looks = (live_interval(row[:n], serial=True) for n in LOOKS[1:])
        false += any(look is not None and not look.holds(1.0) for look in looks)
    assert false / len(values) < most


def test_wilson_on_effective_rounds_covers_where_plain_wilson_does_not() -> None:
    rng = np.random.default_rng(5)
    runs, rounds, share, sticky = 1500, 200, 0.6, 0.5
    series = (rng.random((runs, rounds)) < share).astype(float)
    for i in range(1, rounds):
        stay = rng.random(runs) < sticky
        series[stay, i] = series[stay, i - 1]
    rows = series.tolist()
    honest = [wilson(sum(row), rounds, effective=effective_size(row)).holds(share) for row in rows]
    plain = [wilson(sum(row), rounds).holds(share) for row in rows]
    assert np.mean(honest) > 0.92
    assert np.mean(plain) < 0.8
