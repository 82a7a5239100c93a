"""Objects are found in every shape that JSON is saved in, and what is damaged is told."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specview.profilers.record.importers.json_documents import DEPTH, Found, Repeated, documents

ONE, TWO = {"a": 1, "b": "}{]["}, {"a": [1, {"c": 2}]}


def values(text: str) -> list[object]:
    return [found.value for found in documents(text.splitlines(keepends=True)) if found.value is not None]


def broken(text: str) -> list[str]:
    return [found.text for found in documents(text.splitlines(keepends=True)) if found.broken]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([ONE, TWO]),
        json.dumps([ONE, TWO], indent=2),
        json.dumps(ONE) + "\n" + json.dumps(TWO) + "\n",
        json.dumps(ONE) + "\n\n" + json.dumps(TWO),
        json.dumps(ONE, indent=1) + "\n" + json.dumps(TWO, indent=1),
        json.dumps(ONE) + json.dumps(TWO),
        f"[\n{json.dumps(ONE)},\n{json.dumps(TWO)}\n]\n",
        f"data: {json.dumps(ONE)}\n\ndata: {json.dumps(TWO)}\n\ndata: [DONE]\n",
        "\ufeff" + json.dumps([ONE, TWO]).replace("\n", "\r\n"),
        json.dumps([[ONE], [TWO]]),
        f"log line\n{json.dumps(ONE)}\nlog line\n{json.dumps(TWO)}\n",
    ],
)
def test_every_shape_gives_the_same_objects(text: str) -> None:
    assert values(text) == [ONE, TWO]
    assert broken(text) == []


def test_lines_of_something_else_are_given_as_text() -> None:
    assert list(documents(["starting\n", '{"a": 1}\n'])) == [Found(None, "starting"), Found({"a": 1})]


def test_a_torn_line_does_not_swallow_the_ones_after_it() -> None:
    text = json.dumps(ONE) + '\n{"a": 1, "b": "x\n' + json.dumps(TWO) + "\n"
    assert values(text) == [ONE, TWO]
    assert len(broken(text)) == 1


def test_a_list_cut_off_gives_its_whole_items() -> None:
    text = json.dumps([ONE, TWO, ONE], indent=1)
    assert values(text[: text.rindex("b")]) == [ONE, TWO]
    assert len(broken(text[: text.rindex("b")])) == 1


def test_nesting_has_a_limit() -> None:
    allowed, too_deep = ("[" * n + '{"a": 1}' + "]" * n for n in (DEPTH - 1, DEPTH))
    assert values(allowed) == [{"a": 1}]
    assert values(too_deep) == [] and len(broken(too_deep)) == 1
    assert len(broken("[" * 100_000)) == 1


def test_a_name_that_occurs_twice_is_marked_only_if_its_values_differ() -> None:
    assert values('{"a": 1, "a": 1}') == [{"a": 1}]
    assert values('{"a": 1, "a": 2}') == [{"a": Repeated()}]


def test_endless_digits_take_no_time_and_are_no_number() -> None:
    assert values('{"a": ' + "9" * 100_000 + "}") == [{"a": float("inf")}]


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='{}[]",:\\ab1 \n'))
def test_no_text_raises(text: str) -> None:
    list(documents(text.splitlines(keepends=True)))
