"""Which tensor names of a checkpoint belong to its MTP heads, and how mlx-lm loads the model without them.

Three layouts are published: `mtp.*` (Qwen3-Next, Qwen3.5, Qwen3.6), decoder
layers beyond the last, `model.layers.N.*` (DeepSeek-V3, GLM-4.5, Step-3.5), and
`model.mtp_layers.N.*` (MiMo). Sources: the checkpoints' weight indices, as
vLLM's `*_mtp` model files read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from .language_config import text_config

_WRAPPERS = re.compile(r"^(?:(?:model|language_model|text_model)\.)*")
_PREFIXED = re.compile(r"mtp\.(.+)")
_LAYER = re.compile(r"layers\.([0-9]{1,9})\.(.+)")
_MTP_LAYER = re.compile(r"mtp_layers\.([0-9]{1,9})\.(.+)")
_SOME_MTP = re.compile(r"(?:^|\.)(?:mtp|mtp_\w+|nextn\w*)\.")
# a layer beyond the last is a head only if it has these: a config that names too few layers must not hide the others
_NEXT_LAYER_MARKS = ("eh_proj.", "enorm.", "hnorm.")


class Layout(StrEnum):
    """How a checkpoint names its MTP heads."""

    PREFIXED = "mtp.*"
    NEXT_LAYERS = "model.layers.N beyond the last layer"
    MTP_LAYERS = "model.mtp_layers.*"
    OTHER = "unknown"


@dataclass(frozen=True, slots=True)
class MtpName:
    """One MTP tensor: its layout, the head it belongs to (counted from 0), and its name within that head."""

    layout: Layout
    head: int
    local: str


def mtp_name(name: str, config: dict[str, Any]) -> MtpName | None:
    """What an MTP tensor's name says; None for a tensor of the model itself."""
    local = _WRAPPERS.sub("", name)
    if match := _PREFIXED.fullmatch(local):
        return MtpName(Layout.PREFIXED, 0, match[1])
    if match := _MTP_LAYER.fullmatch(local):
        return MtpName(Layout.MTP_LAYERS, int(match[1]), match[2])
    layers = text_config(config).get("num_hidden_layers")
    if isinstance(layers, int) and (match := _LAYER.fullmatch(local)) and int(match[1]) >= layers:
        return MtpName(Layout.NEXT_LAYERS, int(match[1]) - layers, match[2])
    return MtpName(Layout.OTHER, 0, local) if _SOME_MTP.search(local) else None


def mtp_names(names: Iterable[str], config: dict[str, Any]) -> dict[str, MtpName]:
    """What the MTP tensors among these names say, by name."""
    said = {name: found for name in names if (found := mtp_name(name, config)) is not None}
    marked = {found.head for found in said.values() if found.local.startswith(_NEXT_LAYER_MARKS)}
    return {n: found for n, found in said.items() if found.layout is not Layout.NEXT_LAYERS or found.head in marked}


def classes_without_mtp(
    get_classes: Callable[[dict[str, Any]], tuple[type, type]],
) -> Callable[[dict[str, Any]], tuple[type, type]]:
    """mlx-lm's choice of model classes, made to drop MTP tensors first.

    For `mlx_lm.utils.load_model(get_model_classes=...)`: some model files drop
    them only from raw checkpoints (qwen3_next), or only at one layer number
    (deepseek_v3), and then refuse the weights as a whole.
    """

    def chosen(config: dict[str, Any]) -> tuple[type, type]:
        model_class, arguments_class = get_classes(config)

        def sanitize(self: Any, weights: dict[str, Any]) -> dict[str, Any]:
            dropped = mtp_names(weights, config)
            kept = {name: value for name, value in weights.items() if name not in dropped}
            # the model is of mlx-lm's own class from here on: others look at its name and its file
            self.__class__ = model_class
            return cast("dict[str, Any]", self.sanitize(kept)) if hasattr(self, "sanitize") else kept

        own = type(model_class.__name__, (model_class,), {"sanitize": sanitize, "__module__": model_class.__module__})
        return own, arguments_class

    return chosen
