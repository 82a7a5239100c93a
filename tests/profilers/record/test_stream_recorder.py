"""A stream of tokens passes through untouched while its rounds and steps are recorded."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from specview.profilers.record.own_loop import own_loop
from specview.profilers.record.session import read_session
from specview.profilers.record.stream_recorder import recorded


@dataclass
class Item:
    """What `stream_generate` yields, as far as it matters."""

    text: str
    from_draft: bool
    finish_reason: str | None = None


class Source:
    """A stream whose clock goes on by so much before each item."""

    def __init__(self, *items):
        self.items = items
        self.ns = 0

    def __call__(self):
        return self.ns

    def __iter__(self):
        for ns, item in self.items:
            self.ns += ns
            yield item


def kept(text):
    """A draft that was accepted."""
    return Item(text, True)


def own(text, finish_reason=None):
    """The model's own token, which ends a round."""
    return Item(text, False, finish_reason)


@pytest.fixture
def record(tmp_path):
    """Record one stream in one arm; the session and what came through."""

    def make(source, arm, **more):
        with own_loop(tmp_path / "x", k=3, clock=source, keep_text=True) as loop:
            loop.run("a prompt", arm=arm, **more)
            through = list(recorded(source, loop))
        return read_session(loop.path), through

    return make


def test_items_pass_through_untouched_and_in_order(record):
    items = [(9, kept("a")), (0, own("b")), (5, own("c"))]
    _, through = record(Source(*items), "drafting")
    assert through == [item for _, item in items]
    assert all(one is other for one, (_, other) in zip(through, items, strict=True))


def test_a_round_ends_at_each_token_that_is_no_draft(record):
    source = Source((90, kept("a")), (1, own("b")), (30, kept("c")), (1, kept("d")), (1, own("e")), (20, own("f")))
    session, _ = record(source, "drafting")
    assert [(r.drafted, r.accepted, r.tokens, r.round_ns) for r in session.rounds] == [
        (3, 1, 2, 91),
        (3, 2, 3, 32),
        (3, 0, 1, 20),
    ]
    assert [r.pieces.committed for r in session.rounds] == [("a", "b"), ("c", "d", "e"), ("f",)]
    assert session.rounds[0].warm_up


def test_a_plain_run_gives_steps(record):
    session, _ = record(Source((90, own("a")), (10, own("b")), (11, own("c")), (12, own("d"))), "plain")
    assert [(s.step_ns, s.warm_up, s.pipelined) for s in session.steps] == [
        (90, True, True),
        (10, True, True),
        (11, False, True),
        (12, False, True),
    ]


def test_a_round_that_may_have_drafted_less_is_warm_up_and_a_cut_one_is_left_out(record):
    items = [(9, own("a")), (9, own("b")), (9, own("c")), (9, own("d", "length"))]
    session, _ = record(Source(*items), "drafting")
    assert [r.warm_up for r in session.rounds] == [True, True, False, True]
    session, _ = record(Source((9, own("a")), (9, Item("b", True, "length"))), "drafting")
    assert len(session.rounds) == 1


def test_a_loop_that_stops_early_keeps_what_it_has(tmp_path):
    source = Source(*((5, own("x")) for _ in range(9)))
    with own_loop(tmp_path / "x", k=2, clock=source) as loop:
        loop.run("a", arm="drafting")
        for n, _ in enumerate(recorded(source, loop)):
            if n == 3:
                break
    assert len(read_session(loop.path).rounds) == 4


def test_an_exception_of_the_stream_passes(tmp_path):
    def broken():
        yield own("a")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), own_loop(tmp_path / "x", clock=lambda: 0) as loop:
        loop.run("a", arm="drafting")
        list(recorded(broken(), loop))
    session = read_session(loop.path)
    assert session.status == "failed" and len(session.rounds) == 1


def test_a_clock_of_its_own_may_be_given(tmp_path):
    ticks = iter(range(0, 1000, 7))
    with own_loop(tmp_path / "x", clock=lambda: 0) as loop:
        loop.run("a", arm="plain")
        list(recorded([own("a"), own("b")], loop, clock=lambda: next(ticks)))
    assert [s.step_ns for s in read_session(loop.path).steps] == [7, 7]
