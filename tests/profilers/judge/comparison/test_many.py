"""Changes judged as the many that they are: chance finds none among many rows, and what was asked for stands alone."""

from __future__ import annotations

import numpy as np
import pytest

from specview.profilers.judge.comparison.effects import Effect, effect_of
from specview.profilers.judge.comparison.many import ASKED, split_together, told_together
from specview.profilers.judge.comparison.measures import Change, Group
from specview.profilers.judge.comparison.split import Part, Split

FREEDOM = 20.0


def change(key: str, t: float | None, group: Group = "round") -> Change:
    """A change so many standard errors from none; without an interval for None."""
    effect = Effect(1.0) if t is None else effect_of(t, 1.0, FREEDOM)
    return Change(
        key=key, name=key, unit="ms", group=group, better="less", base=1.0, other=2.0, difference=effect,
        log_ratio=effect,
    )  # fmt: skip


def test_a_row_that_is_real_by_itself_is_maybe_among_many() -> None:
    rows = [change("odd", 2.2), *(change(str(at), 0.1) for at in range(19))]
    assert rows[0].finding == "real"
    told = told_together(rows)
    assert told[0].finding == "maybe" and told[0].log_ratio is not None and told[0].difference is not None
    assert told[0].difference.finding == "maybe" and told[0].log_ratio.scaled(-2.0).finding == "maybe"
    assert {each.finding for each in told[1:]} == {"noise"} and told_together(rows[:1])[0].finding == "real"


def test_where_many_rows_changed_each_of_them_stands() -> None:
    """By hand: 2.2 of 20 degrees is p = 0.040, below 5% × 9 ÷ 10, so the nine stand together."""
    told = told_together([*(change(str(at), 2.2) for at in range(9)), change("none", 0.0)])
    assert [each.finding for each in told] == ["real"] * 9 + ["noise"]
    fewer = told_together([*(change(str(at), 2.2) for at in range(7)), *(change(f"{at} none", 0.0) for at in range(3))])
    assert [each.finding for each in fewer] == ["maybe"] * 7 + ["noise"] * 3


def test_what_was_asked_for_the_machine_and_rows_without_an_interval_are_left_alone() -> None:
    rows = [
        change(ASKED, 2.2), change("canary", 2.2, "machine"), change("few", None),
        *(change(str(at), 0.0) for at in range(9)),
    ]  # fmt: skip
    assert [each.finding for each in told_together(rows)[:3]] == ["real", "real", "unknown"]
    assert told_together([]) == ()


def test_the_parts_of_a_split_are_judged_together_and_the_whole_by_itself() -> None:
    parts = [
        Part(
            key="block", name=str(at), base_ms=1.0, other_ms=1.0, round_ms=effect_of(t, 1.0, FREEDOM),
            log_speed=effect_of(-t, 1.0, FREEDOM), token_ms=effect_of(t, 1.0, FREEDOM),
        )
        for at, t in enumerate([6.0, 2.2, 0.1, 0.2, 0.3])
    ]  # fmt: skip
    whole = effect_of(2.2, 1.0, FREEDOM)
    split = Split(
        base_token_ms=1.0, other_token_ms=1.0, log_speed=whole, token_ms=whole, parts=tuple(parts), decode=None
    )
    told = split_together(split)
    assert [part.log_speed.finding for part in told.parts] == ["real", "maybe", "noise", "noise", "noise"]
    assert [part.token_ms.finding for part in told.parts] == [part.log_speed.finding for part in told.parts]
    assert told.log_speed.finding == "real" and told.parts[1].round_ms is not None
    assert told.parts[1].round_ms.finding == "maybe"


@pytest.mark.parametrize("rows", [5, 36])
def test_where_nothing_changed_19_of_20_comparisons_call_no_row_real(rows: int) -> None:
    random = np.random.default_rng(3)
    tries = 400
    found = alone = 0
    for _ in range(tries):
        made = [change(str(at), float(t)) for at, t in enumerate(random.standard_t(FREEDOM, rows))]
        alone += any(each.finding == "real" for each in made)
        found += any(each.finding == "real" for each in told_together(made))
    assert found / tries < 0.08 < alone / tries  # 1.1% is the standard error of 5% here
