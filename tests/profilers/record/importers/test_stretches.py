"""A bounded list of stretches: merged alike, never unlike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specview.profilers.record.importers.stretches import Stretches, merge
from specview.profilers.record.records import Counters

ONE = Counters(t_ns=1, arm="drafting", source="vllm", k=2, rounds=10, drafted=20, accepted=8, tokens_per_round=1.8)


def test_counts_add_up_and_means_follow_them() -> None:
    both = merge(
        replace(ONE, accepted_by_position=(6, 2), tokens=18, elapsed_ns=10**9),
        replace(ONE, t_ns=5, accepted=12, accepted_by_position=(8, 3, 1), tokens=22, elapsed_ns=10**9),
    )
    assert (both.rounds, both.accepted, both.accepted_by_position, both.t_ns) == (20, 20, (14, 5, 1), 5)
    assert (both.tokens_per_round, both.tokens_per_second) == (2.0, 20.0)


def test_what_one_does_not_say_the_sum_does_not_say() -> None:
    both = merge(replace(ONE, accepted=None), ONE)
    assert (both.accepted, both.rounds) == (None, 20)


def test_speeds_of_equally_many_rounds_are_tokens_over_time() -> None:
    line = Counters(t_ns=0, arm="drafting", source="sglang", tokens_per_round=2.0, tokens_per_second=100.0)
    both = merge(line, replace(line, tokens_per_round=4.0, tokens_per_second=100.0))
    # rounds of 20 ms and 40 ms
    assert both.tokens_per_second == pytest.approx(6 / 0.06)
    assert both.tokens_per_round == 3.0


def test_a_full_list_merges_neighbours_that_are_alike_only() -> None:
    held = Stretches(most=4)
    for t_ns in range(4):
        held.add(replace(ONE, t_ns=t_ns, batch=1 + t_ns % 2))
    held.add(replace(ONE, t_ns=9, batch=1))
    assert held.merged
    assert [(one.batch, one.rounds) for one in held.all()] == [(1, 20), (2, 20), (1, 10)]


def test_too_many_unlike_ones_are_counted_as_left_out() -> None:
    held = Stretches(most=3)
    for batch in range(1, 6):
        held.add(replace(ONE, batch=batch))
    assert len(held.all()) == 3
    assert held.dropped == 2
