"""Looking again and again: the pace, outages, patience."""

from __future__ import annotations

from itertools import islice

import pytest
from metrics_server import Hand, Vllm

from specview.profilers.record.attaching.fetch import Answer, FetchFailed
from specview.profilers.record.attaching.page import Look
from specview.profilers.record.attaching.polling import Missed, Pace, polled


class Poll:
    """Polls a scripted reader; a number in the script is how many seconds an answer takes, None a failure."""

    def __init__(self, script, pace, naps=1000):
        self.clock, self.naps, self.left = Hand(), [], naps
        self._script, self._body = iter(script), Vllm().text().encode()
        self.events = polled(self._read, "x", self.clock, self._nap, pace)

    def _read(self):
        seconds = next(self._script)
        if seconds is None:
            raise FetchFailed("Nothing listens at x.")
        self.clock.advance(seconds)
        return Answer(body=self._body)

    def _nap(self, seconds):
        self.naps.append(round(seconds, 6))
        self.clock.advance(seconds)
        self.left -= 1
        return self.left >= 0


def test_a_quick_server_is_asked_at_the_interval():
    poll = Poll([0.01, 0.01, 0.01], Pace(interval_s=1))
    looks = list(islice(poll.events, 3))
    assert [look.t_ns / 1e9 for look in looks] == pytest.approx([1.005, 2.005, 3.005])
    assert {look.slack_ns for look in looks} == {5_000_000}


def test_a_slow_server_is_asked_rarely():
    poll = Poll([0.5, 0.5, 4.0, 0.01, 0.01], Pace(interval_s=1, share=0.1, longest_s=20))
    list(islice(poll.events, 5))
    assert poll.naps == [1.0, 4.5, 4.5, 16.0, 0.99]


def test_pauses_double_while_there_is_no_answer_and_are_short_again_after():
    poll = Poll([None] * 6 + [0.0, None], Pace(interval_s=1, longest_s=20))
    events = list(islice(poll.events, 8))
    assert poll.naps == [1, 2, 4, 8, 16, 20, 20, 1]
    assert [event.first for event in events if isinstance(event, Missed)] == [True] + [False] * 5 + [True]
    assert isinstance(events[6], Look)
    assert not any(event.last for event in events if isinstance(event, Missed))


def test_patience_ends():
    poll = Poll([0.0] + [None] * 99, Pace(interval_s=1, longest_s=20, patience_s=60))
    events = list(poll.events)
    assert events[-1].last and not events[-2].last
    assert sum(poll.naps) < 100


def test_a_nap_that_says_stop_ends_it():
    poll = Poll([0.0] * 9, Pace(), naps=2)
    assert len(list(poll.events)) == 2
