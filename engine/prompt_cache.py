"""Long prompts: reading them a chunk at a time with progress, and keeping what was read in mlx-lm's own file format.

A file holds the caches of a prompt, as `mlx_lm.cache_prompt` writes them, and in its metadata the model's name and,
when specview wrote it, the prompt's tokens and a hash of the tokenizer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import (
    ArraysCache,
    CacheList,
    KVCache,
    QuantizedKVCache,
    load_prompt_cache,
    make_prompt_cache,
    save_prompt_cache,
)

from .cache import PREFILL_STEP, arrays_of, new_cache
from .errors import SpecviewError
from .kv_quantisation import KvQuantisation, quantise_caches
from .models import Target, first_line, public_name, tokenizer_hash
from .rewind import with_tapes
from .verify_policies import Policy, one_pass

Going = Callable[[int, int], bool]


class PromptCacheError(SpecviewError):
    """A prompt cache that cannot be used here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How far a prompt was read: `read` of `total` positions, and their hidden states [1, read, D] where kept."""

    read: int
    total: int
    hidden: mx.array | None

    @property
    def finished(self) -> bool:
        """Whether nothing is left to read."""
        return self.read == self.total


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPrompt:
    """Caches out of a file and how many positions of the prompt they hold."""

    caches: list[Any]
    positions: int


def read_prompt(
    target: Target,
    tokens: Sequence[int],
    caches: list[Any],
    *,
    keep_hidden: bool = False,
    going: Going = lambda read, total: True,
    kv: KvQuantisation | None = None,
    chunk: int = PREFILL_STEP,
    policy: Policy = one_pass,
) -> Reading:
    """Read tokens into the caches chunk by chunk, each evaluated; quantise keys and values on the way where asked.

    `policy` runs the chunks: "dense on the fly" reads a quantised model many times faster where wide products are flat.

    `going(read, total)` hears of every chunk, and ends the reading by returning False; the caches then hold exactly
    `read` positions, and reading may go on from there.
    """
    kept, read = [], 0
    if kv is not None:
        quantise_caches(caches, kv)
    while read < len(tokens):
        part = mx.array(list(tokens[read : read + chunk]))[None]
        hidden, _ = policy(target, part, caches, keep_hidden)
        if hidden is not None:
            kept.append(hidden)
        mx.eval(hidden, arrays_of(caches))
        read += part.shape[1]
        if kv is not None and quantise_caches(caches, kv):
            mx.eval(arrays_of(caches))
        mx.clear_cache()
        if not going(read, len(tokens)):
            break
    return Reading(read=read, total=len(tokens), hidden=mx.concatenate(kept, axis=1) if kept else None)


def save_prompt(path: Path, target: Target, tokens: Sequence[int], caches: Sequence[Any]) -> None:
    """Write the caches of `tokens`, all of which they have seen, where no file is yet.

    The file opens in mlx-lm too. Raises PromptCacheError when it exists or cannot be written.
    """
    if path.exists():
        raise PromptCacheError(f"{path.name} exists already: choose another name, or delete it first.")
    metadata = {
        "model": target.name,
        "tokenizer_hash": _tokenizer(target),
        "tokens": json.dumps(list(map(int, tokens))),
    }
    try:
        save_prompt_cache(str(path), [_plain(cache) for cache in caches], metadata)
    except (OSError, RuntimeError, ValueError) as error:
        raise PromptCacheError(f"{path.name} cannot be written ({first_line(error)}): choose another place.") from error


def load_prompt(path: Path, target: Target, tokens: Sequence[int], longest: int | None = None) -> LoadedPrompt:
    """Caches of a prompt's beginning from a file of this or mlx-lm's making; recurrent ones get their tape.

    `tokens` are the whole prompt: the file must hold fewer positions, because a generation reads the last one itself,
    and the same tokens as far as it says which. Raises PromptCacheError, one sentence, for a file that is none, of
    another model, or of another prompt; CacheError for caches that cannot be rewound up to `longest` positions.
    """
    fresh = new_cache(target, longest)
    try:
        caches, metadata = load_prompt_cache(str(path), return_metadata=True)
        metadata = metadata if isinstance(metadata, dict) else {}
        written = json.loads(metadata["tokens"]) if "tokens" in metadata else None
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise PromptCacheError(
            f"{path.name} cannot be read as a prompt cache ({first_line(error)}): make it anew."
        ) from error
    _check_model(path, target, metadata, caches, fresh)
    positions = _positions(caches, written)
    if positions is None:
        raise PromptCacheError(f"{path.name} does not say how many tokens it holds: make it anew with specview.")
    if positions >= len(tokens):
        raise PromptCacheError(
            f"{path.name} holds {positions:,} tokens and this prompt has {len(tokens):,}: use a longer prompt that "
            "begins with the cached one."
        )
    if written is not None and (len(written) != positions or list(tokens[:positions]) != written):
        at = next((i for i, (a, b) in enumerate(zip(written, tokens, strict=False)) if a != b), positions)
        raise PromptCacheError(
            f"{path.name} holds another prompt: its token {at + 1:,} is not this prompt's; make a cache of this prompt."
        )

    def make() -> list[Any]:
        made: list[Any] = make_prompt_cache(target.model)
        return made

    return LoadedPrompt(caches=with_tapes(target.model, caches, make, longest), positions=positions)


def _check_model(
    path: Path, target: Target, metadata: dict[str, Any], caches: Sequence[Any], fresh: Sequence[Any]
) -> None:
    """Raise PromptCacheError when a file's name, tokenizer, cache classes or shapes are another model's."""
    name = metadata.get("model")
    if isinstance(name, str) and name and _last(public_name(name)) != _last(target.name):
        raise PromptCacheError(
            f"{path.name} is of the model {_last(name)}, not of {target.name}: load that model, or make a cache anew."
        )
    other = PromptCacheError(f"{path.name} does not fit {target.name}, so it is of another model: make a cache anew.")
    known = metadata.get("tokenizer_hash")
    if known is not None and known != _tokenizer(target):
        raise other
    kinds = [(type(a).__name__, own_kind(b).__name__) for a, b in zip(caches, fresh, strict=False)]
    if len(caches) != len(fresh) or any(
        a != b and (a, b) != (QuantizedKVCache.__name__, KVCache.__name__) for a, b in kinds
    ):
        raise other
    shaped = make_prompt_cache(target.model)
    target.logits(mx.zeros((1, 1), mx.int32), shaped)
    if any(_shapes(a) != _shapes(b) for a, b in zip(caches, shaped, strict=True)):
        raise other


def _shapes(cache: Any) -> list[Any]:
    """What of a cache's shapes does not depend on how many positions it holds."""
    if isinstance(cache, ArraysCache):
        return [None if a is None else a.shape for a in cache.cache]
    if isinstance(cache, QuantizedKVCache) and cache.keys is not None:
        packed = [cache.keys[0], cache.values[0]]
        return [(a.shape[0], a.shape[1], a.shape[3] * 32 // cache.bits) for a in packed]
    if getattr(cache, "keys", None) is not None:
        return [(a.shape[0], a.shape[1], a.shape[3]) for a in (cache.keys, cache.values)]
    return []


def _positions(caches: Sequence[Any], written: list[int] | None) -> int | None:
    """How many positions the caches hold: they say so themselves, or the tokens written with them do."""
    offsets = {int(cache.offset) for cache in caches if isinstance(getattr(cache, "offset", None), int)}
    if len(offsets) == 1:
        return offsets.pop()
    return len(written) if written is not None and not offsets else None


def _plain(cache: Any) -> Any:
    """The cache as mlx-lm knows it: one that can be taken back is saved under the name of the class it stands for."""
    if isinstance(cache, CacheList):
        return CacheList(*(_plain(part) for part in cache.caches))
    kind = own_kind(cache)
    return cache if kind is type(cache) else kind.from_state(cache.state)


def own_kind(cache: Any) -> Any:
    """The class that a model made a cache of, whatever of ours stands on it so that it can be taken back."""
    return next(kind for kind in type(cache).__mro__ if not kind.__module__.startswith(f"{__package__}."))


def _tokenizer(target: Target) -> str:
    return "none" if target.tokenizer is None or target.random_weights else tokenizer_hash(target)


def _last(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1]
