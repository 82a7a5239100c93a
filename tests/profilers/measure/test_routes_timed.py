"""Races between routes: the best turn wins, those far behind are not run again, refused ones are left out."""

from __future__ import annotations

import pytest

from specview.profilers.measure.routes_timed import SCREENED, Route, best_ns, fastest


class Track:
    """A clock that only the routes move on."""

    def __init__(self) -> None:
        self.now = 0
        self.runs: list[str] = []

    def read(self) -> int:
        return self.now

    def route(self, name: str, *times: int, amount: float = 1e10) -> Route:
        """A route that takes these times one after another, in units of 10 µs, and then the last one."""
        turns = iter(time * 10_000 for time in (*times, *[times[-1]] * 100))

        def run() -> None:
            self.runs.append(name)
            self.now += next(turns)

        return Route(name, amount, run)


def test_the_fastest_route_gives_the_rate_and_the_routes_take_turns() -> None:
    track = Track()
    rate = fastest([track.route("a", 1200), track.route("b", 1000)], track.read, 3)
    assert rate is not None and rate.route == "b"
    assert (rate.best, rate.median) == pytest.approx((1e12, 1e12))
    assert track.runs == [*"a" * (1 + SCREENED), *"b" * (1 + SCREENED), *"ababab"]


def test_a_route_far_behind_is_screened_and_not_run_again() -> None:
    track = Track()
    fastest([track.route("slow", 4000), track.route("fast", 1000)], track.read, 4)
    assert track.runs.count("slow") == 1 + SCREENED and track.runs.count("fast") == 1 + SCREENED + 4


def test_one_disturbed_run_does_not_screen_a_route_out() -> None:
    track = Track()
    rate = fastest([track.route("steady", 2000), track.route("fast", 1000, 10**6, 1000, 10**6, 1000)], track.read, 2)
    assert rate is not None and rate.route == "fast"


def test_a_short_route_runs_several_times_in_its_turn() -> None:
    track = Track()
    fastest([track.route("long", 1000), track.route("short", 100, amount=1e9)], track.read, 2)
    assert track.runs.count("long") == 1 + SCREENED + 2
    assert track.runs.count("short") == 1 + SCREENED + 2 * 5


def test_a_first_slow_run_does_not_count() -> None:
    track = Track()
    rate = fastest([track.route("a", 10**9, 1000)], track.read, 3)
    assert rate is not None and rate.median == pytest.approx(1e12)


def test_the_best_turn_counts_and_the_median_tells_what_was_in_the_way() -> None:
    track = Track()
    rate = fastest([track.route("a", 1000, 2000, 2000, 2000, 2000, 1000, 4000)], track.read, 3)
    assert rate is not None and (rate.best, rate.median) == pytest.approx((1e12, 0.5e12))


def test_what_the_library_refuses_is_left_out() -> None:
    def refuse() -> None:
        raise RuntimeError("no such kernel")

    track = Track()
    broken = Route("broken", 1.0, refuse)
    rate = fastest([broken, track.route("a", 1000)], track.read, 2)
    assert rate is not None and rate.route == "a"
    assert fastest([broken], track.read, 2) is None


def test_the_shortest_of_a_few_runs_counts_and_the_first_does_not() -> None:
    track = Track()
    assert best_ns(track.route("a", 1, 30, 20, 40).run, track.read) == 200_000


def test_a_clock_that_stands_still_gives_a_finite_rate() -> None:
    rate = fastest([Track().route("a", 0)], lambda: 0, 2)
    assert rate is not None and rate.best == pytest.approx(1e19)
