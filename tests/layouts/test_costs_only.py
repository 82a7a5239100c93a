"""A session in which nothing was generated opens with what its costs say, and reports no acceptance."""

from __future__ import annotations

from dataclasses import replace

from survey_builder import SURVEYS, Surveyed, surveyed

from specview.layouts.costs import moved_p
from specview.layouts.costs_only import costs_lines, costs_object, is_costs_only
from specview.layouts.explanations import explanation
from specview.layouts.view_models import Live, WhatIf
from specview.layouts.views import dashboard, reckon
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of


def view_of(records, what_if=None, live=None):
    return dashboard(reckon(session_of(records)), live or Live("saved"), what_if or WhatIf())


def test_the_headline_says_what_it_is_and_from_which_e_drafts_could_win() -> None:
    shown = view_of(SURVEYS["survey"]).headline
    assert shown.kind == "costs" and "nothing generated; at two positions a pass costs 1.7" in shown.first
    assert "k = 1 win only if a round yields more than 1.7" in shown.second and "cost nothing" in shown.second
    assert "Most room at k =" in shown.third


def test_random_weights_and_few_layers_are_told() -> None:
    shown = view_of(SURVEYS["survey-moe"]).headline
    assert "acceptance is unknown and never reported" in shown.second
    assert shown.third.startswith("Extrapolated from 8 to 40 layers")


def test_a_pass_that_costs_more_than_it_yields_cannot_win() -> None:
    spots = tuple(replace(spot, per_position=1.3) for spot in Surveyed().spots)
    assert "cannot win" in view_of(surveyed(Surveyed(spots=spots))).headline.second


def test_the_panels_are_filled_from_probes() -> None:
    view = view_of(SURVEYS["survey"])
    assert view.decode.whole_ms and view.decode.sum_ms and view.decode.fenced_ms and view.decode.hot_ms
    assert view.decode.pipelined_ms and view.decode.gap_parts and view.decode.sentences
    assert [b.label for b in view.verify.widths] == [str(n) for n in range(1, 9)] and view.verify.categories
    assert view.verify.cliffs == ("5",)
    assert view.stream.message.startswith("Nothing was generated") and "No rounds" in view.rounds.message


def test_the_line_has_no_point_and_answers_a_what_if() -> None:
    line = view_of(SURVEYS["survey"]).break_even
    assert line.curve is not None and line.p is None and line.unmeasured and line.what_if is None
    first = moved_p(line, 1)
    assert first == 0.5
    asked = view_of(SURVEYS["survey"], WhatIf(p=first)).break_even
    assert asked.what_if is not None and asked.what_if.speedup < 1 and "at most" in asked.what_if.note
    assert moved_p(asked, 1) == 0.55
    assert view_of(SURVEYS["survey"], WhatIf(p=0.5, k=3)).break_even.what_if.k == 3
    assert "not measured" in view_of(SURVEYS["survey"], WhatIf(p=0.5, k=30)).break_even.what_if_message
    assert asked.curve == line.curve


def test_the_gap_is_the_sum_of_its_parts_and_is_explained() -> None:
    view = view_of(SURVEYS["survey"])
    assert sum(part.ms for part in view.decode.gap_parts) - view.decode.gap_ms < 1e-6
    told = explanation("decode", view)
    assert any("fenced sum" in number for number in told.numbers) and any("gap =" in n for n in told.numbers)
    assert any("no p breaks even" in n or "breaks even from p" in n for n in explanation("break-even", view).numbers)


def test_a_survey_that_has_just_begun_is_a_state() -> None:
    header = SURVEYS["survey"][:1]
    view = view_of(header, live=Live("recording", measures="survey", doing="census", progress=(3.0, 10)))
    assert "still to be timed" in view.headline.second and view.status.word == "● census"
    assert view.break_even.curve is None and view.decode.message and view.verify.no_widths


def test_batches_that_were_generated_are_told_in_the_headline() -> None:
    def stretch(pair: int, arm: str, ms: int) -> r.Batched:
        return r.Batched(
            t_ns=pair, pair=pair, arm=arm, batch=4, drafter="mtp", k=1, context=64, passes=16, tokens=64,  # type: ignore[arg-type]
            elapsed_ns=ms * 1_000_000 + pair,
        )  # fmt: skip

    *before, end = SURVEYS["survey"]
    rows = [stretch(pair, arm, ms) for pair in range(3) for arm, ms in (("plain", 60), ("drafting", 90))]
    view = view_of([*before, *rows, end])
    assert view.headline.first.startswith("only batches generated; at two positions")
    assert view.headline.third == "Measured: drafts of 1 by mtp lose at a batch of 4. k shows batches."
    assert any((row.label, row.value) == ("batches", "6") for row in view.rounds.rows)


def test_experiments_say_where_they_are_shown() -> None:
    assert "x shows" in view_of(SURVEYS["experiments"]).headline.second


def test_plain_text_and_json_say_the_same() -> None:
    session = session_of(SURVEYS["survey-moe"])
    assert is_costs_only(session)
    lines = costs_lines(session)
    assert lines[0].startswith("COSTS ONLY: nothing generated") and len(lines) == 3
    found = costs_object(session)
    assert found["costs_only"] and set(found["widths"]) == {str(n) for n in range(1, 9)}
    assert "acceptance" not in found and costs_object(session_of(SURVEYS["experiments"]))["sentences"]


def test_what_is_recorded_with_rounds_is_no_survey() -> None:
    from session_builder import CASES

    assert not is_costs_only(session_of(CASES["wins"]))
    assert isinstance(CASES["wins"][0], r.Header)
