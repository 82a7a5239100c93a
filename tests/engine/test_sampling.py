"""Drawing: the filters are mlx-lm's, the draws follow the weights, and a seed says every random number."""

from __future__ import annotations

import itertools

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.sample_utils import apply_min_p, apply_top_k, apply_top_p
from scipy import stats

from specview.engine.sampling import (
    Sampling,
    SamplingError,
    Stream,
    chosen_sampling,
    distribution,
    draw,
    drawn,
    uniforms,
)

LARGEST = (2**23 - 1) / 2**23


def logits_of(rows, vocabulary, seed=0, spread=3.0):
    return mx.array(np.random.default_rng(seed).normal(0, spread, (rows, vocabulary)).astype(np.float32))


def pairs_of(count, seed=0):
    """Random pairs as `uniforms` gives them, but quickly."""
    grains = np.random.default_rng(seed).integers(0, 2**23, (count, 2))
    return mx.array((grains / 2**23).astype(np.float32))


# -------------------------------------------------------------- distributions


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
@pytest.mark.parametrize(("top_p", "top_k", "min_p"), list(itertools.product([1.0, 0.8], [0, 7], [0.0, 0.1])))
def test_the_filters_are_mlx_lms_in_their_order(temperature, top_p, top_k, min_p):
    logits = logits_of(4, 50)
    x = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    if top_p < 1:
        x = apply_top_p(x, top_p)
    if min_p:
        x = apply_min_p(x, min_p)
    if top_k:
        x = apply_top_k(x, top_k)
    expected = np.array(mx.softmax(x / temperature, axis=-1))
    sampling = Sampling(temperature=temperature, top_p=top_p, top_k=top_k, min_p=min_p)
    made = np.array(distribution(logits, sampling))
    assert np.array_equal(made > 0, expected > 0)
    np.testing.assert_allclose(made, expected, atol=1e-6)


def test_top_p_keeps_the_token_that_crosses_the_share():
    logits = mx.log(mx.array([0.1, 0.5, 0.4]))
    assert distribution(logits, Sampling(top_p=0.4)).tolist() == pytest.approx([0, 1, 0])
    assert distribution(logits, Sampling(top_p=0.6)).tolist() == pytest.approx([0, 5 / 9, 4 / 9])


def test_tokens_that_tie_with_the_last_one_kept_stay():
    logits = mx.array([2.0, 1.0, 1.0, 0.0])
    assert (np.array(distribution(logits, Sampling(top_k=2))) > 0).tolist() == [True, True, True, False]


def test_a_top_k_beyond_the_vocabulary_keeps_all():
    logits = logits_of(1, 5)
    assert np.array_equal(distribution(logits, Sampling(top_k=9)), distribution(logits, Sampling()))


def test_a_cold_distribution_is_nearly_greedy():
    logits = logits_of(3, 20)
    cold = distribution(logits, Sampling(temperature=0.01))
    assert mx.argmax(cold, axis=-1).tolist() == mx.argmax(logits, axis=-1).tolist()
    assert np.all(np.isfinite(np.array(cold)))


def test_forbidden_tokens_stay_forbidden_under_every_filter():
    logits = mx.array([1.0, -np.inf, 0.0, -np.inf])
    made = distribution(logits, Sampling(top_p=0.99, top_k=3, min_p=0.01))
    assert made.tolist()[1::2] == [0, 0]
    assert np.array(made).sum() == pytest.approx(1)


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16])
def test_probabilities_are_float32_whatever_the_logits(dtype):
    made = distribution(logits_of(2, 300).astype(dtype), Sampling())
    assert made.dtype == mx.float32
    np.testing.assert_allclose(np.array(made).sum(axis=-1), 1, atol=1e-6)


# ---------------------------------------------------------------------- draws


@pytest.mark.parametrize("vocabulary", [1, 2, 5, 30, 101])
def test_draws_follow_the_weights(vocabulary):
    weights = np.random.default_rng(1).gamma(1.0, size=vocabulary).astype(np.float32)
    count = 100_000
    ids = draw(mx.broadcast_to(mx.array(weights), (count, vocabulary)), pairs_of(count))
    seen = np.bincount(np.array(ids), minlength=vocabulary)
    shares = weights.astype(np.float64) / weights.sum(dtype=np.float64)
    assert vocabulary == 1 or stats.chisquare(seen, count * shares).pvalue > 0.01


