"""Workloads: like rounds pooled by kind, setting and length; S over prompts, and none with too few."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from session_builder import CASES, Made, built

from specview.profilers.judge.ledger import ledger_of
from specview.profilers.judge.statistics import live_interval, log_ratio_interval
from specview.profilers.judge.visits import visits_of
from specview.profilers.judge.workloads import Workload, length_of, workloads_of
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of

NINE = Made(prompts=9, decode=10.0, verify={1: 10.4, 2: 13.0}, draft=2.0, rest=0.3, p=0.7, noise=0.001, blocks=False)


def test_a_row_for_each_kind_with_its_prompts_acceptance_and_speedup() -> None:
    session = session_of(built(NINE))
    found, kinds = workloads_of(session), {row.kind: row for row in ledger_of(session).kinds}
    assert [load.kind for load in found] == ["english", "chinese", "code"]
    for load in found:
        kind = kinds[load.kind]
        assert len(load.prompts) == kind.prompts == 3 and load.rounds == kind.acceptance.rounds
        assert load.tokens.estimate == pytest.approx(kind.acceptance.tokens_per_round.estimate)
        assert load.alpha.estimate == pytest.approx(load.tokens.estimate - 1)  # k = 1
        assert kind.speedup is not None and load.speedup == kind.speedup
        assert load.estimate == pytest.approx(kind.estimate) and load.decode_ms == pytest.approx(10.0, rel=0.01)
        assert load.alpha.low <= load.alpha.estimate <= load.alpha.high


def test_too_few_prompts_give_no_verdict_and_say_how_many_are_missing() -> None:
    (first, *_) = workloads_of(session_of(built(replace(NINE, prompts=3))))
    assert first.outcome == "too few" and first.more_prompts == 2 and first.speedup is None
    assert first.alpha.n > 1, "by the effective number of rounds"
    two = workloads_of(session_of(built(replace(NINE, prompts=6))))[0]
    assert two.more_prompts == 1 and two.speedup is not None and two.outcome == "too few"


def test_settings_and_lengths_are_never_pooled() -> None:
    first, second = built(NINE), built(replace(NINE, k=2, verify={1: 10.4, 3: 15.0}))
    late = max(x.t_ns for x in first if isinstance(x, r.Round))
    moved = []
    for x in second[2:-1]:
        more = {"t_ns": x.t_ns + late} if hasattr(x, "t_ns") else {"started_ns": x.started_ns + late}
        if isinstance(getattr(x, "run", None), int):
            more["run"] = x.run + 500
        if isinstance(x, r.Round | r.Step):
            more["context"] = x.context + 2000
        moved.append(replace(x, **more))
    found = workloads_of(session_of((*first[:-1], *moved, first[-1])))
    assert {(load.setting.k, load.length) for load in found} == {(1, 0), (2, 2)} and len(found) == 6
    assert len({load.key for load in found}) == 6


def test_lengths_are_ranges_of_the_context() -> None:
    assert [length_of(n) for n in (0, 255, 256, 1023, 1024, 8191, 8192, 10**9)] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_prompts_stand_worst_first_with_their_names() -> None:
    load = workloads_of(session_of(built(NINE)))[0]
    assert [p.estimate for p in load.prompts] == sorted(p.estimate for p in load.prompts)
    assert {p.name for p in load.prompts} == {"english 0", "english 1", "english 2"}


def test_a_session_without_pairs_has_no_workloads() -> None:
    assert workloads_of(session_of(CASES["one-round"][:4])) == ()


DRIFTING = (0.010, 0.010, 0.012, 0.010, 0.050, 0.050, 0.050, 0.048)


def drifting(*, footer: str | None) -> tuple[Workload, list[float]]:
    """A workload of one prompt whose speedup moved halfway, and the log ratios of its segments in order."""
    records = built(replace(NINE, prompts=1, segments=len(DRIFTING), footer=footer))
    (visit,) = visits_of(session_of(records))
    excess = {segment.number: segment.log_ratio - DRIFTING[segment.number] for segment in visit.pairs()}
    records = tuple(
        replace(x, round_ns=round(x.round_ns * math.exp(excess[x.segment])), context=64)
        if isinstance(x, r.Round) and x.run == visit.runs["drafting"]
        else x
        for x in records
    )
    session = session_of(records)
    (load,) = workloads_of(session)
    return load, [segment.log_ratio for segment in visits_of(session)[0].pairs()]


def test_the_interval_of_one_prompt_allows_for_neighbouring_segments_that_are_alike() -> None:
    load, logs = drifting(footer="finished")
    (prompt,) = load.prompts
    assert logs == pytest.approx(DRIFTING, abs=1e-6)
    assert not log_ratio_interval(logs).holds(1.0), "as if the segments were independent"
    assert prompt.speedup is not None and prompt.speedup.holds(1.0) and prompt.speedup.n == 8
    assert prompt.speedup == live_interval(logs, closing=True, serial=True)


def test_the_interval_of_one_prompt_may_be_watched_while_it_is_recorded() -> None:
    load, logs = drifting(footer=None)
    assert load.prompts[0].speedup == live_interval(logs, serial=True)
    assert load.prompts[0].speedup is not None and load.prompts[0].speedup.n == 6, "the last declared look"
