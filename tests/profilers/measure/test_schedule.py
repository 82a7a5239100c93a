"""Which arm runs when, and which widths are probed between segments."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from specview.profilers.measure.schedule import COUNTED, DROPPED, ProbeTurns, SplitTurns, segment_arms, segment_tokens

MS = 1_000_000


@pytest.mark.parametrize("seed", range(20))
def test_plain_and_drafting_mirror_each_other(seed):
    arms = segment_arms(random.Random(seed), with_split=False)
    assert arms == arms[::-1]
    assert Counter(arms) == {"plain": 2, "drafting": 2}


@pytest.mark.parametrize("seed", range(20))
def test_split_rounds_never_part_a_pair_of_like_arms(seed):
    arms = segment_arms(random.Random(seed), with_split=True)
    assert len(arms) == 5
    assert arms.index("split") in (0, 2, 4)


def test_every_order_occurs():
    source = random.Random(0)
    seen = Counter(segment_arms(source, with_split=True) for _ in range(600))
    assert len(seen) == 6
    assert min(seen.values()) > 60


def test_the_order_follows_the_source():
    one, other = random.Random(3), random.Random(3)
    assert [segment_arms(one, True) for _ in range(9)] == [segment_arms(other, True) for _ in range(9)]


@pytest.mark.parametrize(("share", "held"), [(0.0, 0), (0.25, 25), (0.5, 50), (1 / 3, 34), (0.75, 75), (1.0, 100)])
def test_the_share_of_split_segments_comes_out(share, held):
    turns = SplitTurns(share)
    assert sum(turns.next() for _ in range(100)) == held


@pytest.mark.parametrize("share", [0.01, 0.25, 0.5, 1.0])
def test_the_first_segment_holds_split_rounds(share):
    assert SplitTurns(share).next()


@pytest.mark.parametrize("k", range(65))
def test_a_segment_leaves_rounds_to_count_even_if_every_draft_is_accepted(k):
    assert segment_tokens(k) >= 32
    assert segment_tokens(k) // (k + 1) >= DROPPED + COUNTED


@pytest.mark.parametrize("k", range(6))
def test_a_segment_of_short_drafts_is_32_tokens(k):
    assert segment_tokens(k) == 32


@pytest.mark.parametrize(("k", "tokens"), [(6, 35), (7, 40), (16, 85), (64, 325)])
def test_a_segment_of_long_drafts_has_room_for_five_full_rounds(k, tokens):
    assert segment_tokens(k) == tokens


def test_needed_widths_come_in_every_turn_and_first():
    turns = ProbeTurns((1, 3), range(1, 9), duty=0.5)
    for _ in range(5):
        assert turns.next(1000 * MS, 10.0 * MS)[:2] == (1, 3)


def test_needed_widths_come_even_without_duty():
    turns = ProbeTurns((1, 3), range(1, 9), duty=0.0)
    for _ in range(5):
        assert turns.next(1000 * MS, 10.0 * MS) == (1, 3)
        turns.spent(1, 10 * MS)
        turns.spent(3, 30 * MS)


def test_other_widths_follow_in_cycles():
    turns = ProbeTurns((1,), range(1, 5), duty=1.0)
    seen = Counter()
    for _ in range(30):
        widths = turns.next(60 * MS, 10.0 * MS)
        for width in widths:
            turns.spent(width, width * 10 * MS)
            seen[width] += 1
    assert seen[1] == 30
    assert set(seen) == {1, 2, 3, 4}
    assert max(seen[n] for n in (2, 3, 4)) - min(seen[n] for n in (2, 3, 4)) <= 1


def test_no_width_comes_twice_in_a_turn():
    turns = ProbeTurns((1, 2), range(1, 4), duty=1.0)
    for _ in range(5):
        widths = turns.next(10_000 * MS, 1.0 * MS)
        assert len(set(widths)) == len(widths) == 3


def test_the_duty_is_kept_where_the_needed_widths_allow():
    duty, segment = 0.15, 1000 * MS
    turns = ProbeTurns((1, 2), range(1, 17), duty)
    spent = 0
    for _ in range(100):
        for width in turns.next(segment, 10.0 * MS):
            turns.spent(width, width * 10 * MS)
            spent += width * 10 * MS
    assert 0.8 * duty < spent / (100 * segment) <= duty * 1.01


def test_a_width_never_probed_is_expected_to_cost_as_many_steps():
    turns = ProbeTurns((1,), range(1, 9), duty=0.1)
    assert turns.cost_ns(4, 10.0) == 40.0
    turns.spent(4, 12)
    assert turns.cost_ns(4, 10.0) == 12.0
