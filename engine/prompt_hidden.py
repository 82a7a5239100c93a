"""Hidden states of a cached prompt, kept in its file beside the caches for drafts that go by them, as MTP heads do.

mlx-lm takes as many arrays from a file as it has caches, so one more behind them does not hinder it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import mlx.core as mx
from mlx_lm.models.cache import make_prompt_cache, save_prompt_cache

from .drafters.mtp_weights import MtpError, stored_heads
from .models import Target
from .verify_policies import one_pass

MARK = "hidden_states"  # in the metadata of a file that holds them: the name of their array


def wants_hidden(target: Target) -> bool:
    """Whether the model's folder holds a draft that goes by hidden states."""
    try:
        return stored_heads(target.folder, target.config, target.name) is not None
    except MtpError:
        return False


def save_with_hidden(path: Path, caches: Sequence[Any], metadata: dict[str, str], hidden: mx.array) -> None:
    """Write caches as mlx-lm does, with the hidden states [1, n, D] of their positions behind them.

    Raises what mlx-lm raises; a new folder with a file without them stands beside it meanwhile.
    """
    name = str(len(caches))
    with TemporaryDirectory(dir=path.parent, prefix=".specview-") as beside:
        part = str(Path(beside) / path.name)
        save_prompt_cache(part, list(caches), {**metadata, MARK: name})
        arrays, written = cast("tuple[dict[str, mx.array], dict[str, str]]", mx.load(part, return_metadata=True))
        mx.save_safetensors(str(path), {**arrays, name: hidden}, written)


def followed_by(kept: mx.array | None, behind: mx.array | None) -> mx.array | None:
    """The hidden states [1, n, D] of a file's positions and of those behind them."""
    states = [each for each in (kept, behind) if each is not None]
    return mx.concatenate(states, axis=1) if len(states) > 1 else next(iter(states), None)


def hidden_in(path: Path, metadata: dict[str, Any], caches: int, positions: int, target: Target) -> mx.array | None:
    """The hidden states in a file that holds so many caches, not evaluated; None where it keeps none.

    Raises ValueError for some that cannot be this model's of these positions.
    """
    name = metadata.get(MARK)
    if name is None:
        return None
    arrays = mx.load(str(path))
    found = arrays.get(str(caches)) if isinstance(arrays, dict) and name == str(caches) else None
    like, _ = one_pass(target, mx.zeros((1, 1), mx.int32), make_prompt_cache(target.model), True)
    if found is None or like is None:
        raise ValueError("its hidden states are not there")
    if found.shape != (1, positions, like.shape[2]) or found.dtype != like.dtype:
        raise ValueError("its hidden states are not those of its positions")
    return found