@pytest.mark.parametrize("u", list(itertools.product([0.0, 0.5, LARGEST], repeat=2)))
def test_a_token_of_weight_zero_is_never_drawn(u):
    rng = np.random.default_rng(2)
    weights = rng.random((400, 37)).astype(np.float32) * (rng.random((400, 37)) < 0.2)
    weights[:, 11] += weights.sum(axis=1) == 0
    ids = np.array(draw(mx.array(weights), mx.broadcast_to(mx.array(u), (400, 2))))
    assert (weights[np.arange(400), ids] > 0).all()


def test_a_row_without_weight_gives_the_first_token():
    assert draw(mx.zeros((1, 7)), mx.array([[0.3, 0.9]])).tolist() == [0]


def test_unlikely_tokens_of_a_large_vocabulary_keep_their_share():
    """Half the mass on one token and half spread over 100,000: no sum may swallow the small ones."""
    weights = np.full(100_001, 0.5 / 100_000, dtype=np.float32)
    weights[0] = 0.5
    ids = np.array(draw(mx.broadcast_to(mx.array(weights), (400, 100_001)), pairs_of(400)))
    rare = ids[ids > 0]
    assert stats.binomtest(len(rare), 400, 0.5).pvalue > 0.01
    assert stats.kstest(rare / 100_000, "uniform").pvalue > 0.01


def test_draws_keep_the_shape_in_front():
    assert draw(mx.ones((2, 3, 5)), mx.zeros((2, 3, 2))).shape == (2, 3)


def test_a_greedy_reading_of_draws_has_logits_for_each_position():
    ids, probabilities = drawn(logits_of(3, 8)[None], Sampling(seed=3), 10, Stream.TARGET)
    assert (ids.shape, probabilities.shape) == ((3,), (3, 8))


# ------------------------------------------------------------- random numbers


def test_a_random_number_depends_on_its_position_alone():
    assert np.array_equal(uniforms(7, 3, 6, Stream.DRAFT)[2:], uniforms(7, 5, 4, Stream.DRAFT))


def test_seeds_positions_and_streams_have_numbers_of_their_own():
    asked = itertools.product([0, 1, -1, 2**70], range(50), Stream)
    seen = [tuple(uniforms(seed, at, 1, stream)[0].tolist()) for seed, at, stream in asked]
    assert len(set(seen)) == len(seen) == 4 * 50 * 3


def test_random_numbers_are_uniform_and_streams_independent():
    columns = [np.array(uniforms(11, 0, 20_000, stream)) for stream in Stream]
    numbers = np.concatenate(columns, axis=1)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    for column in numbers.T:
        assert stats.kstest(column, "uniform").pvalue > 0.001
    correlations = np.corrcoef(numbers.T)[np.triu_indices(6, 1)]
    assert np.abs(correlations).max() < 4 / np.sqrt(20_000)


def test_no_position_needs_no_number():
    assert uniforms(0, 5, 0, Stream.ACCEPT).shape == (0, 2)


# ------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"temperature": -1.0}, r"at temperature -1: choose 0\.01 to 100, or 0 for greedy text"),
        ({"temperature": float("nan")}, "or 0 for greedy"),
        ({"temperature": float("inf")}, "or 0 for greedy"),
        ({"temperature": 0.0}, "or 0 for greedy"),
        ({"top_p": 0.0}, "top-p 0 makes no sense: choose above 0"),
        ({"top_p": 1.1}, "top-p"),
        ({"top_k": -1}, "top-k -1 makes no sense"),
        ({"min_p": 1.5}, r"min-p 1\.5 makes no sense"),
    ],
)
def test_a_senseless_setting_is_refused(settings, reason):
    with pytest.raises(SamplingError, match=reason):
        Sampling(**settings)


def test_temperature_0_is_no_sampling():
    assert chosen_sampling(0.0, top_p=0.5) is None
    assert chosen_sampling(0.7, 0.9, 40, 0.05, 3) == Sampling(temperature=0.7, top_p=0.9, top_k=40, min_p=0.05, seed=3)
