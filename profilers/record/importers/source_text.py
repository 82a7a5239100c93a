"""A file of another program as lines of text: plain or gzip, UTF-8 or UTF-16, never binary, never without end."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from ..codec import Text, safe_text
from .detection import HEAD_CHARACTERS
from .imported import ImportFailed

FILE_BYTES = 4 << 30
TEXT_CHARACTERS = 8 << 30
LINE_CHARACTERS = 16 << 20

_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_CONTROL = frozenset(range(32)) - {9, 10, 11, 12, 13, 27}
_MOST_CONTROL = 0.05
_SHOWN = Text(limit=200)


class SourceText:
    """The text of one open file: its beginning, and then all of its lines, once."""

    def __init__(self, stream: IO[str], name: str, most_characters: int) -> None:
        self.name = name
        self._stream = stream
        self._left = most_characters
        self.head = self._read(HEAD_CHARACTERS)

    def lines(self) -> Iterator[str]:
        """Yield every line from the first on; of one that is too long only its beginning."""
        whole, newline, rest = self.head.rpartition("\n")
        yield from io.StringIO(whole + newline, newline="\n")
        line = rest + self._readline(LINE_CHARACTERS)
        while line:
            yield line
            while line and not line.endswith("\n") and len(line) >= LINE_CHARACTERS:
                line = self._readline(LINE_CHARACTERS)
            line = self._readline(LINE_CHARACTERS)

    def _read(self, size: int) -> str:
        return self._counted(self._guarded(self._stream.read, size))

    def _readline(self, size: int) -> str:
        return self._counted(self._guarded(self._stream.readline, size))

    def _counted(self, text: str) -> str:
        self._left -= len(text)
        if self._left < 0:
            raise ImportFailed(f"{self.name} unpacks to more text than can be imported; cut out the part of interest.")
        return text

    def _guarded(self, read: Callable[[int], str], size: int) -> str:
        try:
            return read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise ImportFailed(f"{self.name} is a damaged gzip file; pack it again or give the plain text.") from None
        except OSError as error:
            raise ImportFailed(f"{self.name} cannot be read ({(error.strerror or 'unknown error').lower()}).") from None


@contextmanager
def opened_text(
    path: Path, most_bytes: int = FILE_BYTES, most_characters: int = TEXT_CHARACTERS
) -> Iterator[SourceText]:
    """Open a file as text, its name without a path; ImportFailed if it is missing, no file, too large or binary."""
    name = safe_text(path.name or "the file", _SHOWN)
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    except FileNotFoundError:
        raise ImportFailed(f"There is no file {name}.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ImportFailed(f"{name} cannot be opened ({(reason or 'not a possible name').lower()}).") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
        raise ImportFailed(f"{name} is {what}; give files, saved from the engine's output.")
    with os.fdopen(descriptor, "rb") as file:
        if found.st_size > most_bytes:
            raise ImportFailed(
                f"{name} is larger than {most_bytes:,} bytes; cut out the part of interest, for example with grep."
            )
        packed = file.peek(2)[:2] == _GZIP
        buffered = io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=file))) if packed else file
        try:
            start = buffered.peek(HEAD_CHARACTERS)[:HEAD_CHARACTERS]
        except (EOFError, OSError, zlib.error):
            raise ImportFailed(f"{name} is a damaged gzip file; pack it again or give the plain text.") from None
        encoding = "utf-16" if start[:2] in _UTF_16 else "utf-8-sig"
        if encoding != "utf-16" and _is_binary(start):
            raise ImportFailed(f"{name} is a binary file; give the text that the engine printed, or its JSON.")
        with io.TextIOWrapper(buffered, encoding=encoding, errors="replace") as stream:
            yield SourceText(stream, name, most_characters)


def _is_binary(start: bytes) -> bool:
    """Whether the first bytes are those of no text in an encoding that is read here."""
    if b"\0" in start:
        return True
    return sum(byte in _CONTROL for byte in start) > _MOST_CONTROL * len(start)
