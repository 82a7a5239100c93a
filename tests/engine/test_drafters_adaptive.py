"""Adaptive length: the choice by hand-made costs, the estimates behind it, and the wrapper around a drafter."""

from __future__ import annotations

import itertools

import mlx.core as mx
import pytest
from drafted_text import PROMPT, TINY, plain_text, rounds_with, text_of
from tiny_models import tiny_target

from specview.engine.drafters.adaptive import (
    AdaptiveDrafter,
    DraftingCosts,
    Estimates,
    adaptive,
    best_by_scan,
    conditional_to_reached,
    draft_ns,
    round_ns,
    tokens_per_ns,
)
from specview.engine.drafters.fixed import FixedAcceptance
from specview.engine.drafters.layer_skip import LayerSkip
from specview.engine.drafters.lookup import PromptLookup
from specview.engine.drafters.none import NoDrafter
from specview.engine.drafters.protocol import Draft
from specview.engine.limits import DraftLengthError
from specview.engine.sampling import Sampling

FLAT = DraftingCosts(verify_ns_by_width=dict.fromkeys(range(1, 10), 100.0), step_ns_by_width={1: 10.0, 2: 12.0})
PER_POSITION = DraftingCosts(verify_ns_by_width={n: 100.0 * n for n in range(1, 10)}, step_ns_by_width={1: 10.0})


def reached(alpha, k=8):
    return conditional_to_reached((alpha,) * k)


# ------------------------------------------------------------------ the choice


def test_flat_verification_is_worth_long_drafts_and_one_by_position_none():
    assert best_by_scan(FLAT, reached(0.9)) == 8
    assert best_by_scan(PER_POSITION, reached(0.9)) == 0
    assert best_by_scan(FLAT, reached(0.01)) == 0


def test_the_scan_takes_the_most_tokens_per_time():
    best = best_by_scan(FLAT, reached(0.6))
    rates = [tokens_per_ns(FLAT, reached(0.6)[:k]) for k in range(9)]
    assert 0 < best < 8
    assert rates[best] == max(rates)


def best_by_margin(costs, reached):
    """The marginal rule: the first measured k after which the next one does not pay, ΔE ÷ E ≤ ΔT ÷ T."""
    known = costs.lengths(len(reached))
    rates = [tokens_per_ns(costs, reached[:k]) for k in known]
    return next((k for k, (now, then) in zip(known, itertools.pairwise(rates), strict=False) if then <= now), known[-1])


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0])
def test_the_marginal_rule_agrees_with_the_scan_where_costs_are_even(alpha):
    even = DraftingCosts(
        verify_ns_by_width={n: 80.0 + 20.0 * n for n in range(1, 10)}, step_ns_by_width={1: 10.0}, rest_ns=5.0
    )
    assert best_by_margin(even, reached(alpha)) == best_by_scan(even, reached(alpha))


def test_behind_a_cliff_the_scan_goes_on_where_the_marginal_rule_stops():
    cliff = {1: 100.0, 2: 101.0, 3: 180.0, 4: 181.0, 5: 182.0, 6: 183.0, 7: 184.0, 8: 185.0, 9: 400.0}
    costs = DraftingCosts(verify_ns_by_width=cliff, step_ns_by_width={1: 1.0})
    assert best_by_margin(costs, reached(0.95)) == 1
    assert best_by_scan(costs, reached(0.95)) == 7


def test_a_width_that_was_not_measured_is_never_chosen():
    costs = DraftingCosts(verify_ns_by_width={1: 100.0, 3: 100.0, 9: 100.0}, step_ns_by_width={1: 1.0})
    assert costs.lengths(8) == (0, 2, 8)
    assert costs.lengths(7) == (0, 2)
    assert best_by_scan(costs, reached(0.9, 7)) == 2
    assert best_by_scan(DraftingCosts(), reached(0.9)) is None


def test_off_costs_a_round_of_one_position_unless_something_cheaper_is_there():
    costs = DraftingCosts(verify_ns_by_width={1: 100.0, 2: 110.0}, step_ns_by_width={1: 10.0}, rest_ns=5.0)
    assert round_ns(costs, ()) == 105.0
    assert best_by_scan(costs, reached(0.3, 1)) == 1
    cheaper = DraftingCosts(
        verify_ns_by_width=costs.verify_ns_by_width, step_ns_by_width={1: 10.0}, rest_ns=5.0, off_ns=80.0
    )
    assert best_by_scan(cheaper, reached(0.3, 1)) == 0


