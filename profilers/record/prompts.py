"""Prompts: the bundled suites, or a person's own file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TextIO

from ...engine.errors import SpecviewError
from ...engine.paths import local_path

BUNDLED_SUITES = ("english", "chinese", "code")
LONGEST_FILE_BYTES = 8 * 1024 * 1024


class PromptError(SpecviewError):
    """Prompts that cannot be used."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One text to continue; `suite` and `index` name it, `kind` says what content it is."""

    suite: str
    index: int
    kind: str
    text: str

    @property
    def hash(self) -> str:
        """A short hash of the text, for session files that do not keep it."""
        return hashlib.blake2b(self.text.encode(), digest_size=8).hexdigest()


def load_prompts(wish: str = "all", stdin: TextIO | None = None) -> tuple[Prompt, ...]:
    """Bundled suites (`all`, or names joined by commas), a file of prompts, or `-` for one prompt on stdin.

    A `.jsonl` file holds one object a line with `text` and perhaps `kind`; any
    other file is one prompt. Bundled suites are mixed, one of each kind in turn.
    """
    if wish == "-":
        return _from_stream(stdin)
    names = BUNDLED_SUITES if wish == "all" else tuple(wish.split(","))
    if all(name in BUNDLED_SUITES for name in names):
        suites = [_bundled(name) for name in dict.fromkeys(names)]
        return tuple(prompt for turn in zip(*suites, strict=True) for prompt in turn)
    return _from_file(local_path(wish))


def _bundled(name: str) -> list[Prompt]:
    source = resources.files(__package__.split(".")[0]) / "assets" / "prompts" / f"{name}.jsonl"
    return _parsed(name, source.read_text(encoding="utf8"))


def _parsed(suite: str, text: str) -> list[Prompt]:
    prompts: list[Prompt] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            prompt = Prompt(suite, len(prompts), str(entry.get("kind", "text")), str(entry["text"]))
            prompt.text.encode()  # half a character, such as "\ud800", is a ValueError
            prompts.append(prompt)
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            raise PromptError(
                f'Line {number} of {suite} is no prompt: write one object a line, {{"text": "…"}}.'
            ) from error
    return prompts


def _from_stream(stream: TextIO | None) -> tuple[Prompt, ...]:
    if stream is None:
        raise PromptError("--prompts - reads stdin, which is not free here: use specview record, or name a file.")
    try:
        text = stream.read(LONGEST_FILE_BYTES + 1)
        text.encode()  # stdin may hand on what it cannot read as halves of characters
    except UnicodeError as error:
        raise PromptError("stdin is not UTF-8 text: convert it first.") from error
    if len(text) > LONGEST_FILE_BYTES:
        raise PromptError("stdin holds more than 8 MB: give a shorter prompt.")
    if not text.strip():
        raise PromptError("stdin holds no text: write a prompt into it.")
    return (Prompt("stdin", 0, "text", text),)


def _from_file(path: Path) -> tuple[Prompt, ...]:
    try:
        if not path.is_file():
            raise PromptError(
                f"There is no prompt suite or file {str(path)!r}: use all, {', '.join(BUNDLED_SUITES)}, or a file."
            )
        if path.stat().st_size > LONGEST_FILE_BYTES:
            raise PromptError(f"{path.name} is larger than 8 MB: give fewer or shorter prompts.")
        text = path.read_text(encoding="utf8")
    except UnicodeDecodeError as error:
        raise PromptError(f"{path.name} is not UTF-8 text: save it as UTF-8.") from error
    except OSError as error:
        raise PromptError(f"{path.name} cannot be read ({error.strerror}): check the file.") from error
    prompts = _parsed(path.name, text) if path.suffix == ".jsonl" else [Prompt(path.name, 0, "text", text)]
    if not any(prompt.text.strip() for prompt in prompts):
        raise PromptError(f"{path.name} holds no text: write a prompt into it.")
    return tuple(prompt for prompt in prompts if prompt.text)


def tokens_of(prompt: Prompt, encode: Sequence[int], longest: int, can_grow: bool = True) -> list[int]:
    """The prompt's token ids, refused when there are none or more than the run's context allows.

    `can_grow` is whether the model reads more than the run's context.
    """
    if not encode:
        raise PromptError(f"Prompt {prompt.index} of {prompt.suite} has no tokens: write some text into it.")
    if len(encode) > longest:
        advice = (
            "shorten it, ask for fewer --tokens, or raise --context"
            if can_grow
            else "the model reads no longer text, so shorten it, or ask for fewer --tokens"
        )
        raise PromptError(
            f"Prompt {prompt.index} of {prompt.suite} has {len(encode)} tokens, more than the "
            f"{max(0, longest)} this run has room for: {advice}."
        )
    return list(encode)
