"""Errors are sentences that can be printed to a terminal, whatever a file made them say."""

from __future__ import annotations

import pickle

import pytest

from specview.engine.errors import SpecviewError
from specview.engine.model_files import ModelError
from specview.profilers.judge.comparison.environments import UnlikeError


@pytest.mark.parametrize(
    "hidden", ["\x1b", "\x07", "\x00", "\x9b", "\x7f", "\n", "\r", "\u202e", "\u2066", "\u200b", "\u2028", "\udc80"]
)
def test_what_a_terminal_would_obey_is_shown_as_a_replacement(hidden):
    assert str(ModelError(f"mlx-lm does not know a{hidden}b.")) == "mlx-lm does not know a\ufffdb."


def test_visible_text_of_any_script_stays():
    text = "模型 “é” – 1\u202f000 µs × 2\xa0GB 🙂."
    assert str(SpecviewError(text)) == text


def test_an_error_with_more_than_a_text_is_cleaned_too():
    error = UnlikeError("chip\x1b[2J differs.", ())
    assert str(error) == "chip\ufffd[2J differs." and error.differences == ()


def test_an_error_may_go_to_another_process():
    assert str(pickle.loads(pickle.dumps(ModelError("a\x1bb.")))) == "a\ufffdb."
