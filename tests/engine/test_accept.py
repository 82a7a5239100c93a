"""The rules: greedy match keeps the target's own text, the others its distribution, and each accepts its due share."""

from __future__ import annotations

import itertools

import mlx.core as mx
import numpy as np
import pytest
from scipy import stats

from specview.engine.accept import (
    RuleError,
    accept_greedy,
    acceptance_rule,
    cut_at_stop,
    greedy_choices,
    keep_or_replace,
    residual,
)
from specview.engine.sampling import Sampling, distribution, draw


@pytest.mark.parametrize(
    ("drafted", "choices", "accepted", "tokens"),
    [
        ([], [7], 0, (7,)),
        ([5], [5, 6], 1, (5, 6)),
        ([5], [4, 6], 0, (4,)),
        ([5, 6, 7], [5, 6, 7, 8], 3, (5, 6, 7, 8)),
        ([5, 6, 7], [5, 9, 7, 8], 1, (5, 9)),
        ([5, 6, 7], [9, 6, 7, 8], 0, (9,)),
    ],
)
def test_a_prefix_is_kept_and_one_token_added(drafted, choices, accepted, tokens):
    assert accept_greedy(drafted, choices) == (accepted, tokens)


def test_committed_tokens_are_always_the_targets_own():
    for drafted in itertools.product(range(3), repeat=3):
        for choices in itertools.product(range(3), repeat=4):
            accepted, tokens = accept_greedy(drafted, choices)
            assert tokens == choices[: accepted + 1]
            assert drafted[:accepted] == choices[:accepted]
            assert accepted == 3 or drafted[accepted] != choices[accepted]


def test_a_choice_is_the_largest_logit_of_its_position():
    logits = mx.array([[[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]]])
    assert greedy_choices(logits).tolist() == [1, 0]


def test_an_exact_tie_goes_to_the_first():
    assert greedy_choices(mx.array([[[1.0, 2.0, 2.0]]])).tolist() == [1]


# ---------------------------------------------------------------------- stops


@pytest.mark.parametrize(
    ("tokens", "kept", "ended"),
    [((), (), False), ((1, 2), (1, 2), False), ((9, 1), (9,), True), ((1, 8, 9, 2), (1, 8), True)],
)
def test_a_text_is_cut_behind_its_first_stop(tokens, kept, ended):
    assert cut_at_stop(tokens, {8, 9}) == (kept, ended)


# --------------------------------------------------------- drawn tokens, kept

COUNT = 200_000
TARGET_LOGITS = mx.array([1.2, 0.3, -0.4, 0.9, -1.5])
DRAFT_LOGITS = mx.array([0.1, 1.1, -0.2, 0.7, -2.5])
SAMPLINGS = {
    "T 0.6": Sampling(temperature=0.6),
    "T 1": Sampling(temperature=1.0),
    "T 1.5": Sampling(temperature=1.5),
    "top-p": Sampling(temperature=1.2, top_p=0.8),
    "top-k": Sampling(temperature=0.9, top_k=3),
    "min-p": Sampling(temperature=1.1, min_p=0.3),
}
EACH_SAMPLING = pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)


def random_numbers(seed, *shape):
    grains = np.random.default_rng(seed).integers(0, 2**23, shape)
    return mx.array((grains / 2**23).astype(np.float32))


def rows_of(probabilities, *shape):
    return mx.broadcast_to(probabilities, (*shape, probabilities.shape[-1]))


def both(sampling):
    return distribution(TARGET_LOGITS, sampling), distribution(DRAFT_LOGITS, sampling)


def assert_drawn_from(ids, p):
    """No token of probability 0, and the others by their shares."""
    p = np.array(p, dtype=np.float64)
    seen = np.bincount(np.array(ids).ravel(), minlength=len(p))
    assert seen[p == 0].sum() == 0
    expected = p[p > 0] / p.sum() * seen.sum()
    assert stats.chisquare(seen[p > 0], expected).pvalue > 0.01


def assert_share(kept, expected):
    interval = stats.binomtest(int(kept.sum()), len(kept)).proportion_ci(0.99, "wilson")
    assert interval.low <= expected <= interval.high


def first_tokens(drafted, decided):
    """The first token that each round commits."""
    return np.where(np.array(decided[:, 0]) > 0, np.array(drafted[:, 0]), np.array(decided[:, 1]))


@EACH_SAMPLING
def test_rejection_keeps_the_targets_distribution_and_accepts_the_overlap(sampling):
    p, q = both(sampling)
    drafted = draw(rows_of(q, COUNT), random_numbers(1, COUNT, 2))[:, None]
    decided = keep_or_replace(
        rows_of(p, COUNT, 2),
        rows_of(q, COUNT, 1),
        drafted,
        random_numbers(2, COUNT, 1),
        random_numbers(3, COUNT, 2, 2),
    )
    kept = np.array(decided[:, 0])
    assert_drawn_from(first_tokens(drafted, decided), p)
    assert_drawn_from(decided[:, 1][mx.array(np.flatnonzero(kept))], p)
    assert_drawn_from(decided[:, 1][mx.array(np.flatnonzero(kept == 0))], residual(p, q))
    assert_share(kept, np.minimum(np.array(p), np.array(q)).sum())


@EACH_SAMPLING
def test_plain_draws_have_the_same_distribution(sampling):
    p, _ = both(sampling)
    assert_drawn_from(draw(rows_of(p, COUNT), random_numbers(4, COUNT, 2)), p)


