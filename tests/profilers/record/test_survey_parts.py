"""Single parts of a survey, without a model: what they ask of those who measure."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace

import pytest

from specview.profilers.measure.experiments import Setting, Switch
from specview.profilers.record import survey_parts
from specview.profilers.record.survey_plan import SurveyPlan

ON = Switch(name="compile", title="fusing", settings=(Setting(arm="compile off", changes=()),))
CONTROL_ONLY = replace(ON, name="buffers", reason="no effect is expected here")
IMPOSSIBLE = Switch(name="blas", title="products", settings=(), reason="a GPU has its own")


@pytest.mark.parametrize(("named", "run"), [((), ["compile"]), (("buffers", "compile"), ["buffers", "compile"])])
def test_an_experiment_without_names_tries_what_does_something_here(
    monkeypatch: pytest.MonkeyPatch, named: tuple[str, ...], run: list[str]
) -> None:
    tried: list[str] = []
    monkeypatch.setattr(survey_parts, "switches", lambda *_: (ON, CONTROL_ONLY, IMPOSSIBLE))
    monkeypatch.setattr(survey_parts, "run_experiment", lambda switch, *_, **__: tried.append(switch.name) or iter(()))
    plan = SurveyPlan(parts=("experiment",), experiments=named)
    bench = SimpleNamespace(plan=plan, random_source=random.Random(0), now=lambda: 0)
    assert list(survey_parts.experiment(bench)) == []  # type: ignore[arg-type]
    assert tried == run
