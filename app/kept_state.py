"""What a person left as it was: theme, page, sort orders, a what-if, recent models; kept for the next launch."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ..engine.limits import LONGEST_DRAFT
from ..layouts.view_models import WhatIf

VERSION = 1
LONGEST_BYTES = 64 * 1024
LONGEST_TEXT = 1024
MOST_MODELS, MOST_PAGES, MOST_FACTS = 8, 40, 20
MOST_BY_QUESTION = {"p": 1.0, "k": float(LONGEST_DRAFT)}
MOST_ASKED = 1000.0
NEWER = "What was kept of the last launch was written by a newer specview; it is left alone."
BROKEN = "What was kept of the last launch cannot be read, so this starts afresh."

PageState = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptState:
    """All that is kept. `page` is the screen that lay over the dashboard, `pages` what each page wants restored.

    `asked` is the what-if of the session whose `session_key` is `asked_of`; it means nothing for another session.
    """

    theme: str | None = None
    page: str | None = None
    pages: Mapping[str, PageState] = field(default_factory=dict)
    asked_of: str = ""
    asked: Mapping[str, float] = field(default_factory=dict)
    toured: bool = False
    models: tuple[str, ...] = ()

    def what_if_of(self, key: str) -> WhatIf:
        """The what-if that was asked of this session; an empty one for any other."""
        if not key or key != self.asked_of:
            return WhatIf()
        whole_by_name = {each.name: "int" in str(each.type) for each in fields(WhatIf)}
        meant: dict[str, Any] = {
            name: int(value) if whole_by_name[name] else value
            for name, value in self.asked.items()
            if name in whole_by_name and _can_be_meant(name, value, whole_by_name[name])
        }
        return WhatIf(**meant)

    def with_what_if(self, key: str, what_if: WhatIf) -> KeptState:
        """The same with this what-if of this session, or with none."""
        asked = {} if what_if == WhatIf() else asdict(what_if)
        numbers = {name: value for name, value in asked.items() if isinstance(value, int | float)}
        return replace(self, asked_of=key if numbers else "", asked=numbers)

    def with_model(self, model: str) -> KeptState:
        """The same with this model as the one used last."""
        others = tuple(each for each in self.models if each != model)
        return replace(self, models=(model, *others)[:MOST_MODELS])


def session_key(path: Path | None) -> str:
    """A session file's name for the kept state; a hash, so that it names no path."""
    return "" if path is None else hashlib.blake2b(os.fsencode(path.resolve()), digest_size=8).hexdigest()


def read_state(path: Path) -> tuple[KeptState, str]:
    """What is kept there, and a sentence where it cannot be used; a missing file is an empty state and no sentence.

    Whatever the file holds, this returns: wrong types are left out, and a broken file is an empty state.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(LONGEST_BYTES + 1)
    except FileNotFoundError:
        return KeptState(), ""
    except (OSError, ValueError):
        return KeptState(), BROKEN
    try:
        if len(raw) > LONGEST_BYTES:
            raise ValueError("too long")
        entry = json.loads(raw)
        if not isinstance(entry, dict) or not isinstance(entry.get("version"), int):
            raise ValueError("no state")
    except (ValueError, RecursionError):
        return KeptState(), BROKEN
    if entry["version"] > VERSION:
        return KeptState(), NEWER
    pages = {name: _texts(facts) for name, facts in list(_mapping(entry.get("pages")).items())[:MOST_PAGES]}
    models = entry.get("models")
    return (
        KeptState(
            theme=_text(entry.get("theme")),
            page=_text(entry.get("page")),
            pages={name: facts for name, facts in pages.items() if facts},
            asked_of=_text(entry.get("asked_of")) or "",
            asked=_numbers(entry.get("asked")),
            toured=entry.get("toured") is True,
            models=tuple(filter(None, map(_text, models if isinstance(models, list) else ())))[:MOST_MODELS],
        ),
        "",
    )


def write_state(path: Path, state: KeptState) -> bool:
    """Put the state there in one move, so that a reader finds the old one or the new one; False where that fails."""
    text = json.dumps({"version": VERSION, **asdict(state)}, indent=1, sort_keys=True)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".kept-", dir=path.parent)
    except OSError:
        return False
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except OSError:
        with suppress(OSError):
            Path(name).unlink()
        return False
    return True


class Keeper:
    """The kept state of one app. Without a path nothing is read or written; `fresh` does not read what is there."""

    def __init__(self, path: Path | None = None, fresh: bool = False) -> None:
        self._path = path
        self.state, self.trouble = KeptState(), ""
        if path is not None:
            found, self.trouble = read_state(path)
            if self.trouble == NEWER:
                self._path = None
            if fresh:
                self.trouble = ""
            else:
                self.state = found

    def keep(self, state: KeptState) -> None:
        """Keep another state, and write it where it differs; a folder that cannot be written is no reason to stop."""
        if state != self.state:
            self.state = state
            if self._path is not None:
                write_state(self._path, state)


def _can_be_meant(name: str, value: float, whole: bool) -> bool:
    """Whether such a number can be asked about; nothing but p may be 0, and there is no half a token."""
    if whole and value != int(value):
        return False
    return (value > 0 or name == "p") and 0 <= value <= MOST_BY_QUESTION.get(name, MOST_ASKED)


def _mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    return {name: held for key, held in value.items() if (name := _text(key)) is not None}


def _text(value: object) -> str | None:
    """A short text of printable characters, or None."""
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_TEXT or not value.isprintable():
        return None
    return value


def _texts(value: object) -> dict[str, str]:
    found = {name: _text(held) for name, held in list(_mapping(value).items())[:MOST_FACTS]}
    return {name: text for name, text in found.items() if text is not None}


def _numbers(value: object) -> dict[str, float]:
    """Finite numbers of a size that can be meant; JSON knows Infinity and integers of any length."""
    return {
        name: held
        for name, held in list(_mapping(value).items())[:MOST_FACTS]
        if isinstance(held, int | float) and not isinstance(held, bool) and abs(held) < 1e9 and math.isfinite(held)
    }
