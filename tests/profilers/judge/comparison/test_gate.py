"""Slower beyond a limit: yes only when it is real, no only when the interval says so, else the data cannot tell."""

from __future__ import annotations

import pytest
from compared_sessions import VERIFY, named

from specview.engine.errors import SpecviewError
from specview.profilers.judge.comparison.comparing import compare
from specview.profilers.judge.comparison.gate import gate, limit_from, worst

DEARER = {**VERIFY, 2: VERIFY[2] * 1.1}


@pytest.mark.parametrize(("text", "limit"), [("3%", 0.03), ("0.03", 0.03), (" 2.5 % ", 0.025), ("0", 0.0), (".1", 0.1)])
def test_a_limit_is_read_as_percent_or_share(text: str, limit: float) -> None:
    assert limit_from(text) == pytest.approx(limit)


@pytest.mark.parametrize("text", ["", "three", "-3%", "3", "300%", "3%%", "nan", "1e-2", "inf"])
def test_what_is_no_limit_is_a_sentence(text: str) -> None:
    with pytest.raises(SpecviewError, match="give a share below one"):
        limit_from(text)


def test_slower_within_and_undecided() -> None:
    found = compare(named("a", 1), named("b", 2, verify=DEARER))
    assert gate(found, 0.03).outcome == "slower" and "beyond the limit of −3.0%" in gate(found, 0.03).sentence
    assert gate(found, 0.20).outcome == "passed"
    near = gate(found, 0.085)
    assert near.outcome == "undecided" and near.sentence.startswith("Cannot tell")
    assert gate(found, 0.03, "plain").outcome == "passed" and gate(found, 0.03, "speedup").outcome == "slower"


def test_a_change_that_is_not_real_never_fails() -> None:
    same = compare(named("a", 1), named("b", 4))
    assert gate(same, 0.03).outcome == "passed" and gate(same, 0.0).outcome in ("passed", "undecided")


def test_too_few_prompts_and_runs_not_to_be_trusted_cannot_tell() -> None:
    few = compare(named("a", 1, prompts=1, segments=2), named("b", 2, prompts=1, segments=2, verify=DEARER))
    assert gate(few, 0.03).outcome == "undecided"
    busy = compare(named("a"), named("b", others=0.6, verify=DEARER))
    found = gate(busy, 0.03)
    assert found.outcome == "undecided" and "kept 60%" in found.sentence


def test_the_worst_of_several_answers_counts() -> None:
    slower = gate(compare(named("a", 1), named("b", 2, verify=DEARER)), 0.03)
    passed = gate(compare(named("a", 1), named("b", 4)), 0.2)
    assert worst([passed, slower]) == "slower" and worst([passed, passed]) == "passed"
