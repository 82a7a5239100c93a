"""Fields are checked against their annotations, and texts come out safe to show."""

from __future__ import annotations

from dataclasses import make_dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specview.profilers.record.codec import Text, safe_text, write_fields

LINES = Text(lines=True)


@pytest.mark.parametrize(
    ("unsafe", "safe"),
    [
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("\x1b]0;title\x07", "]0;title"),
        ("a\x00b\x08c\x7fd", "abcd"),
        ("\x9b31mc1", "31mc1"),
        ("user\u202egpj.exe", "usergpj.exe"),
        ("\u2066isolated\u2069", "isolated"),
        ("lone \ud83d surrogate", "lone \ufffd surrogate"),
        ("one\r\ntwo\tthree\u2028four", "one two three four"),
        ("日本 🙂 é", "日本 🙂 é"),
        ("zero\u200dwidth", "zero\u200dwidth"),
    ],
)
def test_terminal_controls_are_stripped(unsafe: str, safe: str) -> None:
    assert safe_text(unsafe) == safe


def test_pieces_keep_newline_and_tab_but_no_carriage_return() -> None:
    assert safe_text("\tif x:\r\n\x1b[2J", LINES) == "\tif x:\n[2J"


def test_a_long_text_is_cut_where_one_can_see_it() -> None:
    assert safe_text("x" * 5000) == "x" * 4095 + "…"
    assert safe_text("x" * 4096) == "x" * 4096


@settings(deadline=None)
@given(st.text(alphabet=st.characters(categories=None)), st.sampled_from([Text(), LINES, Text(limit=3)]))
def test_safe_text_is_safe_and_changes_no_more(text: str, rule: Text) -> None:
    safe = safe_text(text, rule)
    assert safe_text(safe, rule) == safe
    assert len(safe) <= rule.limit
    kept = "\n\t" if rule.lines else ""
    for character in safe:
        assert character in kept or (character >= " " and not "\x7f" <= character <= "\x9f")
        assert not "\u202a" <= character <= "\u202e"
        assert not "\u2066" <= character <= "\u2069"
    safe.encode("utf-8")


def test_an_annotation_that_no_record_may_use_is_found_at_once() -> None:
    odd = make_dataclass("Odd", [("shape", list[int])])
    with pytest.raises(TypeError, match="no record may have a field"):
        write_fields("odd", odd(shape=[1]))
