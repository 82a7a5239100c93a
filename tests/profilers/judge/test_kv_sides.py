"""Where keys and values are quantised from a later position on, figures are of one side of it and say of which."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specview.profilers.judge.comparison.comparing import Named, compare
from specview.profilers.judge.curve import pooled_curve
from specview.profilers.judge.floor import pipelined_decode
from specview.profilers.judge.history import history_of
from specview.profilers.judge.kv_sides import Measured, Side, Switch, chosen_side, side_of
from specview.profilers.judge.ledger import ledger_of
from specview.profilers.judge.ledger_sheets import ledger_sheets
from specview.profilers.judge.places import block_probes
from specview.profilers.judge.readings import shown_wall
from specview.profilers.judge.sided import one_side
from specview.profilers.judge.visits import Setting, switch_of, visits_of
from specview.profilers.judge.windows import windows_of_runs
from specview.profilers.record.records import Probe, Round, Run, Step, to_line
from specview.profilers.record.session import read_session

START = 1000
BEFORE = {"step_ms": 10.0, "round_ms": 25.0, "split": (6.0, 14.0, 5.0, 1.0)}
BEHIND = {"step_ms": 20.0, "round_ms": 30.0, "split": (6.0, 18.0, 6.0, 1.0)}
SEGMENT_TOKENS = 32


def at(made, first):
    """A visit's events, from so many positions on, a segment after another."""
    if isinstance(made, Step | Round):
        return replace(made, context=first + made.segment * SEGMENT_TOKENS + made.i % 10)
    return made


def record(build, prompt, first, segments, **times):
    """One prompt read up to `first`, in a session that quantises from position 1,000 on; its drafting run."""
    began = len(build.made)
    _, drafting, _ = build.visit(prompt, segments=segments, **times)
    build.made[began:] = [
        replace(made, kv_bits=8, kv_start=START) if isinstance(made, Run) else at(made, first)
        for made in build.made[began:]
    ]
    return drafting


def crossing(build, prompt, before, behind):
    """A prompt with so many segments before the switch, one across it, and so many behind it; its drafting run."""
    began = len(build.made)
    drafting = record(build, prompt, START - 16 - before * SEGMENT_TOKENS, before + 1 + behind, **BEFORE)
    dearer = {10.0: 20.0, 25.0: 30.0}

    def slowed(made):
        if not isinstance(made, Step | Round) or made.segment <= before or made.warm_up:
            return made
        if isinstance(made, Step):
            return replace(made, step_ns=round(20e6))
        if made.verify_ns is not None:
            return replace(made, round_ns=round(30e6), verify_ns=round(18e6), rest_ns=round(6e6))
        return replace(made, round_ns=round(dearer[made.round_ns / 1e6] * 1e6))

    def across(made):
        """The segment across costs as nothing else does."""
        if isinstance(made, Step | Round) and made.segment == before and not made.warm_up:
            name = "step_ns" if isinstance(made, Step) else "round_ns"
            return replace(made, context=made.context + (16 if made.i % 10 > 5 else 0), **{name: round(500e6)})
        return made

    build.made[began:] = [across(slowed(made)) for made in build.made[began:]]
    return drafting


def probed(build, run, context, ms_by_width):
    for width, ms in ms_by_width.items():
        for _ in range(3):
            build.probe("verify", width, ms, run)
            build.made[-1] = replace(build.made[-1], context=context)


def block(build, context, width, ms):
    """A block probe, which names no run."""
    build.made.append(
        Probe(
            t_ns=1, ruler="fenced", part="verify", width=width, context=context, block="mlp", category="MLP",
            samples_ns=(round(ms * 1e6),),
        )
    )  # fmt: skip


def both_sides(build, before=3, behind=3):
    for prompt in ("p0", "p1", "p2"):
        run = crossing(build, prompt, before, behind)
        probed(build, run, START - 40, {1: 11.0, 3: 14.0})
        probed(build, run, START - 1, {1: 700.0, 3: 700.0})  # both reach the start
        probed(build, run, START, {1: 21.0, 3: 18.0})
        block(build, START - 40, 3, 5.0)
        block(build, START + 40, 3, 7.0)
    return build.finished()


def test_what_reaches_the_start_lies_on_neither_side():
    assert side_of(100, 90, 99) is Side.BEFORE
    assert side_of(100, 90, 100) is None and side_of(100, 99, 102) is None
    assert side_of(100, 100, 103) is Side.BEHIND


@pytest.mark.parametrize(
    ("before", "behind", "side"),
    [
        (Measured(500, 50), Measured(30, 3), Side.BEHIND),
        (Measured(500, 50), Measured(30, 2), Side.BEFORE),
        (Measured(500, 50), Measured(29, 3), Side.BEFORE),
        (Measured(5, 1), Measured(9, 1), Side.BEHIND),
        (Measured(), Measured(), Side.BEHIND),
    ],
)
def test_figures_are_of_what_was_asked_for_once_there_is_enough_of_it(before, behind, side):
    assert chosen_side(before, behind, Measured(30, 3)) is side


