"""What a config.json says of the language model, where others (vision) may stand beside it."""

from __future__ import annotations

from typing import Any


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    """The part of a config that describes the language model."""
    inner = config.get("text_config")
    return inner if isinstance(inner, dict) else config


def most_positions(config: dict[str, Any]) -> int | None:
    """How many positions the model reads at most; None where it does not say."""
    own = text_config(config).get("max_position_embeddings")
    return own if isinstance(own, int) else None
