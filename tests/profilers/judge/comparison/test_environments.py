"""Which differences forbid a comparison, which are what one compares, and which are only told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from compared_sessions import records

from specview.profilers.judge.comparison.environments import differences, told, unlike
from specview.profilers.judge.visits import Setting
from specview.profilers.record import records as r

HEADER = records()[0]
assert isinstance(HEADER, r.Header)
SETTING = Setting("mtp", 1, "greedy match", 0.0, 1.0)


def changed(**environment: Any) -> r.Header:
    return replace(HEADER, environment=replace(HEADER.environment, **environment))


@pytest.mark.parametrize("fact", ["chip", "device", "blas", "power"])
def test_another_machine_is_unlike_and_silence_is_only_told(fact: str) -> None:
    left, right = changed(**{fact: "one"}), changed(**{fact: "two"})
    assert [each.standing for each in differences(left, right, None, None)] == ["unlike"]
    [silent] = differences(left, changed(**{fact: None}), None, None)
    assert silent.standing == "told" and silent.other == "" and told(silent).endswith("one in A, not said in B")


def test_another_system_is_unlike_and_another_version_of_it_is_told() -> None:
    mac, newer, linux = changed(os="macOS 14.5 arm64"), changed(os="macOS 15.0 arm64"), changed(os="Linux 6.18 x86_64")
    assert [(each.fact, each.standing) for each in differences(mac, newer, None, None)] == [("system version", "told")]
    assert [(each.fact, each.standing) for each in differences(mac, linux, None, None)] == [("system", "unlike")]


def test_what_is_set_for_drafts_is_a_change() -> None:
    other = replace(SETTING, drafter="lookup", k=4, temperature=0.7, kv_bits=8, policy="single passes", adaptive=True)
    found = differences(HEADER, HEADER, SETTING, other)
    assert unlike(found) == () and {each.standing for each in found} == {"change"}
    assert {"drafter", "k", "sampling", "keys and values", "verify policy", "draft length"} == {e.fact for e in found}


def test_another_draft_model_is_a_change_and_another_model_is_unlike() -> None:
    def with_drafts(dtype: str) -> r.Header:
        return replace(HEADER, drafter=r.DrafterFacts(kind="model", model=replace(HEADER.model, dtype=dtype), k=1))

    [found] = differences(with_drafts("float16"), with_drafts("float32"), None, None)
    assert (found.fact, found.standing) == ("draft dtype", "change")
    [found] = differences(HEADER, replace(HEADER, model=replace(HEADER.model, dtype="float32")), None, None)
    assert (found.fact, found.standing) == ("dtype", "unlike")


def test_those_that_forbid_come_first() -> None:
    found = differences(HEADER, changed(blas="OpenBLAS", mlx="9", python="3"), None, None)
    assert [each.standing for each in found] == ["unlike", "change", "told"]
