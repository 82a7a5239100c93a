"""From a session to view models: what is measured, what is missing, what is asked, and no Textual."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from session_builder import CASES, Made, built

from specview.layouts.costs import NO_BLOCKS, moved_p
from specview.layouts.explanations import explanation
from specview.layouts.states import empty_dashboard
from specview.layouts.stream import MOST_PIECES, stream_view
from specview.layouts.summary import summary_lines
from specview.layouts.view_models import Live, WhatIf
from specview.layouts.views import dashboard, reckon, trouble_of
from specview.profilers.judge.ledger import ledger_of
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of

SAVED = Live("saved")


def view_of(records, live=SAVED, what_if=None):
    return dashboard(reckon(session_of(records)), live, what_if or WhatIf())


def test_views_need_no_textual_and_no_mlx() -> None:
    check = (
        "import sys, specview.layouts.views; "
        "sys.exit(any(m in sys.modules for m in ('textual', 'mlx', 'pandas', 'transformers')))"
    )
    subprocess.run([sys.executable, "-c", check], check=True, timeout=60)


def test_the_app_loads_nothing_heavy_before_its_first_frame() -> None:
    check = (
        "import sys, specview.app.watching, specview.app.application; "
        "sys.exit(any(m in sys.modules for m in 'mlx numpy scipy pandas transformers PIL watchdog'.split()))"
    )
    subprocess.run([sys.executable, "-c", check], check=True, timeout=60)


def test_the_gap_is_the_wall_minus_the_queued_sum() -> None:
    decode = view_of(CASES["cannot-win"]).decode
    assert decode.ruler == "queued" and decode.sum_ms == pytest.approx(8.128)
    assert decode.gap_ms == pytest.approx(decode.whole_ms - 8.128)
    assert decode.gap_of_sum == pytest.approx(decode.gap_ms / 8.128)
    assert decode.gap_of_wall == pytest.approx(decode.gap_ms / decode.whole_ms)
    assert [c.category for c in decode.categories] == [
        "linear attention", "full attention", "MoE", "output head", "misc",
    ]  # fmt: skip


def test_without_blocks_the_whole_graph_stands_alone() -> None:
    view = view_of(CASES["interrupted"])
    assert view.decode.message == NO_BLOCKS and view.decode.whole_ms and view.decode.gap_ms is None
    assert view.verify.message == NO_BLOCKS and view.verify.widths


def test_a_cliff_is_marked_and_widths_between_are_not_invented() -> None:
    verify = view_of(CASES["wins"]).verify
    assert verify.cliffs == ("5",)
    assert [b.label for b in view_of(CASES["cannot-win"]).verify.widths] == ["1", "2", "3", "4", "8", "9"]
    assert [b.label for b in verify.widths if b.marked] == ["4"]


def test_the_operating_point_follows_the_formula() -> None:
    reckoning = reckon(session_of(CASES["cannot-win"]))
    ledger, line = reckoning.ledger, dashboard(reckoning, SAVED, WhatIf()).break_even
    assert ledger is not None and ledger.acceptance is not None
    e = ledger.acceptance.tokens_per_round.estimate
    expected = e * ledger.decode.mean.estimate - ledger.draft.mean.estimate - ledger.rest.mean.estimate
    assert line.limit_ms == pytest.approx(expected)
    assert line.curve.crossing is None and line.symbol == "p"


def test_a_what_if_changes_nothing_that_was_measured() -> None:
    plain, asked = view_of(CASES["wins"]), view_of(CASES["wins"], what_if=WhatIf(0.5, 1))
    parts = {"verify": plain.verify, "rounds": plain.rounds}
    assert replace(asked, break_even=replace(asked.break_even, what_if=None), **parts) == plain
    moved = [row for row in asked.rounds.rows if row not in plain.rounds.rows]
    assert moved and all(row.value.startswith("what if ") and row.remark.startswith("measured ") for row in moved)
    assert asked.break_even.what_if.k == 1 and asked.break_even.what_if.speedup < plain.break_even.limit_ms


def test_a_width_that_was_not_measured_is_refused_in_words() -> None:
    view = view_of(CASES["cannot-win"], what_if=WhatIf(k=5))
    assert view.break_even.what_if is None and "6 positions" in view.break_even.what_if_message


def test_p_moves_on_whole_steps_and_stops_at_the_ends() -> None:
    view = view_of(CASES["cannot-win"]).break_even
    assert view.p is not None
    steps, between = divmod(view.p, 0.05)
    assert 1e-6 < between < 0.05 - 1e-6, "the measured p lies between two steps"
    up, down = moved_p(view, 1), moved_p(view, -1)
    assert up == pytest.approx(0.05 * (steps + 1)) and down == pytest.approx(0.05 * steps)
    asked = view_of(CASES["cannot-win"], what_if=WhatIf(1.0)).break_even
    assert moved_p(asked, 1) == 1.0 and moved_p(asked, -1) == pytest.approx(0.95)


def test_a_guarded_verdict_prints_no_speed() -> None:
    view = view_of(built(Made(others=0.6)))
    assert view.headline.word == "NO VERDICT" and "x measured" not in view.headline.first
    assert "processor" in view.headline.first


def test_too_little_is_a_state_while_recording_and_a_refusal_afterwards() -> None:
    assert view_of(CASES["one-round"], Live("recording")).headline.word == "MEASURING"
    assert view_of(CASES["one-round"]).headline.word == "NO VERDICT"


def test_a_session_with_only_a_header_is_measuring() -> None:
    view = view_of(CASES["one-round"][:1], Live("recording"))
    assert view.headline.word == "MEASURING" and view.stream.message == "No text yet."
    assert view.break_even.message and view.rounds.rows == ()


def test_a_prompt_lookup_of_varying_width_has_a_line() -> None:
    records = [
        replace(x, drafted=2, width=3) if isinstance(x, r.Round) and x.i % 2 else x
        for x in built(Made(drafter="lookup", draft=0.05))
    ]
    line = view_of(records).break_even
    assert line.curve is not None and line.message == ""
    asked = view_of(records, what_if=WhatIf(k=2)).break_even.what_if
    assert asked is not None and "as if every round found 2 tokens" in asked.note


def test_no_drafts_means_no_line() -> None:
    view = view_of(built(Made(k=0, drafter="none", verify={1: 10.94})))
    assert "Nothing is drafted" in view.break_even.message


@pytest.mark.parametrize("drafted", [65, 2**62])
def test_rounds_that_claim_huge_drafts_hang_no_screen(drafted: int) -> None:
    records = built(Made(drafter="lookup", k=2))
    rounds = [x for x in records if isinstance(x, r.Round)]
    claims = tuple(replace(x, drafted=drafted) for x in rounds[::2])
    view = view_of((*records[:-1], *claims, records[-1]))
    assert view.break_even.curve is not None
    assert view.headline.kind == view_of(records).headline.kind


def test_passes_that_claim_no_time_break_no_screen() -> None:
    records = [
        replace(x, samples_ns=(0,)) if isinstance(x, r.Probe) and x.ruler == "whole" and x.width != 2 else x
        for x in built(Made())
    ]
    view = view_of(records)
    assert view.verify.widths == ()
    session = session_of(records)
    assert not [line for line in summary_lines(session, ledger_of(session)) if line.startswith("verify(n)")]


def test_rejected_line_breaks_stay_on_their_line_and_tabs_are_spaces() -> None:
    records = [
        replace(x, pieces=r.Pieces(("\tok",), ("a\nb",))) if isinstance(x, r.Round) and x.pieces else x
        for x in CASES["one-round"]
    ]
    pieces = stream_view(session_of(records)).pieces
    assert [(p.text, p.kind) for p in pieces if p.kind != "mark"] == [("a¶b", "rejected"), ("    ok", "own")]


def test_a_long_stream_keeps_its_end() -> None:
    records = list(CASES["one-round"])
    last = records[-1]
    records += [replace(last, i=i, t_ns=last.t_ns + i) for i in range(1, MOST_PIECES + 10)]
    assert "earlier text is left out" in stream_view(session_of(records)).pieces[0].text


def test_trouble_names_the_most_pressing_thing() -> None:
    session = session_of(CASES["wins"])
    assert trouble_of(session, SAVED) == ""
    assert trouble_of(session, Live("ended", trouble="It died.")) == "It died."
    note = r.Note(t_ns=session.runs[-1].started_ns + 1, text="No such drafter.", tags=("refused",))
    assert trouble_of(replace(session, notes=(note,)), SAVED) == "No such drafter."
    assert trouble_of(replace(session, notes=(replace(note, t_ns=0),)), SAVED) == ""
    failed = replace(session, footer=replace(session.footer, status="failed", reason="out of memory"))
    assert "out of memory" in trouble_of(failed, SAVED)


@pytest.mark.parametrize("panel", ["decode", "verify", "break-even", "stream", "rounds"])
@pytest.mark.parametrize("case", [None, *CASES])
def test_every_panel_explains_itself_with_whatever_is_known(panel: str, case: str | None) -> None:
    view = empty_dashboard(Live("loading")) if case is None else view_of(CASES[case], what_if=WhatIf(0.9))
    told = explanation(panel, view)
    assert told.title and told.words and told.formula and all(told.numbers)


def of_another(records, **changes):
    """The records with other facts of the drafting runs."""
    return [replace(x, **changes) if isinstance(x, r.Run) and x.arm != "plain" else x for x in records]


def test_the_status_line_names_rule_temperature_policy_and_adaptive_lengths() -> None:
    usual = view_of(CASES["cannot-win"]).status.title
    assert "mtp k=1 · greedy match · " in usual and "verify in" not in usual
    drawn = of_another(CASES["cannot-win"], rule="rejection sampling", temperature=0.7, top_p=0.9)
    assert "mtp k=1 · rejection sampling at 0.7, top-p 0.9 · " in view_of(drawn).status.title
    other = of_another(CASES["cannot-win"], policy="dense", adaptive=True)
    assert "mtp adaptive k≤1 · greedy match · verify in dense · " in view_of(other).status.title


@pytest.mark.parametrize("case", ["cannot-win", "one-round"])
def test_what_a_synthetic_drafter_reached_is_called_so(case: str) -> None:
    view = view_of(of_another(CASES[case], drafter="fixed:0.7"))
    assert view.headline.first.startswith("synthetic: ")
    assert view.headline.second.startswith("Acceptance is chosen, not measured. ")
    assert "fixed:0.7 (synthetic) k=1" in view.status.title
    assert "synthetic" not in view_of(CASES[case]).headline.first


def test_lengths_drafted_under_another_rule_do_not_count() -> None:
    records = CASES["cannot-win"]
    first = next(x.run for x in records if isinstance(x, r.Run) and x.arm == "drafting")
    longer = [
        replace(x, policy="dense") if isinstance(x, r.Run) and x.run == first
        else replace(x, drafted=9) if isinstance(x, r.Round) and x.run == first
        else x
        for x in records
    ]  # fmt: skip
    assert set(reckon(session_of(longer)).share_by_drafted) == {1}
