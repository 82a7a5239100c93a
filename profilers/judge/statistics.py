"""How sure a number is: intervals over prompts and segments, and looks that hold their error.

Everything takes plain sequences of floats and returns `Interval`s; levels are
fractions (0.95). scipy.special is imported only when a t quantile is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ...engine.errors import SpecviewError

Floats = NDArray[np.float64]
Values = Sequence[float] | Floats

# Looks are declared, so that watching in between is free. At 3, 6 and 18 the interval is 1.68, 1.53 and 1.54
# times the plain one; looks after every prompt cost 1.8, a mixture t martingale 1.8 to 3.
LOOKS = (3, 6, 12, 18, 36, 60)
# Error spent at look n is FIRST_LOOK_ERROR · (3/n)^LOOK_DECAY, set by simulation (240,000 runs to 480
# prompts) to 4.1% over every look, the doublings beyond 60 included: skewed log ratios need the rest. Two
# sharply different kinds of prompt still cost up to 7.5%, as with any t interval: judge kinds apart.
FIRST_LOOK_ERROR = 0.0185
LOOK_DECAY = 0.75
CLOSING_SHARE = 2.5
LEVEL = 0.95
FURTHEST_PROJECTION = 10_000
LONGEST_TRANSFORM = 8_192


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the two ends of its interval, the level it holds and how many units it rests on."""

    estimate: float
    low: float
    high: float
    level: float
    n: int

    def holds(self, value: float) -> bool:
        """Whether the value lies inside, ends included."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, median absolute deviation (not scaled to a standard deviation) and count, for display."""

    median: float
    mad: float
    n: int


def t_quantile(probability: float, freedom: float) -> float:
    """Quantile of Student's t with `freedom` degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def t_chance(t: float, freedom: float) -> float:
    """How likely Student's t with `freedom` degrees of freedom is as far from zero as `t`, either way."""
    from scipy.special import stdtr

    return 2.0 * float(stdtr(freedom, -abs(t)))


def t_interval(values: Values, level: float = LEVEL, *, serial: bool = False) -> Interval:
    """Mean of independent values with its t interval, in the values' unit.

    With `serial` the values are a series in time and the standard error is
    widened by n ÷ effective_size. Raises SpecviewError below two values.
    """
    array = _checked(values, 2)
    n = array.size
    half = t_quantile(0.5 + level / 2, n - 1) * _standard_error(array, serial)
    mean = float(array.mean())
    return Interval(mean, mean - half, mean + half, level, n)


def ratio_of_means_interval(
    numerators: Sequence[float], denominators: Sequence[float], level: float = LEVEL, *, serial: bool = False
) -> Interval:
    """Total ÷ total with a delta-method t interval, for tok/s (tokens, seconds) or E (tokens, rounds).

    One pair per unit (segment or prompt). Raises SpecviewError below two pairs,
    at unequal lengths or when a denominator is not positive. Source: Cochran 1977, 6.
    """
    top, bottom = _checked(numerators, 2), _checked(denominators, 2)
    if top.size != bottom.size:
        raise SpecviewError("A ratio of means needs one denominator for each numerator.")
    if float(bottom.min()) <= 0:
        raise SpecviewError("A ratio of means needs denominators above zero.")
    ratio = float(top.sum() / bottom.sum())
    residuals = (top - ratio * bottom) / float(bottom.mean())
    half = t_quantile(0.5 + level / 2, top.size - 1) * _standard_error(residuals, serial)
    return Interval(ratio, ratio - half, ratio + half, level, top.size)


def log_ratio_interval(log_ratios: Sequence[float], level: float = LEVEL) -> Interval:
    """S from one log ratio (drafting ÷ plain tok/s) per prompt: exp of the t interval, for a single look."""
    return _exponential(t_interval(log_ratios, level))


def median_and_mad(values: Values) -> Spread:
    """Median and median absolute deviation of at least one value, in the values' unit."""
    array = _checked(values, 1)
    median = float(np.median(array))
    return Spread(median, float(np.median(np.abs(array - median))), array.size)


