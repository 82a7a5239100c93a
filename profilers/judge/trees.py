"""Drafting a tree of tokens: what it yields, how many positions it verifies, and the best tree of a size.

A node is named by the ranks on the way to it, from 0: `(0, 2)` is the third guess after the first guess. Under
positional acceptance a node is accepted with the product of the shares on its way, independent of the rest (Chen et
al. 2024, Sequoia, proposition 3.4: E is the sum of those products over all nodes, the root with 1).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from ...engine.errors import SpecviewError
from .economics import DrafterKind, RoundCosts, round_in_decode_steps, speedup
from .spans import Pipelined, Span, Synchronous, combined

Node = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankAcceptance:
    """Shares by depth and rank: of accepted nodes at depth d (the root is 0), how many continue with guess r.

    One position continues with one token, so the shares of a depth sum to at most 1. `repeats`: the last depth holds
    for all deeper ones. A chain with conditional acceptance α is `((α,),)` that repeats.
    """

    by_depth: tuple[tuple[float, ...], ...]
    repeats: bool = False

    def __post_init__(self) -> None:
        if not self.by_depth:
            raise SpecviewError("Give the acceptance of each rank for the first position at least.")
        for shares in self.by_depth:
            if any(not 0 <= share <= 1 for share in shares) or math.fsum(shares) > 1 + 1e-9:
                raise SpecviewError("Acceptance by rank lies between 0 and 1 and sums to at most 1 at one position.")

    def at(self, depth: int) -> tuple[float, ...]:
        """The shares of the children of a node at a depth; none where that was not counted."""
        if depth < len(self.by_depth):
            return self.by_depth[depth]
        return self.by_depth[-1] if self.repeats else ()

    def of(self, node: Node) -> float:
        """The chance that a round accepts a node; SpecviewError where a rank or depth on its way was not counted."""
        chance = 1.0
        for depth, rank in enumerate(node):
            shares = self.at(depth)
            if rank >= len(shares):
                raise SpecviewError(
                    f"Acceptance of guess {rank + 1} at position {depth + 1} was not counted; count it or cut the tree."
                )
            chance *= shares[rank]
        return chance


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A tree of drafted nodes, the root (the last accepted token) not among them."""

    nodes: frozenset[Node]

    def __post_init__(self) -> None:
        if any(not node or min(node) < 0 or (len(node) > 1 and node[:-1] not in self.nodes) for node in self.nodes):
            raise SpecviewError("Every node of a tree needs its parent in the tree, and ranks from 0.")

    @property
    def width(self) -> int:
        """Positions that a verify pass takes: all nodes and the root."""
        return len(self.nodes) + 1

    @property
    def depth(self) -> int:
        """The most drafts a round can accept."""
        return max(map(len, self.nodes), default=0)

    @property
    def leaves(self) -> frozenset[Node]:
        """Nodes with no child."""
        return self.nodes - {node[:-1] for node in self.nodes}

    def drafter_widths(self) -> tuple[int, ...]:
        """How many positions each drafter step takes: the nodes of a level that have children."""
        inner = {node[:-1] for node in self.nodes}
        return tuple(sum(len(node) == level for node in inner) for level in range(self.depth))


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRow:
    """A tree with its E, T_round in ms, R and S."""

    tree: Tree
    tokens_per_round: float
    round_ms: float
    round_steps: float
    speedup: float


def tree_of(nodes: Iterable[Node]) -> Tree:
    """A tree of nodes named by ranks, in any order (as Medusa's choices are written)."""
    return Tree(nodes=frozenset(map(tuple, nodes)))


def chain(k: int) -> Tree:
    """k drafts one after another, the first guess each."""
    return Tree(nodes=frozenset((0,) * length for length in range(1, k + 1)))


def tokens_of_tree(tree: Tree, given: RankAcceptance) -> float:
    """E: 1 + the sum over nodes of their chance to be accepted."""
    return 1.0 + math.fsum(given.of(node) for node in tree.nodes)


def best_tree(size: int, given: RankAcceptance, deepest: int | None = None) -> Tree:
    """The tree of at most `size` nodes (and depth) with the largest E; fewer nodes where no more ranks were counted.

    A child is never likelier than its parent, so taking the likeliest node `size` times is optimal: it equals
    Sequoia's dynamic program. `size` is the verify width less one.
    """
    taken: set[Node] = set()
    waiting: list[tuple[float, int, Node]] = []

    def offer(parent: Node, chance: float) -> None:
        if deepest is not None and len(parent) >= deepest:
            return
        for rank, share in enumerate(given.at(len(parent))):
            if chance * share > 0:
                heappush(waiting, (-chance * share, len(parent) + 1, (*parent, rank)))

    offer((), 1.0)
    while waiting and len(taken) < size:
        negative, _, node = heappop(waiting)
        taken.add(node)
        offer(node, -negative)
    return Tree(nodes=frozenset(taken))


def tree_round_time(costs: RoundCosts, tree: Tree, given: RankAcceptance) -> Span[Synchronous]:
    """T_round of a tree that a draft model drafts level by level; refuses widths that were not measured.

    A step takes the nodes of a level that have children, the first the root alone. A node without was not seen by the
    drafter, so after a round that ends on one the next first step is two wide; a chain's is `economics.round_time`.
    """
    if costs.kind is not DrafterKind.MODEL:
        raise SpecviewError(
            "Only of a draft model is it known what drafting a tree costs; time another's rounds whole."
        )
    unseen = math.fsum(given.of(leaf) for leaf in tree.leaves)
    steps = [(1.0, _at(costs.draft_by_width, width, "drafter step")) for width in tree.drafter_widths()]
    if unseen > 0:
        one, two = (_at(costs.draft_by_width, width, "drafter step") for width in (1, 2))
        steps += [(unseen, two), (-unseen, one)]
    verify = _at(costs.verify_by_width, tree.width, "verify pass")
    return combined([(1.0, verify), *steps, (1.0, costs.search), (1.0, costs.rest)])


def divide_tree(costs: RoundCosts, tree: Tree, given: RankAcceptance, decode: Span[Pipelined]) -> TreeRow:
    """E, R and S of one tree."""
    tokens, whole = tokens_of_tree(tree, given), tree_round_time(costs, tree, given)
    steps = round_in_decode_steps(whole, decode)
    return TreeRow(
        tree=tree,
        tokens_per_round=tokens,
        round_ms=whole.ms,
        round_steps=steps,
        speedup=speedup(tokens, steps),
    )


def scan_trees(
    costs: RoundCosts, given: RankAcceptance, decode: Span[Pipelined], depths: Collection[int]
) -> tuple[TreeRow, ...]:
    """The best tree of each measured verify width and each depth, fastest first (Sequoia: G(n, d) ÷ (t(n) + d·c)).

    Trees whose verify or drafter widths were not measured are left out, and one that several depths lead to is named
    once.
    """
    found: dict[Tree, TreeRow] = {}
    for width in sorted(n for n in costs.verify_by_width if n > 1):
        for depth in sorted(d for d in depths if 1 <= d < width):
            tree = best_tree(width - 1, given, depth)
            if tree in found or tree.width != width:
                continue
            try:
                found[tree] = divide_tree(costs, tree, given, decode)
            except SpecviewError:
                continue
    return tuple(sorted(found.values(), key=lambda row: -row.speedup))


def _at(by_width: Mapping[int, Span[Synchronous]], width: int, what: str) -> Span[Synchronous]:
    if width not in by_width:
        raise SpecviewError(f"No {what} {width} wide was measured, and this tree needs one; probe that width.")
    return by_width[width]
