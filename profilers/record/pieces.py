"""Token ids to the pieces of text a stream shows, whole characters only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

CONTEXT = 8  # tokens read before the first piece, so that a character cut by the segment's start is found


class PieceWriter:
    """Turns committed tokens into text as they come; a piece that ends inside a character waits for the next."""

    def __init__(self, tokenizer: Any, before: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._ids = list(before[-CONTEXT:])
        self._shown = len(_whole(self._text()))

    def _text(self) -> str:
        text: str = self._tokenizer.decode(self._ids)
        return text

    def committed(self, tokens: Sequence[int]) -> tuple[str, ...]:
        """The new text of each token, in order."""
        pieces = []
        for token in tokens:
            self._ids.append(token)
            text = _whole(self._text())
            pieces.append(text[self._shown :])
            self._shown = max(self._shown, len(text))
        if len(self._ids) > 4 * CONTEXT and not self._text().endswith("�"):
            self._ids = self._ids[-CONTEXT:]
            self._shown = len(_whole(self._text()))
        return tuple(pieces)

    def rejected(self, tokens: Sequence[int]) -> tuple[str, ...]:
        """What each rejected draft would have been, alone."""
        return tuple(self._tokenizer.decode([token]) for token in tokens)


def _whole(text: str) -> str:
    """Text without the unfinished character at its end."""
    return text.rstrip("�")
