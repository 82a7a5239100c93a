"""A recording finds the floors that a survey of the same model took, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from session_builder import CASES, written
from survey_builder import SURVEYS

from specview.app.pages import page_facts
from specview.app.surveyed_floors import surveyed_floors
from specview.layouts.advice import advice_view
from specview.layouts.advice_facts import AdviceFacts
from specview.layouts.view_models import WhatIf
from specview.layouts.views import reckon
from specview.profilers.record import records as r
from specview.profilers.record.session import session_of

RECORDING = CASES["cannot-win"]
HEADER = next(x for x in RECORDING if isinstance(x, r.Header))


def survey(**changed: object) -> tuple[r.Record, ...]:
    """A survey of the recording's model on its machine."""
    same = {"model": HEADER.model, "environment": HEADER.environment, **changed}
    return tuple(replace(x, **same) if isinstance(x, r.Header) else x for x in SURVEYS["survey"])  # type: ignore[arg-type]


def test_a_survey_of_the_same_model_lends_its_floors_to_the_advice(tmp_path: Path) -> None:
    written(tmp_path, "recording", RECORDING)
    written(tmp_path, "fits", survey())
    reckoning = reckon(session_of(RECORDING))
    facts = page_facts("advice", reckoning, tmp_path)
    assert isinstance(facts, AdviceFacts) and facts.survey == "fits"
    view = advice_view(facts, WhatIf())
    assert any("The floor is that of fits" in text for text, _ in view.sentences)
    assert "the floor," in next(row for row in view.changes.rows if row.key == "verify").cells[-1]
    alone = page_facts("advice", reckoning)
    assert isinstance(alone, AdviceFacts) and alone.wins is not None and "y surveys it" in alone.wins.no_floor


def test_other_models_machines_recordings_and_broken_files_are_passed_over(tmp_path: Path) -> None:
    written(tmp_path, "recording", RECORDING)
    written(tmp_path, "other-model", survey(model=replace(HEADER.model, dtype="float32")))
    written(tmp_path, "other-machine", survey(environment=replace(HEADER.environment, chip="another")))
    written(tmp_path, "no-demands", tuple(x for x in survey() if not isinstance(x, r.Demand)))
    (tmp_path / "broken.specview.jsonl").write_bytes(b"not a session\n")
    (tmp_path / "empty.specview.jsonl").write_bytes(b"")
    assert surveyed_floors(tmp_path, HEADER) is None
    assert surveyed_floors(tmp_path / "nowhere", HEADER) is None
