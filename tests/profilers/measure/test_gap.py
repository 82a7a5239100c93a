"""Passes in three stretches, pipelined and queued, are timed as they should be and leave no trace."""

from __future__ import annotations

import itertools
import random

import mlx.core as mx
import pytest

from specview.engine.cache import arrays_of
from specview.engine.decode import decode, start
from specview.profilers.measure.fence import FenceCost
from specview.profilers.measure.gap import (
    IN_A_ROW,
    STRETCH,
    GapPass,
    boundary_cost,
    gap_pass,
    gap_turns,
    pipelined_steps,
    queued_pass,
)
from specview.profilers.record.gap_visits import boundary_record, fence_record, queued_pass_record, turn_records

PROMPT = list(range(40, 60))


@pytest.fixture
def generation(bundled):
    return start(bundled, PROMPT)


@pytest.fixture
def unchanged(generation):
    """Fails the test if the generation is not as before, or goes on otherwise than a fresh one."""
    before, offsets = list(generation.tokens), offsets_of(generation)
    yield
    assert generation.tokens == before and offsets_of(generation) == offsets
    clock = itertools.count().__next__
    fresh = start(generation.target, PROMPT)
    assert [s.token for s in decode(generation, 5, clock)] == [s.token for s in decode(fresh, 5, clock)]


def offsets_of(generation):
    return [getattr(cache, "offset", None) for cache in generation.cache]


def test_a_pass_is_its_three_stretches():
    done = GapPass(width=2, context=9, build_ns=3, submit_ns=4, wait_ns=5)
    assert (done.eval_ns, done.total_ns) == (9, 12)


@pytest.mark.parametrize("width", [1, 3])
def test_a_pass_is_timed_in_three_stretches_and_taken_back(generation, unchanged, fake_clock, width):
    done = gap_pass(generation, PROMPT[:width], fake_clock)
    assert done == GapPass(width=width, context=len(PROMPT) - 1, build_ns=1000, submit_ns=1000, wait_ns=1000)


def test_pipelined_steps_are_counted_without_the_first_and_the_last(generation, unchanged, fake_clock):
    assert pipelined_steps(generation, 4, fake_clock) == (1000,) * 4


def test_a_stretch_that_breaks_off_is_taken_back_too(generation, fake_clock):
    offsets = offsets_of(generation)
    state = [mx.array(a) for c in generation.cache if not hasattr(c, "offset") for a in arrays_of([c])]

    def stopping():
        if next(ticks) == 4:
            raise KeyboardInterrupt
        return 0

    ticks = itertools.count()
    with pytest.raises(KeyboardInterrupt):
        pipelined_steps(generation, 4, stopping)
    assert offsets_of(generation) == offsets
    after = [a for c in generation.cache if not hasattr(c, "offset") for a in arrays_of([c])]
    assert all(mx.array_equal(a, b) for a, b in zip(state, after, strict=True))


def test_turns_hold_passes_of_every_width_and_pipelined_steps_and_become_records(generation, unchanged, fake_clock):
    turns = gap_turns(generation, PROMPT, (1, 2), 2, fake_clock, random.Random(0))
    assert len(turns.of(1)) == len(turns.of(2)) == 2 * IN_A_ROW
    assert turns.pipelined_ns == (1000,) * (2 * STRETCH)
    one, two, piped = turn_records(turns, lambda: 7, run=3)
    assert (one.ruler, one.part, one.width, one.pipelined, one.run) == ("whole", "verify", 1, False, 3)
    assert two.width == 2 and two.samples_ns == (3000,) * 6 and two.eval_ns == (2000,) * 6
    assert two.build_ns == two.submit_ns == (1000,) * 6
    assert (piped.part, piped.pipelined, piped.samples_ns) == ("decode", True, (1000,) * 8)


def test_a_whole_pass_among_others_costs_what_it_adds(generation, unchanged, monkeypatch):
    now, passes = [0], [0]
    logits = type(generation.target).logits

    def counted(self, tokens, cache):
        passes[0] += 1
        now[0] += 77  # graph build, which is not in the slope
        return logits(self, tokens, cache)

    def wait(graph):
        mx.eval(graph)
        now[0] += 50_000 + 1_000_000 * passes[0]
        passes[0] = 0

    monkeypatch.setattr(type(generation.target), "logits", counted)
    found = queued_pass(generation, PROMPT[:2], lambda: now[0], 1, random.Random(0), wait)
    assert (found.width, found.context) == (2, len(PROMPT) - 1)
    assert found.slope.ns == pytest.approx(1_000_000)
    record = queued_pass_record(found, 5)
    assert (record.ruler, record.block, record.category, record.width) == ("queued", None, None, 2)
    assert record.slope_low_ns <= record.slope_ns <= record.slope_high_ns
    monkeypatch.undo()


def test_a_boundary_costs_what_one_more_addition_adds():
    now = [0]

    def wait(graph):
        now[0] += 9_000 + 40 * (round(graph.item()) - 1)

    found = boundary_cost(lambda: now[0], random.Random(0), wait)
    assert found.ns == pytest.approx(40)
    record = boundary_record(found, 5)
    assert (record.what, record.unit, record.value) == ("boundary", "ns", found.ns)
    assert fence_record(FenceCost(5.0, 4.0, 6.0), 1).what == "fence"
