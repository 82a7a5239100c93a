"""Rulers: slopes of known costs, timings that add up, and caches that are as they were."""

from __future__ import annotations

import itertools
import random

import mlx.core as mx
import pytest

from specview.engine.cache import arrays_of
from specview.engine.decode import start
from specview.profilers.measure.fence import fence_cost
from specview.profilers.measure.measuring import measuring_generation
from specview.profilers.measure.queued import Copy, chain, linked, links
from specview.profilers.measure.rulers import BlockProbe
from specview.profilers.measure.slope import Design, design, fit, timed_slope
from specview.profilers.measure.timings import BlockTiming, category_totals
from specview.profilers.measure.touched import fits, last_level_cache_bytes, touched_bytes

PROMPT = "In the beginning of the file there is a header. In the"


class Machine:
    """A clock and a wait that costs what a script says: a fence, and so much for each copy in the graph."""

    def __init__(self, fence_ns: int, copy_ns: int, link_ns: int) -> None:
        self.now = 0
        self.fence_ns, self.copy_ns, self.link_ns = fence_ns, copy_ns, link_ns

    def clock(self) -> int:
        return self.now

    def chain(self, r: int) -> int:
        self.now += 77 * r
        return (self.copy_ns + self.link_ns) * r

    def link(self, r: int) -> int:
        return self.link_ns * r

    def wait(self, cost: int) -> None:
        self.now += self.fence_ns + cost


def test_a_block_of_known_cost_gives_that_slope_without_fence_link_and_build():
    machine = Machine(fence_ns=50_000, copy_ns=1_300, link_ns=400)
    plan = Design((1, 2, 4, 8), 3, 5)
    timed = timed_slope(machine.chain, machine.link, plan, machine.clock, machine.wait, random.Random(1))
    assert timed.slope.ns == pytest.approx(1_300)
    assert timed.slope.low_ns == pytest.approx(1_300) and timed.slope.high_ns == pytest.approx(1_300)
    assert timed.link_ns == pytest.approx(400)
    assert sorted(timed.copies) == sorted((1, 2, 4, 8) * 3)
    assert set(timed.build_ns) == {77}


def test_drift_between_repeats_leaves_the_slope_alone_and_noise_widens_its_interval():
    steady = [[(r, 100.0 * r + 1e6 * repeat) for r in (1, 2, 4)] for repeat in range(3)]
    assert fit(steady).ns == pytest.approx(100.0)
    noisy = [[(1, 110.0), (2, 190.0), (4, 405.0)], [(1, 90.0), (2, 215.0), (4, 395.0)]]
    found = fit(noisy)
    assert found.low_ns < 100.0 < found.high_ns


def test_the_interval_holds_the_true_slope_about_as_often_as_it_says():
    source = random.Random(7)
    held = 0
    for _ in range(400):
        repeats = [[(r, 50.0 * r + source.gauss(0, 20)) for r in (1, 2, 4)] for _ in range(3)]
        found = fit(repeats)
        held += found.low_ns <= 50.0 <= found.high_ns
    assert 0.92 <= held / 400 <= 0.98


def test_short_blocks_are_copied_more_and_long_ones_less_than_the_budget_allows():
    assert design(10_000_000, 5_000, 100_000_000).counts == (1, 2)
    assert design(10_000_000, 5_000, 10_000_000) == Design((1, 2), 3, 64)
    wide = design(10_000_000, 5_000, 1_000_000_000)
    assert wide.counts == (1, 2, 4, 8) and wide.repeats == 6
    assert min(design(5_000, 5_000, 1_000_000_000).counts) == 64


def test_copies_are_chained_take_their_own_inputs_in_turn_and_are_undone():
    gate, ran, undone = mx.ones((1, 3), dtype=mx.bool_), [], []
    inputs = (mx.array([[1.0, 2.0, 3.0]]), mx.array([[4.0, 5.0, 6.0]]))

    def run(x):
        ran.append(x.tolist())
        return x * float("nan")

    copy = Copy(run, lambda: undone.append(1), inputs, gate)
    mx.eval(chain([copy], 3))
    assert ran == [inputs[0].tolist(), inputs[1].tolist(), inputs[0].tolist()]
    assert len(undone) == 3
    assert links([copy], 3).tolist() == inputs[0].tolist()


