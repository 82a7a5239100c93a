"""Judged numbers become values that every JSON reader takes."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import PurePosixPath

import pytest

from specview.layouts.plain import plain
from specview.profilers.judge.spans import Queued, Ruler, Span
from specview.profilers.judge.statistics import Interval


@dataclass(frozen=True, slots=True)
class Held:
    """Something of everything."""

    name: str
    inner: tuple[object, ...]


@pytest.mark.parametrize("value", [None, "text", 0, 1.5, True, -3])
def test_plain_values_stay(value):
    assert plain(value) == value and type(plain(value)) is type(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_becomes_null(value):
    assert plain(value) is None
    assert plain(Interval(1.0, value, 2.0, 0.95, 3))["low"] is None


def test_dataclasses_become_objects_all_the_way_down():
    found = plain(Held("a", (Held("b", ()), {"width": (1, 2)})))
    assert found == {"name": "a", "inner": [{"name": "b", "inner": []}, {"width": [1, 2]}]}


def test_a_ruler_is_a_word_as_a_value_and_as_a_class():
    assert plain(Ruler.QUEUED) == "queued"
    assert plain(Span(1.0, Queued)) == {"ms": 1.0, "ruler": "queued", "se_ms": None, "n": 1.0}


def test_numbers_that_are_keys_become_text():
    assert plain({1: "one", 2: None}) == {"1": "one", "2": None}


def test_sets_become_lists_and_the_rest_text():
    assert plain(frozenset({7})) == [7]
    assert plain(PurePosixPath("a/b")) == "a/b"


def test_what_comes_out_is_json():
    tree = {"spans": [Span(math.nan, Queued)], "ruler": Ruler.FENCED, 3: Held("x", (math.inf,))}
    assert json.loads(json.dumps(plain(tree), allow_nan=False))["3"] == {"name": "x", "inner": [None]}
