"""What a survey may be asked for, and how it says no."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specview.engine.errors import SpecviewError
from specview.profilers.record.survey_plan import PARTS, SurveyError, SurveyPlan, numbers_of

PLAN = SurveyPlan(parts=PARTS)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("1", (1,)), ("1,2,4", (1, 2, 4)), ("1-4", (1, 2, 3, 4)), ("8,1-3,2", (8, 1, 2, 3)), (" 2 , 3 ", (2, 3))],
)
def test_numbers_come_as_lists_and_ranges(text: str, numbers: tuple[int, ...]) -> None:
    assert numbers_of(text, "--widths") == numbers


@pytest.mark.parametrize("text", ["", "a", "1-", "-3", "4-2", "1.5", "1,,2", "1-99999", "99999999999"])
def test_what_is_no_list_of_numbers_names_its_flag(text: str) -> None:
    with pytest.raises(SurveyError, match="--widths"):
        numbers_of(text, "--widths")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"widths": ()}, "--widths"),
        ({"widths": (0, 1)}, "--widths"),
        ({"widths": (1, 257)}, "256"),
        ({"contexts": (0,)}, "--context"),
        ({"repeats": 1}, "--repeats"),
        ({"draft": "mtp", "k": 0}, "--k 0 drafts nothing"),
        ({"draft": "mtp", "k": 99}, "99"),
        ({"draft": "mtp", "tokens": 3}, "--tokens 3"),
        ({"batches": ()}, "--batches"),
        ({"batches": (1, 257)}, "256"),
        ({"layers": 4}, "--shape"),
        ({"experts": 4}, "--shape"),
        ({"place_ms": 0.0}, "--place-ms"),
    ],
)
def test_a_plan_that_makes_no_sense_says_what_to_change(change: dict[str, object], word: str) -> None:
    with pytest.raises(SpecviewError, match=word):
        replace(PLAN, **change).checked()  # type: ignore[arg-type]


def test_a_shape_may_have_fewer_layers_and_experts() -> None:
    assert replace(PLAN, shape="35b-a3b", layers=4, experts=64).checked().layers == 4


def test_the_sentence_says_what_is_generated() -> None:
    assert PLAN.sentence().startswith("costs only") and "nothing generated" in PLAN.sentence()
    many = replace(PLAN, parts=("batch", "batched"), batches=(1, 4), draft="some/where/drafter", k=2)
    assert many.sentence().endswith("; drafts of 2 by drafter, 32 tokens a text") and "batches 1, 4" in many.sentence()