def state_of(caches):
    """Offsets, and copies of what the caches hold up to them."""
    arrays = [a[..., : c.offset, :] if hasattr(c, "offset") else a for c in caches for a in arrays_of([c])]
    copies = [mx.array(a) for a in arrays]
    mx.eval(copies)
    return [getattr(c, "offset", None) for c in caches], copies


@pytest.fixture(scope="module")
def visited(bundled):
    """Visits of one queued timing each until all are made, one of them closed early: probe, timings, caches' states.

    A clock of a millisecond a call makes every graph as short as it can be.
    """
    ticks = itertools.count(0, 1_000_000)
    generation = start(bundled, bundled.tokenizer.encode(PROMPT))
    probe = BlockProbe(bundled, random.Random(0), cache_bytes=1)
    states, visits = [state_of(generation.cache)], []
    visit = probe.measure(generation, [5, 6], lambda: next(ticks), budget_ns=1)
    visits.append([next(visit)])
    visit.close()
    states.append(state_of(generation.cache))
    while probe.incomplete(2):
        visits.append(list(probe.measure(generation, [5, 6], lambda: next(ticks), budget_ns=1)))
    states.append(state_of(generation.cache))
    return probe, visits, states


def test_a_visit_times_every_block_by_fences_and_at_least_one_place_by_queue(visited):
    probe, visits, _ = visited
    for visit in visits[1:]:
        fenced = [t for t in visit if t.ruler == "fenced"]
        assert [t.block for t in fenced] == [b.name for b in probe.blocks]
        assert all(t.samples_ns == (t.build_ns[0] + t.eval_ns[0],) and t.width == 2 for t in fenced)
        assert len(visit) - len(fenced) == 1


def test_visits_go_on_where_the_last_one_stopped_until_every_category_has_its_number(visited):
    probe, visits, _ = visited
    queued = [t for visit in visits for t in visit if t.ruler == "queued"]
    assert len(queued) == len({(t.block, t.arrangement) for t in queued})
    blocks_of = {"cycled": 0, "hot": 0, None: 0}
    for t in queued:
        blocks_of[t.arrangement] += t.layers
    assert blocks_of["cycled"] == blocks_of["hot"] == sum(b.layer is not None for b in probe.blocks)
    assert blocks_of[None] == 4  # embedding, last norm, head, sampling; outer containers have no op of their own
    assert {t.category for t in queued} == {b.category for b in probe.blocks} - {"misc"}
    assert not probe.incomplete(2) and probe.incomplete(1)


def test_the_cache_is_as_before_after_visits_and_after_one_that_was_closed_early(visited):
    _, _, ((offsets, arrays), *later) = visited
    for offsets_then, arrays_then in later:
        assert offsets_then == offsets
        assert all(mx.array_equal(a, b) for a, b in zip(arrays, arrays_then, strict=True))


