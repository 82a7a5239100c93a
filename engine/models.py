"""Loads models: the bundled one, a local directory, or a hub id, always through mlx-lm's own loader."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from .casting import as_dtype
from .layer_kinds import CountByKind, count_by_kind, layer_kinds
from .model_files import BUNDLED, WITHOUT_HUB, ModelError, folder_of, public_name
from .mtp_names import classes_without_mtp
from .split import hidden_and_logits, inner_of, logits_of
from .trees import named_arrays

DTYPES = {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16}
WITHOUT_DRAFT_MODEL = "choose another --draft, such as lookup"


@dataclass(frozen=True, slots=True)
class Target:
    """A loaded language model with its tokenizer.

    `source` is what the user named; `folder` is where its files are; `name`
    is fit for a session file: a hub id, or a folder's last part, never a path.
    `random_weights` marks a shape without weights (see `shapes`), and
    `layers_in_full` what its architecture has where fewer layers were built.
    """

    name: str
    source: str
    folder: Path
    model: nn.Module
    tokenizer: Any
    config: dict[str, Any]
    random_weights: bool = False
    layers_in_full: CountByKind | None = None

    def logits(self, tokens: mx.array, cache: list[Any]) -> mx.array:
        """Logits [1, n, vocabulary] of tokens [1, n]; the cache takes the n positions in. Lazy."""
        result: mx.array = self.model(tokens, cache=cache)
        return result

    def with_hidden(self, tokens: mx.array, cache: list[Any]) -> tuple[mx.array, mx.array]:
        """Hidden states [1, n, D] before the output head, and the logits, of one pass as in `logits`. Lazy."""
        return hidden_and_logits(self.model, tokens, cache)

    @property
    def inner(self) -> nn.Module:
        """The part of the model that ends in hidden states, before the output head; SplitError where there is none."""
        return inner_of(self.model)

    def head(self, hidden: mx.array) -> mx.array:
        """Logits [1, n, vocabulary] of hidden states [1, n, D], as the model itself makes them. Lazy."""
        return logits_of(self.model, hidden)

    @property
    def eos_ids(self) -> frozenset[int]:
        """Tokens that end a text."""
        return frozenset(self.tokenizer.eos_token_ids)


def load_target(
    source: str = BUNDLED, dtype: str | None = None, trust_remote_code: bool = False, *, drafts: bool = False
) -> Target:
    """Load a model by name.

    `dtype` (float32, float16, bfloat16) dequantises quantised weights and
    casts the rest; None keeps the weights as stored. `drafts`: it was asked
    for as a draft model. Raises ModelError with what to do for a missing,
    wrong, broken or unsupported model.
    """
    from mlx_lm.utils import _get_classes, load_model, load_tokenizer

    folder = folder_of(source, WITHOUT_DRAFT_MODEL if drafts else WITHOUT_HUB)
    name = public_name(source)
    try:
        # weights of an MTP head are no part of mlx-lm's model, which refuses some checkpoints that keep them
        model, config = load_model(
            folder,
            lazy=True,
            get_model_classes=classes_without_mtp(_get_classes),
            trust_remote_code=trust_remote_code,
        )
        if dtype is not None:
            model = as_dtype(model, _known_dtype(dtype))
        mx.eval(model.parameters())
    except ModelError:
        raise
    except FileNotFoundError as error:
        raise ModelError(
            f"{name} holds a config.json but no model*.safetensors: convert it with mlx_lm.convert."
        ) from error
    except OSError as error:
        raise ModelError(f"{name} cannot be read ({error.strerror}): check the folder and its permissions.") from error
    except json.JSONDecodeError as error:
        raise ModelError(f"The config.json of {name} is not valid JSON: fetch the model again.") from error
    except RecursionError as error:
        raise ModelError(f"The config.json of {name} is nested too deep to be read: fetch the model again.") from error
    except RuntimeError as error:
        raise ModelError(
            f"The weights of {name} cannot be read ({first_line(error)}): fetch the model again."
        ) from error
    except (Exception, SystemExit) as error:  # a model file may raise anything, and one ends the process on import
        raise ModelError(_unsupported(name, error)) from error
    try:
        tokenizer = load_tokenizer(
            folder,
            {"trust_remote_code": trust_remote_code},
            eos_token_ids=config.get("eos_token_id"),
        )
    except Exception as error:  # tokenizers raise bare Exceptions of many kinds
        raise ModelError(
            f"The tokenizer of {name} cannot be read ({first_line(error)}): fetch the model again."
        ) from error
    _quiet_about_length(tokenizer)
    model.eval()
    try:  # what this backend cannot compute shows itself in the first pass
        mx.eval(model(mx.array([[0]])))
    except Exception as error:  # a model file may raise anything
        flag = "--draft-dtype" if drafts else "--dtype"
        raise ModelError(
            f"MLX cannot run {name} here ({first_line(error)}): try {flag} float32, or choose another model."
        ) from error
    return Target(name, source, folder, model, tokenizer, config)


def _known_dtype(dtype: str) -> mx.Dtype:
    if dtype not in DTYPES:
        raise ModelError(f"There is no dtype {dtype!r}: use one of {', '.join(DTYPES)}.")
    return DTYPES[dtype]


def _quiet_about_length(tokenizer: Any) -> None:
    """Keep transformers from writing to the terminal that a text is long: who reads it says how much there is room."""
    warned = getattr(getattr(tokenizer, "_tokenizer", tokenizer), "deprecation_warnings", None)
    if isinstance(warned, dict):
        warned["sequence-length-is-longer-than-the-specified-maximum"] = True


def first_line(error: BaseException) -> str:
    """The first line of an error's text without folders, at most 160 characters."""
    lines = str(error).strip().splitlines()
    return re.sub(r"(/[\w.@+-]+)+/", "", lines[0])[:160].rstrip(".") if lines else type(error).__name__


