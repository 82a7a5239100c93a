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


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"seed": -1}, "--seed -1 is no seed: choose a whole number from 0"),
        ({"seed": 2**63}, "is no seed"),
        ({"temperature": float("nan")}, "--temperature nan makes no sense"),
        ({"temperature": -1.0}, "--temperature -1 makes no sense"),
        ({"top_p": 2.0}, "--top-p 2 makes no sense: choose above 0 and up to 1"),
        ({"top_p": 0.0}, "--top-p 0 makes no sense"),
        ({"top_p": float("nan")}, "--top-p nan makes no sense"),
        ({"top_k": -5}, "--top-k -5 makes no sense: choose 1 or more, or 0 to keep all"),
        ({"min_p": 7.0}, "--min-p 7 makes no sense: choose from 0"),
        ({"min_p": float("nan")}, "--min-p nan makes no sense"),
        ({"k": 0, "adaptive": True}, "--adaptive chooses a k up to --k, and --k 0 leaves nothing to choose"),
        ({"system": "a\udcff"}, "--system is not UTF-8 text: write it in UTF-8"),
        ({"stop": ("</s>", "a\udcff")}, "--stop is not UTF-8 text: write it in UTF-8"),
    ],
)
def test_what_no_model_can_do_is_refused_before_one_is_loaded(wrong, said):
    with pytest.raises(PlanError, match=said):
        Plan(**wrong).checked()


def test_the_least_and_the_most_that_make_sense_are_taken():
    for plan in (
        Plan(seed=0, top_p=1.0, top_k=0, min_p=0.0),
        Plan(seed=2**63 - 1, temperature=0.5, top_p=0.1, top_k=1, min_p=1.0),
        Plan(k=1, adaptive=True, system="你好", stop=("é",)),
    ):
        assert plan.checked() == plan
