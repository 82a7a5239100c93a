"""A survey of a tiny model, from its header to its footer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_models import tiny_target

from specview.engine.models import Target
from specview.profilers.measure.constants import Constant
from specview.profilers.record import survey as survey_module
from specview.profilers.record import survey_parts
from specview.profilers.record.session import Session, read_session
from specview.profilers.record.steering import Command, Steering
from specview.profilers.record.store import SessionStore
from specview.profilers.record.survey import Survey
from specview.profilers.record.survey_plan import PARTS, SurveyError, SurveyPlan

CONSTANTS = (
    Constant(what="bandwidth", dtype=None, value=1e10, unit="B/s", low=9e9, high=1e10, route="sweep"),
    Constant(what="peak", dtype="float32", value=1e11, unit="flop/s", low=9e10, high=1e11, route="matmul"),
)
PLAN = SurveyPlan(parts=tuple(p for p in PARTS if p != "experiment"), contexts=(6,), repeats=2, place_ms=0.01)


class Silent:
    """Hears how far a survey is and counts it."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def loading(self, what: str) -> None:
        self.parts.append(what)

    def measuring(self, what: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        self.parts.append(what)


@pytest.fixture
def surveyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Session]:
    """Surveys a tiny model and gives the session."""
    numbers = itertools.count()

    def run(kind: str, plan: SurveyPlan = PLAN, steering: Steering | None = None) -> Session:
        target = replace(tiny_target(kind), random_weights=True)
        monkeypatch.setattr(survey_module, "load_target", lambda *_: target)
        monkeypatch.setattr(survey_parts, "calibrate", lambda *_, **__: CONSTANTS)
        monkeypatch.setattr(survey_module, "model_facts", facts_of)
        monkeypatch.setattr(survey_parts, "REPLAY_NS", 1_000)
        path = tmp_path / f"{next(numbers)}.specview.jsonl"
        with SessionStore.create(path) as store:
            Survey(plan, Silent(), tmp_path / "machine", steering or Steering()).record(store)
        return read_session(path)

    return run


def facts_of(target: Target) -> survey_module.records.ModelFacts:
    return survey_module.records.ModelFacts(
        id=target.name,
        architecture=target.name,
        layers=(("attention", 2),),
        dtype="float32",
        weight_bytes=1,
        vocabulary=64,
        tokenizer_hash="none",
        random_weights=True,
    )


@pytest.mark.parametrize("kind", ["llama", "qwen3_next", "qwen3_moe"])
def test_every_part_leaves_its_records(surveyed: Callable[..., Session], kind: str) -> None:
    session = surveyed(kind)
    assert session.footer is not None and session.footer.status == "finished"
    assert session.problems == () and session.runs == () and session.rounds == ()
    assert {c.what for c in session.calibrations} >= {"bandwidth", "peak", "fence", "boundary"}
    assert {p.ruler for p in session.probes} == {"whole", "fenced", "queued"}
    assert {c.width for c in session.census} == {1, 2}
    assert session.demands and session.replays
    assert bool(session.routes) == (kind != "llama")
    assert any(p.pipelined for p in session.probes) and any(p.submit_ns for p in session.probes)
    blocks = {p.block for p in session.probes if p.ruler == "queued" and p.width == 2 and p.block}
    assert blocks <= {p.block for p in session.probes if p.ruler == "fenced" and p.width == 2}


def test_a_stop_ends_it_with_a_footer_that_says_why(surveyed: Callable[..., Session]) -> None:
    steering = Steering()
    steering.send(Command("stop", reason="enough"))
    session = surveyed("llama", PLAN, steering)
    assert session.footer is not None
    assert (session.footer.status, session.footer.reason) == ("stopped", "enough")


def test_positions_beyond_the_model_are_refused_with_the_number(surveyed: Callable[..., Session]) -> None:
    plan = replace(PLAN, contexts=(10_000_000,))
    with pytest.raises(SurveyError, match="takes 4096 positions"):
        surveyed("llama", plan)


def test_replayed_positions_count_where_primitives_are_replayed(surveyed: Callable[..., Session]) -> None:
    plan = replace(PLAN, contexts=(4096 - 15,))
    with pytest.raises(SurveyError, match=r"asks for 4097, context and the widest pass \(16\)"):
        surveyed("llama", plan)
    with pytest.raises(SurveyError, match=r"asks for 4098, context and the widest pass \(2\)"):
        surveyed("llama", replace(plan, contexts=(4096,), parts=("whole",)))


def test_a_shape_is_asked_for_room_for_every_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def shape(*arguments: object) -> Target:
        asked.extend(arguments)
        return tiny_target("llama")

    monkeypatch.setattr(survey_module, "load_shape", shape)
    for parts in (("whole",), ("whole", "replays")):
        plan = SurveyPlan(parts=parts, shape="0.6b", contexts=(6, 8), widths=(1, 4))  # type: ignore[arg-type]
        Survey(plan, Silent(), tmp_path, Steering())
    assert [asked[6], asked[13]] == [(6 + 4) + (8 + 4), (6 + 16) + (8 + 16)]


def test_a_part_that_breaks_keeps_what_was_measured(
    surveyed: Callable[..., Session], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(bench: object) -> Iterator[survey_module.records.Record]:
        raise RuntimeError(f"no memory at {tmp_path}/model")
        yield

    monkeypatch.setitem(survey_parts.MEASURES, "census", broken)  # type: ignore[arg-type]
    with pytest.raises(SurveyError, match="broke off"):
        surveyed("llama", replace(PLAN, parts=("whole", "census")))
    session = read_session(next(tmp_path.glob("*.jsonl")))
    assert session.probes and session.footer is not None and session.footer.status == "failed"
    assert str(tmp_path) not in (session.footer.reason or "")
