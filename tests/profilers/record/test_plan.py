"""Plans are checked before anything is loaded, and name no path."""

from __future__ import annotations

import pytest

from specview.engine.limits import LONGEST_DRAFT, DraftLengthError
from specview.profilers.record.plan import Budget, Plan, PlanError, parsed_budget


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("30s", Budget(seconds=30)),
        ("1.5m", Budget(seconds=90)),
        ("2h", Budget(seconds=7200)),
        ("400", Budget(rounds=400)),
        ("1 round", Budget(rounds=1)),
        (" 400 rounds ", Budget(rounds=400)),
        ("20.0", Budget(rounds=20)),
    ],
)
def test_budgets_are_times_or_rounds(text, budget):
    assert parsed_budget(text) == budget


@pytest.mark.parametrize("text", ["", "s", "-1", "0", "0m", "1.5", "ten", "30 parsecs", "1e3", "∞", "nan", "30s5m"])
def test_other_budgets_are_refused_with_an_example(text):
    with pytest.raises(PlanError, match="is no budget"):
        parsed_budget(text)


@pytest.mark.parametrize("k", [0, 1, 64])
def test_draft_lengths_that_make_sense(k):
    assert Plan(k=k).checked() == Plan(k=k)


@pytest.mark.parametrize("k", [-1, 65, 1000])
def test_draft_lengths_that_make_none(k):
    with pytest.raises(DraftLengthError, match=f"choose k from 0 to {LONGEST_DRAFT}"):
        Plan(k=k).checked()


@pytest.mark.parametrize(
    "wrong", [{"tokens": 0}, {"limit": 0}, {"limit": -3}, {"context": 0}, {"split": 1.5}, {"duty": -0.1}]
)
def test_other_numbers_are_checked(wrong):
    with pytest.raises(PlanError):
        Plan(**wrong).checked()


@pytest.mark.parametrize(
    ("drafter", "name"),
    [
        ("mtp", "mtp"),
        ("lookup", "lookup"),
        ("org/draft-1b", "org/draft-1b"),
        ("/home/someone/draft", "draft"),
        ("/draft", "draft"),
        ("~/draft", "draft"),
        ("./draft/", "draft"),
        ("../draft", "draft"),
        ("models/of/draft", "draft"),
    ],
)
def test_a_drafter_is_named_without_its_folder(drafter, name):
    assert Plan(drafter=drafter).drafter_name() == name


def test_the_sentence_names_no_path():
    sentence = Plan(drafter="/home/someone/draft", prompts="/home/someone/mine.jsonl").sentence()
    assert "someone" not in sentence
    assert "draft k=1" in sentence and "mine.jsonl" in sentence
