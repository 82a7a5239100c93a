"""A session in a few lines, and as one object."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from specview.layouts.summary import as_object, summary_lines
from specview.profilers.judge.ledger import ledger_of


def said(session):
    return summary_lines(session, ledger_of(session))


@pytest.fixture
def losing(build):
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt)
    return build


def line_of(lines, word):
    return next(line for line in lines if line.lstrip().startswith(word))


def test_the_verdict_comes_first(losing):
    lines = said(losing.finished())
    assert lines[0].startswith("Loses: drafting runs at 0.80x of plain decode")


def test_the_setting_is_named(losing):
    line = said(losing.finished())[1]
    assert line == "org/model (llama, float32), drafter mtp, k = 2, greedy match, on cpu with some BLAS."


def of_another(session, **changes):
    """The session with other facts of its drafting runs."""
    runs = tuple(run if run.arm == "plain" else replace(run, **changes) for run in session.runs)
    return replace(session, runs=runs)


def test_the_temperature_is_named(losing):
    session = of_another(losing.finished(), rule="rejection sampling", temperature=0.7)
    assert "k = 2, rejection sampling at temperature 0.7, on cpu" in said(session)[1]


def test_a_synthetic_drafter_is_called_so(losing):
    line = said(of_another(losing.finished(), drafter="fixed:0.7"))[1]
    assert "drafter fixed:0.7 (synthetic): acceptance is chosen, not measured; k = 2" in line


def test_rates_with_and_without_drafts(losing):
    lines = said(losing.finished())
    assert line_of(lines, "without drafts") == "without drafts   100 tok/s"
    assert line_of(lines, "with drafts") == "with drafts      80.0 tok/s   over 3 prompts, 6 paired segments"


def test_tokens_per_round_and_acceptance_with_kind_rule_and_interval(losing):
    lines = said(losing.finished())
    assert line_of(lines, "tokens per round").startswith("tokens per round 2.00 [")
    acceptance = line_of(lines, "acceptance")
    assert acceptance.startswith("acceptance       0.50 [")
    assert "per draft (accepted ÷ drafted), 95%, greedy match, 48 of 96" in acceptance


def test_acceptance_by_position_is_called_conditional(losing):
    assert any("0.75  0.33   conditional by position" in line for line in said(losing.finished()))


def test_parts_name_where_they_come_from(losing):
    lines = said(losing.finished())
    assert line_of(lines, "decode").startswith("decode           10.00 ms ± 0.0%")
    assert "split rounds" in line_of(lines, "verify") and "free rounds" in line_of(lines, "round  ")
    assert line_of(lines, "round in steps") == "round in steps   2.50 [2.50, 2.50]   mean round ÷ decode"
    assert line_of(lines, "rewind").startswith("    rewind       1.00 ms ± 0.0%")
    assert line_of(lines, "rewind").endswith("part of rest")


def test_without_probes_nothing_is_said_of_widths(losing):
    lines = said(losing.finished())
    assert not [line for line in lines if line.startswith(("one pass", "verify(n)", "drafter steps", "catch-up"))]


def test_one_pass_and_the_widths_stand_on_the_synchronous_ruler(losing):
    for width, ms in ((1, 11.0), (3, 15.4), (9, 40.7)):
        losing.probe("verify", width, ms)
        losing.probe("verify", width, ms)
    lines = said(losing.finished())
    assert line_of(lines, "one pass").startswith("one pass         11.00 ms ± 0.0%")
    assert "synchronous, one position" in line_of(lines, "one pass")
    assert line_of(lines, "verify(n)÷(1)") == "verify(n)÷(1)    1: 1.00  3: 1.40  9: 3.70"


def test_no_ratio_of_widths_without_a_pass_over_one_position(losing):
    losing.probe("verify", 3, 15.0)
    losing.probe("verify", 3, 15.0)
    assert not [line for line in said(losing.finished()) if line.startswith("verify(n)")]


def test_drafter_steps_and_the_catch_up_of_a_round(losing):
    for width, ms in ((1, 2.0), (2, 3.0), (3, 5.0)):
        losing.probe("draft", width, ms, 1)
        losing.probe("draft", width, ms, 1)
    lines = said(losing.finished())
    assert (
        line_of(lines, "drafter steps") == "drafter steps    1: 2.00 ms  2: 3.00 ms  3: 5.00 ms   "
        "by positions, timed alone"
    )
    # half of the rounds accept one draft and a quarter both: 0.5 × (3 − 2) + 0.25 × (5 − 2)
    assert line_of(lines, "catch-up") == "catch-up         1.25 ms of each round's draft, at this acceptance"


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ((7.0, 14.0, 5.0, 1.0), "split rounds take 4.0% longer than free ones"),
        ((4.0, 14.0, 5.0, 1.0), "split rounds take 8.0% shorter than free ones"),
    ],
)
def test_what_fences_cost_is_told_in_words(build, split, words):
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt, split=split)
    assert line_of(said(build.finished()), "fences") == f"fences           {words}"


def test_pauses_to_cool_are_added_up(losing):
    losing.cooled(1.5)
    losing.cooled(0.5)
    assert "Paused 2.0 s in all because the machine ran slower than at the start." in said(losing.finished())


def test_too_close_says_about_how_many_more_rounds(build):
    for n in range(6):
        build.visit(f"p{n}", round_ms=(19.0, 20.5, 19.2, 20.9, 19.4, 20.2)[n])
    session = build.finished()
    needed = ledger_of(session).rounds_needed
    assert said(session)[0].startswith("Too close to call")
    assert f"About {needed:,} more rounds may settle it, if mean and spread stay as they are." in said(session)


def test_the_prediction_stands_beside_the_measurement(losing):
    line = line_of(said(losing.finished()), "predicted")
    assert "80.0 tok/s from split rounds and probes" in line
    assert "80.0 tok/s measured in other, free rounds" in line


def test_kinds_are_listed_when_there_are_several(build):
    for n in range(3):
        build.visit(f"e{n}", "english")
        build.visit(f"c{n}", "code", round_ms=24.0)
    lines = said(build.finished())
    assert line_of(lines, "english").startswith("english          0.80x [")
    assert line_of(lines, "code").startswith("code             0.83x [")


def test_kinds_that_differ_are_judged_each_by_itself(build):
    for n in range(3):
        build.visit(f"e{n}", "english")
        build.visit(f"c{n}", "code", round_ms=16.0)
    lines = said(build.finished())
    assert lines[0].startswith("No verdict: The budget is spent and the speedup is still uncertain by ")
    assert lines[0].endswith("if kinds of text differ, judge each kind by itself.")
    assert line_of(lines, "english").startswith("english          0.80x [")
    assert line_of(lines, "code").startswith("code             1.25x [")


def test_kinds_of_a_distrusted_session_show_no_speedup(build):
    for n in range(3):
        build.visit(f"e{n}", "english")
        build.visit(f"c{n}", "code", round_ms=16.0)
    for value in (100, 130, 130, 131):
        build.canary(value)
    session = build.finished()
    lines = said(session)
    assert lines[0].startswith("No verdict: A fixed matrix product became ")
    assert line_of(lines, "english") == "english          p 0.50, 3 prompts"
    assert line_of(lines, "code") == "code             p 0.50, 3 prompts"
    kinds = as_object(session, ledger_of(session))["kinds"]
    assert [(row["speedup"], row["interval"]) for row in kinds] == [(None, None), (None, None)]


def test_one_kind_gets_no_row(losing):
    assert not [line for line in said(losing.finished()) if line.startswith("english")]


def test_a_kind_of_one_prompt_has_no_interval(build):
    for n in range(3):
        build.visit(f"e{n}", "english")
    build.visit("c", "code")
    line = line_of(said(build.finished()), "code")
    assert line == "code             0.80x too few prompts for an interval   p 0.50, 1 prompt"


def test_equal_output_is_said(losing):
    losing.compared(1)
    assert line_of(said(losing.finished()), "output") == "output           = plain greedy, 32 tokens compared"


def test_a_tie_is_told_with_its_margin(losing):
    losing.compared(1, "tie", 0.00025)
    line = line_of(said(losing.finished()), "output")
    assert "differs from plain greedy at 1 near tie" in line and "0.00025 logits" in line


def test_a_bug_is_told_loudly(losing):
    losing.compared(1, "bug", 2.5)
    assert said(losing.session())[0].startswith(
        "No verdict: With drafts the text differs from plain greedy at 1 place "
    )
    line = line_of(said(losing.finished()), "output")
    assert "DIFFERS from plain greedy at 1 place by more than a tie (margin 2.5 logits)" in line


def test_a_finished_session_says_no_more(losing):
    assert not any("This session" in line for line in said(losing.finished()))


def test_an_interrupted_session_is_called_so(losing):
    assert any("interrupted" in line and "without a footer" in line for line in said(losing.session()))


def test_a_stopped_session_says_why(losing):
    assert said(losing.finished("stopped", "SIGINT"))[-1] == "This session stopped: SIGINT."


def test_notes_are_shown(losing):
    losing.note("k = 1000 makes no sense")
    assert "Note: k = 1000 makes no sense" in said(losing.finished())


def test_nothing_drafted_is_said(build):
    for prompt in ("p0", "p1", "p2"):
        plain = build.open_run("plain", prompt=prompt)
        k0 = build.open_run("k0", "none", 0, prompt)
        for n in range(8):
            build.step(plain, n, 0, 10.0)
            build.round(k0, n, 0, 11.0, 0, 0)
    assert "acceptance       — (nothing was drafted)" in said(build.finished())


def test_the_object_is_json_and_agrees_with_the_lines(losing):
    losing.compared(1)
    losing.probe("verify", 3, 15.0)
    losing.probe("verify", 3, 15.0)
    session = losing.finished()
    said_in_json = json.loads(json.dumps(as_object(session, ledger_of(session)), allow_nan=False))
    assert said_in_json["status"] == "finished"
    assert said_in_json["plain_tokens_per_second"] == pytest.approx(100.0)
    assert said_in_json["drafting_tokens_per_second"] == pytest.approx(80.0)
    assert said_in_json["tokens_per_round"]["estimate"] == pytest.approx(2.0)
    assert said_in_json["acceptance"]["per_draft"]["estimate"] == pytest.approx(0.5)
    assert said_in_json["acceptance"]["rule"] == "greedy match"
    assert said_in_json["verdict"]["kind"] == "loses"
    assert said_in_json["parts_ms"]["verify"]["median"] == pytest.approx(14.0)
    assert said_in_json["verify_ms_by_width"]["3"]["mean"] == pytest.approx(15.0)
    assert said_in_json["output"] == {"compared": 32, "ties": 0, "bugs": 0, "margin": None}
    assert said_in_json["model"]["layers"] == {"full attention": 2}


def test_the_object_of_an_interrupted_session_is_json_too(build):
    build.visit("p0", segments=1)
    session = build.session()
    assert json.loads(json.dumps(as_object(session, ledger_of(session)), allow_nan=False))["status"] == "interrupted"


def test_the_same_session_says_the_same_twice(losing):
    session = losing.finished()
    assert said(session) == said(session)