def test_a_long_cycle_is_thinned_evenly_to_what_the_budget_allows_but_never_into_the_cache(bundled):
    probe = BlockProbe(bundled, cache_bytes=1)
    layers = [b for b in probe.blocks if b.detail == "routed experts"]
    assert probe._affordable(layers, 1, 0.5) == [0, 2, 4, 6]
    assert probe._affordable(layers, 1, 0.01) == [0, 4]
    assert probe._affordable(layers, 1, 3.0) == list(range(8))
    roomy = BlockProbe(bundled, cache_bytes=touched_bytes(layers[0], 1) * 5 // 4)
    assert len(roomy._affordable(layers, 1, 0.01)) == 3


def timing(block, category, **fields):
    return BlockTiming(block=block, category=category, layer=None, width=1, context=9, **fields)


def test_totals_take_means_by_block_and_multiply_slopes_by_layers():
    timings = [
        timing("a", "MLP", ruler="fenced", samples_ns=(10,)),
        timing("a", "MLP", ruler="fenced", samples_ns=(20,)),
        timing("b", "MLP", ruler="fenced", samples_ns=(5,)),
        timing("*", "MLP", ruler="queued", slope_ns=4.0, layers=30, arrangement="cycled"),
        timing("*", "MLP", ruler="queued", slope_ns=3.0, layers=30, arrangement="hot"),
        timing("head", "output head", ruler="queued", slope_ns=7.0),
    ]
    assert category_totals(timings, 1, "fenced") == {"MLP": 20.0}
    assert category_totals(timings, 1, "queued") == {"MLP": 120.0, "output head": 7.0}
    assert category_totals(timings, 1, "queued", "hot") == {"MLP": 90.0, "output head": 7.0}
    assert category_totals(timings, 2, "queued") == {}


def test_weights_count_as_touched_by_row_and_by_expert(bundled):
    blocks = {b.name: b for b in BlockProbe(bundled).blocks}
    experts = blocks["model.layers.0.mlp.switch_mlp"]
    assert (
        touched_bytes(experts, 1) < touched_bytes(experts, 2) < touched_bytes(experts, 4) == touched_bytes(experts, 8)
    )
    assert touched_bytes(blocks["model.embed_tokens"], 2) == 2 * 256 * 4
    assert touched_bytes(blocks["model.embed_tokens as_linear"], 2) == 4096 * 256 * 4
    assert fits([experts], 1, 1) is False and fits([experts], 1, 2**40) is True and fits([experts], 1, None) is None


def test_the_last_level_cache_is_the_largest_that_linux_lists():
    sizes = {"index0": "32K", "index2": "1024K", "index3": "32M\n"}
    read = lambda path: sizes.get(path.split("/")[-2])  # noqa: E731
    assert last_level_cache_bytes("linux", read) == 32 * 1024**2
    assert last_level_cache_bytes("linux", lambda path: None) is None
    assert last_level_cache_bytes("darwin", run=lambda command: "4194304\n") == 4 * 1024**2


def test_the_cost_of_a_fence_is_a_median_with_its_interval():
    ticks = itertools.accumulate(itertools.chain.from_iterable((1_000, n % 7) for n in itertools.count()))
    found = fence_cost(lambda: next(ticks), repeats=35)
    assert found.low_ns <= found.median_ns <= found.high_ns
    assert found.low_ns >= 0 and found.high_ns <= 6


def test_a_spaced_link_gives_the_input_all_the_same_and_each_input_its_own_run():
    x, before = mx.array([[1.0, 2.0]]), mx.array([[float("nan"), 1.0]])
    runs = (lambda x: x + 1, lambda x: x + 10)
    copy = Copy(runs[0], lambda: None, (x, x), mx.ones((1, 2), dtype=mx.bool_), runs, spaced=True)
    assert linked(copy, x, before).tolist() == x.tolist()
    assert chain([copy], 1).tolist() == [[2.0, 3.0]]
    assert chain([copy], 2).tolist() == [[11.0, 12.0]]


def test_a_survey_times_every_place_by_all_three_rulers_at_once(bundled):
    ticks = itertools.count(0, 1_000_000)
    generation = measuring_generation(bundled, bundled.tokenizer.encode(PROMPT))
    probe = BlockProbe(bundled, random.Random(0), cache_bytes=1)
    assert probe.incomplete(1)
    timings = list(probe.measure_all(generation, [5], lambda: next(ticks), budget_ns_per_place=1))
    assert not probe.incomplete(1) and probe.incomplete(2)
    totals = [category_totals(timings, 1, *ruler) for ruler in (("fenced",), ("queued",), ("queued", "hot"))]
    assert totals[1].keys() == totals[2].keys() == totals[0].keys() - {"misc"}
    details = {t.detail for t in timings if t.category == "MoE"}
    assert details == {"router", "routed experts", "shared expert"}
