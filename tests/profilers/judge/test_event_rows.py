"""Events as columns: sums are exact, rows are sequences, and nothing is remembered that has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from specview.profilers.judge.event_rows import (
    Ns,
    column_of,
    columns_of,
    joined,
    means_of,
    ns_of,
    plain_ns,
    total,
    totals_by_group,
)
from specview.profilers.judge.ledger import ledger_of
from specview.profilers.judge.remembered import remembered
from specview.profilers.judge.statistics import LONGEST_TRANSFORM, effective_size
from specview.profilers.judge.visits import tokens_per_ns, visits_of
from specview.profilers.record.records import Round, Step
from specview.profilers.record.session import Session, read_session

EXAMPLE = Path(__file__).parents[3] / "assets" / "examples" / "bundled-mtp.specview.jsonl"


@pytest.fixture(scope="module")
def session() -> Session:
    """An example, read from its file."""
    return read_session(EXAMPLE)


def test_a_session_of_columns_and_one_of_records_have_the_same_ledger(session: Session) -> None:
    made = replace(session, rounds=tuple(session.rounds), steps=tuple(session.steps))
    assert ledger_of(made) == ledger_of(session)
    assert [v.segments for v in visits_of(made)] == [v.segments for v in visits_of(session)]


def test_segments_hold_the_records_of_their_run(session: Session) -> None:
    visit = visits_of(session)[0]
    segment = visit.pairs()[0]
    wanted = [
        e for e in session.steps if e.run == visit.runs["plain"] and e.segment == segment.number and not e.warm_up
    ]
    assert list(segment.steps) == wanted and segment.steps == wanted and segment.steps[0] == wanted[0]
    assert segment.plain == (sum(e.tokens for e in wanted), sum(e.step_ns for e in wanted))
    assert tokens_per_ns(segment.steps) == tokens_per_ns(wanted) == segment.plain[0] / segment.plain[1]


def test_joined_rows_keep_their_order_and_their_columns(session: Session) -> None:
    groups = [s.splits for v in visits_of(session) for s in v.pairs() if s.splits]
    together = joined(groups)
    assert list(together) == [event for group in groups for event in group]
    assert list(ns_of(together, "verify_ns")) == [event.verify_ns for event in together]
    assert column_of(list(together), "draft_ns").tolist() == column_of(together, "draft_ns").tolist()
    assert joined([]) == [] and list(joined([list(groups[0]), groups[1]])) == [*groups[0], *groups[1]]


def test_means_of_groups_are_those_of_their_members(session: Session) -> None:
    groups = [s.steps for v in visits_of(session) for s in v.pairs()]
    assert means_of(groups, "step_ns") == pytest.approx([np.mean([e.step_ns for e in g]) for g in groups], rel=1e-15)


def test_sums_beyond_64_bits_are_exact() -> None:
    huge = np.array([2**62, 2**62, 2**62, 1], np.int64)
    assert total(huge) == 3 * 2**62 + 1
    assert totals_by_group(huge, np.array([0, 3])) == [3 * 2**62, 1]
    assert totals_by_group(np.array([1, 2, 3], np.int8), np.array([0, 1])) == [1, 5]


def test_times_are_a_sequence_of_plain_numbers() -> None:
    times = Ns(np.array([3, 1, 2]))
    assert times == (3, 1, 2) and tuple(times[1:]) == (1, 2) and type(times[0]) is int and len(times) == 3
    assert hash(times) == hash((3, 1, 2)) and bool(times) and not Ns(np.array([], np.int64))


def test_plain_times_leave_warm_ups_out(session: Session) -> None:
    wanted = [e.step_ns for e in session.steps if e.pipelined and not e.warm_up]
    assert list(plain_ns(session.steps)) == wanted == list(plain_ns(list(session.steps)))


def test_records_that_are_no_columns_yet_become_some(session: Session) -> None:
    rounds = list(session.rounds)[:5]
    assert columns_of(rounds, Round).column("round_ns").tolist() == [e.round_ns for e in rounds]
    assert columns_of((), Step).column("step_ns").tolist() == []
    assert columns_of(session.rounds, Round) is session.rounds


def test_what_was_computed_is_remembered_until_anything_else_of_the_session_changes(session: Session) -> None:
    made: list[int] = []

    def make() -> int:
        made.append(1)
        return len(made)

    assert [remembered(session, "test", make) for _ in range(3)] == [1, 1, 1]
    assert remembered(replace(session), "test", make) == 1
    other = replace(session, probes=session.probes[:-1])
    assert remembered(other, "test", make) == 2
    assert remembered(replace(session, steps=tuple(session.steps)), "test", make) == 3


@pytest.mark.parametrize("n", [LONGEST_TRANSFORM + 1, 3 * LONGEST_TRANSFORM + 17])
def test_the_effective_size_of_a_long_series_is_that_of_one_transform(n: int) -> None:
    noise = np.random.default_rng(3).normal(size=n)
    series = np.convolve(noise, np.ones(6), "same")
    centred = series - series.mean()
    products = np.fft.irfft(np.abs(np.fft.rfft(centred, 2 * n)) ** 2, 2 * n)[:n]
    correlation = products / float(centred @ centred) + 1 / n
    correlation[0] = 1.0
    pairs = correlation[0 : 2 * (n // 2) : 2] + correlation[1 : 2 * (n // 2) : 2]
    pairs = pairs[: int(n**0.5)]
    ends = np.flatnonzero(pairs <= 2 / n**0.5)
    wanted = n / (2 * pairs[: ends[0]].sum() - 1)
    assert effective_size(series) == pytest.approx(wanted, rel=1e-12)