def wilson(successes: float, trials: float, level: float = LEVEL, effective: float | None = None) -> Interval:
    """Share of successes with its Wilson interval.

    `effective` trials replace the count when they are correlated. Raises
    SpecviewError without trials or with more successes than trials. Source: Wilson 1927.
    """
    if trials <= 0 or not 0 <= successes <= trials:
        raise SpecviewError("A share needs at least one trial and no more successes than trials.")
    share = successes / trials
    n = trials if effective is None else max(1.0, min(effective, trials))
    z = NormalDist().inv_cdf(0.5 + level / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return Interval(share, low, high, level, round(trials))


def upper_bound_when_none(trials: int, level: float = LEVEL) -> float:
    """Largest share that still shows no success in `trials` with probability 1 − level (about 3 ÷ trials)."""
    return float(1.0 - (1.0 - level) ** (1.0 / trials))


def effective_size(series: Values) -> float:
    """How many independent values a series in time is worth, from its autocorrelation: between 1 and n.

    n ÷ (1 + 2 Σ ρ) over the initial positive sequence; below 20 values one lag
    only. A constant series counts in full. Source: Geyer 1992, section 3.3.
    """
    array = _checked(series, 1)
    n = array.size
    centred = array - array.mean()
    power = _squares(centred)
    if n < 3 or power <= 1e-24 * max(1.0, _squares(array)):
        return float(n)
    if n < 20:
        # A short series reads its own correlation about (1 + 3ρ)/n too low.
        rho = min(max(float(centred[1:] @ centred[:-1]) / power + 2 / n, 0.0), 0.9)
        return max(1.0, n * (1 - rho) / (1 + rho))
    # Beyond √n lags the sum is noise, and the correction for bias would add up.
    lags = 2 * min(n // 2, max(2, math.isqrt(n)))
    correlation = _lagged_products(centred, lags) / power + 1 / n
    correlation[0] = 1.0
    pairs = correlation[0::2] + correlation[1::2]
    ends = np.flatnonzero(pairs <= 2 / math.sqrt(n))
    total = 2 * float(pairs[: ends[0] if ends.size else pairs.size].sum()) - 1
    return float(min(n, max(1.0, n / max(total, 1.0))))


def _lagged_products(centred: Floats, lags: int) -> Floats:
    """Σ x_i · x_(i+lag) for the first lags, by Fourier transforms: of stretches where the series is long."""
    n = centred.size
    if n <= LONGEST_TRANSFORM:
        transform = np.fft.rfft(centred, 2 * n)
        whole: Floats = np.fft.irfft(transform * np.conj(transform), 2 * n)[:lags]
        return whole
    size = max(LONGEST_TRANSFORM, 1 << (4 * lags - 1).bit_length())
    step = size - lags
    power = np.zeros(size // 2 + 1, np.complex128)
    for start in range(0, n, step):
        # the same stretch, followed by what its last values meet
        power += np.conj(np.fft.rfft(centred[start : start + step], size)) * np.fft.rfft(
            centred[start : start + size], size
        )
    products: Floats = np.fft.irfft(power, size)[:lags]
    return products


def _squares(array: Floats) -> float:
    # a product of long vectors is shared out among threads, which wait for each other on a busy machine
    return float(array @ array) if array.size <= LONGEST_TRANSFORM else float(np.square(array).sum())


def last_look(n: int, *, serial: bool = False) -> int | None:
    """The declared look at or before n units: 3, 6, 12, 18, 36, 60, then doublings; segments start at 6."""
    looks = [look for look in (LOOKS[1:] if serial else LOOKS) if look <= n]
    if not looks:
        return None
    look = looks[-1]
    while look >= LOOKS[-1] and 2 * look <= n:
        look *= 2
    return look


def next_look(n: int, *, serial: bool = False) -> int:
    """The first declared look after n units."""
    for look in LOOKS[1:] if serial else LOOKS:
        if look > n:
            return look
    look = LOOKS[-1]
    while look <= n:
        look *= 2
    return look


def look_error(n: int, *, closing: bool = False) -> float:
    """The error one look at n units may spend so that all looks together stay at 5%.

    The closing look, at an end that was planned and not chosen after a look,
    has what the later looks would have spent: 2.5 times as much, all of it at three.
    """
    if closing and n <= LOOKS[0]:
        return 1 - LEVEL
    return FIRST_LOOK_ERROR * math.pow(LOOKS[0] / n, LOOK_DECAY) * (CLOSING_SHARE if closing else 1.0)


def live_interval(log_ratios: Sequence[float], *, closing: bool = False, serial: bool = False) -> Interval | None:
    """S with a 95% interval that may be watched: all its looks together exclude the truth in under 5%.

    One log ratio per prompt, in order; with `serial` one per segment of a
    single prompt, whose correlation widens it. Between declared looks the last
    one stands, so `n` may be below len(log_ratios); None before the first.
    With `closing` the budget was spent as planned and all values count.
    """
    n = len(log_ratios) if closing else last_look(len(log_ratios), serial=serial)
    if n is None or n < LOOKS[0]:
        return None
    level = 1 - look_error(n, closing=closing)
    inside = t_interval(log_ratios[:n], level, serial=serial)
    return _exponential(Interval(inside.estimate, inside.low, inside.high, LEVEL, n))


def prompts_still_needed(
    log_ratios: Sequence[float], *, serial: bool = False, most: int = FURTHEST_PROJECTION
) -> int | None:
    """How many more prompts (or segments) until the watched interval excludes 1, if mean and spread stay.

    0 when it does already; None when the mean is exactly 1x, when there are
    fewer than two values, or when more than `most` would be needed.
    """
    if len(log_ratios) < 2:
        return None
    now = live_interval(log_ratios, serial=serial)
    if now is not None and not now.holds(1.0):
        return 0
    array = _checked(log_ratios, 2)
    mean = abs(float(array.mean()))
    if mean == 0.0:
        return None
    deviation = _standard_error(array, serial) * math.sqrt(array.size)
    look = next_look(array.size, serial=serial)
    while look <= array.size + most:
        if t_quantile(1 - look_error(look) / 2, look - 1) * deviation / math.sqrt(look) < mean:
            return look - array.size
        look = next_look(look, serial=serial)
    return None


def rounds_still_needed(
    log_ratios: Sequence[float], rounds: int, *, serial: bool = False, most: int = FURTHEST_PROJECTION
) -> int | None:
    """`prompts_still_needed` in rounds, at as many rounds a prompt (or segment) as the `rounds` so far."""
    units = prompts_still_needed(log_ratios, serial=serial, most=most)
    return None if units is None else math.ceil(units * rounds / len(log_ratios))


def ratio_of_intervals(top: Interval, bottom: Interval) -> Interval:
    """Quotient of two independent, positive intervals of one level (MOVER on logs; Zou and Donner 2008)."""
    if min(top.low, bottom.low) <= 0:
        raise SpecviewError("A ratio of two intervals needs both above zero; record more rounds first.")
    log = math.log
    centre = log(top.estimate) - log(bottom.estimate)
    down = math.hypot(log(top.estimate / top.low), log(bottom.high / bottom.estimate))
    up = math.hypot(log(top.high / top.estimate), log(bottom.estimate / bottom.low))
    n = min(top.n, bottom.n)
    return Interval(math.exp(centre), math.exp(centre - down), math.exp(centre + up), top.level, n)


def _standard_error(array: Floats, serial: bool) -> float:
    n = effective_size(array) if serial else array.size
    return float(array.std(ddof=1)) / math.sqrt(n)


def _exponential(interval: Interval) -> Interval:
    low, estimate, high = (math.exp(v) for v in (interval.low, interval.estimate, interval.high))
    return Interval(estimate, low, high, interval.level, interval.n)


def _checked(values: Values, least: int) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.size < least:
        raise SpecviewError(f"This needs at least {least} values and has {array.size}; record more.")
    if not np.isfinite(array).all():
        raise SpecviewError("A measurement is not a finite number; record it again.")
    return array
