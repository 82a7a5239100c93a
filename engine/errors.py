"""The one family of errors: each is a sentence that says what to do."""

from __future__ import annotations

from unicodedata import category

UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class SpecviewError(Exception):
    """Something a person can act on; its text is one sentence. Commands print it and exit with status 1.

    A sentence may name what a file says, so what is no visible character in it (terminal escapes, line breaks) stands
    there as U+FFFD.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(_visible(each) if isinstance(each, str) else each for each in args))


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join("\ufffd" if category(character) in UNSAFE else character for character in text)
