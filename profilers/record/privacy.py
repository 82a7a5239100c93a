"""What a session may say about the machine it was recorded on: names of files, never where they are."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"(['\"])(?:~\w*)?/(?:[^'\"\n]*/)?")
_BARE = re.compile(r"(?<![\w.-])(?:~\w*)?/(?:[^\s/'\"]+/)+")


def without_paths(text: str) -> str:
    """The text with each absolute or home path cut down to its last part; hub ids and relative paths stay."""
    return _BARE.sub("", _QUOTED.sub(r"\1", text))
