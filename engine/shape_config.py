"""Reads and checks the config.json of a shape without weights: a preset, a file, a folder or a hub id.

A config is data from strangers: it never names code to run, and no dimension in it is believed before it is checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .language_config import text_config
from .model_files import BUNDLED, BUNDLED_FOLDER, HUB_ID, ModelError, downloaded
from .paths import local_path

PRESETS = ("35b-a3b", "30b-a3b", "0.6b", "8b", "32b")
PRESET_FOLDER = Path(__file__).resolve().parent.parent / "assets" / "shapes"

LONGEST_CONFIG_BYTES = 16 * 2**20
LARGEST_DIMENSION = 2**24
MOST_LAYERS = 2048
MOST_EXPERTS = 2**16
LAYER_KEYS = ("num_hidden_layers", "num_layers", "n_layers", "n_layer")
EXPERT_KEYS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
ACTIVE_KEYS = ("num_experts_per_tok", "moe_k", "moe_topk", "num_experts_per_token", "top_k_experts")
_WIDTH_KEYS = ("hidden_size", "n_embd", "d_model", "dim", "model_dim")
_POSITIVE_KEYS = (*_WIDTH_KEYS, "vocab_size", "num_attention_heads", "num_key_value_heads", "head_dim", "n_head")
_LINEAR_KEYS = (
    "linear_num_value_heads",
    "linear_num_key_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "linear_conv_kernel_dim",
)
_OTHER_KEYS = (
    "intermediate_size",
    "moe_intermediate_size",
    "shared_expert_intermediate_size",
    "n_shared_experts",
    "kv_lora_rank",
    "q_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
    *ACTIVE_KEYS,
)
# What some ModelArgs fill in by themselves; a shape must not have dimensions that nobody named.
NEEDED_IF_ASKED = ("vocab_size", "num_attention_heads", "num_key_value_heads", *_LINEAR_KEYS)


class ShapeError(ModelError):
    """A shape that cannot be built, with what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeSource:
    """A config with its public name (preset, hub id, a file's or folder's last part) and the folder it lies in."""

    name: str
    folder: Path
    config: dict[str, Any]


def shape_config(source: str) -> dict[str, Any]:
    """The checked config of a preset, a config.json, a folder that holds one, or a hub id; ShapeError otherwise."""
    return shape_source(source).config


def shape_source(source: str) -> ShapeSource:
    """The same with its public name; of a hub id only config.json is downloaded."""
    name, file = _file_of(source)
    config = _parsed(name, file)
    check_config(name, config)
    return ShapeSource(name=name, folder=file.parent, config=config)


def first_key(config: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    """The first of these keys that the language model's part of a config fills."""
    text = text_config(config)
    return next((key for key in keys if text.get(key) is not None), None)


def layer_count(config: dict[str, Any]) -> int:
    """How many layers a checked config has."""
    key = first_key(config, LAYER_KEYS)
    assert key is not None
    count: int = text_config(config)[key]
    return count


def with_experts(name: str, config: dict[str, Any], experts: int) -> dict[str, Any]:
    """The same config with fewer experts; ShapeError where it has none, or not so many."""
    key, active_key = first_key(config, EXPERT_KEYS), first_key(config, ACTIVE_KEYS)
    text = text_config(config)
    if key is None or text[key] == 0:
        raise ShapeError(f"{name} has no experts: leave the number of experts out.")
    if isinstance(text[key], list):
        raise ShapeError(f"{name} gives its experts layer by layer: leave the number of experts out.")
    active = _most(text[active_key]) if active_key is not None else 1
    if not active <= experts <= text[key]:
        raise ShapeError(
            f"{name} has {text[key]} experts and uses {active} at a time: choose a number from {active} to {text[key]}."
        )
    changed = {**text, key: experts}
    return changed if text is config else {**config, "text_config": changed}


def _most(checked: int | list[int]) -> int:
    """The number itself, or the largest of those that a config gives layer by layer."""
    return max(checked, default=1) if isinstance(checked, list) else checked


def check_config(name: str, config: dict[str, Any]) -> None:
    """Raise ShapeError for a config that wants to run code, lacks a key, or has dimensions that make no sense."""
    text = text_config(config)
    for part in (config, text):
        if part.get("model_file") is not None:
            raise ShapeError(
                f"{name} wants to run code of its own (model_file), which a shape never does: choose a model that "
                "mlx-lm knows by its model_type."
            )
    model_type = config.get("model_type")
    if model_type is None:
        raise _missing(name, "model_type")
    if not isinstance(model_type, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", model_type):
        raise ShapeError(f"The model_type of {name} is no name of an architecture: fetch its config.json again.")
    for keys in (LAYER_KEYS, _WIDTH_KEYS):
        if first_key(config, keys) is None:
            raise _missing(name, keys[0])
    for key, value in _dimensions(text):
        most = MOST_LAYERS if key in LAYER_KEYS else MOST_EXPERTS if key in EXPERT_KEYS else LARGEST_DIMENSION
        least = 1 if key in (*LAYER_KEYS, *_POSITIVE_KEYS, *_LINEAR_KEYS) else 0
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ShapeError(
                f"{name} has {key} = {str(value)[:40]}, which must be a whole number from {least} to {most:,}: "
                "correct its config.json."
            )


def _dimensions(text: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every dimension that a config names; where it has one for each layer, all of them. A list of layers is one."""
    for key in (*LAYER_KEYS, *EXPERT_KEYS, *_POSITIVE_KEYS, *_LINEAR_KEYS, *_OTHER_KEYS):
        value = text.get(key)
        if isinstance(value, list) and key not in LAYER_KEYS:
            yield from ((key, each) for each in value)
        elif value is not None:
            yield key, value


def _missing(name: str, key: str) -> ShapeError:
    return ShapeError(f"The config of {name} lacks {key}: add it, or choose a whole config.json.")


def _file_of(source: str) -> tuple[str, Path]:
    """Public name and config file of a source."""
    if source in PRESETS:
        return source, PRESET_FOLDER / f"{source}.json"
    if source == BUNDLED:
        return BUNDLED, BUNDLED_FOLDER / "config.json"
    path = local_path(source)
    try:
        if path.is_file():
            path = path.resolve()
            return (path.parent.name if path.name == "config.json" else path.stem) or "shape", path
        if path.is_dir():
            path = path.resolve()
            if not (path / "config.json").is_file():
                raise ShapeError(f"{path.name} holds no config.json: name a config.json or a folder with one.")
            return path.name, path / "config.json"
    except OSError as error:
        raise ShapeError(f"{path.name[:80]} cannot be read ({error.strerror}): name another file.") from error
    if not HUB_ID.fullmatch(source):
        raise ShapeError(
            f"There is no shape {source[:80]!r} here: give a config.json, a folder with one, a hub id such as "
            f"org/name, or one of {', '.join(PRESETS)}."
        )
    return source, downloaded(source, only="config.json", otherwise=f"choose one of {', '.join(PRESETS)}")


def _parsed(name: str, file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            raw = stream.read(LONGEST_CONFIG_BYTES + 1)
    except OSError as error:
        raise ShapeError(f"The config of {name} cannot be read ({error.strerror}): check its permissions.") from error
    if len(raw) > LONGEST_CONFIG_BYTES:
        raise ShapeError(f"The config of {name} is longer than {LONGEST_CONFIG_BYTES:,} bytes: name a config.json.")
    try:
        config = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ShapeError(f"The config of {name} is not valid JSON: name a config.json, or fetch it again.") from error
    if not isinstance(config, dict):
        raise ShapeError(f"The config of {name} is no JSON object: name a config.json, or fetch it again.")
    return config
