"""Windows are pooled only with like ones, and count as often as they are independent."""

from __future__ import annotations

import pytest
from windows_made import drafting, plain, requests, session

from specview.profilers.judge.windows import groups_of, speeds_of, tokens_per_second


def test_windows_of_unlike_k_drafter_batch_rule_or_temperature_are_never_pooled():
    made = session(
        drafting(50.0),
        drafting(50.0, k=4),
        drafting(50.0, drafter="mtp"),
        drafting(50.0, batch=8),
        drafting(50.0, temperature=0.7),
        drafting(50.0, rule="rejection"),
        drafting(51.0),
    )
    assert [len(g.drafting) for g in groups_of(made)] == [2, 1, 1, 1, 1, 1]


def test_plain_windows_are_the_baseline_at_their_own_batch():
    made = session(plain(90.0), plain(300.0, batch=8), drafting(50.0), drafting(200.0, batch=8))
    assert [[w.tokens_per_second for w in g.plain] for g in groups_of(made)] == [[90.0], [300.0]]


def test_a_batch_that_is_not_said_may_be_one_and_is_never_eight():
    made = session(plain(90.0, batch=None), drafting(50.0), drafting(200.0, batch=8))
    assert [len(g.plain) for g in groups_of(made)] == [1, 0]


def test_plain_windows_alone_are_a_group_for_each_batch():
    groups = groups_of(session(plain(90.0), plain(300.0, batch=8), plain(91.0)))
    assert [(g.manner.batch, len(g.plain), g.drafting) for g in groups] == [(1, 2, ()), (8, 1, ())]


def test_repetitions_of_one_condition_are_pooled_and_conditions_are_not():
    labels = ("tg64, repetition 1", "tg64, repetition 2", "tg64 at depth 4096, repetition 1")
    plains = [plain(90.0, label=label) for label in labels]
    assert [len(g.plain) for g in groups_of(session(*plains))] == [2, 1]
    (group,) = groups_of(session(*plains, drafting(60.0)))
    assert len(group.plain) == 2


def test_runs_count_as_windows_only_where_asked(build):
    build.visit("p0")
    assert groups_of(build.finished(), with_runs=False) == ()


def test_a_session_without_windows_has_no_groups():
    assert groups_of(session()) == ()


def test_speed_is_as_printed_or_tokens_over_their_time():
    assert tokens_per_second(drafting(50.0)) == 50.0
    assert tokens_per_second(drafting(None, tokens=100, elapsed_ns=2_000_000_000)) == 50.0
    assert tokens_per_second(drafting(None, tokens=0, elapsed_ns=5)) is None


def test_requests_named_alike_in_both_arms_are_pairs_whatever_their_order():
    plains = (plain(100.0, label="a"), plain(50.0, label="b"), plain(70.0, label="only here"))
    speeds = speeds_of(groups_of(session(*plains, drafting(60.0, label="b"), drafting(120.0, label="a")))[0])
    assert speeds.pairs
    assert speeds.drafting == (60.0, 120.0) and speeds.plain == (50.0, 100.0)


def test_requests_of_their_own_names_count_one_by_one():
    windows = [drafting(50.0 + i, i, label=f"r{i}") for i in range(12)]
    assert len(speeds_of(groups_of(session(*windows))[0]).drafting) == 12


def test_windows_that_resemble_their_neighbours_count_as_fewer():
    slow_then_fast = [drafting(50.0 if i < 20 else 60.0, i) for i in range(40)]
    speeds = speeds_of(groups_of(session(*slow_then_fast))[0])
    assert speeds.neighbours
    assert 1 <= len(speeds.drafting) < 12


def test_windows_that_say_no_speed_are_left_out_of_speeds():
    speeds = speeds_of(groups_of(session(drafting(None), drafting(50.0)))[0])
    assert speeds.drafting == (50.0,)


def test_runs_that_were_not_paired_become_windows(build):
    for prompt in ("p0", "p1"):
        run = build.open_run("drafting", "mtp", 2, prompt)
        for i in range(6):
            build.round(run, i, 0, 20.0, 2, 1)
    plain_run = build.open_run("plain", prompt="p2")
    for i in range(4):
        build.step(plain_run, i, 0, 10.0)
    (group,) = groups_of(build.finished())
    assert [w.rounds for w in group.drafting] == [6, 6]
    assert tokens_per_second(group.plain[0]) == pytest.approx(100.0)
    assert tokens_per_second(group.drafting[0]) == pytest.approx(100.0)


def test_the_made_requests_pair():
    speeds = speeds_of(groups_of(session(*requests((90.0, 80.0, 100.0), (45.0, 40.0, 50.0))))[0])
    assert speeds.pairs and len(speeds.plain) == 3
