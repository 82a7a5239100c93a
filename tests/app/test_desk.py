"""What pages show is found out once for each state of a session, whatever goes wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from specview.app import pages
from specview.app.pages import Desk, PageNews, Switches
from specview.layouts.view_models import WhatIf

OPS, SWEEP, EXPERIMENTS = (SimpleNamespace(NAME=name) for name in ("ops", "sweep", "experiments"))


class Reckoned:
    """A state of a session; two of them are never asked whether they are equal, which could take long."""

    def __init__(self) -> None:
        self.session = SimpleNamespace(header=SimpleNamespace(environment=SimpleNamespace(device="cpu")))

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")

    __hash__ = None  # type: ignore[assignment]


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A desk whose threads wait in `works`, and whose news are in `told`."""
    monkeypatch.setattr(pages, "page_facts", lambda name, *_: None)
    works: list[Callable[[], None]] = []
    told: list[PageNews] = []

    def no_switches(device: str | None) -> Any:
        raise RuntimeError("no device")

    return SimpleNamespace(desk=Desk(works.append, told.append, no_switches), works=works, told=told)


def served(on: Any, page: Any, reckoning: Any) -> None:
    on.desk.serve(page, reckoning, WhatIf())


def test_news_of_one_page_leave_what_is_awaited_for_another(desk: Any) -> None:
    now = Reckoned()
    served(desk, OPS, now)
    served(desk, SWEEP, now)
    served(desk, OPS, now)
    assert len(desk.works) == 2
    desk.works[0]()
    desk.desk.take(desk.told[0], now)
    served(desk, SWEEP, now)
    assert len(desk.works) == 2 and desk.desk.has("ops", now) and not desk.desk.has("sweep", now)


def test_a_page_in_trouble_says_why_and_is_tried_again_when_the_session_has_grown(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str, *_: Any) -> Any:
        raise KeyError("x\x1b[2J")

    monkeypatch.setattr(pages, "page_facts", fail)
    first, grown = Reckoned(), Reckoned()
    grown.session.header = first.session.header
    served(desk, OPS, first)
    desk.works[0]()
    desk.desk.take(desk.told[0], first)
    assert desk.desk.has("ops", first)
    assert desk.desk.trouble_of("ops", first).startswith("This page cannot be made of this session (KeyError: ")
    assert "\x1b" not in desk.desk.trouble_of("ops", first) and desk.desk.trouble_of("sweep", first) == ""
    served(desk, OPS, first)
    assert len(desk.works) == 1
    served(desk, OPS, grown)
    assert len(desk.works) == 2 and desk.desk.trouble_of("ops", grown) == ""


def test_switches_that_cannot_be_found_out_are_told_too(desk: Any) -> None:
    served(desk, EXPERIMENTS, Reckoned())
    desk.works[0]()
    desk.desk.take(desk.told[0], None)
    assert desk.desk.switches == Switches(why_none="The switches of MLX cannot be found out (RuntimeError: no device).")