def test_no_figure_mixes_what_was_measured_before_and_behind_the_start(build):
    session = both_sides(build)
    ledger = ledger_of(session)
    assert ledger.decode.mean.estimate == pytest.approx(20.0)
    assert ledger.round.mean.estimate == pytest.approx(30.0)
    assert ledger.verify.mean.estimate == pytest.approx(18.0)
    assert {n: each.mean.estimate for n, each in ledger.verify_by_width.items()} == pytest.approx({1: 21.0, 3: 18.0})
    assert ledger.segments == 9 and len({s.number for v in visits_of(session) for s in v.pairs()}) == 3
    assert shown_wall(session, 1).span().ms == pytest.approx(21.0)
    assert pooled_curve(session).contexts == (START, START)
    assert [probe.samples_ns for each in block_probes(session, 3) for probe in each.rows] == [(7_000_000,)] * 3
    assert pipelined_decode(session).ms == pytest.approx(20.0)
    assert {each.round_ms for each in history_of(session).rounds} == {30.0}
    rates = {window.elapsed_ns / window.tokens for window in windows_of_runs(session) if window.arm == "plain"}
    assert rates == {20e6}


def test_the_verdict_the_ledger_the_curve_and_a_comparison_say_which_side_it_is(build):
    session = both_sides(build)
    said = (
        "Figures are of the 72 rounds from position 1,000 on, where keys and values are quantised; what came before "
        "is left out."
    )
    assert switch_of(session).sentence == said
    assert ledger_of(session).verdict.sentence.endswith(said)
    assert ledger_sheets(session)[0].sentence.endswith(said)
    assert pooled_curve(session).left_out == said
    found = compare(Named("one", session), Named("other", session))
    assert f"A: {said}" in found.cautions and f"B: {said}" in found.cautions


def test_with_too_little_behind_the_start_figures_are_of_what_lies_before_it(build):
    session = both_sides(build, before=3, behind=0)
    ledger = ledger_of(session)
    assert ledger.decode.mean.estimate == pytest.approx(10.0)
    assert {n: each.mean.estimate for n, each in ledger.verify_by_width.items()} == pytest.approx({1: 11.0, 3: 14.0})
    assert ledger.verdict.sentence.endswith(
        "Figures are of the 72 rounds before position 1,000, where keys and values are not quantised yet, because none "
        "came behind it: record with --kv-start 0, or with more --tokens."
    )


def test_with_too_little_on_either_side_there_is_no_verdict_and_a_way_out(build):
    crossing(build, "p0", 1, 1)
    verdict = ledger_of(build.finished()).verdict
    assert verdict.kind == "refused" and verdict.findings[0].code == "too_few_rounds"
    assert verdict.reason == (
        "Keys and values are quantised from position 1,000 on, and neither side of it has enough to measure: 8 rounds "
        "before it and 8 behind it."
    )
    assert verdict.remedy == "Record with --kv-start 0, or with more --tokens, so that one side has enough."
    assert verdict.sentence == f"No verdict: {verdict.reason} {verdict.remedy}"


def test_a_session_behind_its_start_from_the_first_token_on_has_nothing_to_say(build):
    for prompt in ("p0", "p1", "p2"):
        record(build, prompt, START, 2, **BEHIND)
    session = build.finished()
    assert switch_of(session).sentence == "" and ledger_of(session).segments == 6
    assert len(one_side(session).steps) == 3 * 2 * 8


def test_without_a_start_nothing_is_sifted(build):
    build.visit("p0")
    session = build.finished()
    assert one_side(session) is session and switch_of(session) is None
    build.made = [replace(made, kv_bits=8) if isinstance(made, Run) else made for made in build.made]
    session = build.session()
    assert one_side(session) is session and switch_of(session) is None


def test_the_setting_stays_that_of_its_runs(build):
    session = both_sides(build)
    assert isinstance(ledger_of(session).setting, Setting)
    assert (ledger_of(session).setting.kv_bits, ledger_of(session).setting.kv_start) == (8, START)


def test_a_session_out_of_a_file_is_sifted_once_and_alike(build, tmp_path):
    made = both_sides(build)
    path = tmp_path / "a.specview.jsonl"
    path.write_bytes(b"".join(map(to_line, build.made)))
    read = read_session(path)
    assert one_side(read) is one_side(read)
    assert list(one_side(read).rounds) == list(one_side(made).rounds)
    assert one_side(read).probes == one_side(made).probes
    assert ledger_of(read).verdict == ledger_of(made).verdict


def test_once_sifted_nothing_changes(build):
    once = one_side(both_sides(build))
    again = one_side(once)
    assert list(again.rounds) == list(once.rounds) and again.probes == once.probes
    assert switch_of(once).side is Side.BEHIND
    assert not Switch(start=9, side=Side.BEHIND, before=Measured(), behind=Measured(3, 1)).split
