"""The form: what is wrong with it, and how it becomes options and comes back."""

from __future__ import annotations

import shlex

import pytest

from specview.app.cli import parser
from specview.app.recording import plan_of
from specview.app.watching import recorder_options
from specview.layouts.setup import FIELDS, Form, Place, hint_of, is_needed
from specview.layouts.setup_checks import problems
from specview.layouts.setup_options import command_line, form_of, options_of

PLACES: dict[str, Place] = {"here/model": "model", "here/empty": "folder", "notes.txt": "file"}


def place_of(text: str) -> Place:
    return PLACES.get(text, "nothing")


def wrong(**values: str) -> dict[str, str]:
    return problems(Form(**values), place_of)


def test_what_stands_there_first_can_be_started() -> None:
    assert wrong() == {}


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({"model": ""}, "model", "Name a model"),
        ({"model": "here/empty"}, "model", "no config.json"),
        ({"model": "notes.txt"}, "model", "This is a file"),
        ({"model": "nowhere"}, "model", "no such folder"),
        ({"model": "a/b/c"}, "model", "org/name"),
        ({"drafter": "model"}, "argument", "Name the draft model"),
        ({"drafter": "model", "argument": "here/empty"}, "argument", "no config.json"),
        ({"drafter": "skip", "argument": "0"}, "argument", "1 to 1000"),
        ({"drafter": "quantised", "argument": "5"}, "argument", "4, 3 or 2"),
        ({"drafter": "fixed"}, "argument", "0 to 1"),
        ({"drafter": "fixed", "argument": "nan"}, "argument", "0 to 1"),
        ({"drafter": "fixed", "argument": "0.7", "rule": "exact", "temperature": "1"}, "drafter", "rule greedy"),
        ({"k": "65"}, "k", "0 to 64"),
        ({"k": "two"}, "k", "whole number"),
        ({"k": "９"}, "k", "whole number"),
        ({"temperature": "0.7"}, "temperature", "Greedy draws nothing"),
        ({"rule": "rejection"}, "temperature", "above 0"),
        ({"rule": "rejection", "temperature": "inf"}, "temperature", "Give a number"),
        ({"rule": "exact", "temperature": "1", "top_p": "0"}, "top_p", "above 0"),
        ({"rule": "exact", "temperature": "1", "top_k": "-1"}, "top_k", "0 or more"),
        ({"rule": "exact", "temperature": "1", "min_p": "2"}, "min_p", "0 to 1"),
        ({"prompts": "a file"}, "prompt_file", "Name a file"),
        ({"prompts": "a file", "prompt_file": "gone.txt"}, "prompt_file", "no such file"),
        ({"limit": "0"}, "limit", "1 or more"),
        ({"tokens": ""}, "tokens", "1 or more"),
        ({"budget": "soon"}, "budget", "30s, 5m"),
        ({"context": "0"}, "context", "1 or more"),
        ({"policy": "compiled", "kv_bits": "8"}, "policy", "Compiled"),
        ({"duty": "1.5"}, "duty", "0 to 1"),
        ({"seed": "-1"}, "seed", "whole number"),
        ({"tokens": "1" * 900}, "tokens", "whole number"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence_beside_its_field(values: dict[str, str], field: str, words: str) -> None:
    found = wrong(**values)
    assert list(found) == [field] and words in found[field]
    assert found[field].endswith((".", ":")) and len(found[field]) < 130


@pytest.mark.parametrize(
    "values",
    [
        {"model": "here/model"},
        {"model": "org/some-model_4bit.x"},
        {"drafter": "skip"},
        {"drafter": "skip", "argument": "8"},
        {"drafter": "quantised", "argument": "3"},
        {"drafter": "fixed", "argument": ".7"},
        {"drafter": "model", "argument": "org/small"},
        {"rule": "rejection", "temperature": "0.7", "top_p": "0.9", "top_k": "40", "min_p": "0.05"},
        {"prompts": "a file", "prompt_file": "notes.txt", "limit": "2", "tokens": "32", "budget": "5m"},
        {"policy": "single passes", "context": "512", "duty": "0", "seed": "7"},
        {"kv_bits": "4", "kv_start": "64", "dtype": "float16", "adaptive": "yes", "k": "4"},
        {"chat": "no", "blocks": "no", "keep_prompts": "yes", "text": "no", "trust": "yes"},
    ],
)  # fmt: skip
def test_a_form_becomes_options_that_the_recorder_takes_and_comes_back(values: dict[str, str]) -> None:
    form = Form(**values)
    assert problems(form, place_of) == {}
    options = options_of(form)
    plan_of(parser().parse_args(["record", *options]))
    again = form_of(recorder_options(parser().parse_args(["watch", *options])))
    assert options_of(again) == options
    assert {name: again.value(name) for name in values} == values


def test_options_without_a_field_stay_as_they_were_given() -> None:
    given = recorder_options(parser().parse_args(["watch", "--system", "be short", "--stop", "x", "--draft", "lookup"]))
    form = form_of(given)
    assert form.drafter == "lookup" and "be short" in form.rest
    options = options_of(form.with_value("k", "3"))
    assert plan_of(parser().parse_args(["record", *options])).system == "be short"
    assert "3" in options


def test_a_value_that_begins_with_a_dash_comes_back_too() -> None:
    given = recorder_options(parser().parse_args(["watch", "--system=-brief", "--stop", "x"]))
    options = options_of(form_of(given))
    plan = plan_of(parser().parse_args(["record", *options]))
    assert plan.system == "-brief" and plan.stop == ("x",)


def test_the_command_line_is_short_and_can_be_pasted() -> None:
    assert command_line(Form()) == "specview --draft mtp"
    form = Form(model="my models/x y", drafter="skip", argument="8", k="2")
    words = shlex.split(command_line(form))
    assert words == ["specview", "--model", "my models/x y", "--draft", "skip:8", "--k", "2"]
    assert parser().parse_args(["watch", *words[1:]]).model == "my models/x y"


def test_fields_that_mean_nothing_are_neither_shown_nor_checked_nor_passed_on() -> None:
    form = Form(drafter="mtp", argument="nonsense", top_p="9", prompt_file="gone", kv_start="-4")
    assert problems(form, place_of) == {} and options_of(form) == ("--model", "bundled", "--draft", "mtp")
    assert [f.name for f in FIELDS if not is_needed(f.name, form)] == [
        "argument", "top_p", "top_k", "min_p", "kv_start", "prompt_file"
    ]  # fmt: skip
    assert all(hint_of(f.name, form) or f.name in ("argument", "prompts") for f in FIELDS)