@EACH_SAMPLING
def test_exact_match_keeps_it_too_and_accepts_less(sampling):
    p, q = both(sampling)
    drafted = np.array(draw(rows_of(q, COUNT), random_numbers(5, COUNT, 2)))
    own = np.array(draw(rows_of(p, COUNT), random_numbers(6, COUNT, 2)))
    assert_drawn_from(own, p)  # what it commits is always the target's own draw
    assert_share(drafted == own, (np.array(p) * np.array(q)).sum())
    assert (np.array(p) * np.array(q)).sum() < np.minimum(np.array(p), np.array(q)).sum()


@pytest.mark.parametrize("draft", range(5))
def test_a_certain_draft_is_accepted_with_its_own_probability(draft):
    p, _ = both(SAMPLINGS["T 1"])
    drafted = mx.full((COUNT, 1), draft, dtype=mx.int32)
    decided = keep_or_replace(
        rows_of(p, COUNT, 2), None, drafted, random_numbers(7, COUNT, 1), random_numbers(8, COUNT, 2, 2)
    )
    assert_share(np.array(decided[:, 0]), p[draft].item())
    assert_drawn_from(first_tokens(drafted, decided), p)


def test_every_place_of_a_longer_draft_keeps_its_distribution():
    count, m = 40_000, 3
    rng = np.random.default_rng(9)
    p = mx.softmax(mx.array(rng.normal(0, 1, (m + 1, 5)).astype(np.float32)), axis=-1)
    q = mx.softmax(mx.array(rng.normal(0, 1, (m, 5)).astype(np.float32)), axis=-1)
    drafted = draw(mx.broadcast_to(q, (count, m, 5)), random_numbers(10, count, m, 2))
    decided = np.array(
        keep_or_replace(
            mx.broadcast_to(p, (count, m + 1, 5)),
            mx.broadcast_to(q, (count, m, 5)),
            drafted,
            random_numbers(11, count, m),
            random_numbers(12, count, m + 1, 2),
        )
    )
    accepted, last = decided.T
    overlap = np.minimum(np.array(p)[:m], np.array(q)).sum(axis=1)
    for place in range(m + 1):
        reached = accepted >= place
        here = np.where(accepted > place, np.array(drafted)[:, min(place, m - 1)], last)[reached]
        assert_drawn_from(here, p[place])
        if place < m:
            assert_share(accepted[reached] > place, overlap[place])


def test_the_residual_is_what_the_target_has_left():
    p, q = mx.array([0.5, 0.3, 0.2]), mx.array([0.2, 0.2, 0.6])
    assert residual(p, q).tolist() == pytest.approx([0.75, 0.25, 0])


def test_where_rounding_leaves_no_residual_the_targets_own_distribution_stands_in():
    p = mx.array([0.5, 0.5])
    assert np.array_equal(residual(p, p), p)


@EACH_SAMPLING
def test_equal_distributions_accept_all_at_the_largest_random_number(sampling):
    p, _ = both(sampling)
    ids = mx.array(np.flatnonzero(np.array(p)))[None]
    m = ids.shape[1]
    largest = mx.full((1, m), (2**23 - 1) / 2**23)
    decided = keep_or_replace(rows_of(p, 1, m + 1), rows_of(p, 1, m), ids, largest, random_numbers(0, 1, m + 1, 2))
    assert decided[0, 0].item() == m


def test_a_draft_the_target_gives_no_chance_is_never_kept():
    p, q = mx.array([0.0, 1.0]), mx.array([0.5, 0.5])
    decided = keep_or_replace(
        rows_of(p, 1, 2), rows_of(q, 1, 1), mx.array([[0]]), mx.zeros((1, 1)), mx.zeros((1, 2, 2))
    )
    assert decided.tolist() == [[0, 1]]


def test_a_drafter_with_more_tokens_than_the_target_is_refused_those():
    p, q = mx.array([0.25, 0.75]), mx.array([0.1, 0.2, 0.7])
    decided = keep_or_replace(
        rows_of(p, 1, 2), rows_of(q, 1, 1), mx.array([[2]]), mx.zeros((1, 1)), mx.full((1, 2, 2), 0.1)
    )
    assert decided.tolist() == [[0, 0]]


def test_a_drafter_with_fewer_tokens_than_the_target_never_hides_the_others():
    p, q = mx.array([0.2, 0.1, 0.7]), mx.array([0.5, 0.5])
    decided = keep_or_replace(
        rows_of(p, 1, 2), rows_of(q, 1, 1), mx.array([[0]]), mx.full((1, 1), 0.9), mx.full((1, 2, 2), 0.1)
    )
    assert decided.tolist() == [[0, 2]]


# ----------------------------------------------------------------- which rule


def test_the_rule_follows_the_sampling_unless_one_is_named():
    sampling = Sampling(seed=1)
    assert acceptance_rule(None, None).name == acceptance_rule("greedy", None).name == "greedy match"
    assert acceptance_rule(None, sampling).name == acceptance_rule("rejection", sampling).name == "rejection sampling"
    assert acceptance_rule("exact", sampling).name == "exact match"
    assert acceptance_rule("exact", sampling).sampling == sampling
    assert acceptance_rule(None, None).sampling is None


@pytest.mark.parametrize(
    ("rule", "sampling", "reason"),
    [
        ("typical", Sampling(), "no acceptance rule 'typical': use greedy, rejection or exact"),
        ("rejection", None, "The rule rejection needs drawn tokens: choose a temperature above 0"),
        ("exact", None, "The rule exact needs drawn tokens"),
        ("greedy", Sampling(temperature=0.7), r"draws no tokens: choose temperature 0, .* for temperature 0\.7"),
    ],
)
def test_a_rule_that_does_not_go_with_the_sampling_is_refused(rule, sampling, reason):
    with pytest.raises(RuleError, match=reason):
        acceptance_rule(rule, sampling)
