"""Probes in groups: every one in exactly one, in order, and the same numbers as from one record after another."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from specview.profilers.judge.alike_probes import SAME, alike, at_contexts, first_times, in_order, times_of
from specview.profilers.judge.blocks_table import blocks_table
from specview.profilers.judge.gap_times import gap_times
from specview.profilers.judge.numbers import whole_probes
from specview.profilers.judge.ruler_sentences import ruler_sentences
from specview.profilers.judge.rulers import blocks_in, ruler_table
from specview.profilers.record.records import Probe
from specview.profilers.record.session import Session, read_session

EXAMPLES = Path(__file__).parents[3] / "assets" / "examples"


@pytest.fixture(scope="module")
def session() -> Session:
    """An example, read from its file."""
    return read_session(EXAMPLES / "bundled-float32-openblas.specview.jsonl")


def odd(probes: list[Probe]) -> list[Probe]:
    """Probes that lack one thing or the other, or have more of it than a recorder writes."""
    chance = random.Random(7)
    changes = (
        {"samples_ns": None}, {"samples_ns": ()}, {"eval_ns": None}, {"build_ns": (5, 6, 7)}, {"slope_ns": None},
        {"slope_low_ns": None}, {"layer": 2}, {"layers": None}, {"cached": None}, {"run": None}, {"policy": "rows"},
        {"detail": "router"}, {"width": 2**62}, {"layers": 2**40}, {"pipelined": True}, {"samples_ns": (0, 3)},
    )  # fmt: skip
    return [replace(p, **chance.choice(changes)) if chance.random() < 0.3 else p for p in probes]  # type: ignore[arg-type]


def test_every_probe_is_in_one_group_of_its_like(session: Session) -> None:
    probes = odd(list(session.probes))
    groups = alike(probes)
    assert list(in_order(groups)) == probes and alike(groups) == groups
    assert [probes.index(each.rows[0]) for each in groups] == sorted(probes.index(each.rows[0]) for each in groups)
    for group in groups:
        for probe in group.rows:
            assert all(getattr(probe, name) == getattr(group.one, name) for name in SAME)
            assert (probe.slope_ns is None) == (group.one.slope_ns is None)
            assert bool(probe.samples_ns) == bool(group.one.samples_ns)


def test_groups_of_a_file_are_made_once(session: Session) -> None:
    assert alike(session.probes) is alike(session.probes) and alike(()) == () and list(in_order(())) == []


def test_times_of_groups_stand_in_the_order_of_the_session(session: Session) -> None:
    probes = odd(list(session.probes))
    groups = [each for each in alike(probes) if each.one.ruler == "fenced"]
    fenced = [p for p in probes if p.ruler == "fenced"]
    assert list(times_of(groups)) == [ns for p in fenced for ns in p.samples_ns or ()]
    either = first_times(in_order(groups), "eval_ns", "samples_ns")
    assert either.tolist() == [ns for p in fenced for ns in p.eval_ns or p.samples_ns or ()]
    near = at_contexts(groups, lambda context: context < 40)
    assert list(in_order(near)) == [p for p in fenced if p.context < 40]


def test_whole_passes_are_those_of_one_record_after_another(session: Session) -> None:
    made = replace(session, probes=tuple(odd(list(session.probes))))
    wanted: dict[int, list[int]] = {}
    for p in made.probes:
        if p.ruler == "whole" and p.part == "draft" and not p.pipelined and p.run in (None, 1, 4):
            wanted.setdefault(p.width, []).extend(ns for ns in p.samples_ns or () if ns > 0)
    found = whole_probes(made, "draft", {1, 4})
    assert {width: list(values) for width, values in found.items()} == wanted and fmean(found[1]) == fmean(wanted[1])


@pytest.mark.parametrize("width", [1, 2])
def test_records_and_columns_give_the_same_numbers(session: Session, width: int) -> None:
    made = replace(session, probes=tuple(session.probes))
    for ask in (gap_times, ruler_table, blocks_table, ruler_sentences):
        assert ask(made, width) == ask(session, width)  # type: ignore[operator]
    assert blocks_in(alike(made.probes)) == blocks_in(alike(session.probes))
