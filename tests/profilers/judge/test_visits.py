"""Visits: which runs belong together, which segments are pairs, and what never mixes."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import pytest

from specview.profilers.judge.visits import settings_of, visits_of


def test_a_visit_holds_the_arms_of_one_prompt(build):
    runs = build.visit()
    (visit,) = visits_of(build.session())
    assert visit.runs == dict(zip(("plain", "drafting", "split"), runs, strict=True))
    assert (visit.prompt, visit.kind, visit.setting.drafter, visit.setting.k) == ("p0", "english", "mtp", 2)


def test_warm_up_is_left_out(build):
    build.visit(segments=1)
    (segment,) = visits_of(build.session())[0].pairs()
    assert [len(segment.steps), len(segment.rounds), len(segment.splits)] == [8, 8, 8]
    assert {s.step_ns for s in segment.steps} == {10_000_000}


def test_the_log_ratio_is_of_tokens_per_second(build):
    build.visit(segments=1, step_ms=10.0, round_ms=25.0, accepted=(1,))
    (segment,) = visits_of(build.session())[0].pairs()
    assert segment.log_ratio == pytest.approx(math.log((2 / 25) / (1 / 10)))


def test_another_prompt_is_another_visit(build):
    build.visit("p0")
    build.visit("p1", kind="code")
    assert [(v.prompt, v.kind) for v in visits_of(build.session())] == [("p0", "english"), ("p1", "code")]


def test_the_same_prompt_again_is_another_visit(build):
    build.visit("p0")
    build.visit("p0")
    assert [len(v.pairs()) for v in visits_of(build.session())] == [2, 2]


def test_another_k_is_another_visit(build):
    build.visit("p0", k=2)
    build.visit("p0", k=4, accepted=(1,))
    visits = visits_of(build.session())
    assert [v.setting.k for v in visits] == [2, 4]
    assert [s.k for s in settings_of(visits)] == [2, 4]


def test_a_visit_given_up_before_its_first_step_takes_none_of_the_next(build):
    build.open_run("plain")
    lost = build.open_run("drafting")
    build.round(lost, 0, 0, 25.0, 2, 1)
    build.visit("p0")
    first, second = visits_of(build.session())
    assert first.pairs() == []
    assert len(second.pairs()) == 2


def test_a_segment_that_one_arm_lacks_is_no_pair(build):
    plain, drafting, _ = build.visit(segments=1)
    build.round(drafting, 10, 1, 25.0, 2, 1)
    (visit,) = visits_of(build.session())
    assert [s.number for s in visit.pairs()] == [0]
    build.step(plain, 10, 1, 10.0)
    (visit,) = visits_of(build.session())
    assert [s.number for s in visit.pairs()] == [0, 1]


def test_events_of_an_unknown_run_and_without_time_are_ignored(build):
    plain, _, _ = build.visit(segments=1)
    build.step(77, 0, 0, 10.0)
    build.step(plain, 30, 0, 0.0)
    (visit,) = visits_of(build.session())
    assert len(visit.segments[0].steps) == 8


def test_the_loop_without_drafts_counts_as_the_drafting_arm(build):
    plain = build.open_run("plain")
    k0 = build.open_run("k0", "none", 0)
    build.step(plain, 0, 0, 10.0)
    build.round(k0, 0, 0, 11.0, 0, 0)
    (visit,) = visits_of(build.session())
    assert len(visit.pairs()) == 1
    assert visit.setting.k == 0


def test_a_session_without_runs_has_no_visit(build):
    assert visits_of(build.session()) == []
    assert settings_of([]) == ()


def pairs_of(build):
    return [[s.number for s in v.pairs()] for v in visits_of(build.session())]


def test_a_segment_without_a_memory_record_after_it_was_given_up(build):
    build.visit("p0", closed=True)
    plain, drafting = build.open_run("plain", prompt="p1"), build.open_run("drafting", prompt="p1")
    build.step(plain, 0, 0, 10.0)
    build.round(drafting, 0, 0, 25.0, 2, 1)
    assert pairs_of(build) == [[0, 1], []]
    build.visit("p1", closed=True)
    assert pairs_of(build) == [[0, 1], [], [0, 1]]


def test_a_segment_given_up_in_the_middle_of_a_visit_takes_no_other_with_it(build):
    plain, drafting = build.open_run("plain"), build.open_run("drafting")
    for segment in range(4):
        build.step(plain, segment, segment, 10.0)
        build.round(drafting, segment, segment, 25.0, 2, 1)
        if segment != 2:
            build.memory()
    assert pairs_of(build) == [[0, 1, 3]]


def test_while_no_segment_is_whole_they_are_all_there_is_to_show(build):
    build.memory()
    build.visit("p0")
    assert pairs_of(build) == [[0, 1]]


def test_a_whole_segment_without_a_pair_does_not_hide_the_others(build):
    lonely = build.open_run("plain", prompt="p0")
    build.step(lonely, 0, 0, 10.0)
    build.memory()
    build.visit("p1")
    assert pairs_of(build) == [[], [0, 1]]


def test_a_session_without_memory_records_is_not_judged_by_them(build):
    build.visit("p0")
    build.visit("p1")
    assert pairs_of(build) == [[0, 1], [0, 1]]


def test_many_segments_are_told_whole_in_no_time(build):
    plain, drafting = build.open_run("plain"), build.open_run("drafting")
    for segment in range(4000):
        build.step(plain, segment, segment, 10.0)
        build.round(drafting, segment, segment, 25.0, 2, 1)
        build.memory()
    session = build.session()
    began = time.process_time()
    (visit,) = visits_of(session)
    assert len(visit.pairs()) == 4000
    assert time.process_time() - began < 0.5, "the app reckons all of it anew several times a minute"


@pytest.mark.parametrize("wrong", [{"drafted": 65}, {"drafted": 2**62}, {"tokens": 0}, {"round_ns": 0}])
def test_events_that_no_recorder_writes_are_left_out(build, wrong):
    build.visit("p0")
    session = build.session()
    odd = tuple(replace(e, **wrong) for e in session.rounds)
    before, after = (visits_of(s)[0].segments[0] for s in (session, replace(session, rounds=(*session.rounds, *odd))))
    assert after.rounds == before.rounds and after.splits == before.splits
