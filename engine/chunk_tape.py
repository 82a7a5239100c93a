"""Lets a chunk of keys and values go back over its beginning: nothing is cut off its front while a tape runs.

A model cuts a `ChunkedKVCache` to one chunk before each pass. Where a round has several passes and they cross into the
next chunk, the cut takes positions that the chunk before needs again once the later passes are taken back.
"""

from __future__ import annotations

from typing import Any

from mlx_lm.models.cache import ChunkedKVCache


class ChunkTape:
    """Whether passes run that may be taken back."""

    def __init__(self) -> None:
        self.running = False

    def start(self) -> None:
        """Keep the front from here on."""
        self.running = True

    def stop(self) -> None:
        """Let the next pass cut the front again."""
        self.running = False


class TapedChunk(ChunkedKVCache):
    """mlx-lm's chunked cache, on tape."""

    tape: ChunkTape

    def maybe_trim_front(self) -> None:
        """Cut the front to one chunk, unless the passes may be taken back."""
        if not self.tape.running:
            super().maybe_trim_front()  # type: ignore[no-untyped-call]


def on_chunk_tape(chunk: Any) -> None:
    """Swap the class of a chunked cache for one with a tape. The object stays."""
    chunk.__class__ = TapedChunk
    chunk.tape = ChunkTape()
