"""Long prompts: reading them a chunk at a time with progress, and keeping what was read in mlx-lm's own file format.

A file holds the caches of a prompt, as `mlx_lm.cache_prompt` writes them, and in its metadata the model as it was named
and, when specview wrote it, the prompt's tokens, a hash of the tokenizer and whether a chat template wraps the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import (
    CacheList,
    KVCache,
    QuantizedKVCache,
    RotatingKVCache,
    load_prompt_cache,
    make_prompt_cache,
    save_prompt_cache,
)

from .cache import PREFILL_STEP, arrays_of
from .cache_contents import arrays_in, parts
from .cache_soundness import could_be, has_modest_names
from .errors import SpecviewError
from .kv_quantisation import KvQuantisation, quantise_caches
from .model_files import BUNDLED, public_name
from .models import Target, first_line, logit_count, tokenizer_hash
from .prompt_hidden import hidden_in, save_with_hidden
from .rewind import with_tapes
from .verify_policies import Policy, one_pass

Going = Callable[[int, int], bool]
SUFFIX = ".safetensors"
LONGEST_NAME = 80  # characters of a file's or a model's name in a sentence


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
class CachedPrompt:
    """A file that fits a target: how many positions it holds, and what it says of them.

    `tokens` and `chat` (whether a chat template wraps them) are None where specview did not write it; `kv` where its
    keys and values are not quantised; `hidden` [1, positions, D] where it keeps no hidden states (not evaluated).
    """

    path: Path
    positions: int
    tokens: tuple[int, ...] | None
    kv: KvQuantisation | None
    chat: bool | None
    hidden: mx.array | None = None


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


def check_new(path: Path) -> None:
    """Raise PromptCacheError unless a prompt cache can be written there: a new name in a folder that is there."""
    if path.suffix != SUFFIX:
        raise PromptCacheError(f"{path.name} is no name for a prompt cache: let it end in {SUFFIX}.")
    try:
        taken, has_folder = path.exists(), path.absolute().parent.is_dir()
    except OSError as error:
        raise PromptCacheError(
            f"{path.name[:LONGEST_NAME]} cannot be written ({error.strerror}): choose another name."
        ) from error
    if taken:
        raise PromptCacheError(f"{path.name} exists already: choose another name, or delete it first.")
    if not has_folder:
        raise PromptCacheError(f"{path.name} cannot be written: the folder {path.parent.name!r} is not there.")


def save_prompt(
    path: Path,
    target: Target,
    tokens: Sequence[int],
    caches: Sequence[Any],
    chat: bool | None = None,
    hidden: mx.array | None = None,
) -> None:
    """Write the caches of `tokens`, all of which they have seen, where no file is yet.

    mlx-lm goes on from the file too, which is why the model stands in it as it was named. `chat` says whether a chat
    template wraps the tokens; `hidden` [1, tokens, D] are their hidden states, for drafts that go by them. Raises
    PromptCacheError when it exists or cannot be written.
    """
    check_new(path)
    metadata = {
        "model": str(target.folder) if target.source == BUNDLED else target.source,
        "specview_model": target.name,
        "tokenizer_config": "{}",
        "tokenizer_hash": _tokenizer(target),
        **({} if chat is None else {"chat": json.dumps(chat)}),
        "tokens": json.dumps(list(map(int, tokens))),
    }
    try:
        plain = [_plain(cache) for cache in caches]
        if hidden is None:
            save_prompt_cache(str(path), plain, metadata)
        else:
            save_with_hidden(path, plain, metadata, hidden)
    except (OSError, RuntimeError, ValueError) as error:
        raise PromptCacheError(f"{path.name} cannot be written ({first_line(error)}): choose another place.") from error


def open_prompt(path: Path, target: Target) -> CachedPrompt:
    """What a prompt cache of this or mlx-lm's making holds; nothing of it is evaluated.

    Raises PromptCacheError, one sentence, for a file that is none, or of another model.
    """
    caches, metadata = _read(path)
    _check_model(path, target, metadata, caches)
    try:
        written = None if "tokens" not in metadata else tuple(int(token) for token in json.loads(metadata["tokens"]))
        chat = None if "chat" not in metadata else bool(json.loads(metadata["chat"]))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise _unreadable(path, error) from error
    if written and (min(written) < 0 or max(written) >= logit_count(target)):
        raise _unreadable(path, ValueError(f"it names tokens that {target.name} does not have"))
    positions = _positions(caches, written)
    if positions is None or positions < 1:
        raise PromptCacheError(f"{path.name} does not say how many tokens it holds: make it anew with specview.")
    if written is not None and len(written) != positions:
        raise PromptCacheError(
            f"{path.name} holds another prompt than it says: it has {positions:,} positions and names {len(written):,} "
            "tokens; make it anew."
        )
    kinds = [(c.bits, c.group_size) for c in parts(caches) if isinstance(c, QuantizedKVCache)]
    kv = KvQuantisation(bits=kinds[0][0], group_size=kinds[0][1]) if kinds else None
    if len(set(kinds)) > 1:
        raise _unreadable(path, ValueError("its layers are quantised in several ways"))
    try:
        hidden = hidden_in(path, metadata, len(caches), positions, target)
    except Exception as error:  # MLX makes of a file whatever it says
        raise _unreadable(path, error) from error
    return CachedPrompt(path=path, positions=positions, tokens=written, kv=kv, chat=chat, hidden=hidden)


def caches_of(cached: CachedPrompt, target: Target, longest: int | None = None) -> list[Any]:
    """The caches of a file that was opened for this target, evaluated; nobody else holds them.

    Raises PromptCacheError when the file is no longer there, CacheError for caches that cannot be rewound up to
    `longest` positions.
    """
    caches, _ = _read(cached.path)

    def make() -> list[Any]:
        made: list[Any] = make_prompt_cache(target.model)
        return made

    caches = with_tapes(target.model, caches, make, longest)
    mx.eval(arrays_of(caches))
    return caches


def _read(path: Path) -> tuple[list[Any], dict[str, Any]]:
    """The caches and the metadata of a file; PromptCacheError where it holds none."""
    try:
        found = path.is_file()
    except OSError as error:
        raise PromptCacheError(
            f"{path.name[:LONGEST_NAME]} cannot be read ({error.strerror}): name another file."
        ) from error
    if not found:
        raise PromptCacheError(f"There is no prompt cache {path.name} here: make one with specview cache-prompt.")
    try:
        if not has_modest_names(path):
            raise ValueError("its names count further than it holds")
        caches, metadata = load_prompt_cache(str(path), return_metadata=True)
    except Exception as error:  # mlx-lm makes of a file whatever it says
        raise _unreadable(path, error) from error
    if not caches:
        raise _unreadable(path, ValueError("it holds no cache"))
    return caches, metadata if isinstance(metadata, dict) else {}


def _unreadable(path: Path, error: BaseException) -> PromptCacheError:
    return PromptCacheError(f"{path.name} cannot be read as a prompt cache ({first_line(error)}): make it anew.")


def _check_model(path: Path, target: Target, metadata: dict[str, Any], caches: Sequence[Any]) -> None:
    """Raise PromptCacheError when a file's name, tokenizer, cache classes, shapes or dtype are not this model's."""
    name = metadata.get("specview_model", metadata.get("model"))
    if isinstance(name, str) and name and _last(public_name(name)) != _last(target.name):
        raise PromptCacheError(
            f"{path.name} is of the model {_last(name)[:LONGEST_NAME]}, not of {target.name}: load that model, or make "
            "a cache anew."
        )
    other = PromptCacheError(f"{path.name} does not fit {target.name}, so it is of another model: make a cache anew.")
    known = metadata.get("tokenizer_hash")
    if known is not None and known != _tokenizer(target):
        raise other
    shaped = make_prompt_cache(target.model)
    kinds = [(type(a).__name__, type(b).__name__) for a, b in zip(caches, shaped, strict=False)]
    if any(pair == (RotatingKVCache.__name__, KVCache.__name__) for pair in kinds):
        raise PromptCacheError(
            f"{path.name} keeps only its last positions, as --max-kv-size asks for: make a cache without that option."
        )
    if len(caches) != len(shaped) or any(
        a != b and (a, b) != (QuantizedKVCache.__name__, KVCache.__name__) for a, b in kinds
    ):
        raise other
    target.logits(mx.zeros((1, 1), mx.int32), shaped)
    if not could_be(caches, shaped):
        raise other
    held, wanted = _floats(caches), _floats(shaped)
    if held != wanted:
        raise PromptCacheError(
            f"{path.name} holds {' and '.join(held)} and {target.name} computes in {' and '.join(wanted)} here: load "
            "the model as it was when the file was made (--dtype), or make a cache anew."
        )


def _floats(caches: Sequence[Any]) -> list[str]:
    """The floating types that caches hold, by name."""
    types = {a.dtype for a in arrays_in(caches) if mx.issubdtype(a.dtype, mx.floating)}
    return sorted(str(kind).removeprefix("mlx.core.") for kind in types)


def _positions(caches: Sequence[Any], written: Sequence[int] | None) -> int | None:
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
