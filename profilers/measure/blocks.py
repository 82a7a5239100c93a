"""Splits one pass of a model into blocks and op categories, without a table of models.

A pass is traced once, lazily, on a throw-away cache. Who calls whom, and which module is handed a cache, tells the
parts: a module that gets a cache and hands it to none below is a mixer; modules around mixers are containers; what a
container calls beside them (norms, MLPs, experts, embedding, head) is a block; what it does itself (residual adds,
masks, scaling) is its `rest`. So every op of a pass lies in exactly one block. A weight belongs to the block whose
module holds it; only tied embeddings belong to two, the embedding and the output head, and each reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import ArraysCache, _BaseCache, make_prompt_cache
from mlx_lm.models.switch_layers import QuantizedSwitchLinear, SwitchLinear

from ...engine.accept import greedy_choices
from ...engine.models import Target
from ...engine.trees import named_arrays
from .interception import Call, intercepted
from .timings import Category

Part = Literal["call", "rest", "sampling"]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One block of a pass.

    `name` is the module's path, with the method or `rest` behind it where the path alone is ambiguous; `place` is the
    name with the layer left open, shared by the blocks that differ only in their layer. `nth` counts the calls of one
    module within a pass. `weights` are names of the model's parameters.
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


Watch = Callable[[Block, Call], Any]


def arrays_in(*trees: Any) -> list[mx.array]:
    """All arrays in nested containers; caches and other objects are not looked into."""
    return [array for _, array in named_arrays(trees)]


def caches_in(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The caches among the arguments of a call (not those in a list of all layers' caches)."""
    return [a for a in (*args, *kwargs.values()) if isinstance(a, _BaseCache)]


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
    """While it lasts, calls of the blocks' modules go through `watch`; sampling has no module and is not seen."""
    turns_by_call: dict[tuple[int, str], list[Block]] = {}
    for block in blocks:
        turns_by_call.setdefault((id(block.module), block.method), []).append(block)
    counts = dict.fromkeys(turns_by_call, 0)

    def handle(call: Call) -> Any:
        key = (id(call.module), call.method)
        turns = turns_by_call.get(key)
        if turns is None:
            return call.run()
        block = turns[counts[key] % len(turns)]
        counts[key] += 1
        return watch(block, call)

    with intercepted([b.module for b in blocks if b.module is not None], handle):
        yield


def split_into_blocks(target: Target) -> tuple[Block, ...]:
    """The blocks of one pass in the order they finish, sampling last; nothing is evaluated.

    Containers come after the blocks they hold. Weights of modules that a pass never calls are in no block.
    """
    traced = _trace(target)
    splitter = _Splitter(target)
    for node in traced.inner:
        splitter.walk(node, None)
    sampling = Block("sampling", "sampling", "sampling", None, "sampling", None, "sampling", 0, ())
    return (*splitter.blocks, sampling)


@dataclass(slots=True)
class _Node:
    """A traced call, the caches it was handed, and the calls within it."""

    module: Any = None
    method: str = ""
    caches: tuple[Any, ...] = ()
    inner: list[_Node] = field(default_factory=list)

    def hands_on(self) -> bool:
        """Whether a call within is handed a cache."""
        return any(node.caches or node.hands_on() for node in self.inner)


def _trace(target: Target) -> _Node:
    root = _Node()
    stack = [root]

    def handle(call: Call) -> Any:
        node = _Node(call.module, call.method, tuple(caches_in(call.args, call.kwargs)))
        stack[-1].inner.append(node)
        stack.append(node)
        try:
            return call.run()
        finally:
            stack.pop()

    with intercepted(target.model.modules(), handle):
        target.logits(mx.zeros((1, 1), dtype=mx.int32), make_prompt_cache(target.model))
    return root


class _Splitter:
    """Walks a trace and collects blocks."""

    def __init__(self, target: Target) -> None:
        self.blocks: list[Block] = []
        self._layers = {id(layer): i for i, layer in enumerate(target.model.layers)}
        self._paths: dict[int, list[str]] = {}
        for path, module in target.model.named_modules():
            self._paths.setdefault(id(module), []).append(path)
        self._module_paths = {path for paths in self._paths.values() for path in paths}
        self._weights = [name for name, _ in named_arrays(target.model.parameters())]
        self._root = type(target.model).__name__
        self._calls: dict[tuple[int, str], int] = {}
        self._layers_done = False

    def walk(self, node: _Node, layer: int | None) -> None:
        """Add the blocks of a traced call, which lies in `layer` or outside all."""
        is_layer = id(node.module) in self._layers
        layer = self._layers.get(id(node.module), layer)
        around_layers = any(id(m) in self._layers for m in node.module.modules())
        if node.hands_on() or (around_layers and not node.caches):
            for inner in node.inner:
                self.walk(inner, layer)
            self._add(node, layer, "rest", "misc" if layer is None else "norms and residuals")
        else:
            self._add(node, layer, "call", self._category(node, layer))
        self._layers_done = self._layers_done or is_layer

    def _category(self, node: _Node, layer: int | None) -> Category:
        module = node.module
        if node.caches:
            return "linear attention" if any(isinstance(c, ArraysCache) for c in node.caches) else "full attention"
        if node.method == "as_linear":
            return "output head"
        if isinstance(module, nn.Embedding | nn.QuantizedEmbedding):
            return "embedding"
        if "norm" in type(module).__name__.lower():
            return "norms and residuals"
        if layer is None:
            is_head = self._layers_done and isinstance(module, nn.Linear | nn.QuantizedLinear)
            return "output head" if is_head else "misc"
        if any(isinstance(m, SwitchLinear | QuantizedSwitchLinear) for m in module.modules()):
            return "MoE"
        return "MLP" if named_arrays(module.parameters()) else "misc"

    def _add(self, node: _Node, layer: int | None, part: Part, category: Category) -> None:
        paths = self._paths[id(node.module)]
        nth = self._calls.get((id(node.module), node.method), 0)
        self._calls[id(node.module), node.method] = nth + 1
        marks = [
            m for m in (node.method.strip("_") if node.method != "__call__" else "", "rest" * (part == "rest")) if m
        ]
        marks += [f"({nth + 1})"] if nth else []
        name = " ".join([paths[0] or self._root, *marks])
        owned = self._held_by(paths) if part == "rest" else self._below(paths)
        place = name if layer is None else name.replace(f".{layer}", ".*", 1)
        self.blocks.append(Block(name, place, category, layer, part, node.module, node.method, nth, owned))

    def _below(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Weights at or below these module paths."""
        starts = tuple(f"{path}." for path in paths)
        return tuple(name for name in self._weights if name.startswith(starts))

    def _held_by(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Weights held by the modules at these paths themselves, not by modules within."""
        return tuple(name for name in self._weights if self._owner(name) in paths)

    def _owner(self, weight: str) -> str:
        path = weight
        while path and path not in self._module_paths:
            path = path.rpartition(".")[0]
        return path
