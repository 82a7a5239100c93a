"""The dashboard of imported and attached sessions: what their counters can feed, and how the rest shows as missing."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import july
import pytest
import windows_made as made
from screen_text import snapshot_of, text_of, until
from session_builder import CASES, written

from specview.app.application import Source, SpecviewApp
from specview.app.commands import ACTIONS
from specview.layouts.costs import moved_p
from specview.layouts.imported_view import MOST_WINDOWS
from specview.layouts.view_models import DashboardView, Live, WhatIf
from specview.layouts.views import dashboard, reckon
from specview.profilers.record import records as r
from specview.profilers.record.session import Session, session_of

SNAPSHOTS = Path(__file__).parent / "snapshots"
LOOKS = ((80, 24, "dark"), (120, 40, "light"), (200, 60, "dark"))
FAKE = Path(__file__).parents[1] / "app" / "fake_recorder.py"
SAVED = Live("saved")
MS = 1_000_000


def shown(session: Session, live: Live = SAVED, what_if: WhatIf | None = None) -> DashboardView:
    return dashboard(reckon(session), live, what_if or WhatIf())


def rows(view: DashboardView) -> dict[str, str]:
    return {row.label: row.value for row in view.rounds.rows}


def passes(**ms_by_width: float) -> tuple[r.Probe, ...]:
    """Whole passes as llama-bench times them: w1=20.0 is one position in 20 ms."""
    return tuple(
        r.Probe(
            t_ns=0, ruler="whole", part="verify", width=int(name[1:]), context=0,
            samples_ns=(round(ms * MS), round(ms * MS)), pipelined=False,
        )
        for name, ms in ms_by_width.items()
    )  # fmt: skip


def test_without_a_baseline_the_headline_says_what_is_known_and_what_is_missing() -> None:
    head = shown(session_of(made.imported_half())).headline
    assert (head.kind, head.word) == ("refused", "NO VERDICT")
    assert head.first == "2.70 tokens per round, 60.5 tok/s with drafts"
    assert "record a window with drafts off, or give --baseline-tps" in head.second


def test_while_it_is_watched_a_missing_verdict_is_one_that_may_still_come() -> None:
    head = shown(session_of(made.imported_half()), Live("recording")).headline
    assert (head.kind, head.word) == ("measuring", "NO VERDICT YET")
    empty = shown(made.session(), Live("recording")).headline
    assert (empty.kind, empty.first) == ("measuring", "nothing was counted yet …")


def test_the_same_requests_in_both_arms_give_a_verdict_with_an_interval() -> None:
    view = shown(made.session(*made.requests((50, 51, 52, 49), (60, 66, 61, 63))))
    assert view.headline.kind == "wins"
    # geometric means of the arms: 62.46 over 50.49
    assert view.headline.first == "1.24x measured, [1.14, 1.34] (62.5 vs 50.5 tok/s)"
    assert view.headline.second.startswith("A round costs 2.18 decode steps and yields 2.70 tokens.")
    assert "a round ≤ 53.48 ms (2.70 steps), now 43.23 (2.18 steps)" in view.headline.third


@pytest.mark.parametrize(
    ("speed", "kind", "says"),
    [(20.0, "cannot_win", "costs 6.75 decode steps and yields 2.70 tokens, at most 4"), (40.0, "loses", "costs 3.38")],
)
def test_one_window_of_each_arm_gives_a_point(speed: float, kind: str, says: str) -> None:
    head = shown(made.session(made.plain(50.0), made.drafting(speed))).headline
    assert head.kind == kind and "one point, nothing repeated" in head.first and says in head.second


def test_speeds_of_several_requests_give_no_verdict_and_their_own_ratio() -> None:
    view = shown(made.session(made.plain(50.0, batch=4), made.drafting(20.0, batch=4)))
    assert view.headline.kind == "refused"
    assert "4 requests at once" in view.headline.first and "0.40x, at this load only" in view.headline.second
    assert view.break_even.curve is None and "4 requests at once" in view.break_even.message
    assert rows(view)["throughput"] == "○ 0.40x" and rows(view)["batch"] == "◇ 4 at once"


def test_mixed_rulers_are_named_before_anything_else() -> None:
    view = shown(session_of(july.records()))
    assert view.headline.kind == "refused"
    assert "the 1.0655x is wrong" in view.headline.first and "a loss into a win" in view.headline.first
    assert view.headline.second.startswith("By one ruler it is 0.7994x, and no draft can win")
    assert view.break_even.curve is not None and view.break_even.curve.crossing is None
    assert view.break_even.curve.verify_ms == pytest.approx(2 * 1000 / 91.4)
    assert view.break_even.p == pytest.approx(0.6457)
    assert (rows(view)["S, one ruler"], rows(view)["S, two rulers"]) == ("○ 0.80x", "○ 1.07x is wrong")
    assert "2.81 ms, 34.6% of the sum, 25.7% of the wall" in view.decode.waiting


def test_of_several_groups_the_last_with_a_verdict_is_shown_and_the_others_are_told() -> None:
    session = made.session(made.plain(50.0), made.drafting(60.0, k=1, accepted=70), made.drafting(40.0),
                           made.drafting(90.0, batch=3))  # fmt: skip
    view = shown(session)
    assert view.headline.kind == "loses" and "2 other groups of unlike windows" in view.headline.third
    assert "eagle k=3" in view.status.title


def test_rounds_are_marked_as_said_as_derived_or_as_missing() -> None:
    windows = (made.drafting(60.0, accepted_by_position=(80, 55, 35), derived=("rounds",)),)
    view = shown(made.session(*windows))
    found = rows(view)
    assert found["rounds"] == "○ 100 · 270 tokens"
    assert found["tokens/round"].startswith("○ 2.70 [")
    assert found["p per draft"].startswith("◇ 0.57 [")
    assert found["cumulative"] == "◇ 0.80 0.55 0.35"
    assert found["conditional"] == "○ 0.80 0.69 0.64"
    assert found["drafting"] == "◇ 60.0 tok/s"
    assert [found[name] for name in ("plain", "steps/round", "speedup", "draft", "verify", "rest", "sampling")] == (
        ["—"] * 7
    )
    assert view.rounds.message == "◇ said · ○ derived · — not said"


def test_one_alpha_stands_for_positions_that_were_not_counted() -> None:
    found = rows(shown(made.session(made.drafting(60.0))))
    assert (found["cumulative"], found["conditional"]) == ("—", "○ 0.74")


def test_a_given_baseline_is_a_derived_figure_with_its_reason() -> None:
    given = made.plain(50.0, batch=None, label="given on the command line", derived=("tokens_per_second",))
    view = shown(made.session(given, made.drafting(60.0)))
    row = next(row for row in view.rounds.rows if row.label == "plain")
    assert (row.value, row.remark) == ("○ 50.0 tok/s", "given on the command line")
    assert view.headline.kind == "wins"


def test_a_whole_round_is_a_line_with_a_point_and_answers_what_if_p() -> None:
    session = made.session(made.plain(50.0), made.drafting(40.0))
    view = shown(session).break_even
    assert view.curve is not None and view.limit_ms is not None and view.p is not None
    # E = 2.7 decode steps of 20 ms; the round is 2.7 tokens at 25 ms
    assert view.limit_ms == pytest.approx(54.0) and view.curve.verify_ms == pytest.approx(67.5)
    assert view.curve.limits_ms[0] == pytest.approx(20.0) and view.curve.limits_ms[-1] == pytest.approx(80.0)
    assert "not told apart" in view.note
    p = moved_p(view, 1)
    answer = shown(session, what_if=WhatIf(p=p)).break_even.what_if
    assert p is not None and answer is not None and answer.p == p
    assert answer.speedup == pytest.approx((1 + p + p**2 + p**3) * 20 / 67.5)
    refused = shown(session, what_if=WhatIf(k=4)).break_even
    assert refused.what_if is None and "not measured" in refused.what_if_message


def test_parts_by_the_engines_clock_split_the_line() -> None:
    window = made.drafting(40.0, draft_ns=1_000 * MS, verify_ns=5_000 * MS)
    view = shown(made.session(made.plain(50.0), window))
    line = view.break_even
    # a round of 67.5 ms: verify 50, draft 10, so 7.5 of it is rest
    assert line.curve is not None and line.curve.verify_ms == pytest.approx(50.0)
    assert line.limit_ms == pytest.approx(54.0 - 10.0 - 7.5)
    assert "verify(4) ≤ 36.50 ms" in view.headline.third
    assert (rows(view)["verify"], rows(view)["draft"], rows(view)["rest"]) == ("◇ 50.00 ms", "◇ 10.00 ms", "—")
    assert "Verify takes 50.00 ms a round by the engine's own clock, 2.50 steps" in view.verify.no_widths


def test_without_k_the_panel_says_what_a_round_may_cost() -> None:
    window = made.drafting(40.0, k=None, drafted=317)
    said = shown(made.session(made.plain(50.0), window)).break_even.message
    assert "(k) is not said" in said and "up to 54.00 ms (2.70 steps)" in said and "it costs 67.50 ms" in said


def test_a_verify_curve_alone_feeds_decode_verify_and_a_line_without_a_point() -> None:
    session = made.session(made.plain(50.0), *passes(w1=20.5, w2=24.6, w4=41.0))
    view = shown(session)
    assert (view.decode.whole_ms, view.decode.pipelined_ms) == (pytest.approx(20.5), pytest.approx(20.0))
    assert [(bar.label, round(bar.ratio, 2)) for bar in view.verify.widths] == [("1", 1.0), ("2", 1.2), ("4", 2.0)]
    assert view.break_even.unmeasured and view.break_even.curve is not None
    assert view.break_even.curve.verify_ms == pytest.approx(24.6)
    # with drafts that cost nothing: (1 + p) · 20 = 24.6
    assert view.break_even.curve.crossing == pytest.approx(0.23, abs=0.005)
    answer = shown(session, what_if=WhatIf(p=0.5, k=3)).break_even.what_if
    assert answer is not None and answer.speedup == pytest.approx(1.875 * 20 / 41.0)
    assert answer.note == "drafts and the rest are taken as free"
    assert "breaks even from p = 0.23 on. Drafts and the rest are taken as free." in view.headline.third
    assert "no drafts" in view.status.title


def test_passes_and_rounds_together_mark_the_width_of_the_rounds() -> None:
    view = shown(made.session(made.plain(50.0), made.drafting(40.0), *passes(w1=20.5, w4=41.0)))
    assert [bar.label for bar in view.verify.widths if bar.marked] == ["4"]


def test_a_curve_without_counters_opens_too() -> None:
    view = shown(made.session(*passes(w1=20.5, w2=24.6)))
    assert len(view.verify.widths) == 2 and view.headline.kind == "refused"
    assert "no plain baseline" in view.break_even.message
    assert "none over one position" in shown(made.session(*passes(w2=24.6, w4=30.0))).verify.no_widths


def test_panels_that_cannot_be_fed_say_so() -> None:
    view = shown(session_of(made.imported_half()))
    assert "no pass was timed alone" in view.decode.message
    assert "No verify pass was timed alone" in view.verify.no_widths
    assert "no plain baseline" in view.break_even.message
    told = "".join(piece.text for piece in view.stream.pieces)
    assert told.startswith("What an engine generated is not recorded here")


def test_the_stream_lists_the_last_windows_with_their_arms() -> None:
    second = 1_000 * MS
    view = shown(made.session(made.plain(50.0, second), made.drafting(60.0, 62 * second, batch=2))).stream
    assert [piece.kind for piece in view.pieces[2:]] == ["plain", "accepted"]
    assert view.pieces[2].text.split() == ["00:01", "50.0", "plain"]
    assert view.pieces[3].text.split() == ["01:02", "60.0", "2.70", "57%", "×2"]
    many = shown(made.session(*(made.drafting(60.0, i * second) for i in range(MOST_WINDOWS + 50)))).stream
    assert len(many.pieces) == MOST_WINDOWS + 2 and many.where == "last 400 of 450 windows"


def test_rounds_that_another_engine_gave_one_by_one_count_as_windows() -> None:
    prompt = r.PromptFacts(suite="s", index=0, kind="k", hash="h", tokens=5)
    runs = (
        r.Run(run=run, arm=arm, drafter="model", k=2, rule="greedy", temperature=0.0, top_p=1.0, prompt=prompt,
              started_ns=run)
        for run, arm in ((1, "drafting"), (2, "plain"))
    )  # fmt: skip
    rounds = (
        r.Round(run=1, i=i, segment=0, t_ns=i, context=9, drafted=2, accepted=i % 3, width=3, tokens=i % 3 + 1,
                round_ns=30 * MS)
        for i in range(300)
    )  # fmt: skip
    steps = (
        r.Step(run=2, i=i, segment=1, t_ns=i, context=9, tokens=1, step_ns=20 * MS, pipelined=True) for i in range(300)
    )
    view = shown(made.session(*runs, *rounds, *steps))
    assert view.headline.kind == "wins" and "1.33x" in view.headline.first
    assert rows(view)["tokens/round"].startswith("◇ 2.00") and rows(view)["round"] == "○ 30.00 ms"
    assert [piece.text.split()[1] for piece in view.stream.pieces[2:]] == ["66.7", "50.0"]


def test_plain_windows_alone_say_that_nothing_was_drafted() -> None:
    view = shown(made.session(made.plain(50.0)))
    assert view.headline.first == "50.0 tok/s without drafts"
    assert "Nothing was drafted here" in view.break_even.message


def test_own_sessions_are_no_imports() -> None:
    assert all(reckon(session_of(records)).imported is None for records in CASES.values())


@pytest.mark.parametrize("damage", [{"accepted": 10**15}, {"rounds": 0}, {"tokens_per_second": 1e300}, {"k": 10**9}])
def test_figures_that_do_not_fit_are_a_state_and_no_crash(damage: dict[str, float]) -> None:
    window = r.Counters(**{"t_ns": 0, "arm": "drafting", "source": "x", "rounds": 5, "drafted": 10, "accepted": 3,
                           "k": 2, "tokens_per_second": 5.0, **damage})  # fmt: skip
    view = shown(made.session(made.plain(50.0), window), what_if=WhatIf(p=0.4))
    assert view.headline.first


def written_imports(tmp_path: Path) -> dict[str, Path]:
    cases = {
        "half": made.imported_half(),
        "july": july.records(),
        "both": made.whole(made.plain(50.0), made.drafting(40.0), *passes(w1=20.5, w2=24.6, w4=41.0)),
    }
    return {name: written(tmp_path, name, records) for name, records in cases.items()}


def test_every_key_works_on_an_imported_session(tmp_path: Path) -> None:
    path = written_imports(tmp_path)["half"]

    def fake(out: Path, options: Sequence[str]) -> list[str]:
        return [sys.executable, str(FAKE), "fails", str(out), str(path), str(tmp_path / "heard")]

    app = SpecviewApp(
        Source(path),
        folder=tmp_path,
        command=fake,
        survey=lambda question, out, options: fake(out, options),
        switches=lambda device: ((), ""),
        grace_s=0.2,
    )

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: app.settled)
            for action in ACTIONS:
                if action.action not in ("quit", "restart", "survey"):
                    await pilot.press(action.key, "escape")
            for action in ACTIONS:
                if action.action in ("restart", "survey"):
                    await pilot.press(action.key)
            assert app.is_running

    asyncio.run(run())


@pytest.mark.parametrize("case", ["july", "both"])
def test_the_line_and_the_pages_of_an_imported_session_take_their_keys(case: str, tmp_path: Path) -> None:
    app = SpecviewApp(Source(written_imports(tmp_path)[case]), folder=tmp_path, switches=lambda device: ((), ""))

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: app.settled)
            await pilot.press("left", "up", "down", "down", "question_mark", "escape", "p", "w", "right", "l")
            await until(pilot, lambda: app.page_settled)
            assert app.is_running

    asyncio.run(run())


def test_what_if_p_moves_on_the_screen(tmp_path: Path) -> None:
    app = SpecviewApp(Source(written_imports(tmp_path)["both"]), folder=tmp_path)

    async def run() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.settled)
            await pilot.press("right", "right")
            assert "what if α 0.80" in text_of(app)
            await pilot.press("escape")
            assert "what if α" not in text_of(app)

    asyncio.run(run())


def test_the_dashboard_of_an_import_looks_as_reviewed(tmp_path: Path) -> None:
    app = SpecviewApp(Source(written_imports(tmp_path)["half"]), folder=tmp_path)
    found: dict[str, str] = {}

    async def run() -> None:
        async with app.run_test(size=LOOKS[0][:2]) as pilot:
            await until(pilot, lambda: app.settled)
            for width, height, theme in LOOKS:
                await pilot.resize_terminal(width, height)
                app.theme = f"specview-{theme}"
                for _ in range(3):
                    await pilot.pause()
                found[f"dashboard-imported-{width}x{height}-{theme}.txt"] = snapshot_of(app)

    asyncio.run(run())
    if os.environ.get("SPECVIEW_SNAPSHOTS") == "write":
        for name, text in found.items():
            (SNAPSHOTS / name).write_text(text, encoding="utf-8")
    for name, text in found.items():
        assert text == (SNAPSHOTS / name).read_text(encoding="utf-8"), name
