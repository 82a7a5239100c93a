"""What a session says of the machine: the canary, drift at equal context, other load, swapping."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from specview.profilers.judge import gauges
from specview.profilers.judge.visits import visits_of


def visited(build, segments):
    """One visit a segment: (start context, ms a step)."""
    for n, (context, ms) in enumerate(segments):
        plain, drafting = build.open_run("plain", prompt=f"p{n}"), build.open_run("drafting", prompt=f"p{n}")
        for i in range(4):
            build.step(plain, i, 0, ms, context=context)
            build.round(drafting, i, 0, 25.0, 2, 1)
    return visits_of(build.session())


def test_a_steady_machine_does_not_drift(build):
    drift = gauges.drift(visited(build, [(100, 10.0)] * 8))
    assert drift.estimate == pytest.approx(1.0)
    assert drift.holds(1.0)


@pytest.mark.parametrize("change", [1.2, 0.8])
def test_drift_is_the_change_from_the_first_segment_to_the_last(build, change):
    drift = gauges.drift(visited(build, [(100, 10.0 * change ** (n / 9)) for n in range(10)]))
    assert drift.estimate == pytest.approx(change, rel=1e-6)
    assert not drift.holds(1.0)
    assert drift.n == 10


def test_a_cache_that_grows_is_no_drift(build):
    contexts = [100, 400, 700, 120, 420, 720, 110, 410, 710]
    drift = gauges.drift(visited(build, [(c, 10.0 * math.exp(0.0004 * c)) for c in contexts]))
    assert drift.estimate == pytest.approx(1.0, abs=1e-3)


def test_drift_is_seen_beside_a_cache_that_grows(build):
    contexts = [100, 400, 700, 120, 420, 720, 110, 410, 710]
    drift = gauges.drift(
        visited(build, [(c, 10.0 * math.exp(0.0004 * c) * 1.15 ** (n / 8)) for n, c in enumerate(contexts)])
    )
    assert drift.estimate == pytest.approx(1.15, rel=0.01)


@pytest.mark.parametrize("wobble", [0, 9])
def test_within_one_text_drift_and_context_cannot_be_told_apart(build, wobble):
    segments = [(100 + 32 * n + wobble * (-1) ** n, 10.0 + 0.1 * n) for n in range(20)]
    assert gauges.drift(visited(build, segments)) is None


@pytest.mark.parametrize(("spans", "known"), [(5, False), (6, True)])
def test_drift_needs_six_segments(build, spans, known):
    assert (gauges.drift(visited(build, [(100, 10.0)] * spans)) is not None) is known


def test_no_segment_no_drift():
    assert gauges.drift([]) is None


def test_the_interval_of_drift_covers_a_steady_machine_as_often_as_it_says(build):
    held = 0
    for seed in range(200):
        source = random.Random(seed)
        segments = [(100 + 300 * (n % 3), 10.0 * math.exp(source.gauss(0, 0.05))) for n in range(12)]
        held += gauges.drift(visited(type(build)(), segments)).holds(1.0)
    assert 0.90 <= held / 200 <= 0.99


@pytest.mark.parametrize("readings", [(), (100,), (100, 110, 120)])
def test_three_readings_are_too_few_for_a_canary(build, readings):
    for value in readings:
        build.canary(value)
    assert gauges.canary(build.session()) is None


def test_the_canary_is_its_later_half_over_the_first_reading(build):
    for value in (100, 100, 100, 120, 120):
        build.canary(value)
    assert gauges.canary(build.session()).estimate == pytest.approx(1.2)


def test_load_and_swapping_come_from_memory_records(build):
    assert gauges.other_busy(build.session()) is None and gauges.swapped_bytes(build.session()) is None
    build.memory()
    (memory,) = build.session().memory
    used = [replace(memory, others_cpu_fraction=f, swap_used_bytes=s) for f, s in ((0.1, 50), (0.3, 90), (0.2, 70))]
    session = replace(build.session(), memory=(memory, *used))
    assert gauges.other_busy(session) == pytest.approx(0.2)
    assert gauges.swapped_bytes(session) == 40


def test_swap_that_shrinks_is_none(build):
    build.memory()
    (memory,) = build.session().memory
    session = replace(build.session(), memory=tuple(replace(memory, swap_used_bytes=s) for s in (50, 20)))
    assert gauges.swapped_bytes(session) == 0
