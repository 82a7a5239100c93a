"""An MTP head: one decoder layer that guesses the token after next from the target's hidden state.

It takes concat(norm(embedding of token t+1), norm(hidden state of token t))
through `fc`, a decoder layer of the target's kind and `norm`, and shares the
target's embedding and output head. Layout and order: Qwen3-Next checkpoints
(`mtp.*`), as vLLM's qwen3_next_mtp runs them. mlx-lm drops these weights, so
they are read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn

from ..accept import greedy_choices
from ..cache import Snapshot, arrays_of, cache_bytes, restore, take_snapshot
from ..errors import SpecviewError
from ..models import DTYPES, Target, as_dtype
from ..rewind import rewind
from ..trees import nbytes
from .protocol import Draft, no_tokens


class MtpError(SpecviewError):
    """No MTP head that can be used."""


class MtpHead(nn.Module):
    """The layers of a Qwen3-Next MTP head; norms as mlx-lm keeps them (1 added), experts stacked."""

    def __init__(self, target: Target) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        from mlx_lm.models.qwen3_next import Qwen3NextDecoderLayer

        args = target.model.args
        width = args.hidden_size
        self.pre_fc_norm_embedding = nn.RMSNorm(width, eps=args.rms_norm_eps)
        self.pre_fc_norm_hidden = nn.RMSNorm(width, eps=args.rms_norm_eps)
        self.fc = nn.Linear(2 * width, width, bias=False)
        full_attention = args.full_attention_interval - 1
        self.layers = [Qwen3NextDecoderLayer(args, full_attention)]
        self.norm = nn.RMSNorm(width, eps=args.rms_norm_eps)

    def __call__(self, embedding: mx.array, hidden: mx.array, cache: list[Any]) -> mx.array:
        """New hidden states [1, n, D] from embeddings of the next tokens and hidden states, both [1, n, D]."""
        from mlx_lm.models.base import create_attention_mask

        x: mx.array = self.fc(
            mx.concatenate([self.pre_fc_norm_embedding(embedding), self.pre_fc_norm_hidden(hidden)], -1)
        )
        mask = create_attention_mask(x, cache[0])
        for layer, layer_cache in zip(self.layers, cache, strict=True):
            x = layer(x, mask=mask, cache=layer_cache)
        result: mx.array = self.norm(x)
        return result


def mtp_weights(folder: Path) -> dict[str, mx.array]:
    """Tensors named `mtp.*` in the safetensors of a model folder, without the prefix."""
    found = {}
    for file in sorted(folder.glob("*.safetensors")):
        try:
            tensors = cast("dict[str, mx.array]", mx.load(str(file)))
        except RuntimeError as error:
            raise MtpError(f"{file.name} of {folder.name} cannot be read: fetch the model again.") from error
        found.update({k.removeprefix("mtp."): v for k, v in tensors.items() if k.startswith("mtp.")})
    return found


def load_mtp_head(target: Target, dtype: str | None = None) -> MtpHead:
    """The MTP head stored beside a target's weights, quantised as stored or cast to `dtype`.

    Raises MtpError when the folder holds none, or one of another layout.
    """
    weights = mtp_weights(target.folder)
    if not weights:
        raise MtpError(
            f"{target.name} holds no MTP head (no mtp.* weights): choose --draft lookup, a draft model, or a "
            "checkpoint whose MTP weights were kept."
        )
    if target.config.get("model_type") != "qwen3_next" or "layers.0.mlp.switch_mlp.up_proj.weight" not in weights:
        raise MtpError(
            f"The MTP head of {target.name} has a layout that specview cannot run yet: choose --draft lookup "
            "or a draft model."
        )
    head = MtpHead(target)
    quantisation = target.config.get("quantization")
    if quantisation:
        nn.quantize(
            head,
            group_size=quantisation["group_size"],
            bits=quantisation["bits"],
            class_predicate=lambda path, module: f"{path}.scales" in weights,
        )
    try:
        head.load_weights(list(weights.items()))
    except ValueError as error:
        raise MtpError(f"The MTP weights of {target.name} do not fit its config: fetch the model again.") from error
    if dtype is not None:
        if dtype not in DTYPES:
            raise MtpError(f"There is no dtype {dtype!r}: use one of {', '.join(DTYPES)}.")
        as_dtype(head, dtype)
    mx.eval(head.parameters())  # type: ignore[no-untyped-call]
    head.eval()
    return head


@dataclass(frozen=True, slots=True)
class MtpMark:
    """An MTP head's moment: its cache, and the tokens and hidden states it has yet to take in."""

    snapshot: Snapshot
    pending: tuple[int, ...]
    hidden: mx.array | None


