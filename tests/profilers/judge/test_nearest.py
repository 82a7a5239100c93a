"""The nearest changes that would make it win."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from round_costs import DECODE, alphas, any_costs, costs, no_deadline

from specview.engine.errors import SpecviewError
from specview.profilers.judge.division import Conditional, Cumulative, PerDraft, divide
from specview.profilers.judge.economics import speedup_at
from specview.profilers.judge.floors import NoFloor
from specview.profilers.judge.nearest import floor_at, nearest_changes

LOSES = costs({2: 1.5, 3: 1.6, 4: 1.65, 5: 1.7}, 0.2)
SIX = Conditional(alpha=0.6)


def test_each_change_alone_brings_it_to_one() -> None:
    found = nearest_changes(LOSES, SIX, 1, DECODE)
    assert found.now.speedup == pytest.approx(1.6 / 1.7)
    assert found.verify and found.acceptance and found.draft
    assert found.verify.needed == pytest.approx(1.4)
    assert found.acceptance.needed == pytest.approx(0.7)
    assert found.draft.needed == pytest.approx(0.1)
    assert found.k is None or found.k.needed > 1
    assert [c.what for c in found.changes][:2] == ["verify", "acceptance"]
    assert found.verify.distance == pytest.approx(0.1 / 1.5)
    assert any("from 1.5 to 1.4 ms" in s for s in found.sentences())


def test_another_k_is_named_with_the_nearest_that_wins() -> None:
    made = costs({2: 3.0, 3: 2.9, 4: 1.2, 5: 1.1})
    found = nearest_changes(made, Conditional(alpha=0.8), 1, DECODE)
    assert found.k is not None and found.k.needed == 3
    assert "3 drafts a round instead of 1" in found.k.sentence


def test_a_floor_above_the_break_even_is_out_of_reach_and_no_change() -> None:
    reach, beyond = (nearest_changes(LOSES, SIX, 1, DECODE, floor) for floor in (1.0, 1.45))
    assert reach.verify and reach.verify.allowed and "allows it" in reach.verify.sentence
    assert beyond.verify and beyond.verify.allowed is False
    assert "verify" not in [c.what for c in beyond.changes]
    assert any("out of reach" in s for s in beyond.sentences())
    assert floor_at(NoFloor("Nothing was calibrated."), 1) is None


def test_what_wins_needs_no_change_and_what_nothing_helps_says_so() -> None:
    wins = nearest_changes(costs({2: 1.0}), SIX, 1, DECODE)
    assert wins.changes == () and wins.sentences() == ("It wins already, at 1.60x of plain decode.",)
    hopeless = nearest_changes(costs({2: 2.5}, 2.5, rest=2.5), SIX, 1, DECODE)
    assert hopeless.changes == () and hopeless.sentences()[0].startswith("No single change")


def test_acceptance_from_zero_is_infinitely_far_and_comes_last() -> None:
    found = nearest_changes(costs({2: 1.2}, 0.1), Conditional(alpha=0.0), 1, DECODE)
    assert found.acceptance is not None and found.acceptance.distance == math.inf
    assert found.changes[-1].what == "acceptance"


def test_acceptance_of_any_kind_is_told_as_its_alpha() -> None:
    by_draft = nearest_changes(LOSES, PerDraft(value=0.3, k=2), 2, DECODE)
    by_position = nearest_changes(LOSES, Cumulative(shares=(0.4, 0.2, 0.1)), 2, DECODE)
    assert by_draft.acceptance and by_position.acceptance
    assert by_draft.acceptance.now == pytest.approx(by_position.acceptance.now)


def test_at_k_0_there_is_no_round_to_change() -> None:
    with pytest.raises(SpecviewError, match="Nothing is drafted"):
        nearest_changes(LOSES, SIX, 0, DECODE)


@no_deadline
@given(any_costs(), alphas, st.integers(1, 8))
def test_every_change_is_enough_and_at_most_three_are_named_nearest_first(made, alpha: float, k: int) -> None:
    here = Conditional(alpha=alpha)
    found = nearest_changes(made, here, k, DECODE)
    distances = [change.distance for change in found.changes]
    assert len(distances) <= 3 and distances == sorted(distances)
    if found.now.speedup > 1:
        return
    if found.verify:
        moved = replace(
            made, verify_by_width={k + 1: made.verify_by_width[k + 1] * (found.verify.needed / found.verify.now)}
        )
        assert divide(moved, here, k, DECODE).speedup == pytest.approx(1.0, abs=1e-6)
    if found.acceptance:
        assert speedup_at(made, found.acceptance.needed, k, DECODE) >= 1 - 1e-6
    if found.k:
        assert speedup_at(made, alpha, int(found.k.needed), DECODE) > 1
    if found.draft and found.draft.now > 1e-9:
        part = found.draft.needed / found.draft.now
        cheaper = {width: step * part for width, step in made.draft_by_width.items()}
        moved = replace(made, draft_by_width=cheaper)
        assert divide(moved, here, k, DECODE).speedup == pytest.approx(1.0, abs=1e-6)
