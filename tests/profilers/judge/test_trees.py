"""Trees of drafts: what they yield, the best of a size against Sequoia's dynamic program, and their cost."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from round_costs import DECODE, alphas, any_costs, costs, no_deadline, plain

from specview.engine.errors import SpecviewError
from specview.profilers.judge.acceptance import cumulative_from_alpha, tokens_from_alpha
from specview.profilers.judge.economics import DrafterKind, round_time
from specview.profilers.judge.trees import (
    RankAcceptance,
    Tree,
    best_tree,
    chain,
    divide_tree,
    scan_trees,
    tokens_of_tree,
    tree_of,
    tree_round_time,
)


def same(*shares: float) -> RankAcceptance:
    return RankAcceptance(by_depth=(shares,), repeats=True)


def power_law(b: float, ranks: int) -> RankAcceptance:
    """All of k guesses fail with 1 ÷ (k + 1)^b."""
    return same(*((k**-b) - ((k + 1) ** -b) for k in range(1, ranks + 1)))


def sequoia(size: int, shares: tuple[float, ...]) -> float:
    """The largest E of a tree of `size` nodes, root included, by the paper's algorithm 1."""
    best, table = {1: 1.0}, {(1, 0): 1.0}
    for n in range(2, size + 1):
        for b in range(1, len(shares) + 1):
            table[n, b] = max(
                (table.get((n - m, b - 1), -math.inf) + shares[b - 1] * best[m] for m in range(1, n)),
                default=-math.inf,
            )
        best[n] = max(value for (size_, _), value in table.items() if size_ == n)
    return best[size]


@st.composite
def rank_shares(draw: st.DrawFn, ranks: int = 3) -> tuple[float, ...]:
    """Likeliest first, as a drafter ranks them, and summing to at most 1."""
    weights = draw(st.lists(st.floats(0.01, 1.0), min_size=ranks, max_size=ranks))
    total = sum(weights) * draw(st.floats(1.0, 2.0))
    return tuple(sorted((w / total for w in weights), reverse=True))


@no_deadline
@given(alphas, st.integers(0, 10))
def test_a_chain_yields_what_one_alpha_does(alpha: float, k: int) -> None:
    assert tokens_of_tree(chain(k), same(alpha)) == pytest.approx(tokens_from_alpha(alpha, k))
    assert (chain(k).width, chain(k).depth) == (k + 1, k)


@no_deadline
@given(any_costs(), alphas, st.integers(1, 8))
def test_a_chain_costs_what_a_round_does_catch_up_included(made, alpha: float, k: int) -> None:
    expected = round_time(made, cumulative_from_alpha(alpha, k)).ms
    assert tree_round_time(made, chain(k), same(alpha)).ms == pytest.approx(expected)


@no_deadline
@given(rank_shares(), st.integers(0, 24))
def test_taking_the_likeliest_node_equals_sequoias_dynamic_program(shares: tuple[float, ...], size: int) -> None:
    found = best_tree(size, same(*shares))
    assert tokens_of_tree(found, same(*shares)) == pytest.approx(sequoia(size + 1, shares))


@settings(deadline=None, max_examples=20)
@given(rank_shares(2), rank_shares(2), rank_shares(2), st.integers(1, 4))
def test_no_small_tree_yields_more_by_trying_all(a: tuple, b: tuple, c: tuple, size: int) -> None:
    shares = RankAcceptance(by_depth=(a, b, c))
    nodes = [n for depth in (1, 2, 3) for n in product(range(2), repeat=depth)]
    most = 0.0
    for chosen in combinations(nodes, size):
        if all(len(n) == 1 or n[:-1] in chosen for n in chosen):
            most = max(most, tokens_of_tree(tree_of(chosen), shares))
    assert tokens_of_tree(best_tree(size, shares), shares) == pytest.approx(most)


@no_deadline
@given(rank_shares(), st.integers(0, 40))
def test_tokens_of_the_best_tree_rise_with_its_size_and_stay_within_its_depth(
    shares: tuple[float, ...], size: int
) -> None:
    small, large = (best_tree(n, same(*shares)) for n in (size, size + 1))
    assert small.nodes < large.nodes
    assert 1.0 <= tokens_of_tree(small, same(*shares)) <= tokens_of_tree(large, same(*shares)) <= large.depth + 1


