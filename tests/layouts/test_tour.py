"""The tour's steps and their numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from specview.layouts.states import empty_dashboard
from specview.layouts.tour import tour_steps
from specview.layouts.view_models import DashboardView, Live, WhatIf
from specview.layouts.views import dashboard, reckon


def test_six_steps_go_over_the_dashboard_and_without_numbers_none_is_made_up() -> None:
    steps = tour_steps(empty_dashboard(Live("loading", doing="model bundled")))
    assert [step.panel for step in steps] == ["headline", "decode", "verify", "break-even", "stream", "rounds"]
    assert [step.now for step in steps[1:]] == ["", "", "", "", ""] and "LOADING" in steps[0].now
    assert all(len(step.words) < 330 for step in steps)


def test_steps_say_the_numbers_that_stand_on_the_screen(build: Any) -> None:
    for prompt in range(4):
        build.visit(prompt=f"p{prompt}")
    build.probe("target", 1, 11.0)
    build.probe("target", 3, 14.0)
    view: DashboardView = dashboard(reckon(build.finished()), Live("saved"), WhatIf())
    said = {step.panel: step.now for step in tour_steps(view)}
    assert view.headline.word in said["headline"]
    assert view.rounds.rows[0].value in said["rounds"]
    if view.break_even.curve is not None:
        assert said["break-even"].startswith(f"Now: {view.break_even.symbol} is ")
        none = replace(view.break_even, curve=replace(view.break_even.curve, crossing=None))
        assert "no p breaks even" in tour_steps(replace(view, break_even=none))[3].now
