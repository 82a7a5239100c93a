"""Rounds one after another: what is counted, in which windows, and what is left out."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from session_builder import CASES, Made, built, lines_of

from specview.profilers.judge.history import MOST_SHOWN, MOST_WINDOWS, history_of
from specview.profilers.record.records import Round
from specview.profilers.record.session import SessionReader


def session_of(records):
    reader = SessionReader("made")
    reader.feed(lines_of(records))
    return reader.session()


@pytest.fixture(scope="module")
def longer():
    return session_of(built(Made(prompts=6, segments=2, k=3, p=0.6)))


def test_every_counted_round_has_one_length(longer):
    history = history_of(longer)
    assert sum(each.rounds for each in history.lengths) == sum(w.last - w.first + 1 for w in history.windows)
    assert sum(each.share.estimate for each in history.lengths) == pytest.approx(1)
    assert sum(each.expected for each in history.lengths) <= 1 + 1e-9


def test_windows_follow_each_other_without_gaps(longer):
    windows = history_of(longer).windows
    assert windows[0].first == 0 and len(windows) <= MOST_WINDOWS
    assert all(b.first == a.last + 1 for a, b in pairwise(windows))


def test_alpha_is_what_was_kept_of_what_was_reached(longer):
    runs = {run.run for run in longer.runs if run.arm == "drafting"}
    free = [r for r in longer.rounds if r.run in runs and not r.warm_up]
    reached = sum(min(r.accepted + 1, r.drafted) for r in free)
    assert history_of(longer).alpha.estimate == pytest.approx(sum(r.accepted for r in free) / reached)


def test_split_rounds_keep_their_parts_and_are_not_counted_twice(longer):
    history = history_of(longer)
    split = [r for r in history.rounds if r.arm == "split"]
    assert split and all(r.verify_ms is not None and r.verify_ms < r.round_ms for r in split)
    assert sum(each.rounds for each in history.lengths) == len(history.rounds) - len(split)
    assert [r.number for r in history.rounds] == list(range(history.count))


def test_warm_ups_and_impossible_rounds_are_left_out():
    records = [replace(r, accepted=r.drafted + 1) if isinstance(r, Round) and r.i == 3 else r for r in CASES["normal"]]
    history = history_of(session_of(records))
    assert all(r.accepted <= r.drafted for r in history.rounds)


def test_only_the_last_rounds_are_shown_one_by_one():
    history = history_of(session_of(built(Made(prompts=6, segments=40, blocks=False))))
    assert len(history.rounds) == min(history.count, MOST_SHOWN)
    assert history.rounds[-1].number == history.count - 1
    assert len(history.windows) <= MOST_WINDOWS


def test_without_drafts_there_is_no_history():
    assert history_of(session_of([r for r in CASES["normal"] if not isinstance(r, Round)])) is None


def test_columns_count_what_going_through_the_rounds_counts(longer):
    chance = random.Random(3)
    odd = ({"accepted": 0}, {"round_ns": 0}, {"warm_up": True}, {"drafted": 5}, {"t_ns": 9}, {"verify_ns": None})
    rounds = tuple(replace(r, **chance.choice(odd)) if chance.random() < 0.2 else r for r in longer.rounds)
    session = replace(longer, rounds=rounds)
    arm = {run.run: run.arm for run in longer.runs}
    counted = [r for r in rounds if not r.warm_up and r.accepted <= r.drafted and r.drafted and r.round_ns]
    drafting = sorted((r for r in counted if arm[r.run] != "plain"), key=lambda r: r.t_ns)
    free = [r for r in drafting if arm[r.run] == "drafting"]
    history = history_of(session)
    assert history.count == len(drafting)
    lengths = [sum(r.accepted == n for r in free) for n in range(len(history.lengths))]
    assert [each.rounds for each in history.lengths] == lengths and sum(lengths) == len(free)
    assert all(each.expected is None for each in history.lengths)
    for window in history.windows:
        mine = free[window.first : window.last + 1]
        assert window.tokens_per_round == 1 + sum(r.accepted for r in mine) / len(mine)
        assert window.round_ms == sum(r.round_ns for r in mine) / len(mine) * 1e-6
        assert window.prompts == len({r.run for r in mine})
    shown = drafting[-MOST_SHOWN:]
    assert [each.t_s for each in history.rounds] == [r.t_ns / 1e9 for r in shown]
    assert [each.counted for each in history.rounds] == [sum(f.t_ns < r.t_ns for f in free) for r in shown]