class MtpDrafter:
    """Drafts with an MTP head, feeding it its own output for drafts beyond the first.

    Its cache holds one position per committed token, from the target's true
    hidden states; so every round its first step takes in accepted + 1 positions.
    """

    kind = "mtp"
    needs_hidden = True
    has_steps = True

    def __init__(self, target: Target, head: MtpHead) -> None:
        self.target = target
        self.head = head
        self._cache: list[Any] = []
        self._pending: tuple[int, ...] = ()
        self._hidden: mx.array | None = None
        self._own_steps = 0

    def begin(self, tokens: Sequence[int], hidden: mx.array | None) -> None:
        """Take in the prompt: pairs of hidden state t and token t+1, all but the last pair."""
        from mlx_lm.models.cache import KVCache

        self._cache = [KVCache() for _ in self.head.layers]
        self._own_steps = 0
        if hidden is None:  # a prompt of one token has no hidden state yet
            self._pending, self._hidden = (), None
            return
        if len(tokens) > 2:
            mx.eval(self._step(mx.array(list(tokens[1:-1])), hidden[:, :-1]))
        self._pending, self._hidden = tuple(tokens[-1:]), hidden[:, -1:]

    def _step(self, tokens: mx.array, hidden: mx.array) -> mx.array:
        """Hidden states [1, n, D] of the head over tokens [n] and hidden [1, n, D]."""
        return self.head(self.target.inner.embed_tokens(tokens[None]), hidden, self._cache)

    def draft(self, tokens: Sequence[int], k: int) -> Draft:
        """k tokens, submitted step by step and left lazy."""
        self._own_steps = 0
        if k == 0 or self._hidden is None:
            return Draft(no_tokens(), 0)
        width = len(self._pending)
        hidden = self._step(mx.array(self._pending), self._hidden)[:, -1:]
        guesses = [greedy_choices(self.target.head(hidden))]
        mx.async_eval(guesses[0])
        self._pending, self._hidden = (), None
        for _ in range(k - 1):
            hidden = self._step(guesses[-1], hidden)
            self._own_steps += 1
            guesses.append(greedy_choices(self.target.head(hidden)))
            mx.async_eval(guesses[-1])
        return Draft(mx.concatenate(guesses), width)

    def settle(self, tokens: Sequence[int], accepted: int, hidden: mx.array | None) -> None:
        """Forget the head's own steps; take the true hidden states in with the next draft."""
        assert hidden is not None
        for cache in self._cache:
            cache.trim(self._own_steps)
        self._own_steps = 0
        fresh = hidden[:, : accepted + 1]
        self._hidden = fresh if self._hidden is None else mx.concatenate([self._hidden, fresh], axis=1)
        self._pending = (*self._pending, *tokens)

    def step(self, tokens: Sequence[int]) -> mx.array | None:
        """The guess after `tokens`, each paired with the last hidden state: what a step costs is the same."""
        if self._hidden is None:
            return None
        last = self._hidden[:, -1:]
        hidden = mx.repeat(last, len(tokens), axis=1)
        mx.eval(hidden, arrays_of(self._cache))
        return greedy_choices(self.target.head(self._step(mx.array(list(tokens)), hidden)[:, -1:]))

    def take_back(self, width: int) -> None:
        """Take the cache back by a step."""
        rewind(self._cache, width, 0)

    def mark(self) -> MtpMark:
        """The cache and what it has not seen."""
        return MtpMark(take_snapshot(self._cache), self._pending, self._hidden)

    def restore(self, mark: MtpMark) -> None:
        """Put the cache back."""
        restore(self._cache, mark.snapshot)
        self._pending, self._hidden, self._own_steps = mark.pending, mark.hidden, 0

    def weight_bytes(self) -> int:
        """Bytes of the head's weights."""
        return nbytes(self.head.parameters())  # type: ignore[no-untyped-call]

    def cache_bytes(self) -> int:
        """Bytes of the head's cache."""
        return cache_bytes(self._cache) if self._cache else 0
