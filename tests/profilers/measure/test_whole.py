"""The whole-graph ruler times a pass and leaves no trace of it."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from specview.engine.decode import decode, speculate, start
from specview.engine.drafters.lookup import PromptLookup
from specview.engine.drafters.model import DraftModel
from specview.engine.drafters.mtp import MtpDrafter, load_mtp_head
from specview.engine.drafters.none import NoDrafter
from specview.engine.probe import FreeProbe
from specview.profilers.measure.whole import Pass, drafter_pass, verify_pass

PROMPT = list(range(40, 60))


def test_a_pass_is_its_build_and_its_evaluation():
    assert Pass(width=2, context=5, build_ns=3, eval_ns=4).total_ns == 7


@pytest.mark.parametrize("width", [1, 3, 8])
def test_a_verify_pass_tells_width_context_and_times(bundled, fake_clock, width):
    generation = start(bundled, PROMPT)
    done = verify_pass(generation, PROMPT[:width], fake_clock)
    assert (done.width, done.context) == (width, len(PROMPT) - 1)
    assert (done.build_ns, done.eval_ns) == (1000, 1000)


def test_verify_passes_change_nothing_that_follows(bundled, fake_clock):
    quiet, probed = start(bundled, PROMPT), start(bundled, PROMPT)
    expected = [s.token for s in decode(quiet, 6, fake_clock)]
    tokens = []
    for n in (1, 2, 3):
        verify_pass(probed, PROMPT[: 2 * n], fake_clock)
        tokens += [s.token for s in decode(probed, 2, fake_clock)]
    assert tokens == expected


@pytest.mark.parametrize("kind", ["mtp", "model"])
def test_drafter_passes_change_no_draft(bundled, fake_clock, kind):
    def rounds(probing):
        drafter = MtpDrafter(bundled, load_mtp_head(bundled, "float32")) if kind == "mtp" else DraftModel(bundled)
        generation = start(bundled, PROMPT, drafter)
        played = []
        for _ in range(3):
            if probing:
                for width in (1, 2, 3):
                    done = drafter_pass(drafter, PROMPT[:width], generation.context, fake_clock)
                    assert (done.width, done.total_ns) == (width, 2000)
            played += [(r.drafted, r.accepted) for r in speculate(generation, drafter, 3, 1, FreeProbe(fake_clock))]
        return played

    assert rounds(probing=True) == rounds(probing=False)


@pytest.mark.parametrize("make", [NoDrafter, PromptLookup])
def test_a_drafter_without_steps_has_no_pass(fake_clock, make):
    drafter = make()
    drafter.begin(PROMPT, None)
    assert drafter_pass(drafter, PROMPT[:1], 19, fake_clock) is None


def test_a_verify_pass_leaves_the_cache_where_it_was(bundled, fake_clock):
    generation = start(bundled, PROMPT)
    before = bundled.logits(mx.array([[7]]), generation.cache)
    fresh = start(bundled, PROMPT)
    verify_pass(fresh, PROMPT[:5], fake_clock)
    after = bundled.logits(mx.array([[7]]), fresh.cache)
    np.testing.assert_allclose(np.array(before), np.array(after), atol=1e-4)
