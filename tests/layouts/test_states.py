"""The screen before there is a session: what is waited for, and how far a long file is read."""

from __future__ import annotations

from dataclasses import replace

from session_builder import CASES

from specview.layouts.states import STILL_READING, empty_dashboard, header_title
from specview.layouts.view_models import Live, WhatIf
from specview.layouts.views import dashboard, reckon
from specview.profilers.record.records import Header
from specview.profilers.record.session import session_of


def header() -> Header:
    first = CASES["wins"][0]
    assert isinstance(first, Header)
    return first


def test_a_long_file_shows_how_far_it_is_read_and_what_its_header_says() -> None:
    view = empty_dashboard(Live("waiting", name="long.specview.jsonl", reading=0.341, header=header()))
    assert view.status.word == "◌ reading 34%"
    assert header().model.id in view.status.title and view.status.title == header_title(header())
    assert view.headline.word == "READING" and "34%" in view.headline.first and "long" in view.headline.first
    assert view.stream.message == view.break_even.message == STILL_READING


def test_without_a_header_the_title_is_the_program() -> None:
    assert empty_dashboard(Live("waiting")).status.title == "specview"
    bare = replace(header(), drafter=None, environment=replace(header().environment, device=None))
    assert header_title(bare) == f"specview — {bare.model.id}" or header_title(bare).startswith("specview — ")


def test_a_screen_that_falls_behind_says_so() -> None:
    reckoning = reckon(session_of(CASES["wins"]))
    words = [dashboard(reckoning, Live("following", behind_s=s), WhatIf()).status.word for s in (0.0, 2.5, 7.2)]
    assert "behind" not in words[0] + words[1] and words[2].endswith("up to 7 s behind")