def test_sequoias_bounds_hold_chains_and_binary_trees_and_not_its_own_trees() -> None:
    # section 3.1.2: one sequence stays below 1 ÷ (1 − P1), k of them below one more, a binary tree below 1 ÷ (1 − P2)
    # with P2 the chance of either child
    law = power_law(1.0, 64)
    first, second = law.at(0)[:2]
    single = 1 / (1 - first)
    assert tokens_of_tree(chain(64), law) <= single + 1e-12
    many = tree_of(n for rank in range(16) for n in [(rank, *(0,) * length) for length in range(12)])
    assert tokens_of_tree(many, law) <= single + 1
    binary = same(first, second)
    assert tokens_of_tree(best_tree(2000, binary), binary) < 1 / (1 - first - second)
    yielded = [tokens_of_tree(best_tree(n, law), law) for n in (16, 64, 256, 1024)]
    growth = [b - a for a, b in pairwise(yielded)]
    # four times the size adds about as much every time, as log(n) does
    assert min(growth) > 0.35 and max(growth) < 1.5 * min(growth)
    assert yielded[-1] > single + 1


@pytest.mark.parametrize(("tokens", "depth", "printed"), [(3.86, 7, 3.22), (4.05, 7, 3.41), (4.98, 10, 4.03)])
def test_sequoias_table_1_follows_from_the_verify_cost_of_its_first_row(
    tokens: float, depth: int, printed: float
) -> None:
    # Llama2-7B with JF68M, greedy, trees of 128: S = G ÷ (t(128) + d · c), c = 0.5 ÷ 24.2; C4 names t(128).
    c = 0.5 / 24.2
    wide = 5.08 / 4.04 - 10 * c
    assert tokens / (wide + depth * c) == pytest.approx(printed, rel=0.02)


def test_a_tree_wins_where_a_chain_saturates_and_verify_is_flat() -> None:
    shares = same(0.5, 0.2, 0.1)
    wide = costs(dict.fromkeys(range(1, 18), 1.0), 0.05)
    rows = scan_trees(wide, shares, DECODE, range(1, 9))
    best_chain = max(divide_tree(wide, chain(k), shares, DECODE).speedup for k in range(1, 17))
    assert rows[0].speedup > best_chain
    assert list(rows) == sorted(rows, key=lambda row: -row.speedup)


def test_a_tree_is_scanned_at_measured_widths_only() -> None:
    rows = scan_trees(costs({1: 1.0, 4: 1.0, 9: 5.0}, 0.05), same(0.5, 0.2, 0.1), DECODE, range(1, 5))
    assert {row.tree.width for row in rows} == {4, 9} and rows[0].tree.width == 4


def test_drafting_takes_the_nodes_with_children_level_by_level() -> None:
    tree = tree_of([(0,), (1,), (2,), (0, 0), (0, 1), (1, 0), (0, 0, 0)])
    assert tree.width == 8 and tree.depth == 3
    assert tree.drafter_widths() == (1, 2, 1)
    assert tree.leaves == {(2,), (0, 1), (1, 0), (0, 0, 0)}
    made = costs({8: 10.0}, {1: 1.0, 2: 1.5})
    unseen = 0.1 + 0.5 * 0.2 + 0.2 * 0.5 + 0.125
    assert tree_round_time(made, tree, same(0.5, 0.2, 0.1)).ms == pytest.approx(10 + 1 + 1.5 + 1 + unseen * 0.5)


def test_what_was_not_counted_or_measured_is_refused() -> None:
    with pytest.raises(SpecviewError, match="guess 3 at position 1 was not counted"):
        tokens_of_tree(tree_of([(2,)]), same(0.5, 0.2))
    with pytest.raises(SpecviewError, match="at position 2 was not counted"):
        tokens_of_tree(chain(2), RankAcceptance(by_depth=((0.5,),)))
    with pytest.raises(SpecviewError, match="No verify pass 3 wide"):
        divide_tree(costs({2: 1.0}), chain(2), same(0.5), DECODE)
    with pytest.raises(SpecviewError, match="draft model"):
        divide_tree(costs({3: 1.0}, kind=DrafterKind.MTP), chain(2), same(0.5), plain(1.0))
    with pytest.raises(SpecviewError, match="sums to at most 1"):
        same(0.7, 0.6)
    with pytest.raises(SpecviewError, match="needs its parent"):
        Tree(nodes=frozenset({(0, 0)}))


def test_a_depth_limit_and_uncounted_positions_cut_the_tree() -> None:
    assert best_tree(20, same(0.9), deepest=3) == chain(3)
    assert best_tree(20, RankAcceptance(by_depth=((0.9,), (0.8,)))) == chain(2)
