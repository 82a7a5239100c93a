"""The options that load a session's model once more, where anything says where it lies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from session_builder import CASES
from survey_builder import SURVEYS

from specview.app.again import WhichModelError, model_options
from specview.profilers.record import records as r


def header(**facts: object) -> r.Header:
    first = CASES["wins"][0]
    assert isinstance(first, r.Header)
    return replace(first, model=replace(first.model, **facts))


def test_what_the_command_line_named_is_used_where_it_is_the_same_model() -> None:
    given = ("--model", "models/small/", "--k", "2", "--dtype", "float16", "--draft", "mtp", "--trust-remote-code")
    kept = ("--model", "models/small/", "--dtype", "float16", "--trust-remote-code")
    assert model_options(header(id="small"), given) == kept
    assert model_options(None, given) == kept


def test_the_bundled_model_and_hub_ids_need_no_folder() -> None:
    assert model_options(header(id="bundled"), ("--model", "models/small")) == ("--model", "bundled")
    cast = header(id="bundled", quantisation=None, dtype="float32")
    assert model_options(cast, ()) == ("--model", "bundled", "--dtype", "float32")
    assert model_options(header(id="org/model"), ()) == ("--model", "org/model")


def test_a_bare_shape_is_built_again_with_as_many_layers() -> None:
    first = SURVEYS["survey-moe"][0]
    assert isinstance(first, r.Header)
    assert model_options(first, ()) == ("--shape", "35b-a3b", "--layers", "8")


def test_a_folder_that_nobody_named_is_a_sentence() -> None:
    with pytest.raises(WhichModelError, match="specview survey --model FOLDER"):
        model_options(header(id="small"), ("--model", "bundled"))