def test_catch_up_is_paid_after_full_acceptance_by_a_draft_model_and_always_by_an_mtp_head():
    costs = DraftingCosts(step_ns_by_width={1: 10.0, 2: 14.0, 3: 20.0})
    assert draft_ns(costs, (0.5, 0.25), False) == pytest.approx(2 * 10 + 0.25 * 4)
    assert draft_ns(costs, (0.5, 0.25), True) == pytest.approx(0.5 * 10 + 0.25 * 14 + 0.25 * 20 + 10)
    assert draft_ns(costs, (), True) == 0.0
    several = DraftingCosts(step_ns_by_width={1: 10.0, 2: 14.0, 3: 20.0, 4: 30.0})
    two_heads = 0.5 * (10 + 14) + 0.25 * (14 + 20) + 0.25 * (20 + 30)
    assert draft_ns(several, (0.5, 0.25), True, 2) == pytest.approx(two_heads)
    assert draft_ns(several, (0.5, 0.25), True, 3) == pytest.approx(two_heads)


def test_a_drafter_without_steps_costs_its_search():
    assert draft_ns(DraftingCosts(search_ns=7.0), (0.5, 0.5, 0.5), False) == 7.0


def test_of_two_alike_the_shorter_draft_is_taken():
    free = DraftingCosts(verify_ns_by_width={1: 100.0, 2: 100.0, 3: 100.0}, search_ns=0.0)
    assert best_by_scan(free, (0.5, 0.0)) == 1


# -------------------------------------------------------------- the estimates


def nothing_known(k=3, prior=0.6):
    return Estimates(kept=(0.0,) * k, judged=(0.0,) * k, prior=prior)


def test_before_any_round_every_position_has_the_prior():
    assert nothing_known().by_position() == pytest.approx((0.6, 0.6, 0.6))


def test_positions_behind_the_first_rejected_draft_are_not_judged():
    after = nothing_known(4).after(3, 1, memory_rounds=1e9)
    assert after.kept == (1, 0, 0, 0)
    assert after.judged == pytest.approx((1, 1, 0, 0))
    assert nothing_known(4).after(2, 2, memory_rounds=1e9).judged == pytest.approx((1, 1, 0, 0))


def test_many_rounds_outweigh_the_prior_position_by_position():
    estimates = nothing_known()
    for _ in range(500):
        estimates = estimates.after(2, 1, memory_rounds=1000)
    first, second, third = estimates.by_position()
    assert first > 0.97
    assert second < 0.03
    assert third == pytest.approx(estimates.pooled())
    assert estimates.pooled() == pytest.approx(0.5, abs=0.02)


def test_old_rounds_count_less():
    estimates = nothing_known(1)
    for accepted in [1] * 50 + [0] * 50:
        estimates = estimates.after(1, accepted, memory_rounds=10)
    assert estimates.by_position()[0] < 0.25
    assert sum(estimates.judged) < 10


# ---------------------------------------------------------------- the wrapper


class Scripted(NoDrafter):
    """Proposes as many tokens as asked for, and notes what it was told."""

    def __init__(self):
        self.asked, self.settled = [], []

    def draft(self, tokens, k):
        self.asked.append(k)
        return Draft(mx.zeros((k,), dtype=mx.int32), 0)

    def settle(self, tokens, accepted, hidden):
        self.settled.append((tuple(tokens), accepted))


def played(drafter, accepted_of, rounds, k=8):
    """The draft lengths of so many rounds, of which `accepted_of(length)` are kept."""
    lengths = []
    for _ in range(rounds):
        length = drafter.draft((), k).tokens.shape[0]
        lengths.append(length)
        drafter.settle((1,), accepted_of(length), None)
    return lengths


def test_without_costs_it_drafts_all_that_is_asked_for():
    drafter = adaptive(Scripted(), 5)
    assert played(drafter, lambda n: n, 3) == [5, 5, 5]
    assert played(drafter, lambda n: n, 2, k=3) == [3, 3]
    assert played(drafter, lambda n: n, 1, k=0) == [0]


def test_it_settles_where_drafts_are_kept_and_turns_off_where_none_is():
    costs = DraftingCosts(verify_ns_by_width={n: 100.0 + 15.0 * n for n in range(1, 10)}, step_ns_by_width={1: 10.0})
    kept = played(AdaptiveDrafter(Scripted(), 8, costs), lambda n: n, 40)
    assert kept[-1] == 8
    lost = played(AdaptiveDrafter(Scripted(), 8, costs), lambda n: 0, 40)
    assert lost[0] > 0
    assert lost[30] == 0
    two = played(AdaptiveDrafter(Scripted(), 8, costs), lambda n: min(n, 2), 60)
    assert two[-1] == 2


