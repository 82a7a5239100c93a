"""Typed views of MLX's nested containers."""

from __future__ import annotations

from typing import Any, cast

import mlx.core as mx
from mlx.utils import tree_flatten


def named_arrays(tree: Any) -> list[tuple[str, mx.array]]:
    """Dotted names and arrays of a nested container (parameters, cache states), in order; other leaves left out."""
    leaves = cast("list[tuple[str, Any]]", tree_flatten(tree))
    return [(name, leaf) for name, leaf in leaves if isinstance(leaf, mx.array)]


def nbytes(tree: Any) -> int:
    """Bytes of all arrays in a nested container."""
    return sum(array.nbytes for _, array in named_arrays(tree))
