"""Which heavy primitives a pass runs, each as a call that can be made again alone: heard in real passes, by width.

Heavy are products with a weight matrix (dense, quantised, of routed experts), attention over the cache and the gated
delta recurrence. A pass of every width is listened to, so each call keeps the activations, expert routes, masks and
cache lengths that this width really had; nothing is made up. Keys and values of a plain cache are sliced anew in each
replay, because a view that is held makes the next update of the cache copy everything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_map
from mlx_lm.models.cache import KVCache, QuantizedKVCache
from mlx_lm.models.mla import MultiLinear, QuantizedMultiLinear
from mlx_lm.models.switch_layers import QuantizedSwitchLinear, SwitchLinear

from ...engine.decode import Generation
from ...engine.errors import SpecviewError
from ...engine.recurrence import FUNCTION as DELTA
from ...engine.trees import nbytes
from .blocks import Block, arrays_in
from .interception import Call, intercepted
from .queued import capture
from .timings import Category

WIDTHS = (1, 2, 3, 4, 6, 8, 16)
ATTENTION = "scaled_dot_product_attention"
_ATTENTION_ARGUMENTS = ("queries", "keys", "values", "cache", "scale", "mask", "sinks")
_ROUTED = (SwitchLinear, QuantizedSwitchLinear)
_LINEAR = (nn.Linear, nn.QuantizedLinear, MultiLinear, QuantizedMultiLinear, *_ROUTED)
_EMBEDDING = (nn.Embedding, nn.QuantizedEmbedding)


class ReplayError(SpecviewError):
    """A replay that cannot be made as asked."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplayCall:
    """One call as it was heard: `run(x)` makes it again, lazily, on its own `x` or one that waits for something.

    `bytes_read` is what it reads at least: its weights once (of routed experts those that the routes name), the keys
    and values, or the recurrent state with its inputs.
    """

    run: Callable[[mx.array], mx.array]
    x: mx.array
    bytes_read: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplayJob:
    """One heavy primitive of a place: its calls in a pass of each width, in the order of the layers.

    `shape` is K→N of a matrix, with what there is several of; `dtype` tells bits and groups where it is quantised.
    """

    primitive: str
    weight: str
    category: Category
    detail: str | None
    shape: str
    dtype: str
    calls_by_width: Mapping[int, tuple[ReplayCall, ...]]


@dataclass(frozen=True, slots=True)
class _What:
    """What tells calls of one job from those of another."""

    primitive: str
    weight: str
    category: Category
    detail: str | None
    shape: str
    dtype: str


Heard = list[tuple[_What, ReplayCall]]


def replays_of(
    generation: Generation, blocks: Sequence[Block], tokens: Sequence[int], widths: Sequence[int] = WIDTHS
) -> tuple[ReplayJob, ...]:
    """The heavy primitives of a pass over `tokens` (those to come, as many as the widest width), one job a place.

    One untimed pass of each width is made; the caches are as before afterwards, and the generation must stay where it
    is until its jobs are timed. Attention that does not go through mlx-lm's `scaled_dot_product_attention`, and
    recurrences other than `gated_delta_update`, are not heard. Raises ReplayError for widths without tokens.
    """
    if min(widths, default=0) < 1 or max(widths) > len(tokens):
        asked = ", ".join(map(str, widths)) or "none"
        raise ReplayError(
            f"{len(tokens)} tokens are at hand, and replays of widths {asked} were asked: take widths up to it."
        )
    found: dict[_What, dict[int, list[ReplayCall]]] = {}
    for width in sorted(set(widths)):
        for what, call in _heard(generation, blocks, tokens[:width]):
            found.setdefault(what, {}).setdefault(width, []).append(call)
    return tuple(
        ReplayJob(
            primitive=what.primitive,
            weight=what.weight,
            category=what.category,
            detail=what.detail,
            shape=what.shape,
            dtype=what.dtype,
            calls_by_width={width: tuple(calls) for width, calls in by_width.items()},
        )
        for what, by_width in found.items()
    )


