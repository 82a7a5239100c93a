"""Prompts, segments and windows as rows of totals, matched where both sessions have them."""

from __future__ import annotations

from dataclasses import replace

import july
import pytest
from compared_sessions import named

from specview.profilers.judge.comparison.comparing import Named, compare
from specview.profilers.judge.comparison.units import Sum, matched
from specview.profilers.judge.visits import Setting, settings_of, visits_of
from specview.profilers.record import records as r
from specview.profilers.record.session import Session, session_of


def setting(each: Named) -> Setting:
    return settings_of(visits_of(each.session))[-1]


def windows(speed: float, labels: tuple[str | None, ...]) -> Session:
    counted = [
        r.Counters(
            t_ns=i, arm="drafting", source="llama.cpp", label=label, drafter="model", k=2, rounds=40, drafted=80,
            accepted=50 + i, tokens=90 + i, elapsed_ns=round(1e9 * (1 + 0.1 * i) / speed),
        )
        for i, label in enumerate(labels)
    ]  # fmt: skip
    header, footer = july.records()[0], july.records()[-1]
    return session_of((header, *counted, footer))


def test_prompts_are_paired_by_hash_and_index_and_summed() -> None:
    a, b = named("a", 1, prompts=6), named("b", 2, prompts=4)
    found = matched(a.session, b.session, setting(a), setting(b))
    assert found is not None and found.paired and found.scope == "prompts"
    assert found.base.shape == found.other.shape == (4, len(Sum))
    assert (found.shared, found.base_prompts, found.other_prompts) == (4, 6, 4)
    assert (found.base[:, Sum.TOKENS] > 0).all() and (found.base[:, Sum.SPLITS] > 0).all()


def test_accepted_drafts_beyond_the_positions_of_both_are_counted_apart() -> None:
    a, b = named("a", 1), named("b", 2, k=3)
    found = matched(a.session, b.session, setting(a), setting(b))
    assert found is not None and found.base[:, Sum.FURTHER].sum() == 0
    assert 0 < found.other[:, Sum.FURTHER].sum() < found.other[:, Sum.ACCEPTED].sum()


def test_split_rounds_of_a_prompt_count_only_where_both_sessions_have_them() -> None:
    a, b = named("a", 1), named("b", 2)
    gone = {run.run for run in b.session.runs if run.arm == "split" and run.prompt.hash == f"{0:016x}"}
    fewer = replace(b.session, rounds=tuple(each for each in b.session.rounds if each.run not in gone))
    found = matched(a.session, fewer, setting(a), setting(b))
    assert found is not None
    assert (found.base[:, Sum.SPLITS] > 0).sum() == (found.other[:, Sum.SPLITS] > 0).sum() == 8
    assert compare(a, Named("b", fewer)).split is not None


def test_other_prompts_are_compared_apart_and_only_when_asked() -> None:
    a, b = named("a", 1), named("b", 2)
    runs = tuple(replace(x, prompt=replace(x.prompt, hash=f"other {x.prompt.hash}")) for x in b.session.runs)
    other = Named("b", replace(b.session, runs=runs))
    found = compare(a, other, anyway=True)
    assert not found.paired and found.scope == "prompts" and found.shared == 0
    assert [each.fact for each in found.differences] == ["prompts"] and found.differences[0].standing == "unlike"


def test_windows_of_other_engines_are_paired_by_label() -> None:
    labels = ("one", "two", "three", "four")
    slow, fast = Named("slow", windows(1.0, labels)), Named("fast", windows(1.2, labels))
    found = compare(slow, fast)
    assert found.scope == "windows" and found.paired
    drafting = found.change("drafting_tokens_per_second")
    assert drafting is not None and drafting.log_ratio is not None and drafting.finding == "real"
    assert drafting.other == pytest.approx((drafting.base or 0) * 1.2, rel=1e-6)
    assert found.change("acceptance_per_draft") is not None and found.split is not None
    assert [part.key for part in found.split.parts] == ["acceptance", "round"]


def test_windows_without_labels_stand_by_themselves() -> None:
    found = compare(Named("a", windows(1.0, (None,) * 8)), Named("b", windows(1.0, (None,) * 8)))
    assert not found.paired and any("windows are not matched" in said for said in found.cautions)


def test_the_sums_of_a_prompt_are_those_of_its_rounds_and_steps() -> None:
    a, b = named("a", 1, prompts=3), named("b", 2, k=3, prompts=3)
    found = matched(a.session, b.session, setting(a), setting(b))
    assert found is not None and found.scope == "prompts"
    pairs = [s for v in visits_of(b.session) if v.setting == setting(b) for s in v.pairs()]
    rounds, steps = [e for s in pairs for e in s.rounds], [e for s in pairs for e in s.steps]
    splits = [e for s in pairs for e in s.splits if None not in (e.draft_ns, e.verify_ns, e.rest_ns)]
    sums = found.other.sum(axis=0)
    assert (sums[Sum.PLAIN_NS], sums[Sum.ROUND_NS]) == (sum(e.step_ns for e in steps), sum(e.round_ns for e in rounds))
    assert (sums[Sum.ROUNDS], sums[Sum.TOKENS]) == (len(rounds), sum(e.tokens for e in rounds))
    assert sums[Sum.TESTED] == sum(e.accepted + (e.accepted < e.drafted) for e in rounds)
    assert sums[Sum.FURTHER] == sum(max(0, e.accepted - setting(a).k) for e in rounds)
    assert (sums[Sum.SPLITS], sums[Sum.REST_NS]) == (len(splits), sum(e.rest_ns or 0 for e in splits))
