"""Verify passes of different manners are never samples of one T_verify."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specview.profilers.judge.costs_alone import costs_alone
from specview.profilers.judge.curve import pooled_curve
from specview.profilers.judge.ledger import ledger_of
from specview.profilers.judge.manners import Manner, Manners, is_usual, loop_manner, manner_of
from specview.profilers.judge.numbers import whole_probes
from specview.profilers.judge.readings import shown_wall
from specview.profilers.judge.visits import settings_of, visits_of
from specview.profilers.record.records import Probe, Run
from specview.profilers.record.session import session_of

PROMPTS = ("p0", "p1", "p2")
DRAWN = {"rule": "rejection sampling", "temperature": 0.7}


def drafted(build, **manner):
    """Three prompts whose drafting runs are in that manner; the number of the last drafting run."""
    for prompt in PROMPTS:
        _, run, _ = build.visit(prompt)
    build.made[:] = [
        replace(made, **manner) if isinstance(made, Run) and made.arm != "plain" else made for made in build.made
    ]
    return run


def probed(build, run, ms_by_width, policy=None, rule=None):
    for width, ms in ms_by_width.items():
        for _ in range(2):
            build.probe("verify", width, ms, run)
            build.made[-1] = replace(build.made[-1], policy=policy, rule=rule)


def verify_ms(ledger):
    return {width: pytest.approx(each.mean.estimate) for width, each in ledger.verify_by_width.items()}


def test_a_setting_takes_the_passes_of_its_own_policy(build):
    run = drafted(build, policy="dense")
    probed(build, run, {1: 11.0, 3: 30.0})
    probed(build, run, {1: 12.0, 3: 14.0}, policy="dense")
    ledger = ledger_of(build.finished())
    assert verify_ms(ledger) == {1: 12.0, 3: 14.0}
    assert ledger.prediction.round_ms.estimate == pytest.approx(6 + 14 + 5)
    assert ledger.decode_synchronous.mean.estimate == pytest.approx(11.0)


def test_passes_in_one_go_predict_no_round_of_another_policy(build):
    run = drafted(build, policy="single passes")
    probed(build, run, {1: 11.0, 3: 99.0})
    ledger = ledger_of(build.finished())
    assert verify_ms(ledger) == {}
    assert ledger.prediction.round_ms.estimate == pytest.approx(6 + 14 + 5)


def test_a_setting_that_draws_takes_the_passes_that_its_rule_read(build):
    run = drafted(build, **DRAWN)
    probed(build, run, {1: 11.0, 3: 12.0})
    probed(build, run, {1: 13.0, 3: 15.0}, rule="rejection sampling")
    probed(build, run, {3: 50.0}, rule="exact match")
    assert verify_ms(ledger_of(build.finished())) == {1: 13.0, 3: 15.0}


def test_passes_read_at_another_top_p_are_another_settings(build):
    first = drafted(build, **DRAWN)
    later = replace(next(m for m in build.made if isinstance(m, Run) and m.run == first), run=99, top_p=0.5)
    build.made.append(later)
    probed(build, first, {1: 13.0, 3: 15.0}, rule="rejection sampling")
    probed(build, 99, {1: 23.0, 3: 25.0}, rule="rejection sampling")
    session = build.finished()
    setting = settings_of(visits_of(session))[0]
    assert verify_ms(ledger_of(session, setting)) == {1: 13.0, 3: 15.0}


def test_one_manners_passes_count_for_all_drafters_but_under_rejection_sampling():
    run = Run(
        run=1, arm="drafting", drafter="mtp", k=2, rule="exact match", temperature=0.7, top_p=1.0,
        prompt=None, started_ns=0,
    )  # fmt: skip
    other = replace(run, drafter="lookup")
    assert manner_of(run) == manner_of(other)
    assert manner_of(replace(run, rule="rejection sampling")) != manner_of(replace(other, rule="rejection sampling"))
    assert manner_of(replace(run, temperature=0.0)) == manner_of(replace(other, temperature=0.0, top_p=0.5))
    assert manner_of(replace(run, kv_bits=8)) != manner_of(run)
    assert manner_of(replace(run, policy="one pass")) == manner_of(run)


def test_what_stands_beside_blocks_are_passes_in_one_go(build):
    run = drafted(build, policy="dense")
    probed(build, run, {1: 11.0, 3: 30.0})
    probed(build, run, {1: 12.0, 3: 14.0}, policy="dense")
    session = build.finished()
    assert set(shown_wall(session, 3).ns) == {30_000_000}
    assert set(whole_probes(session, "verify")[1]) == {11_000_000}
    assert costs_alone(session).passes[3].ms == pytest.approx(30.0)


def test_a_curve_is_that_of_the_passes_that_drafting_makes(build):
    run = drafted(build, policy="dense")
    probed(build, run, {1: 11.0, 3: 30.0})
    probed(build, run, {1: 12.0, 3: 14.0}, policy="dense")
    curve = pooled_curve(build.finished())
    assert [(p.width, pytest.approx(p.ms.mean.estimate)) for p in curve.points] == [(1, 12.0), (3, 14.0)]


def test_probes_without_a_run_are_what_they_say(build):
    build.visit("p0")
    session = session_of(build.made)
    probe = Probe(t_ns=0, ruler="whole", part="verify", width=1, context=9, samples_ns=(5,))
    assert Manners(session).of(probe) == Manner() == loop_manner(session)
    assert Manners(session).of(replace(probe, run=77, policy="dense")) == Manner(policy="dense")
    assert is_usual(probe) and not is_usual(replace(probe, rule="exact match"))
