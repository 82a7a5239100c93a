"""The whole-graph ruler times a pass and leaves no trace of it."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import QuantizedKVCache

from specview.engine.accept import REJECTION, RejectionSampling
from specview.engine.cache import arrays_of, new_cache
from specview.engine.decode import Generation, decode, speculate, start
from specview.engine.drafters.lookup import PromptLookup
from specview.engine.drafters.model import DraftModel
from specview.engine.drafters.mtp import MtpDrafter, load_mtp_head
from specview.engine.drafters.none import NoDrafter
from specview.engine.kv_quantisation import KvQuantisation
from specview.engine.probe import FreeProbe
from specview.engine.prompt_cache import read_prompt
from specview.engine.sampling import Sampling
from specview.engine.verify_policies import single_passes
from specview.profilers.measure.whole import Manner, Pass, drafter_pass, round_pass, verify_pass

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


class Asked:
    """A rule that notes what it is asked with, and asks rejection sampling."""

    name = REJECTION

    def __init__(self):
        self.rule = RejectionSampling(Sampling(temperature=0.7, top_p=0.9, seed=2))
        self.sampling = self.rule.sampling
        self.asked = []

    def ask(self, logits, draft, first):
        answer = self.rule.ask(logits, draft, first)
        q = draft.probabilities
        self.asked.append((logits.shape[1], draft.tokens.shape[0], None if q is None else q.shape, first, answer.shape))
        return answer

    def read(self, drafted, answer):
        return self.rule.read(drafted, answer)


class Counted:
    """A policy that notes the widths it is asked for, and runs one pass a position."""

    def __init__(self):
        self.widths = []

    def __call__(self, target, positions, caches, keep_hidden):
        self.widths.append((positions.shape[1], keep_hidden))
        return single_passes(target, positions, caches, keep_hidden)


@pytest.mark.parametrize("drawn", [True, False])
def test_a_verify_pass_is_made_by_the_policy_and_read_by_the_rule_of_its_rounds(bundled, fake_clock, drawn):
    generation, policy, rule = start(bundled, PROMPT), Counted(), Asked()
    vocabulary = bundled.logits(mx.array([[1]]), new_cache(bundled)).shape[-1]
    verify_pass(generation, PROMPT[:3], fake_clock, Manner(policy, rule, keep_hidden=True, drawn=drawn))
    verify_pass(generation, PROMPT[:1], fake_clock, Manner(policy, rule, keep_hidden=False, drawn=drawn))
    assert policy.widths == [(3, True), (1, False)]
    shape = (2, vocabulary) if drawn else None
    assert rule.asked == [(3, 2, shape, len(PROMPT), (2,)), (1, 0, None, len(PROMPT), (2,))]


def test_a_draft_and_its_verify_pass_are_timed_in_the_manner_of_the_rounds(bundled, fake_clock):
    drafter, policy, rule = DraftModel(bundled), Counted(), Asked()
    generation = start(bundled, PROMPT, drafter, sampling=rule.sampling)
    done = round_pass(generation, drafter, 2, fake_clock, Manner(policy, rule, drawn=True))
    assert (done.width, policy.widths) == (3, [(3, False)])
    assert rule.asked[0][:2] == (3, 2) and rule.asked[0][2][0] == 2


@pytest.mark.parametrize(("accept_all", "widths"), [(False, [1, 1, 1]), (True, [1, 2, 2])])
def test_rounds_timed_in_a_row_catch_up_as_their_forerunner_accepted(bundled, fake_clock, accept_all, widths):
    drafter = DraftModel(bundled)
    generation = start(bundled, PROMPT, drafter)
    context, seen = generation.context, []
    draft = drafter.draft
    drafter.draft = lambda tokens, k: seen.append(draft(tokens, k)) or seen[-1]
    for _ in range(3):
        assert round_pass(generation, drafter, 2, fake_clock, accept_all=accept_all).width == 3
    assert [each.catch_up_width for each in seen] == widths
    assert generation.context == context and generation.cache[-1].offset == context


def test_a_verify_pass_over_quantised_keys_leaves_them_as_they_were(bundled, fake_clock):
    caches = new_cache(bundled)
    kv = KvQuantisation(bits=8)
    read_prompt(bundled, PROMPT[:-1], caches, kv=kv)
    generation = Generation(bundled, list(PROMPT), caches, kv)
    mx.eval(arrays_of(caches))
    expected = [s.token for s in decode(generation, 4, lambda: 0)]
    again = new_cache(bundled)
    read_prompt(bundled, PROMPT[:-1], again, kv=kv)
    probed = Generation(bundled, list(PROMPT), again, kv)
    verify_pass(probed, PROMPT[:5], fake_clock, Manner(single_passes))
    assert any(type(c) is QuantizedKVCache for c in probed.cache)
    assert [s.token for s in decode(probed, 4, lambda: 0)] == expected