def test_off_is_tried_again_once_in_a_while():
    drafter = AdaptiveDrafter(Scripted(), 8, PER_POSITION, retry_rounds=5)
    lengths = played(drafter, lambda n: 0, 20)
    assert lengths[0] > 0  # nothing is off before it was tried
    assert [n > 0 for n in lengths[1:14]] == [False] * 5 + [True] + [False] * 5 + [True] + [False]


def test_what_is_learned_replaces_what_was_known_of_that_width():
    drafter = AdaptiveDrafter(Scripted(), 8, FLAT)
    played(drafter, lambda n: n, 3)
    assert drafter.choice(8) == 8
    drafter.learn(verify_ns_by_width={n: 100.0 * n * n for n in range(2, 10)})
    assert drafter.costs.verify_ns_by_width[1] == 100.0
    assert drafter.choice(8) == 0
    drafter.learn(rest_ns=3.0, search_ns=4.0, off_ns=5.0, step_ns_by_width={3: 9.0})
    assert (drafter.costs.rest_ns, drafter.costs.search_ns, drafter.costs.off_ns) == (3.0, 4.0, 5.0)
    assert drafter.costs.step_ns_by_width == {1: 10.0, 2: 12.0, 3: 9.0}


def test_arms_that_share_a_mark_choose_alike_and_costs_stay_known():
    drafter = AdaptiveDrafter(Scripted(), 8, PER_POSITION)
    mark = drafter.mark()
    first = played(drafter, lambda n: 0, 8)
    drafter.restore(mark)
    assert played(drafter, lambda n: 0, 8) == first
    drafter.learn(rest_ns=1.0)
    drafter.restore(mark)
    assert drafter.costs.rest_ns == 1.0


def test_another_text_starts_from_the_prior():
    drafter = AdaptiveDrafter(Scripted(), 8, FLAT)
    before = drafter.estimates
    played(drafter, lambda n: 0, 5)
    assert drafter.estimates != before
    drafter.begin((1, 2), None)
    assert drafter.estimates == before


def test_a_shorter_draft_than_asked_for_is_judged_at_its_own_length():
    class Short(Scripted):
        def draft(self, tokens, k):
            return Draft(mx.zeros((min(k, 1),), dtype=mx.int32), 0)

    drafter = AdaptiveDrafter(Short(), 4)
    played(drafter, lambda n: n, 3)
    assert [n > 0 for n in drafter.estimates.judged] == [True, False, False, False]


def test_it_is_of_the_kind_of_what_it_wraps():
    target = tiny_target("llama")
    inner = LayerSkip(target, 2)
    drafter = adaptive(inner, 4)
    assert (drafter.kind, drafter.needs_hidden, drafter.has_steps) == ("skip", False, True)
    drafter.sampling = sampling = Sampling(temperature=0.5)
    assert inner.sampling is sampling is drafter.sampling
    drafter.sampling = None
    drafter.begin(PROMPT, None)
    assert (drafter.weight_bytes(), drafter.cache_bytes()) == (0, inner.cache_bytes())
    assert drafter.step((1, 2)).shape == (1,)
    drafter.take_back(2)


@pytest.mark.parametrize("model_type", TINY)
@pytest.mark.parametrize("made", ["skip", "fixed", "lookup"])
def test_text_of_changing_draft_lengths_is_the_plain_one(model_type, made):
    target = tiny_target(model_type)
    inner = {
        "skip": lambda: LayerSkip(target, 1),
        "fixed": lambda: FixedAcceptance(target, 0.6, ahead=24),
        "lookup": PromptLookup,
    }[made]()
    costs = DraftingCosts(
        verify_ns_by_width={n: 100.0 + 15.0 * n for n in range(1, 10)}, step_ns_by_width={1: 10.0}, rest_ns=5.0
    )
    drafter = AdaptiveDrafter(inner, 8, costs, retry_rounds=2)
    plain = plain_text(target, PROMPT, 24)
    rounds = rounds_with(target, drafter, PROMPT, 8, 24)
    assert text_of(rounds, 24) == plain
    if made != "lookup":
        assert len({len(r.drafted) for r in rounds}) > 1


def test_a_senseless_longest_draft_is_refused():
    with pytest.raises(DraftLengthError, match="choose k from 0"):
        adaptive(NoDrafter(), 1000)