def _unsupported(name: str, error: BaseException) -> str:
    text = first_line(error)
    if isinstance(error, SystemExit):
        return f"mlx-lm needs a package for {name} that is not installed here: install it, or choose another model."
    if "trust_remote_code" in str(error):
        return f"{name} wants to run code of its own: read that code, and pass --trust-remote-code if you trust it."
    if "not supported" in text:
        return f"mlx-lm cannot load {name} ({text}): upgrade mlx-lm, or choose another model."
    return (
        f"The config.json and the weights of {name} do not fit together "
        f"({type(error).__name__}: {text}): fetch the model again."
    )


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """Facts about a loaded model; bytes are those of the weights in memory."""

    name: str
    architecture: str
    layers: CountByKind
    quantisation: str | None
    dtype: str
    weight_bytes: int
    parameters: int
    vocabulary: int
    tokenizer_hash: str
    random_weights: bool = False
    layers_in_full: CountByKind | None = None


def describe(target: Target) -> ModelDescription:
    """Facts of a loaded model, read from the model itself."""
    from mlx_lm.utils import get_total_parameters

    arrays = [a for _, a in named_arrays(target.model.parameters())]
    floats = [a.dtype for a in arrays if mx.issubdtype(a.dtype, mx.floating)]
    dtype = max(set(floats), key=floats.count) if floats else mx.float32
    quantised = next((m for m in target.model.modules() if isinstance(getattr(m, "bits", None), int)), None)
    return ModelDescription(
        name=target.name,
        architecture=str(target.config.get("model_type", "unknown")),
        layers=layers_by_kind(target),
        quantisation=None if quantised is None else f"{quantised.bits}-bit, groups of {quantised.group_size}",
        dtype=str(dtype).removeprefix("mlx.core."),
        weight_bytes=sum(a.nbytes for a in arrays),
        parameters=int(get_total_parameters(target.model)),
        vocabulary=logit_count(target) if target.random_weights else len(token_strings(target)),
        tokenizer_hash="none" if target.random_weights else tokenizer_hash(target),
        random_weights=target.random_weights,
        layers_in_full=target.layers_in_full,
    )


def layers_by_kind(target: Target) -> CountByKind:
    """How many layers are of which kind, e.g. (('full attention', 2), ('linear attention', 6))."""
    return count_by_kind(layer_kinds(target.model))


def logit_count(target: Target) -> int:
    """How many logits a position has, which may be more than there are tokens; nothing is evaluated."""
    logits: mx.array = target.model(mx.array([[0]]))
    return logits.shape[-1]


def token_strings(target: Target) -> dict[str, int]:
    """Token strings and their ids."""
    vocabulary: dict[str, int] = target.tokenizer.get_vocab()
    return vocabulary


def tokenizer_hash(target: Target) -> str:
    """A short hash of all token strings in the order of their ids."""
    digest = hashlib.blake2b(digest_size=8)
    for token, i in sorted(token_strings(target).items(), key=lambda pair: (pair[1], pair[0])):
        digest.update(f"{i}\0{token}\0".encode())
    return digest.hexdigest()


def check_same_tokens(target: Target, drafter: Target) -> None:
    """Raise ModelError unless both models mean the same strings by their shared token ids."""
    mine = {i: token for token, i in token_strings(target).items()}
    theirs = {i: token for token, i in token_strings(drafter).items()}
    if abs(len(mine) - len(theirs)) > max(len(mine), len(theirs)) // 50:
        raise ModelError(
            f"{drafter.name} knows {len(theirs)} tokens and {target.name} {len(mine)}: they are not of one "
            "family, so its drafts cannot be verified; choose a draft model with the target's tokenizer."
        )
    for i in sorted(mine.keys() & theirs.keys()):
        if mine[i] != theirs[i]:
            raise ModelError(
                f"{drafter.name} means {theirs[i]!r} by token {i} where {target.name} means {mine[i]!r}: "
                "choose a draft model with the target's tokenizer."
            )
