"""Every record comes back from its line as it was, and nothing that breaks the schema passes either way."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specview.engine.errors import SpecviewError
from specview.profilers.record.codec import Mark, RecordError, safe_text
from specview.profilers.record.lines import read_line
from specview.profilers.record.records import (
    CLASS_BY_KIND,
    KIND_BY_CLASS,
    Footer,
    Memory,
    Note,
    Pieces,
    Probe,
    Record,
    Round,
    Step,
    from_object,
    to_line,
)

MEMORY = {"kind": "memory", "t_ns": 1, "active_bytes": 2, "peak_bytes": 3, "cache_bytes": 4}
TEXTS = st.text(max_size=20).map(safe_text)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    marks: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *rest = get_args(hint)
        marks = tuple(rest)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        assert arguments[1] is NoneType
        return st.none() | values_of(arguments[0])
    if Mark.OBJECT in marks:
        return st.dictionaries(TEXTS, st.integers(0, 2**63 - 1), max_size=3).map(lambda d: tuple(d.items()))
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if is_dataclass(hint):
        return records_of(hint)
    if hint is float:
        least = None if Mark.SIGNED in marks else 0.0
        return st.floats(min_value=least, allow_nan=False, allow_infinity=False)
    return {int: st.integers(0, 2**63 - 1), bool: st.booleans(), str: TEXTS}[hint]


def records_of(cls: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls, include_extras=True)
    return st.builds(cls, **{field.name: values_of(hints[field.name]) for field in fields(cls)})


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of([records_of(cls) for cls in KIND_BY_CLASS]))
def test_every_record_comes_back_from_its_line_as_it_was(record: Record) -> None:
    line = to_line(record)
    assert line.startswith(b'{"kind":"' + KIND_BY_CLASS[type(record)].encode())
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert from_object(read_line(line[:-1])) == record


def test_the_examples_cover_every_kind_and_every_field(records: tuple[Record, ...]) -> None:
    assert {type(record) for record in records} == set(KIND_BY_CLASS)
    for cls in KIND_BY_CLASS:
        for field in fields(cls):
            assert any(getattr(record, field.name) is not None for record in records if type(record) is cls)


def test_kinds_are_those_of_the_design() -> None:
    design = "header run round step probe census calibration memory guard note footer"
    assert set(CLASS_BY_KIND) >= {*design.split()}


def test_none_is_left_out_and_false_is_written() -> None:
    line = json.loads(to_line(Step(run=0, i=0, segment=0, t_ns=1, context=2, tokens=1, step_ns=3, pipelined=False)))
    assert line == {
        "kind": "step",
        "run": 0,
        "i": 0,
        "segment": 0,
        "t_ns": 1,
        "context": 2,
        "tokens": 1,
        "step_ns": 3,
        "pipelined": False,
        "warm_up": False,
        "replay": False,
    }


def test_an_unknown_kind_is_none_and_an_unknown_field_is_ignored() -> None:
    assert from_object({"kind": "aurora", "t_ns": "?"}) is None
    assert from_object(MEMORY | {"swap_bytes": -1, "colour": {}}) == Memory(
        t_ns=1, active_bytes=2, peak_bytes=3, cache_bytes=4
    )


@pytest.mark.parametrize("kind", [None, 3, ["memory"], {"memory": 1}, True])
def test_a_kind_that_is_no_text_is_refused(kind: object) -> None:
    with pytest.raises(RecordError, match="kind"):
        from_object(MEMORY | {"kind": kind})


@pytest.mark.parametrize("value", [True, 1.0, "1", None, -1, 2**63, [1], {}])
def test_a_count_is_a_whole_number_within_64_bits(value: object) -> None:
    with pytest.raises(RecordError, match=r"kind memory .*peak_bytes must be a whole number"):
        from_object(MEMORY | {"peak_bytes": value})


def test_a_missing_field_is_named_with_its_kind() -> None:
    raw = dict(MEMORY)
    del raw["cache_bytes"]
    with pytest.raises(RecordError, match=r"kind memory .*cache_bytes is missing"):
        from_object(raw)


def test_a_wrong_field_inside_another_is_named_with_its_path(records: tuple[Record, ...]) -> None:
    header = json.loads(to_line(records[0]))
    header["drafter"]["model"]["layers"]["mlp"] = "many"
    with pytest.raises(RecordError, match=r"kind header .*drafter\.model\.layers must be a whole number"):
        from_object(header)


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("run", "arm", "sideways"),
        ("run", "arm", ["plain"]),
        ("run", "temperature", -0.1),
        ("run", "temperature", float("inf")),
        ("run", "temperature", True),
        ("run", "temperature", 10**30),
        ("run", "prompt", "p"),
        ("run", "prompt", []),
        ("round", "pieces", [["a"], []]),
        ("round", "pieces", {"committed": "ab", "rejected": []}),
        ("round", "pieces", {"committed": ["a", 1], "rejected": []}),
        ("round", "warm_up", None),
        ("round", "warm_up", 1),
        ("step", "pieces", {}),
        ("probe", "ruler", "wooden"),
        ("probe", "samples_ns", 5),
        ("probe", "samples_ns", [1, 2.5]),
        ("probe", "slope_ns", float("nan")),
        ("header", "layers", None),
        ("header", "model", {"layers": [["a", 1]]}),
        ("output", "judged", ""),
        ("footer", "status", "interrupted"),
    ],
)
def test_a_field_of_the_wrong_type_is_refused(
    records: tuple[Record, ...], kind: str, field: str, value: object
) -> None:
    record = next(record for record in records if KIND_BY_CLASS[type(record)] == kind)
    raw = json.loads(to_line(record))
    if kind == "header" and field == "layers":
        raw["model"]["layers"] = value
    else:
        raw[field] = value
    with pytest.raises(RecordError, match=f"kind {kind} .*{field}"):
        from_object(raw)


def test_a_whole_number_will_do_where_a_float_is_expected() -> None:
    probe = from_object(
        {
            "kind": "probe",
            "t_ns": 0,
            "ruler": "queued",
            "part": "decode",
            "width": 1,
            "context": 1,
            "slope_ns": -3,
        }
    )
    assert isinstance(probe, Probe)
    assert probe.slope_ns == -3.0
    assert type(probe.slope_ns) is float


def test_what_no_reader_takes_is_not_written(records: tuple[Record, ...]) -> None:
    footer = Footer(status="finished", rounds=0, steps=0, tokens=0, t_ns=0)
    step = next(record for record in records if isinstance(record, Step))
    wrong: list[Record] = [
        replace(footer, tokens=-1),
        replace(footer, tokens=2**63),
        replace(footer, tokens=True),
        replace(footer, t_ns=1.5),  # type: ignore[arg-type]
        replace(footer, status="gone"),  # type: ignore[arg-type]
        replace(footer, reason=3),  # type: ignore[arg-type]
        replace(step, pieces=["list"]),  # type: ignore[arg-type]
        Note(t_ns=0, text="x", tags=("t" * 4000,) * 300),
    ]
    for record in wrong:
        with pytest.raises(RecordError):
            to_line(record)


def test_texts_are_made_safe_in_both_directions() -> None:
    note = Note(t_ns=0, text="\x1b[2Jgone\u202e", tags=("a\nb",))
    safe = Note(t_ns=0, text="[2Jgone", tags=("a b",))
    assert from_object(read_line(to_line(note)[:-1])) == safe
    assert from_object({"kind": "note", "t_ns": 0, "text": note.text, "tags": list(note.tags)}) == safe


def test_pieces_keep_their_line_breaks_and_lose_their_escapes(records: tuple[Record, ...]) -> None:
    round_ = next(record for record in records if isinstance(record, Round))
    hostile = replace(round_, pieces=Pieces(("\n\t\x1b[31m", "\ud800"), ("\r\n",)))
    read = from_object(read_line(to_line(hostile)[:-1]))
    assert isinstance(read, Round)
    assert read.pieces == Pieces(("\n\t[31m", "\ufffd"), ("\n",))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_object_is_a_record_or_none_or_a_specview_error(data: st.DataObject) -> None:
    cls = data.draw(st.sampled_from(list(KIND_BY_CLASS)))
    names = [field.name for field in fields(cls)]
    raw = data.draw(st.dictionaries(st.sampled_from(names), JSON))
    try:
        from_object(raw | {"kind": KIND_BY_CLASS[cls]})
    except SpecviewError as error:
        assert KIND_BY_CLASS[cls] in str(error)
