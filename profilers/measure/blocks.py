"""Splits one pass of a model into blocks and op categories, without a table of models.

A pass is traced once, lazily, on a throw-away cache (see `trace`). What a call does tells the parts: one that writes a
cache or attends is a mixer; modules around mixers are containers, and so are modules around experts; what a container
calls beside them (norms, MLPs, router, embedding, head) is a block; what it does itself (residual adds, masks,
choosing experts) is its `rest`. So every op of a pass lies in exactly one block. A weight belongs to the block that
reads it; one that is read twice in a pass (a tied embedding, layers that run again) belongs to each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import mlx.core as mx
import mlx.nn as nn

from ...engine.accept import greedy_choices
from ...engine.models import Target
from ...engine.trees import named_arrays
from .categories import (
    ROUTED,
    ROUTER,
    attends_by_name,
    calls_experts,
    chosen_by,
    expert_part,
    experts_in,
    holds_only_experts,
    is_mixer,
    listed_experts,
    mixer_kind,
    plain_kind,
)
from .interception import Call, intercepted
from .layers import Layers
from .timings import Category
from .trace import Node, trace

Part = Literal["call", "rest", "sampling"]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One block of a pass.

    `name` is the module's path, with the method or `rest` behind it where the path alone is ambiguous; `place` is the
    name with the layer left open, shared by the blocks that differ only in their layer. `nth` counts the calls of one
    module within a pass. `weights` are names of the model's parameters, `weight_bytes` their size; of `experts` each
    position takes `active`. `detail` tells kinds of one category apart, e.g. `gated delta`, `sliding window`, `router`.
    """

    name: str
    place: str
    category: Category
    layer: int | None
    part: Part
    module: nn.Module | None = field(repr=False)
    method: str
    nth: int
    weights: tuple[str, ...] = field(repr=False)
    detail: str | None = None
    weight_bytes: int = 0
    experts: int | None = None
    active: int | None = None


Watch = Callable[[Block, Call], Any]


def arrays_in(*trees: Any) -> list[mx.array]:
    """All arrays in nested containers; caches and other objects are not looked into."""
    return [array for _, array in named_arrays(trees)]


def run_blocks(
    target: Target,
    blocks: Sequence[Block],
    tokens: mx.array,
    caches: list[Any],
    watch: Watch = lambda block, call: call.run(),
) -> tuple[mx.array, mx.array]:
    """One pass over tokens [1, n] with a watch on every block: logits [1, n, vocabulary] and choices [n]. Lazy.

    `watch(block, call)` must return what the block gives, normally `call.run()`. Containers are watched as their
    `rest`: their call encloses those of the blocks within. The caches take the positions in.
    """
    with watched(blocks, watch):
        logits = target.logits(tokens, caches)
    sampling = next(b for b in blocks if b.part == "sampling")
    choices: mx.array = watch(sampling, Call(None, "sampling", (logits,), {}, greedy_choices))
    return logits, choices


@contextmanager
def watched(blocks: Sequence[Block], watch: Watch) -> Iterator[None]:
    """While it lasts, calls of the blocks' modules go through `watch`; sampling has no module and is not seen.

    A call within a block that is no container is part of that block.
    """
    turns_by_call: dict[tuple[int, str], list[Block]] = {}
    for block in blocks:
        turns_by_call.setdefault((id(block.module), block.method), []).append(block)
    counts = dict.fromkeys(turns_by_call, 0)
    within = [False]

    def handle(call: Call) -> Any:
        key = (id(call.module), call.method)
        turns = turns_by_call.get(key)
        if turns is None or within[-1]:
            return call.run()
        block = turns[counts[key] % len(turns)]
        counts[key] += 1
        within.append(block.part != "rest")
        try:
            return watch(block, call)
        finally:
            within.pop()

    with intercepted([b.module for b in blocks if b.module is not None], handle):
        yield


def split_into_blocks(target: Target) -> tuple[Block, ...]:
    """The blocks of one pass in the order they finish, sampling last; nothing is evaluated.

    Containers come after the blocks they hold. Weights of modules that a pass never calls are in no block.
    """
    splitter = _Splitter(target)
    for node in trace(target).inner:
        splitter.walk(node, None)
    sampling = Block("sampling", "sampling", "sampling", None, "sampling", None, "sampling", 0, ())
    return (*_told_apart(splitter.blocks), sampling)


