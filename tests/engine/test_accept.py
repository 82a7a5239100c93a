"""The greedy rule keeps the drafts that the target would have written itself."""

from __future__ import annotations

import itertools

import mlx.core as mx
import pytest

from specview.engine.accept import accept_greedy, greedy_choices


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
