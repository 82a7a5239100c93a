"""Experiments become ratios to the control, and only what exceeds two processes of one setting is real."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from session_builder import CASES

from specview.profilers.judge.experiments import experiment_rows
from specview.profilers.record.records import Experiment
from specview.profilers.record.session import session_of

EMPTY = session_of(CASES["interrupted"])
CONTROL, AGAIN = "as it is", "as it is, another process"


def visits(arm, factor, control=False, count=8, width=1, noise=0.01, seed=0, peak=1000, cache=10):
    """Visits of one process: 10 ms times a factor, drifting like every other one."""
    source = random.Random(f"{arm}{seed}")
    return [
        Experiment(
            t_ns=i,
            name="compile",
            arm=arm,
            control=control,
            width=width,
            context=128,
            samples_ns=tuple(round(1e7 * (1 + i) * factor * source.gauss(1.0, noise)) for _ in range(3)),
            peak_bytes=peak,
            cache_bytes=cache,
            detail="a BLAS",
        )
        for i in range(count)
    ]


def rows_of(*each):
    return {row.arm: row for row in experiment_rows(replace(EMPTY, experiments=tuple(v for vs in each for v in vs)))}


def test_drift_that_all_share_leaves_the_ratio_alone_and_a_real_effect_is_real():
    found = rows_of(
        visits(AGAIN, 1.0, control=True, seed=1), visits("off", 1.3, peak=1500, cache=4), visits(CONTROL, 1.0, True)
    )
    row = found["off"]
    assert row.ratio.low < 1.3 < row.ratio.high and row.judged == "real" and row.pairs == 8
    assert (row.peak_bytes, row.peak_difference_bytes, row.cache_difference_bytes) == (1500, 500, -6)
    assert "real: slower" in row.sentence
    assert found[AGAIN].judged == "control" and found[AGAIN].same_setting
    assert CONTROL not in found and "one setting differ" in found[AGAIN].sentence


def test_what_two_processes_of_one_setting_differ_by_is_noise():
    found = rows_of(visits(CONTROL, 1.0, True), visits(AGAIN, 1.08, True), visits("off", 1.08))
    assert not found["off"].ratio.holds(1.0)
    assert found["off"].judged == "noise" and found["off"].sentence.endswith("noise.")


def test_an_interval_that_holds_one_is_noise_and_few_visits_tell_nothing():
    assert rows_of(visits(CONTROL, 1.0, True), visits("off", 1.0, noise=0.05))["off"].judged == "noise"
    few = rows_of(visits(CONTROL, 1.0, True, count=2), visits("off", 2.0, count=2))["off"]
    assert few.judged == "few" and "too few" in few.sentence
    one = rows_of(visits(CONTROL, 1.0, True, count=1), visits("off", 2.0, count=1))["off"]
    assert one.ratio is None and one.judged == "few" and "too few" in one.sentence


def test_widths_stand_apart_and_nothing_is_compared_without_a_control():
    rows = experiment_rows(
        replace(
            EMPTY,
            experiments=tuple(
                v for n in (1, 4) for v in (*visits(CONTROL, 1.0, True, width=n), *visits("off", n, width=n))
            ),
        )
    )
    assert [row.width for row in rows] == [1, 4]
    assert rows[1].arm_ms / rows[1].control_ms == pytest.approx(4.0, rel=0.02)
    assert rows_of(visits("off", 1.0)) == {}
    assert experiment_rows(EMPTY) == ()


def test_a_visit_without_time_is_passed_over():
    broken = replace(visits(CONTROL, 1.0, True)[0], samples_ns=(0,))
    assert rows_of([broken]) == {}