def _heard(generation: Generation, blocks: Sequence[Block], tokens: Sequence[int]) -> Heard:
    """The heavy calls of one pass, in order, with what they were given."""
    model = generation.target.model
    block_by_call = {(id(b.module), b.method): b for b in blocks if b.module is not None}
    listened = [b.module for b in blocks if b.module is not None]
    listened += [m for m in model.modules() if isinstance(m, _LINEAR)]
    path_by_module: dict[int, str] = {}
    for path, module in model.named_modules():
        path_by_module.setdefault(id(module), path)
    heard: Heard = []
    around: list[Block] = []

    def handle(call: Call) -> Any:
        block = block_by_call.get((id(call.module), call.method))
        around.extend([block] if block else [])
        try:
            if around and _is_product(call):
                heard.append(_product(call, path_by_module[id(call.module)], around[-1]))
            return call.run()
        finally:
            del around[len(around) - (block is not None) :]

    def attend(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if around:
            given = dict(zip(_ATTENTION_ARGUMENTS, args, strict=False)) | kwargs
            heard.append(_attention(original, given, around[-1]))
        return original(*args, **kwargs)

    def recur(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if around:
            heard.append(_delta(original, args, kwargs, around[-1]))
        return original(*args, **kwargs)

    with intercepted(listened, handle), _replaced(model.modules(), {ATTENTION: attend, DELTA: recur}):
        capture(generation, blocks, tokens)
    mx.eval([call.x for _, call in heard])
    return heard


@contextmanager
def _replaced(modules: Iterable[nn.Module], by_name: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """While it lasts, functions of these names in the files that define the modules go through their listener."""
    files = {kind.__module__: sys.modules[kind.__module__] for m in modules for kind in type(m).__mro__}
    found = [(file, name, vars(file)[name]) for file in files.values() for name in by_name if name in vars(file)]
    try:
        for file, name, original in found:
            setattr(file, name, _through(by_name[name], original))
        yield
    finally:
        for file, name, original in found:
            setattr(file, name, original)


def _through(listener: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: listener(original, *args, **kwargs)


def _is_product(call: Call) -> bool:
    return isinstance(call.module, _LINEAR) or (isinstance(call.module, _EMBEDDING) and call.method == "as_linear")


def _product(call: Call, path: str, block: Block) -> tuple[_What, ReplayCall]:
    module, method, (x, *rest), kwargs = call.module, call.method, call.args, call.kwargs
    assert module is not None
    bits = getattr(module, "bits", None)
    *several, out_width, packed = module.weight.shape
    in_width = packed if bits is None else packed * 32 // bits
    shape = f"{in_width}→{out_width}"
    read = nbytes(module.parameters())
    dtype = _name(module.weight.dtype)
    if bits is not None:
        dtype = f"{bits}-bit, groups of {module.group_size}, {_name(module.scales.dtype)}"
    if isinstance(module, _ROUTED):
        primitive = "GatherMM" if bits is None else "GatherQMM"
        indices = rest[0] if rest else kwargs["indices"]
        mx.eval(indices)
        read = read * len(set(indices.flatten().tolist())) // several[0]
        shape = f"{shape} × {several[0]} experts"
    else:
        primitive = "QuantizedMatmul" if bits is not None else "AddMM" if "bias" in module else "Matmul"
        shape = f"{shape} × {several[0]} heads" if several else shape

    def run(x: mx.array) -> mx.array:
        return arrays_in(getattr(module, method)(x, *rest, **kwargs))[0]  # a fused projection gives several

    place = path if block.layer is None else path.replace(f".{block.layer}", ".*", 1)
    return _what(primitive, place, block, shape, dtype), ReplayCall(run=run, x=x, bytes_read=read)


def _attention(original: Callable[..., Any], given: dict[str, Any], block: Block) -> tuple[_What, ReplayCall]:
    rest = dict(given)
    queries, keys, values = (rest.pop(name) for name in _ATTENTION_ARGUMENTS[:3])
    mx.eval(arrays_in(rest))
    fetch = _fetched(given.get("cache"), keys, values)
    (_, heads, n, size), stored = queries.shape, arrays_in(keys)[0]

    def run(q: mx.array) -> mx.array:
        output: mx.array = original(q, *fetch(), **rest)
        return output

    # without the pass's own positions, so that all widths at one context are one job
    context = stored.shape[-2] - n
    shape = f"{heads} heads over {stored.shape[-3]} of {size}, {context} positions"
    what = _what("ScaledDotProductAttention", f"{block.place} keys and values", block, shape, _name(stored.dtype))
    return what, ReplayCall(run=run, x=queries, bytes_read=nbytes([keys, values]))


def _fetched(cache: Any, keys: Any, values: Any) -> Callable[[], tuple[Any, Any]]:
    """What gives these keys and values again: slices of a plain cache that holds no view, else copies."""
    length = arrays_in(keys)[0].shape[-2]
    if type(cache) in (KVCache, QuantizedKVCache) and cache.offset == length and _alike(cache, keys, values):

        def sliced(tree: Any) -> Any:
            return tree_map(lambda a: a[..., :length, :], tree)

        return lambda: (sliced(cache.keys), sliced(cache.values))
    copies = tree_map(mx.contiguous, (keys, values))
    mx.eval(copies)
    return lambda: copies


def _alike(cache: Any, keys: Any, values: Any) -> bool:
    """Whether what attention was given is what the cache holds, not something made of it (latent attention)."""
    given, held = arrays_in(keys, values), arrays_in(cache.keys, cache.values)
    return len(given) == len(held) and all(
        (a.shape[:-2], a.shape[-1], a.dtype) == (b.shape[:-2], b.shape[-1], b.dtype)
        for a, b in zip(given, held, strict=True)
    )


def _delta(
    original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], block: Block
) -> tuple[_What, ReplayCall]:
    q, _, v, *_ = args
    mx.eval(arrays_in(args, kwargs))

    def run(x: mx.array) -> mx.array:
        output: mx.array = original(x, *args[1:], **kwargs)[0]
        return output

    (key_heads, key_size), (heads, size) = q.shape[-2:], v.shape[-2:]
    shape = f"{heads} states of {key_size}×{size}, {key_heads} keys"
    what = _what("GatedDelta", f"{block.place} state", block, shape, _name(v.dtype))
    return what, ReplayCall(run=run, x=q, bytes_read=nbytes([args, kwargs]))


def _what(primitive: str, weight: str, block: Block, shape: str, dtype: str) -> _What:
    return _What(primitive, weight, block.category, block.detail, shape, dtype)


def _name(dtype: mx.Dtype) -> str:
    return str(dtype).removeprefix("mlx.core.")