def _told_apart(blocks: Sequence[Block]) -> list[Block]:
    """Blocks that differ in more than their layer get places of their own, named by what they are."""
    kinds: dict[str, set[tuple[str, str | None]]] = {}
    for block in blocks:
        kinds.setdefault(block.place, set()).add((block.category, block.detail))
    return [
        block
        if len(kinds[block.place]) == 1
        else replace(block, place=f"{block.place} ({block.detail or block.category})")
        for block in blocks
    ]


class _Splitter:
    """Walks a trace and collects blocks."""

    def __init__(self, target: Target) -> None:
        self.blocks: list[Block] = []
        self._layers = Layers(target.model)
        self._arrays = dict(named_arrays(target.model.parameters()))
        self._root = type(target.model).__name__
        self._calls: dict[tuple[int, str], int] = {}
        self._layers_done = False
        self._vocabulary = 0

    def walk(self, node: Node, layer: int | None) -> None:
        """Add the blocks of a traced call, which lies in `layer` or outside all."""
        self._vocabulary = self._vocabulary or node.width or 0
        path = self._layers.path(node.module, layer)
        layer = self._layers.of(path, layer)
        mixing = any(inner.mixes for inner in node.below())
        if self._layers.holds(node.module) or (mixing and not is_mixer(node)):
            for inner in node.inner:
                self.walk(inner, layer)
            self._add(node, layer, "rest", self._rest_category(node, layer), None)
        elif is_mixer(node):
            category, detail = mixer_kind(node, path, self._layers.module(layer))
            self._add(node, layer, "call", category, detail)
        elif calls_experts(node) or listed_experts(node.module):
            self._experts(node, layer)
        else:
            self._plain(node, path, layer)
        self._layers_done = self._layers_done or layer is not None

    def _rest_category(self, node: Node, layer: int | None) -> Category:
        if any(self._arrays[name].shape[0] == self._vocabulary and self._layers_done for name in node.reads):
            return "output head"  # it multiplies by the embedding itself
        return "misc" if layer is None else "norms and residuals"

    def _experts(self, node: Node, layer: int | None) -> None:
        """A mixture of experts, or what is left of one: routed experts as a block, the rest split around them."""
        if holds_only_experts(node) or listed_experts(node.module):
            self._add(node, layer, "call", "MoE", ROUTED)
            return
        for inner in node.inner:
            if calls_experts(inner):
                self._experts(inner, layer)
            else:
                path = self._layers.path(inner.module, layer)
                self._add(inner, layer, "call", "MoE", expert_part(inner, path))
        self._add(node, layer, "rest", "MoE", ROUTER)

    def _plain(self, node: Node, path: str, layer: int | None) -> None:
        if any(attends_by_name(m) for m in self._layers.around(path)):
            self._add(node, layer, "call", "full attention", self._detail_around(path))
            return
        category, detail = plain_kind(
            node,
            path,
            layer,
            with_experts=self._layers.has_experts(layer),
            vocabulary=self._vocabulary,
            after=self._layers_done,
            only_vectors=all(self._arrays[name].ndim < 2 for name in node.weights()) and bool(node.weights()),
        )
        self._add(node, layer, "call", category, detail)

    def _detail_around(self, path: str) -> str | None:
        """The detail of the attention that a projection called from outside belongs to, where it is known already."""
        holders = {id(m) for m in self._layers.around(path)}
        return next((b.detail for b in self.blocks if id(b.module) in holders and b.detail is not None), None)

    def _add(self, node: Node, layer: int | None, part: Part, category: Category, detail: str | None) -> None:
        nth = self._calls.get((id(node.module), node.method), 0)
        self._calls[id(node.module), node.method] = nth + 1
        marks = [
            m for m in (node.method.strip("_") if node.method != "__call__" else "", "rest" * (part == "rest")) if m
        ]
        marks += [f"({nth + 1})"] if nth else []
        path = self._layers.path(node.module, layer) or self._root
        weights = tuple(node.reads) if part == "rest" else node.weights()
        routed = detail == ROUTED and part == "call"
        if listed_experts(node.module) and routed:  # a pass calls only those it chose
            weights = tuple(name for name in self._arrays if name.startswith(f"{path}."))
        self.blocks.append(
            Block(
                name=" ".join([path, *marks]),
                place=" ".join([self._layers.place(path, layer), *marks]),
                category=category,
                layer=layer,
                part=part,
                module=node.module,
                method=node.method,
                nth=nth,
                weights=weights,
                detail=detail,
                weight_bytes=sum(self._arrays[name].nbytes for name in weights),
                experts=experts_in(node.module) if routed else None,
                active=(node.choices or chosen_by(node.module)) if routed else None,
            )
        )
