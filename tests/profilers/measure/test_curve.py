"""The verify curve: every width once a round in an order of its own, cooled in between, refused where it cannot be."""

from __future__ import annotations

import itertools
import random

import mlx.core as mx
import pytest
from tiny_models import tiny_target

from specview.engine.cache import arrays_of
from specview.engine.decode import start
from specview.profilers.measure.curve import CurveError, verify_curve
from specview.profilers.measure.measuring import measuring_generation
from specview.profilers.measure.restoring import as_before

COMING = list(range(20, 40))


class Canary:
    """Tells when it is asked to cool down; each pause takes as long as the script says."""

    def __init__(self, pauses_s):
        self.pauses_s, self.asked = iter(pauses_s), []

    def read_ns(self):
        return 500

    def cool_down(self, base_ns, longest_s, nap):
        self.asked.append((base_ns, longest_s, nap))
        return next(self.pauses_s)


def nap(seconds):
    return True


def curve(generations, coming, canary=None, **asked):
    ticks = itertools.count(0, 1000)
    canary = canary or Canary(itertools.repeat(0.0))
    return verify_curve(
        generations, coming, clock=lambda: next(ticks), random_source=random.Random(5), canary=canary, nap=nap, **asked
    )


@pytest.fixture(scope="module")
def two_contexts():
    target = tiny_target("llama")
    return [start(target, list(range(1, length))) for length in (5, 12)]


def test_each_round_takes_every_width_at_every_context_once_in_its_own_order(two_contexts):
    passes = list(curve(two_contexts, [COMING, COMING], widths=(4, 1, 2, 2), repeats=4))
    rounds = [[(p.context, p.width) for p in passes[i : i + 6]] for i in range(0, 24, 6)]
    every = sorted(itertools.product((3, 10), (1, 2, 4)))
    assert [sorted(one) for one in rounds] == [every] * 4
    assert len({tuple(one) for one in rounds}) == 4
    assert all(p.total_ns == 2000 for p in passes)


def test_the_machine_may_cool_before_each_round_and_the_pause_is_told_once(two_contexts):
    canary, told = Canary([0.0, 1.5]), []
    passes = curve(
        two_contexts, [COMING, COMING], canary, widths=(1, 2), repeats=2, advanced=lambda *news: told.append(news)
    )
    assert len(list(passes)) == 8
    assert canary.asked == [(500.0, 10.0, nap)] * 2
    assert told == [(i, 8, 1.5 if i == 5 else 0.0) for i in range(1, 9)]


def test_the_reading_to_cool_to_may_come_from_the_start_of_the_session(two_contexts):
    canary = Canary([0.0])
    list(curve(two_contexts, [COMING, COMING], canary, widths=(1,), repeats=1, base_ns=450.0, longest_pause_s=3.0))
    assert canary.asked == [(450.0, 3.0, nap)]


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next"])
def test_caches_are_as_before_even_when_the_curve_is_left_early(model_type):
    generation = start(tiny_target(model_type), [1, 2, 3, 4])
    before = held(generation.cache)
    passes = curve([generation], [COMING], widths=(1, 3, 16), repeats=2)
    next(passes)
    next(passes)
    passes.close()
    after = held(generation.cache)
    assert all(mx.array_equal(a, b) for a, b in zip(before, after, strict=True))


def held(caches):
    """Copies of what the caches hold up to their offsets."""
    arrays = [a[..., : c.offset, :] if hasattr(c, "offset") else a for c in caches for a in arrays_of([c])]
    copies = [mx.array(a) for a in arrays]
    mx.eval(copies)
    return copies


def test_widths_beyond_the_tokens_to_come_are_refused_with_the_number_before_anything_is_timed(two_contexts):
    with pytest.raises(CurveError, match="16 positions at context 10 cannot be measured, because only 9 tokens"):
        curve(two_contexts, [COMING, COMING[:9]], widths=(1, 16))


@pytest.mark.parametrize("kind", ["gemma3_text", "gpt_oss"])
def test_a_sliding_window_that_is_full_is_timed_too_and_stays_as_it_was(kind):
    generation = measuring_generation(tiny_target(kind), [i % 90 for i in range(30)])
    before = logits(generation)
    passes = list(curve([generation], [COMING], widths=(1, 2, 16), repeats=2))
    assert [p.width for p in passes].count(16) == 2 and {p.context for p in passes} == {29}
    assert mx.array_equal(logits(generation), before)


def logits(generation):
    """What a pass over the tokens to come gives; it leaves the caches alone."""
    with as_before(generation.cache):
        found = generation.target.logits(mx.array([COMING]), generation.cache)
        mx.eval(found)
    return found


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"widths": (0, 1)}, "not 0"),
        ({"widths": ()}, "not none"),
        ({"repeats": 0}, "0 repeats"),
    ],
)
def test_what_measures_nothing_is_refused(two_contexts, asked, reason):
    with pytest.raises(CurveError, match=reason):
        curve(two_contexts, [COMING, COMING], **asked)
    with pytest.raises(CurveError, match="2 contexts and 1 lists"):
        curve(two_contexts, [COMING])
