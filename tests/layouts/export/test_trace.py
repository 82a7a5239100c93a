"""The Chrome trace: sound events whatever a session holds, slices that nest, lengths to the nanosecond."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from hostile_session import hostile_session
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specview.layouts.export.trace import PLAIN, PROBES, SPLIT, trace_lines
from specview.profilers.record import records as r
from specview.profilers.record.session import read_session, session_of

EXAMPLES = Path(__file__).resolve().parents[3] / "assets" / "examples"
TIMES = st.integers(0, 2**63 - 1) | st.integers(0, 10_000)
MAYBE = st.none() | TIMES


def events_of(session):
    text = "".join(trace_lines(session, "name"))
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))["traceEvents"], text


def ns_of(text: str) -> int:
    whole, _, rest = text.partition(".")
    return int(whole) * 1000 + int((rest + "000")[:3])


def check(session) -> list[dict]:
    """Every event has what the format asks for, and slices of a track nest or lie apart."""
    events, text = events_of(session)
    exact = json.loads(text, parse_float=str, parse_int=str)["traceEvents"]
    by_track = defaultdict(list)
    for event, written in zip(events, exact, strict=True):
        assert {"ph", "ts", "pid", "tid", "name"} <= set(event)
        assert event["ph"] in ("X", "i", "C", "M") and event["ts"] >= 0
        assert ("dur" in event) == (event["ph"] == "X")
        if event["ph"] == "C":
            assert all(isinstance(value, int | float) for value in event["args"].values())
        if event["ph"] == "X":
            by_track[event["tid"]].append((ns_of(written["ts"]), ns_of(written["dur"])))
    for slices in by_track.values():
        open_until: list[int] = []
        for begin, length in sorted(slices, key=lambda each: (each[0], -each[1])):
            while open_until and open_until[-1] <= begin:
                open_until.pop()
            assert not open_until or begin + length <= open_until[-1]
            open_until.append(begin + length)
    return events


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.jsonl")), ids=lambda p: p.name.split(".")[0])
def test_every_example_is_a_sound_trace(path: Path) -> None:
    session = read_session(path)
    events = check(session)
    rounds = [e for e in events if e.get("cat") == "round"]
    assert len(rounds) == len(session.rounds)
    assert len([e for e in events if e.get("cat") == "step"]) == len(session.steps)
    for event, record in zip(rounds, session.rounds, strict=True):
        assert round(event["dur"] * 1000) == record.round_ns and event["args"]["ended_ns"] == record.t_ns


def test_split_rounds_hold_their_phases_and_rest_holds_the_rewind(build) -> None:
    build.visit()
    events = check(build.finished())
    split = [e for e in events if e["tid"] == SPLIT and e["ph"] == "X"]
    assert [e["name"] for e in split[:5]] == ["round 2/2", "draft", "verify", "rest", "rewind"]
    begin, draft, verify, rest, rewind = split[:5]
    assert draft["ts"] == begin["ts"] and verify["ts"] == draft["ts"] + draft["dur"]
    assert rewind["ts"] == rest["ts"] and rewind["dur"] < rest["dur"]


def test_tracks_counters_guards_and_probes_are_named(build) -> None:
    build.visit()
    build.probe("verify", 2, 20.0)
    build.memory()
    build.cooled(2.0)
    events = check(build.finished())
    names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {"rounds, free", "plain steps", "probes", "guards and notes"} <= names
    assert [e["name"] for e in events if e["tid"] == PROBES and e["ph"] == "X"] == ["verify (2) whole"]
    assert any(e["ph"] == "C" and "accepted ÷ drafted" in e["args"] for e in events)
    assert any(e["ph"] == "C" and e["name"].startswith("memory") for e in events)
    assert any(e["ph"] == "i" and e["name"] == "guard: cooling" for e in events)
    assert any(e["tid"] == PLAIN and e["ph"] == "X" for e in events)


def test_hostile_texts_make_sound_events() -> None:
    _, text = events_of(hostile_session())
    assert "\x1b" not in text
    check(hostile_session())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_times_a_file_holds_slices_do_not_overlap(data, build) -> None:
    build.visit()
    session = build.session()
    rounds = tuple(
        replace(
            each, t_ns=data.draw(TIMES), round_ns=data.draw(TIMES), draft_ns=data.draw(MAYBE),
            verify_ns=data.draw(MAYBE), rest_ns=data.draw(MAYBE), rewind_ns=data.draw(MAYBE),
            run=data.draw(st.integers(0, 4)),
        )
        for each in session.rounds[:6]
    )  # fmt: skip
    steps = tuple(replace(each, t_ns=data.draw(TIMES), step_ns=data.draw(TIMES)) for each in session.steps[:4])
    samples = st.none() | st.lists(TIMES, max_size=3).map(tuple)
    probes = tuple(
        r.Probe(t_ns=data.draw(TIMES), ruler="queued", part="decode", width=1, context=1, samples_ns=data.draw(samples))
        for _ in range(4)
    )
    check(replace(session, rounds=rounds, steps=steps, probes=probes))


def test_events_are_made_one_by_one(build) -> None:
    build.visit()
    session = build.session()

    class Endless:
        """Rounds without end."""

        def __iter__(self):
            while True:
                yield session.rounds[0]

        def __len__(self) -> int:
            return 10**9

    pieces = trace_lines(replace(session, rounds=Endless()), "name")
    assert sum(1 for _, _ in zip(range(5000), pieces, strict=False)) == 5000


def test_an_empty_session_is_a_trace(build) -> None:
    assert check(session_of(build.made))
