"""Lines read many at a time give the records that reading one by one gives, whatever the bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specview.engine.errors import SpecviewError
from specview.profilers.record.alike import shape_of
from specview.profilers.record.columns import plan_of
from specview.profilers.record.plain_values import Block
from specview.profilers.record.records import (
    Footer,
    Pieces,
    Probe,
    Record,
    Round,
    Step,
    from_object,
    to_line,
)
from specview.profilers.record.session import Limits, Session, SessionReader, read_session

EXAMPLES = Path(__file__).parents[3] / "assets" / "examples"
QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def both(data: bytes, limits: Limits | None = None, chunk: int = 1 << 20) -> tuple[Session | str, Session | str]:
    """What taking blocks makes of some bytes, and what reading line by line makes of them."""
    found: list[Session | str] = []
    for fast in (True, False):
        reader = SessionReader("x", limits or Limits())
        read: Callable[[bytes], object] = reader.take if fast else reader.feed
        try:
            for start in range(0, len(data), chunk):
                read(data[start : start + chunk])
            reader.finish()
            found.append(reader.session())
        except SpecviewError as error:
            found.append(str(error))
    return found[0], found[1]


@pytest.fixture
def head(records: tuple[Record, ...]) -> bytes:
    """The line of a header."""
    return to_line(records[0])


def a_round(number: int, **other: object) -> Round:
    made = Round(
        run=1,
        i=number,
        segment=number // 8,
        t_ns=10**9 + number * 7_000_000,
        context=20 + number,
        drafted=2,
        accepted=number % 3,
        width=3,
        tokens=number % 3 + 1,
        pieces=Pieces(committed=(' "quoted" \\ \n', "日本 🙂"), rejected=()) if number % 2 else None,
        round_ns=10**7 + number * 997,
        catch_up_width=1,
        replay=number % 5 == 0,
    )
    return replace(made, **other)  # type: ignore[arg-type]


def a_step(number: int) -> Step:
    pieces = ("a", "\t") if number % 4 == 0 else None
    return Step(
        run=0, i=number, segment=3, t_ns=number, context=4, tokens=1, step_ns=10**6, pipelined=True, pieces=pieces
    )


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.jsonl")), ids=lambda path: path.name.split(".")[0])
def test_an_example_reads_the_same_both_ways(path: Path) -> None:
    fast, slow = both(path.read_bytes())
    assert isinstance(fast, Session) and fast == slow
    assert read_session(path).rounds == fast.rounds


def test_rounds_and_steps_of_a_file_are_lazy_and_equal_to_what_was_written(head: bytes) -> None:
    rounds, steps = tuple(map(a_round, range(50))), tuple(map(a_step, range(50)))
    lines = [to_line(record) for pair in zip(rounds, steps, strict=True) for record in pair]
    session, slow = both(head + b"".join(lines))
    assert isinstance(session, Session) and session == slow
    assert session.rounds == rounds and rounds == session.rounds and session.steps == steps
    assert session.rounds[-1] == rounds[-1] and session.rounds[3:9:2] == rounds[3:9:2]
    assert list(reversed(session.rounds)) == list(reversed(rounds)) and len(session.rounds) == 50
    assert hash(session.rounds) == hash(rounds) and session.rounds != steps
    with pytest.raises(IndexError):
        session.rounds[50]


def test_other_writers_may_order_and_space_their_fields_as_they_like(head: bytes) -> None:
    objects = [json.loads(to_line(a_round(n, pieces=None))) for n in range(40)]
    turned = [dict(reversed(each.items())) for each in objects]
    lines = "\n".join(json.dumps(each) for each in (*objects, *turned))
    session, slow = both(head + lines.encode() + b"\n")
    assert isinstance(session, Session) and session == slow and len(session.rounds) == 80
    assert shape_of(json.dumps(objects[0]).encode(), {b"round": plan_of(Round)}) is not None


def test_what_follows_the_footer_is_reported_in_blocks_too(head: bytes) -> None:
    footer = to_line(Footer(status="finished", rounds=1, steps=0, tokens=1, t_ns=5))
    many = b"".join(to_line(a_round(n)) for n in range(20))
    fast, slow = both(head + many + footer + many + footer)
    assert isinstance(fast, Session) and fast == slow and len(fast.problems) == 21


def test_the_order_of_lines_holds_between_fast_and_slow_ones(head: bytes) -> None:
    lines = [to_line(a_round(n)) for n in range(60)]
    odd = [json.dumps({**json.loads(line), "unknown": [n]}).encode() + b"\n" for n, line in enumerate(lines)]
    mixed = [each if n % 7 else other for n, (each, other) in enumerate(zip(lines, odd, strict=True))]
    fast, slow = both(head + b"".join(mixed))
    assert isinstance(fast, Session) and fast == slow
    assert [each.i for each in fast.rounds] == list(range(60))


@pytest.mark.parametrize("limits", [Limits(records=30), Limits(line_bytes=260), Limits(depth=2), Limits(problems=2)])
def test_limits_hold_in_blocks_too(head: bytes, limits: Limits) -> None:
    many = b"".join(to_line(a_round(n)) + to_line(a_step(n)) + b"{\n" for n in range(40))
    fast, slow = both(head + many, limits)
    assert fast == slow


WRONG = [
    b"01", b"-1", b"-0", b"1.0", b"1e3", b"true", b"null", b'"1"', b"9223372036854775807", b"9223372036854775808",
    b"999999999999999999", b"1000000000000000000", b"9" * 40, b"NaN", b"", b" 7", b"7 ", b"[7]",
]  # fmt: skip


@pytest.mark.parametrize("value", WRONG)
def test_a_number_that_is_not_plain_is_judged_as_line_by_line(head: bytes, value: bytes) -> None:
    lines = [to_line(a_round(n)) + to_line(a_step(n)) for n in range(12)]
    lines[5] = lines[5].replace(b'"context":25', b'"context":' + value).replace(b'"tokens":1', b'"tokens":' + value)
    lines[7] = lines[7].replace(b'"warm_up":false', b'"warm_up":' + value)
    fast, slow = both(head + b"".join(lines))
    assert fast == slow


@pytest.mark.parametrize("bad", [b"\xff", b"\xe6\x97", b"\xed\xa0\x80", b"\xc0\xaf"])
def test_a_text_that_is_not_utf8_loses_its_own_line_only(head: bytes, bad: bytes) -> None:
    lines = [to_line(a_round(number)) for number in range(40)]
    lines[21] = lines[21].replace("日".encode(), bad)
    fast, slow = both(head + b"".join(lines))
    assert isinstance(fast, Session)
    assert fast == slow
    assert len(fast.rounds) == 39
    assert "UTF-8" in fast.problems[0].text


@QUIET
@given(numbers=st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 10**9) | st.integers(0, 9), min_size=1, max_size=30))
def test_any_number_is_read_exactly(numbers: list[int]) -> None:
    lines = [to_line(a_round(0, t_ns=n, drafted=n, draft_ns=n, pieces=None)) for n in numbers]
    block = Block(b"".join(lines))
    shape = shape_of(lines[0][:-1], {b"round": plan_of(Round)})
    plain = [i for i, n in enumerate(numbers) if n < 10**18]
    if shape is None:
        assert numbers[0] >= 10**18
        return
    found = shape.found(block, np.arange(len(lines)), {})
    assert found.orders.tolist() == plain
    assert found.values["draft_ns"].tolist() == [numbers[i] for i in plain]


EDITS = [
    b"{", b"}", b"[", b"]", b'"', b"\\", b"\n", b":", b",", b"0", b"1", b"99999999999", b"-", b".", b"e9", b"true",
    b"false", b"null", b" ", b"\r", b"\xff", b"\x00", b"\xc3\xa9", b'"kind":"step",', b'"run":1,', b"footer",
]  # fmt: skip


@QUIET
@given(data=st.data())
def test_hostile_bytes_read_the_same_both_ways(data: st.DataObject, records: tuple[Record, ...]) -> None:
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    probe = Probe(t_ns=1, ruler="whole", part="verify", width=1, context=5, samples_ns=(1, 2), slope_ns=-1.5)
    kinds = [(a_round(n), a_step(n), replace(probe, t_ns=n, width=n + 1), *records[1:]) for n in range(24)]
    lines = [to_line(records[0]), *(to_line(chance.choice(of_kind)) for of_kind in kinds)]
    stream = bytearray(b"".join(lines))
    for _ in range(data.draw(st.integers(0, 5))):
        at = data.draw(st.integers(len(lines[0]), len(stream)))
        length = data.draw(st.integers(0, 12))
        stream[at : at + length] = data.draw(st.sampled_from(EDITS) | st.binary(max_size=6))
    chunk = data.draw(st.sampled_from([600, 1500, 1 << 20]))
    fast, slow = both(bytes(stream), chunk=chunk)
    assert fast == slow
    if isinstance(fast, Session) and isinstance(slow, Session):
        assert repr(tuple(fast.probes)) == repr(tuple(slow.probes))
        assert repr(list(fast.rounds)) == repr(list(slow.rounds))


def a_probe(number: int, **other: object) -> Probe:
    queued = {
        "ruler": "queued",
        "block": f"layers.{number % 3}",
        "category": "MoE",
        "layers": 2,
        "cached": number % 2 == 0,
    }
    slopes = {"slope_ns": -1.5e-7 * number, "slope_low_ns": 123.456 + number, "slope_high_ns": 99999.99999999999}
    whole = {
        "ruler": "whole",
        "samples_ns": tuple(range(number % 4)),
        "build_ns": (number,),
        "run": number,
        "pipelined": False,
    }
    mine = {**queued, **slopes} if number % 2 else whole
    return Probe(**{**{"t_ns": number, "part": "verify", "width": 1, "context": number}, **mine, **other})  # type: ignore[arg-type]


def test_probes_of_a_block_are_those_read_line_by_line(head: bytes) -> None:
    odd = [
        a_probe(1, block="gated δ"), a_probe(3, block='a "b"'), a_probe(0, samples_ns=None), a_probe(2, batch=1),
        a_probe(4, batch=4), a_probe(6, samples_ns=(), eval_ns=(2**62, 0)), a_probe(5, cached=None, detail="router"),
        a_probe(8, samples_ns=tuple(range(100))), a_probe(7, block="x" * 57), a_probe(9, block=""),
    ]  # fmt: skip
    probes = [*map(a_probe, range(60)), *odd, *map(a_probe, range(60))]
    session, slow = both(head + b"".join(map(to_line, probes)))
    assert isinstance(session, Session) and session == slow
    assert session.probes == tuple(each for each in probes if not each.of_many) and len(session.batch_probes) == 1
    assert repr(list(session.probes)) == repr([each for each in probes if not each.of_many])


def test_more_words_than_a_block_learns_are_read_all_the_same(head: bytes) -> None:
    probes = [a_probe(2 * n + 1, block=f"layer {n}") for n in range(200)]
    session, slow = both(head + b"".join(map(to_line, probes)))
    assert isinstance(session, Session) and session == slow and session.probes == tuple(probes)


ODD_REALS = [
    b"5",
    b"-0",
    b"-0.0",
    b"1e5",
    b"1.0e999",
    b"NaN",
    b"1_0.0",
    b"01.5",
    b".5",
    b"5.",
    b"1.5e",
    b"1.5 ",
    b"null",
]


@pytest.mark.parametrize("value", ODD_REALS)
def test_a_number_with_a_point_that_is_not_plain_is_judged_as_line_by_line(head: bytes, value: bytes) -> None:
    lines = [to_line(a_probe(2 * n + 1)) for n in range(12)]
    lines[5] = lines[5].replace(b'"slope_high_ns":99999.99999999999', b'"slope_high_ns":' + value)
    lines[7] = lines[7].replace(b'"queued"', b'"queue"')
    lines[9] = lines[9].replace(b'"layers":2', b'"layers":2,"samples_ns":[1,' + value + b"]")
    fast, slow = both(head + b"".join(lines))
    assert fast == slow and isinstance(fast, Session) and isinstance(slow, Session)
    assert repr(list(fast.probes)) == repr(list(slow.probes))


def test_a_view_stays_as_it_was_while_the_file_grows(head: bytes) -> None:
    reader = SessionReader("live")
    reader.take(head + b"".join(to_line(a_round(n)) for n in range(30)))
    first = reader.session()
    assert reader.session() is first
    reader.take(b"".join(to_line(a_round(n, round_ns=2**50, drafted=2**40)) for n in range(30, 3000)))
    second = reader.session()
    assert len(first.rounds) == 30 and first.rounds == tuple(map(a_round, range(30)))
    assert len(second.rounds) == 3000 and second.rounds[2999].drafted == 2**40
    assert second.rounds[:30] == first.rounds and second.steps is first.steps


def test_every_record_of_an_example_survives_as_columns() -> None:
    session = read_session(EXAMPLES / "bundled-mtp.specview.jsonl")
    lines = (EXAMPLES / "bundled-mtp.specview.jsonl").read_bytes().splitlines()
    read = [from_object(json.loads(line)) for line in lines]
    assert list(session.rounds) == [each for each in read if isinstance(each, Round)]
    assert list(session.steps) == [each for each in read if isinstance(each, Step)]
    assert list(session.probes) == [each for each in read if isinstance(each, Probe)]
