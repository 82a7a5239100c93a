"""The loops with drawn tokens, on a model of five: whatever is drafted, the text has the target's distribution."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from scipy import stats

from specview.engine.accept import acceptance_rule
from specview.engine.decode import Generation, decode, speculate
from specview.engine.drafters.lookup import PromptLookup
from specview.engine.drafters.none import NoDrafter
from specview.engine.drafters.protocol import draft_of, guess
from specview.engine.probe import FreeProbe
from specview.engine.sampling import Sampling, distribution

COUNT = 1500


class ScriptedTarget:
    """Five tokens, each followed by its own row of logits."""

    def __init__(self, seed):
        self.table = mx.array(np.random.default_rng(seed).normal(0, 1, (5, 5)).astype(np.float32))

    def logits(self, tokens, cache):
        return self.table[tokens]


class ScriptedDrafter(NoDrafter):
    """Draws each guess from a table of its own, one after the other."""

    def __init__(self, table, sampling):
        self.table, self.sampling = table, sampling

    def draft(self, tokens, k):
        guesses, last = [], mx.array(tokens[-1:])
        for i in range(k):
            guesses.append(guess(self.table[last][None], self.sampling, len(tokens) + i))
            last = guesses[-1].token
        return draft_of(guesses, 1)


def scripted_rounds(rule, drafter, clock, k, count, seed=1):
    generation = Generation(ScriptedTarget(seed), [0], [])
    rounds = list(speculate(generation, drafter, k, count, FreeProbe(clock), rule))
    return generation.tokens, rounds


def assert_written_by(tokens, p):
    """What follows each token is distributed as its row of p [5, 5]: p-value of all rows together."""
    seen = np.zeros((5, 5))
    np.add.at(seen, (tokens[:-1], tokens[1:]), 1)
    expected = np.array(p, dtype=np.float64) * seen.sum(axis=1, keepdims=True)
    assert seen[expected == 0].sum() == 0
    cells = expected > 0
    statistic = ((seen - expected)[cells] ** 2 / expected[cells]).sum()
    assert stats.chi2.sf(statistic, cells.sum() - 5) > 0.01


DRAWN = [
    Sampling(temperature=0.7, seed=5),
    Sampling(temperature=1.0, top_k=4, min_p=0.2, seed=6),
    Sampling(temperature=1.4, top_p=0.9, seed=7),
]


@pytest.mark.parametrize("sampling", DRAWN, ids=str)
@pytest.mark.parametrize("word", ["rejection", "exact"])
def test_the_loop_keeps_the_targets_distribution_and_accepts_its_share(fake_clock, sampling, word):
    target, other = ScriptedTarget(1), ScriptedTarget(2)
    drafter = ScriptedDrafter(other.table, sampling)
    tokens, rounds = scripted_rounds(acceptance_rule(word, sampling), drafter, fake_clock, 3, COUNT)
    p, q = (np.array(distribution(t.table, sampling), dtype=np.float64) for t in (target, other))
    assert_written_by(tokens, p)
    shares = np.minimum(p, q).sum(axis=1) if word == "rejection" else (p * q).sum(axis=1)
    before = [(tokens[r.context], *r.drafted) for r in rounds]
    met = [
        (shares[b[j]], r.accepted > j) for b, r in zip(before, rounds, strict=True) for j in range(3) if r.accepted >= j
    ]
    expected, kept = np.array(met, dtype=np.float64).T
    assert abs((kept - expected).sum()) < 2.58 * np.sqrt((expected * (1 - expected)).sum())


@pytest.mark.parametrize("sampling", DRAWN, ids=str)
def test_plain_decoding_draws_from_the_targets_distribution(fake_clock, sampling):
    target = ScriptedTarget(1)
    generation = Generation(target, [0], [])
    for _ in decode(generation, COUNT, fake_clock, sampling=sampling):
        pass
    assert_written_by(generation.tokens, distribution(target.table, sampling))


def test_a_certain_drafter_leaves_the_distribution_as_it_is(fake_clock):
    sampling = Sampling(seed=4)
    drafter = PromptLookup(longest=2, shortest=1)
    drafter.begin([0], None)
    tokens, rounds = scripted_rounds(acceptance_rule("rejection", sampling), drafter, fake_clock, 3, COUNT)
    assert sum(len(r.drafted) for r in rounds) > COUNT / 3
    assert_written_by(tokens, distribution(ScriptedTarget(1).table, sampling))


@pytest.mark.parametrize("word", ["greedy", "rejection"])
@pytest.mark.parametrize("k", [1, 4])
def test_a_drafter_equal_to_its_target_is_always_accepted(fake_clock, word, k):
    sampling = None if word == "greedy" else Sampling(seed=3)
    drafter = ScriptedDrafter(ScriptedTarget(1).table, sampling)
    _, rounds = scripted_rounds(acceptance_rule(word, sampling), drafter, fake_clock, k, 100 * (k + 1))
    assert [len(r.tokens) for r in rounds] == [k + 1] * 100


@pytest.mark.parametrize("word", ["rejection", "exact"])
def test_without_drafts_a_rule_writes_what_plain_decoding_draws(fake_clock, word):
    sampling = Sampling(seed=12)
    generation = Generation(ScriptedTarget(1), [0], [])
    plain = [s.token for s in decode(generation, 50, fake_clock, sampling=sampling)]
    tokens, _ = scripted_rounds(acceptance_rule(word, sampling), NoDrafter(), fake_clock, 0, 50)
    assert tokens[1:] == plain


@pytest.mark.parametrize("pipelined", [True, False])
@pytest.mark.parametrize("pieces", [(40,), (1, 39), (13, 13, 14)])
def test_drawn_text_depends_on_its_seed_alone(fake_clock, pipelined, pieces):
    def text(seed, pieces, pipelined):
        generation = Generation(ScriptedTarget(1), [0], [])
        for count in pieces:
            list(decode(generation, count, fake_clock, pipelined, sampling=Sampling(seed=seed)))
        return generation.tokens

    assert text(1, pieces, pipelined) == text(1, (40,), True)
    assert text(2, pieces, pipelined) != text(1, (40,), True)


# -------------------------------------------------------------------- stops


def test_plain_decoding_ends_with_a_stop(fake_clock):
    generation = Generation(ScriptedTarget(1), [0], [])
    text = [s.token for s in decode(generation, 100, fake_clock, sampling=Sampling(seed=1))]
    stop = text[7]
    generation = Generation(ScriptedTarget(1), [0], [])
    steps = list(decode(generation, 100, fake_clock, sampling=Sampling(seed=1), stop_ids={stop}))
    assert [s.token for s in steps] == text[: text.index(stop) + 1]


def test_drafting_ends_with_the_round_of_a_stop(fake_clock):
    sampling = Sampling(seed=1)
    rule = acceptance_rule("exact", sampling)
    drafter = ScriptedDrafter(ScriptedTarget(2).table, sampling)
    generation = Generation(ScriptedTarget(1), [0], [])
    *others, last = speculate(generation, drafter, 2, 500, FreeProbe(fake_clock), rule, stop_ids={3})
    assert 3 in last.tokens
    assert not any(3 in r.tokens for r in others)


def test_a_policy_runs_the_verify_pass(fake_clock):
    asked = []

    def policy(target, positions, caches, keep_hidden):
        asked.append(positions.tolist())
        return None, target.logits(positions, caches)

    generation = Generation(ScriptedTarget(1), [0], [])
    drafter = ScriptedDrafter(ScriptedTarget(2).table, None)
    rounds = list(speculate(generation, drafter, 2, 5, FreeProbe(fake_clock), policy=policy))
    assert asked == [[[generation.tokens[r.context], *r.drafted]] for r in rounds]
