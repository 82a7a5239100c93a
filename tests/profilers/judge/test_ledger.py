"""The ledger of sessions whose numbers are known before."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from specview.engine.errors import SpecviewError
from specview.profilers.judge.ledger import ledger_of, undecided_kinds
from specview.profilers.judge.spans import Ruler
from specview.profilers.judge.visits import settings_of, visits_of

# One visit: decode 10 ms, rounds of 25 ms that yield 2 tokens on average of at most 3, half of the drafts accepted.


@pytest.fixture
def losing(build):
    """Three prompts, two segments each."""
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt)
    return build


def test_rates_come_out_exactly(losing):
    ledger = ledger_of(losing.finished())
    assert ledger.plain_rate == pytest.approx(100.0)
    assert ledger.drafting_rate == pytest.approx(80.0)
    assert (ledger.prompts, ledger.segments, ledger.plain_tokens) == (3, 6, 48)


def test_tokens_per_round_and_acceptance_come_out_exactly(losing):
    counts = ledger_of(losing.finished()).acceptance
    assert counts.tokens_per_round.estimate == pytest.approx(2.0)
    assert counts.per_draft.estimate == pytest.approx(0.5)
    assert (counts.rounds, counts.drafted, counts.accepted) == (48, 96, 48)
    assert [a.estimate for a in counts.conditional] == pytest.approx([3 / 4, 1 / 3])
    assert [a.estimate for a in counts.cumulative] == pytest.approx([3 / 4, 1 / 4])


def test_parts_come_out_exactly(losing):
    ledger = ledger_of(losing.finished())
    names = ("decode", "round", "draft", "verify", "rest", "rewind")
    assert [getattr(ledger, name).mean.estimate for name in names] == pytest.approx([10, 25, 6, 14, 5, 1])
    assert [getattr(ledger, name).spread.mad for name in names] == [0] * 6
    assert ledger.round.n == ledger.draft.n == 48


def test_a_round_in_decode_steps_comes_out_exactly(losing):
    ledger = ledger_of(losing.finished())
    assert ledger.round_steps.estimate == pytest.approx(2.5)
    assert ledger.most_tokens == 3


def test_at_full_acceptance_nothing_is_rewound(losing):
    ledger = ledger_of(losing.finished())
    assert ledger.round_steps_full.estimate == pytest.approx((6 + 14 + 5 - 1) / 10)


def test_a_round_in_decode_steps_is_mean_over_mean_per_prompt(build):
    for prompt, round_ms in (("p0", 20.0), ("p1", 25.0), ("p2", 30.0)):
        build.visit(prompt, round_ms=round_ms)
    steps = ledger_of(build.finished()).round_steps
    assert (steps.estimate, steps.n) == (pytest.approx(2.5), 3)
    assert steps.low < 2.4 and steps.high > 2.6


def test_a_round_in_decode_steps_is_over_segments_below_three_prompts(build):
    build.visit("p0", round_ms=20.0, segments=3)
    build.visit("p1", round_ms=30.0, segments=3)
    steps = ledger_of(build.finished()).round_steps
    assert (steps.estimate, steps.n) == (pytest.approx(2.5), 6)


def replayed_visits(build, *prompts):
    """Visits whose drafting arm ran twice, as A B B A runs it: the second time says nothing new of acceptance."""
    for prompt in prompts:
        _, drafting, _ = build.visit(prompt)
        for segment in range(2):
            for n in range(8):
                build.round(drafting, 20 + n, segment, 27.0, 2, 2, replay=True)


def test_every_text_counts_once_for_acceptance_and_all_its_rounds_for_time(build):
    replayed_visits(build, "p0", "p1", "p2")
    ledger = ledger_of(build.finished())
    assert (ledger.acceptance.rounds, ledger.acceptance.drafted, ledger.acceptance.accepted) == (48, 96, 48)
    assert (ledger.facts.rounds, ledger.facts.drafted, ledger.facts.accepted) == (48, 96, 48)
    assert ledger.acceptance.tokens_per_round.estimate == pytest.approx(2.0)
    assert ledger.round.n == 96
    assert ledger.round.mean.estimate == pytest.approx(26.0)
    assert ledger.round_steps.estimate == pytest.approx(2.6)
    assert ledger.kinds[0].acceptance.rounds == 48


def test_where_everything_is_a_replay_all_of_it_counts(build):
    for prompt in ("p0", "p1", "p2"):
        plain, drafting = build.open_run("plain", prompt=prompt), build.open_run("drafting", prompt=prompt)
        for n in range(12):
            build.step(plain, n, 0, 10.0)
            build.round(drafting, n, 0, 25.0, 2, n % 3, replay=True)
    ledger = ledger_of(build.finished())
    assert ledger.acceptance.rounds == ledger.facts.rounds == 36
    assert ledger.acceptance.tokens_per_round.estimate == pytest.approx(2.0)


def test_rounds_still_needed_count_every_text_once(build):
    for n in range(6):
        _, drafting, _ = build.visit(f"p{n}", round_ms=(19.0, 20.5, 19.2, 20.9, 19.4, 20.2)[n])
        for i in range(16):
            build.round(drafting, 20 + i, i // 8, (19.0, 20.5, 19.2, 20.9, 19.4, 20.2)[n], 2, 1, replay=True)
    ledger = ledger_of(build.finished())
    assert ledger.verdict.kind == "too_close"
    assert ledger.rounds_needed == ledger.verdict.still_needed * 16


def test_a_segment_given_up_in_the_middle_is_not_counted(build):
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt, closed=True)
    whole = ledger_of(build.session())
    plain, drafting = build.open_run("plain", prompt="p3"), build.open_run("drafting", prompt="p3")
    for n in range(8):
        build.step(plain, n, 0, 50.0)
    build.round(drafting, 0, 0, 3.0, 2, 2)
    assert ledger_of(build.session()) == whole
    build.visit("p3", closed=True)
    later = ledger_of(build.session())
    assert (later.prompts, later.segments) == (4, 8)
    assert (later.plain_rate, later.drafting_rate) == (pytest.approx(100.0), pytest.approx(80.0))


def test_text_that_drafts_changed_refuses_the_verdict(losing):
    losing.compared(1, "bug", 2.0)
    ledger = ledger_of(losing.finished())
    assert [f.code for f in ledger.verdict.findings] == ["output_differs"]
    assert ledger.verdict.speedup is None


def test_ties_refuse_nothing(losing):
    losing.compared(1, "tie", 0.0001)
    assert ledger_of(losing.finished()).verdict.kind == "loses"


def test_a_baseline_that_was_not_pipelined_refuses_the_verdict(losing):
    ledger = ledger_of(losing.session())
    assert ledger.facts.decode_ruler is Ruler.PIPELINED
    losing.step(0, 30, 0, 10.0, pipelined=False)
    ledger = ledger_of(losing.finished())
    assert ledger.facts.decode_ruler is Ruler.SYNCHRONOUS
    assert [f.code for f in ledger.verdict.findings] == ["mixed_rulers"]
    assert (ledger.decode, ledger.round_steps, ledger.prediction) == (None, None, None)


@pytest.mark.parametrize(
    ("status", "reason", "spent"),
    [
        ("finished", None, True),
        ("finished", "every kind of content is decided", False),
        ("stopped", "SIGINT", False),
        ("failed", None, False),
    ],
)
def test_a_budget_is_spent_where_the_plan_ended(losing, status, reason, spent):
    assert ledger_of(losing.finished(status, reason)).facts.budget_spent is spent


@pytest.mark.parametrize("accepted", [1, 2**62])
def test_a_session_that_claims_huge_drafts_has_a_ledger_at_once(losing, accepted):
    for prompt in ("p0", "p1", "p2"):
        losing.visit(prompt, accepted=(1,))
    drafting = losing.open_run("drafting", prompt="p2")
    plain = losing.open_run("plain", prompt="p2")
    for n in range(40):
        losing.round(drafting, n, 0, 25.0, 2**62, accepted)
        losing.step(plain, n, 0, 10.0)
    ledger = ledger_of(losing.finished())
    assert ledger.facts.drafted == 2 * ledger.facts.rounds
    assert ledger.drafting_rate == pytest.approx(80.0)


@pytest.mark.parametrize("k", [65, 2**62])
@pytest.mark.parametrize("drafter", ["mtp", "lookup", "org/draft"])
def test_a_session_that_claims_a_huge_k_is_answered_at_once(build, k, drafter):
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt, k=k, drafter=drafter)
    with pytest.raises(SpecviewError, match="holds no round of drafting yet"):
        ledger_of(build.finished())


def test_rounds_that_claim_no_token_are_left_out(losing):
    session = losing.finished()
    nothing = tuple(replace(e, tokens=0) for e in session.rounds if not e.warm_up)
    ledger = ledger_of(replace(session, rounds=(*session.rounds, *nothing)))
    assert ledger.drafting_rate == pytest.approx(80.0)
    with pytest.raises(SpecviewError):
        ledger_of(replace(session, rounds=nothing, runs=()))
    assert ledger_of(replace(session, rounds=nothing)).verdict.kind == "refused"


def test_the_speedup_and_the_verdict_come_out_exactly(losing):
    verdict = ledger_of(losing.finished()).verdict
    assert (verdict.kind, verdict.scope) == ("loses", "prompts")
    assert verdict.speedup.estimate == pytest.approx(0.8)


def test_the_prediction_is_the_sum_of_the_parts(losing):
    ledger = ledger_of(losing.finished())
    assert ledger.prediction.tokens_per_second.estimate == pytest.approx(80.0)
    assert ledger.prediction_error.error == pytest.approx(0.0, abs=1e-9)


def test_the_prediction_error_comes_out_exactly(build):
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt, split=(6.0, 14.0, 0.0, 0.0))  # 20 ms where free rounds take 25
    ledger = ledger_of(build.finished())
    assert ledger.prediction.tokens_per_second.estimate == pytest.approx(100.0)
    assert ledger.prediction_error.measured == pytest.approx(80.0)
    assert ledger.prediction_error.error == pytest.approx(0.25)


def test_free_rounds_alone_give_no_prediction(build):
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt, split=None)
    ledger = ledger_of(build.finished())
    assert ledger.prediction is None and ledger.prediction_error is None
    assert ledger.drafting_rate == pytest.approx(80.0)


def test_rounds_that_yield_more_than_they_cost_win(build):
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt, round_ms=16.0, split=(2.0, 12.0, 2.0, 0.0))
    verdict = ledger_of(build.finished()).verdict
    assert verdict.kind == "wins"
    assert verdict.speedup.estimate == pytest.approx(1.25)


def test_rounds_dearer_than_full_acceptance_cannot_win(build):
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt, round_ms=40.0, split=(6.0, 29.0, 5.0, 1.0))
    ledger = ledger_of(build.finished())
    assert ledger.verdict.kind == "cannot_win"
    assert ledger.round_steps_full.estimate == pytest.approx(3.9)


def test_one_prompt_says_this_prompt_only(build):
    build.visit("p0", segments=8)
    verdict = ledger_of(build.finished()).verdict
    assert (verdict.kind, verdict.scope) == ("loses", "this prompt only")
    assert "this prompt only" in verdict.sentence


def test_too_little_is_refused_and_told(build):
    build.visit("p0", segments=1)
    ledger = ledger_of(build.finished())
    assert ledger.verdict.kind == "refused"
    assert ledger.verdict.sentence.startswith("No verdict: Too little is recorded: 8 rounds")
    assert ledger.drafting_rate == pytest.approx(80.0)


def test_the_same_session_gives_the_same_ledger_twice(losing):
    session = losing.finished()
    first, second = ledger_of(session), ledger_of(session)
    assert first == second
    assert first.verdict == second.verdict


def test_an_interrupted_session_has_a_ledger(losing):
    session = losing.session()
    assert session.status == "interrupted"
    ledger = ledger_of(session)
    assert ledger.plain_rate == pytest.approx(100.0)
    assert not ledger.facts.budget_spent


@pytest.mark.parametrize("lost", range(1, 80, 7))
def test_a_session_cut_anywhere_has_a_ledger_or_says_why_not(build, lost):
    build.visit("p0", segments=3)
    del build.made[-lost:]
    ledger = ledger_of(build.session())
    assert ledger.plain_rate == pytest.approx(100.0)


@pytest.mark.parametrize("kept", range(1, 12))
def test_a_session_of_few_records_has_a_ledger_or_says_why_not(build, kept):
    build.visit("p0")
    del build.made[kept:]
    try:
        ledger = ledger_of(build.session())
    except SpecviewError as error:
        assert "record longer" in str(error)
    else:
        assert ledger.verdict.kind == "refused"


def test_unlike_settings_are_never_pooled(build):
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt, k=2)
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt, k=4, round_ms=50.0, accepted=(4,), split=(10.0, 35.0, 5.0, 1.0))
    session = build.finished()
    two, four = settings_of(visits_of(session))
    assert ledger_of(session).setting == four
    assert ledger_of(session, two).drafting_rate == pytest.approx(80.0)
    assert ledger_of(session, four).drafting_rate == pytest.approx(100.0)
    assert ledger_of(session, two).verify.mean.estimate == pytest.approx(14.0)
    assert ledger_of(session, four).verify.mean.estimate == pytest.approx(35.0)


def test_probes_of_another_drafter_are_not_pooled(build):
    runs = [build.visit(p, drafter="mtp") for p in ("p0", "p1", "p2")]
    others = [build.visit(p, drafter="org/draft") for p in ("p0", "p1", "p2")]
    for mine, other in zip(runs, others, strict=True):
        build.probe("draft", 1, 3.0, mine[1])
        build.probe("draft", 1, 30.0, other[1])
        build.probe("verify", 1, 11.0, mine[1])
        build.probe("verify", 1, 11.0, other[1])
    session = build.finished()
    mtp, model = settings_of(visits_of(session))
    assert ledger_of(session, mtp).draft_by_width[1].mean.estimate == pytest.approx(3.0)
    assert ledger_of(session, model).draft_by_width[1].mean.estimate == pytest.approx(30.0)
    assert ledger_of(session, mtp).decode_synchronous.n == 6


def test_output_of_another_setting_is_not_pooled(build):
    mine = [build.visit(p, drafter="mtp") for p in ("p0", "p1", "p2")]
    others = [build.visit(p, drafter="lookup") for p in ("p0", "p1", "p2")]
    build.compared(mine[0][1], "bug", 2.0)
    build.compared(others[0][1], "equal")
    session = build.finished()
    mtp, lookup = settings_of(visits_of(session))
    assert ledger_of(session, mtp).output.bugs == 1
    assert (ledger_of(session, lookup).output.bugs, ledger_of(session, lookup).output.compared) == (0, 32)


def test_kinds_of_content_are_rows(build):
    for n in range(3):
        build.visit(f"e{n}", "english")
        build.visit(f"c{n}", "code", round_ms=16.0, split=(2.0, 12.0, 2.0, 0.0))
    english, code = ledger_of(build.finished()).kinds
    assert (english.kind, english.prompts, english.estimate) == ("english", 3, pytest.approx(0.8))
    assert (code.kind, code.prompts, code.estimate) == ("code", 3, pytest.approx(1.25))


def test_a_ledger_needs_a_round_of_drafting(build):
    with pytest.raises(SpecviewError, match="holds no round of drafting yet"):
        ledger_of(build.finished())


def test_undecided_are_the_kinds_whose_interval_holds_1(build):
    for n in range(3):
        build.visit(f"e{n}", "english")
        build.visit(f"c{n}", "code", round_ms=(18.0, 20.0, 22.5)[n])
    assert undecided_kinds(build.made) == ("code",)


def test_a_kind_with_too_few_prompts_is_undecided(build):
    build.visit("p0")
    assert undecided_kinds(build.made) == ("english",)
    assert undecided_kinds(build.made[:1]) == ()


def test_a_slower_canary_is_told(losing):
    for value in (100, 100, 100, 100, 130, 131, 129, 130):
        losing.canary(value)
    ledger = ledger_of(losing.finished())
    assert ledger.canary.estimate == pytest.approx(1.30, rel=0.01)
    assert [f.code for f in ledger.verdict.findings] == ["canary_slowed"]


def test_plain_decode_that_drifts_is_told(build):
    for n in range(8):
        build.visit(f"p{n}", segments=1, step_ms=10.0 * 1.2 ** (n / 7))
    ledger = ledger_of(build.finished())
    assert ledger.drift.estimate == pytest.approx(1.2, rel=1e-6)
    assert "baseline_drift" in [f.code for f in ledger.verdict.findings]


def test_the_loop_without_drafts_has_a_ledger(build):
    for prompt in ("p0", "p1", "p2"):
        plain = build.open_run("plain", prompt=prompt)
        k0 = build.open_run("k0", "none", 0, prompt)
        for segment in range(2):
            for n in range(8):
                build.step(plain, n, segment, 10.0)
                build.round(k0, n, segment, 11.0, 0, 0, catch_up=0)
    ledger = ledger_of(build.finished())
    assert ledger.acceptance.per_draft is None
    assert ledger.acceptance.tokens_per_round.estimate == 1.0
    assert ledger.round_steps.estimate == pytest.approx(1.1)
    assert ledger.verdict.speedup.estimate == pytest.approx(10 / 11)
    assert math.isfinite(ledger.drafting_rate)
