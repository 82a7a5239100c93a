"""Verify policies in a session: visits as an experiment, and a note for each that cannot run here."""

from __future__ import annotations

import itertools
import random

import mlx.nn as nn
import pytest
from survey_records import footer, header
from tiny_models import tiny_target

from specview.engine.decode import start
from specview.profilers.judge.experiments import experiment_rows
from specview.profilers.measure.policies import AGAIN, CONTROL, EXPERIMENT
from specview.profilers.record import records as r
from specview.profilers.record.policy_visits import policy_records
from specview.profilers.record.session import session_of

COMING = [9, 21, 4, 77]


def recorded(target):
    clock = itertools.count(0, 1000).__next__
    generation = start(target, [1, 2, 3, 4, 5, 6])
    heard: list[tuple[int, int]] = []
    found = list(
        policy_records(
            generation,
            COMING,
            (1, 2),
            2,
            clock,
            random.Random(3),
            None,
            lambda done, total: heard.append((done, total)),
        )
    )
    assert heard[-1][0] == heard[-1][1]
    return found


def test_visits_make_rows_of_the_experiment_tables_with_two_controls():
    target = tiny_target("llama")
    nn.quantize(target.model, group_size=32, bits=8)
    visits = [x for x in recorded(target) if isinstance(x, r.Experiment)]
    assert {v.name for v in visits} == {EXPERIMENT} and {v.arm for v in visits if v.control} == {CONTROL, AGAIN}
    assert [v.t_ns for v in visits] == sorted(v.t_ns for v in visits)
    assert all(v.samples_ns == (1000,) and v.detail and "same tokens" in v.detail for v in visits)
    rows = experiment_rows(session_of([header(), *visits, footer()]))
    assert {row.arm for row in rows if not row.same_setting} >= {"single passes", "dense", "compiled"}
    assert {row.arm for row in rows if row.judged == "control"} == {AGAIN}


@pytest.mark.parametrize(("kind", "refused"), [("llama", "dense"), ("qwen3_next", "compiled")])
def test_a_policy_that_cannot_run_is_a_note_with_the_reason(kind, refused):
    found = recorded(tiny_target(kind))
    notes = [x for x in found if isinstance(x, r.Note)]
    assert notes == found[: len(notes)] and all(note.tags == ("policies",) for note in notes)
    (text,) = [note.text for note in notes if note.text.startswith(f"Policy {refused!r} was not tried: ")]
    assert text.endswith(".")
    assert refused not in {x.arm for x in found if isinstance(x, r.Experiment)}
