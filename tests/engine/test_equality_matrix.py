"""Greedy text with drafts is plain greedy text, for every pair of target, drafter, draft length and verify policy."""

from __future__ import annotations

from functools import cache as once

import pytest
from equality_matrix import DRAFTERS, SUBJECTS, Bench, cells_of, prompt_for, refusals
from pairwise import pairs_of, pairwise

from specview.engine.verify_policies import POLICIES

COUNT = 10
SHORT = 36  # from this number on the suite's prompts are a third of their length

CELLS = pairwise(cells_of(SUBJECTS))
once_bench = once(lambda name: Bench(SUBJECTS[name]))


@pytest.mark.parametrize("name", SUBJECTS)
def test_text_with_drafts_is_plain_greedy_text_in_a_sample_that_meets_every_pair(name):
    bench = once_bench(name)
    mine = sorted(cell for cell in CELLS if cell[0] == name)  # by drafter: each reads one prompt, or two at most
    rounds = []
    for at, (_, drafter, k, policy) in enumerate(mine):
        prompt = prompt_for(bench.target, SHORT + (2 * at >= len(mine)))
        compared = bench.compare(drafter, k, policy, prompt, COUNT)
        assert compared.judged in ("equal", "tie"), (drafter, k, policy, prompt, compared)
        rounds += bench.rounds
    assert any(0 < played.accepted < len(played.drafted) for played in rounds)
    assert any(len(played.drafted) == played.accepted > 1 for played in rounds)


@pytest.mark.parametrize("name", SUBJECTS)
def test_what_is_not_in_the_matrix_is_refused_with_one_sentence(name):
    subject = SUBJECTS[name]
    refused = refusals(once_bench(name))
    assert set(refused) == {*DRAFTERS, *POLICIES} - {*subject.drafters, *subject.policies}
    assert all(sentence.endswith(".") and "\n" not in sentence for sentence in refused.values())


def test_the_sample_is_a_small_part_of_the_product_and_meets_every_pair():
    cells = list(cells_of(SUBJECTS))
    assert len(CELLS) < len(cells) / 10 and set(CELLS) <= set(cells)
    assert set().union(*map(pairs_of, CELLS)) == set().union(*map(pairs_of, cells))
    assert pairwise(cells) == CELLS
