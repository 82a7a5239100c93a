"""What would turn a verdict, against answers by hand: how far verify, acceptance, k and drafts have to go."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from session_builder import CASES, Made, built
from survey_builder import SURVEYS

from specview.layouts.bases import basis_of
from specview.layouts.views import reckon
from specview.profilers.judge.asked import recorded_basis
from specview.profilers.judge.best_k import scan
from specview.profilers.judge.break_even import break_even_line
from specview.profilers.judge.division import Conditional
from specview.profilers.judge.economics import DrafterKind, RoundCosts
from specview.profilers.judge.floors import Floors, NoFloor, floors_of
from specview.profilers.judge.ledger import ledger_of
from specview.profilers.judge.question import Question
from specview.profilers.judge.what_wins import lengths_of, speedups_by_k, what_wins
from specview.profilers.record.session import session_of

LOSES = Made(decode=10.0, verify={1: 10.4, 2: 15.0, 3: 17.0, 4: 30.0}, draft=2.0, rest=0.3, p=0.6, noise=0.0)


def basis(made: Made = LOSES):
    return recorded_basis(ledger_of(session_of(built(made))), {})


@dataclass
class Least:
    ms: float


class Floor(Floors):
    """A floor that says what it is told."""

    def __init__(self, ms: float) -> None:
        self.ms = ms

    def verify(self, positions: int) -> Least:  # type: ignore[override]
        return Least(self.ms)


def test_each_change_goes_exactly_to_where_a_round_breaks_even() -> None:
    asked = basis()
    found = what_wins(asked)
    by_name = {option.what: option for option in found.single}
    tokens, now = found.now.tokens, found.now
    assert not found.wins and now.draft_ms is not None and now.rest_ms is not None
    verify = by_name["verify"]
    assert verify.now == pytest.approx(15.0) and verify.needed == pytest.approx(
        tokens * 10 - now.draft_ms - now.rest_ms
    )
    assert verify.distance == pytest.approx(1 - verify.needed / 15.0) and verify.allowed == "unknown"
    # (1 + p) · 10 = 15 + 2 + 0.2 p + 0.3
    assert by_name["acceptance"].needed == pytest.approx(7.3 / 9.8, rel=0.01)
    assert by_name["draft"].needed == pytest.approx(tokens * 10 - 15.0 - 0.3)
    for option in found.single:
        assert asked.speedup(option.question) == pytest.approx(1.0, abs=0.002) or option.what == "k"
    assert [o.distance for o in found.single] == sorted(o.distance for o in found.single)


def test_the_floor_and_the_interval_say_what_is_possible() -> None:
    needed = next(o.needed for o in what_wins(basis()).single if o.what == "verify")
    reach, beyond = what_wins(basis(), Floor(needed - 0.1)), what_wins(basis(), Floor(needed + 0.1))
    assert next(o for o in reach.single if o.what == "verify").allowed == "yes"
    assert next(o for o in beyond.single if o.what == "verify").allowed == "no"
    assert all(o.what != "verify" for o in beyond.nearest) and len(beyond.nearest) <= 3
    assert "y surveys it" in what_wins(basis()).no_floor
    assert what_wins(basis(), NoFloor("No bandwidth.")).no_floor == "No bandwidth."
    p = next(o for o in reach.single if o.what == "acceptance")
    assert reach.acceptance is not None and (p.allowed == "yes") == (p.needed <= reach.acceptance.high)


def test_two_changes_at_once_go_less_far_each_and_break_even_together() -> None:
    asked = basis()
    found = what_wins(asked)
    both = next(o for o in found.together if o.what == "verify and acceptance")
    alone = {o.what: o.needed for o in found.single}
    assert alone["verify"] < both.needed < 15.0 and both.beside is not None
    assert found.now.alpha < both.beside < alone["acceptance"]
    assert asked.speedup(both.question) == pytest.approx(1.0, abs=0.002)


def test_a_better_k_that_still_loses_is_named_with_the_verify_it_needs() -> None:
    made = replace(LOSES, verify={1: 10.4, 2: 15.0, 3: 15.5, 4: 30.0}, p=0.5)
    asked = basis(made)
    found = what_wins(asked)
    best = max(speedups_by_k(asked).items(), key=lambda each: each[1])
    assert best[0] == 2 and best[1] < 1
    named = next(o for o in found.together if o.what == "k and verify")
    assert named.beside == 2 and asked.speedup(named.question) == pytest.approx(1.0, abs=0.002)


def test_where_no_acceptance_wins_it_says_so_and_names_none() -> None:
    found = what_wins(basis(replace(LOSES, verify={1: 10.4, 2: 21.0}, p=0.9)))
    assert found.no_p and all(o.what != "acceptance" for o in found.single)
    assert next(each for each in found.at_best if each.what == "every draft accepted").speedup < 1


def test_a_win_has_margins_and_what_would_gain_most() -> None:
    reckoning = reckon(session_of(CASES["wins"]))
    asked = basis_of(reckoning)
    assert not isinstance(asked, str)
    found = what_wins(asked)
    assert found.wins and not found.together
    verify = next(o for o in found.single if o.what == "verify")
    assert verify.needed > verify.now and found.now.speedup > 1
    assert [b.speedup for b in found.at_best] == sorted((b.speedup for b in found.at_best), reverse=True)


def test_the_changes_start_from_a_what_if() -> None:
    asked = basis()
    cheaper = what_wins(asked, question=Question(verify=0.9))
    verify = next(o for o in cheaper.single if o.what == "verify")
    assert verify.now == pytest.approx(13.5) and asked.speedup(verify.question) == pytest.approx(1.0, abs=0.002)


def test_lengths_are_divided_at_every_measured_k_and_agree_with_passes_timed_alone() -> None:
    reckoned = ledger_of(session_of(built(LOSES)))
    found = lengths_of(recorded_basis(reckoned, {}))
    assert found is not None and [row.k for row in found.rows] == [1, 2, 3]
    assert reckoned.decode is not None and reckoned.rest is not None
    verify = {width: each.span for width, each in reckoned.verify_by_width.items()}
    draft = {width: each.span for width, each in reckoned.draft_by_width.items()}
    costs = RoundCosts(DrafterKind.MTP, verify, {**draft, 3: draft[2]}, reckoned.rest.span)
    alpha = Conditional(alpha=break_even_line(reckoned, {}).alpha.estimate)
    alone = scan(costs, alpha, reckoned.decode.span, [1, 2])
    for row, other in zip(found.rows, alone.rows, strict=False):
        assert row.speedup == pytest.approx(other.speedup, rel=0.03)
    assert found.best_k == alone.best_k == 0 and len(found.steps) == 2


def test_costs_alone_have_changes_of_drafts_that_cost_nothing() -> None:
    reckoning = reckon(session_of(SURVEYS["survey"]))
    asked = basis_of(reckoning)
    assert not isinstance(asked, str)
    found = what_wins(asked, floors_of(reckoning.session))
    assert found.floor_ms is not None and found.acceptance is None
    assert {o.what for o in found.single} <= {"verify", "acceptance", "k"}
