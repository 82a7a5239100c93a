"""Comparing verify policies: turns forth and back on the same tokens, two controls, caches as before."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import mlx.core as mx
import mlx.nn as nn
import pytest
from tiny_models import tiny_target

from specview.engine.cache import arrays_of
from specview.engine.decode import start
from specview.engine.verify_policies import one_pass
from specview.profilers.judge.experiments import experiment_rows
from specview.profilers.measure.curve import CurveError
from specview.profilers.measure.policies import (
    AGAIN,
    CONTROL,
    EXPERIMENT,
    PolicyTimingError,
    compare_policies,
)
from specview.profilers.record import records

COMING = [9, 21, 4, 77, 2]


def compared(generation, widths=(1, 3), repeats=2, **more):
    clock = itertools.count(0, 1000).__next__
    return compare_policies(generation, COMING, widths, repeats, clock, random.Random(3), **more)


@pytest.fixture(scope="module")
def generation():
    target = tiny_target("llama")
    nn.quantize(target.model, group_size=32, bits=8)
    return start(target, [1, 2, 3, 4, 5, 6])


def test_every_policy_takes_turns_forth_and_back_with_two_controls(generation):
    heard = []
    visits = list(compared(generation, progress=lambda done, of: heard.append((done, of))))
    names = {CONTROL, AGAIN, "single passes", "dense", "dense always", "dense on the fly", "compiled"}
    assert Counter((v.policy, v.width) for v in visits) == {(n, w): 4 for n in names for w in (1, 3)}
    order = [v.policy for v in visits if v.width == 1]
    assert order[:7] == order[7:14][::-1] and order[14:21] == order[21:][::-1]
    assert {v.policy for v in visits if v.control} == {CONTROL, AGAIN}
    assert heard[-1] == (56, 56)
    assert all(v.samples_ns == (1000,) and v.peak_bytes > 0 and v.context == 5 for v in visits)
    assert [v.t_ns for v in visits] == sorted(v.t_ns for v in visits)


def test_every_visit_says_how_far_its_logits_are_from_the_controls(generation):
    def shifted(target, positions, caches, keep_hidden):
        hidden, logits = one_pass(target, positions, caches, keep_hidden)
        return hidden, logits + 0.5

    visits = list(compared(generation, repeats=1, policies={"shifted": shifted}, keep_hidden=True))
    by_policy = {v.policy: v for v in visits}
    assert by_policy["shifted"].greatest_difference == pytest.approx(0.5, abs=1e-5)
    assert by_policy[AGAIN].greatest_difference == 0
    assert all(v.same_choices for v in visits)
    assert "the same tokens, logits within 0.5" in by_policy["shifted"].detail


def test_what_dense_copies_hold_is_told(generation):
    dense = next(v for v in compared(generation, repeats=1) if v.policy == "dense")
    assert dense.kept_bytes > 0 and "bytes kept" in dense.detail


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next"])
def test_caches_are_as_before_even_when_left_early(model_type):
    generation = start(tiny_target(model_type), [1, 2, 3, 4])
    before = [mx.array(a) for a in arrays_of(generation.cache)]
    offsets = [getattr(c, "offset", None) for c in generation.cache]
    kinds = [type(c) for c in generation.cache]
    visits = compared(generation, widths=(4,))
    for _ in range(5):
        next(visits)
    visits.close()
    assert [getattr(c, "offset", None) for c in generation.cache] == offsets
    assert [type(c) for c in generation.cache] == kinds
    for cache, a, b in zip(
        [c for c in generation.cache for _ in arrays_of([c])], before, arrays_of(generation.cache), strict=True
    ):
        n = getattr(cache, "offset", None)
        assert mx.array_equal(a if n is None else a[..., :n, :], b if n is None else b[..., :n, :])


def test_visits_become_rows_of_an_experiment(generation, build):
    for v in compared(generation, widths=(3,), repeats=2):
        build.made.append(
            records.Experiment(
                t_ns=v.t_ns, name=EXPERIMENT, arm=v.policy, control=v.control, width=v.width, context=v.context,
                samples_ns=v.samples_ns, peak_bytes=v.peak_bytes, cache_bytes=v.cache_bytes, detail=v.detail,
            )
        )  # fmt: skip
    rows = {row.arm: row for row in experiment_rows(build.session())}
    assert set(rows) == {AGAIN, "single passes", "dense", "dense always", "dense on the fly", "compiled"}
    assert rows[AGAIN].same_setting and rows["dense"].pairs == 4


def test_what_measures_nothing_is_refused_before_anything_is_timed(generation):
    with pytest.raises(CurveError, match="only 5 tokens are at hand"):
        compared(generation, widths=(6,))
    with pytest.raises(PolicyTimingError, match="0 repeats"):
        compared(generation, repeats=0)
