"""Whether caches out of a file are such as the model could have made, so that no file crashes or fills a process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache, QuantizedKVCache

from .cache_contents import parts
from .kv_quantisation import BITS, GROUP_SIZES

PACKED_BITS = 32  # of one number that holds several quantised ones
LENGTH_BYTES = 8  # of a safetensors file, before its header
LONGEST_HEADER_BYTES = 100_000_000  # what safetensors itself allows


def has_modest_names(path: Path) -> bool:
    """Whether no name in a safetensors file counts further than there are names: mlx-lm makes lists of that length.

    Raises OSError and ValueError for a file that is none.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        header = json.loads(file.read(length)) if length <= LONGEST_HEADER_BYTES else None
    if not isinstance(header, dict):
        return False
    names = [*header, *cast("dict[str, str]", header.get("__metadata__") or {})]
    return all(number <= len(names) for name in names for number in _numbers(name))


def _numbers(name: str) -> Iterator[int]:
    for part in name.split("."):
        try:
            yield int(part)
        except ValueError:
            continue


def could_be(caches: Sequence[Any], shaped: Sequence[Any]) -> bool:
    """Whether caches have the arrays and settings of `shaped`, those of the same model after one position.

    Plain ones may be quantised. Whatever else they are is False, never an error.
    """
    try:
        return all(_could_be(a, b) for a, b in zip(parts(caches), parts(shaped), strict=True))
    except (TypeError, ValueError, AttributeError, IndexError):
        return False


def _could_be(cache: Any, like: Any) -> bool:
    if isinstance(like, ArraysCache):
        return [_shape(a) for a in cache.cache] == [_shape(a) for a in like.cache] and all(
            getattr(cache, name) is None for name in ("left_padding", "lengths")
        )
    if isinstance(cache, QuantizedKVCache):
        rows = _quantised_rows(cache, like)
    elif hasattr(like, "keys"):
        rows = _plain_rows(cache, like)
    else:
        return type(cache) is type(like)
    set_alike = all(
        getattr(cache, name, None) == getattr(like, name, None) for name in ("max_size", "keep", "chunk_size")
    )
    return set_alike and _is_inside(cache, rows)


def _shape(array: Any) -> Any:
    return None if array is None else array.shape


def _is_inside(cache: Any, rows: int | None) -> bool:
    """Whether a cache's places are within its buffers of so many rows; a window has seen more than it holds."""
    if rows is None:
        return False
    offset, first = cache.offset, getattr(cache, "start_position", 0)
    place = getattr(cache, "_idx", offset - first)
    whole = all(type(number) is int for number in (offset, first, place))
    return whole and 0 <= first <= offset and 0 <= place <= rows and place <= offset


def _plain_rows(cache: Any, like: Any) -> int | None:
    """How many positions the buffers have room for; None where they are not those of such a cache."""
    if cache.keys is None or like.keys is None:
        return 0 if cache.keys is None and like.keys is None and cache.values is None else None
    rows: int = cache.keys.shape[2]
    both = zip((cache.keys, cache.values), (like.keys, like.values), strict=True)
    return rows if all(a.shape == _of_rows(b, rows, b.shape[3]) for a, b in both) else None


def _quantised_rows(cache: QuantizedKVCache, like: Any) -> int | None:
    """The same of quantised keys and values: numbers packed in groups, with a scale and a bias for each group."""
    settings: list[Any] = [cache.bits, cache.group_size]
    if any(type(each) is not int for each in settings) or cache.bits not in BITS or cache.group_size not in GROUP_SIZES:
        return None
    if cache.keys is None or like.keys is None:
        return 0 if cache.keys is None and like.keys is None and cache.values is None else None
    rows: int = cache.keys[0].shape[2]
    for (packed, scales, biases), plain in zip((cache.keys, cache.values), (like.keys, like.values), strict=True):
        width: int = plain.shape[3]
        groups = _of_rows(plain, rows, width // cache.group_size)
        if packed.shape != _of_rows(plain, rows, width * cache.bits // PACKED_BITS) or packed.dtype != mx.uint32:
            return None
        if width % cache.group_size or not scales.shape == biases.shape == groups:
            return None
    return rows


def _of_rows(array: mx.array, rows: int, width: int) -> tuple[int, ...]:
    return (array.shape[0], array.shape[1], rows, width)
