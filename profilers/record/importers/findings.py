"""What an importer noticed on its way, as notes: each kind of remark a few times, and how often beyond that."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..records import Note

SHOWN = 3


@dataclass(slots=True)
class Findings:
    """Collects remarks by tag; a source with a million contradictions still gives a handful of notes."""

    _texts: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _counts: dict[tuple[str, str], int] = field(default_factory=dict)

    def note(self, tag: str, text: str, about: str = "") -> None:
        """Remark `text` under `tag`; remarks of one tag `about` one thing are counted together."""
        key = (tag, about)
        texts = self._texts.setdefault(key, [])
        if text in texts:
            return
        self._counts[key] = self._counts.get(key, 0) + 1
        if len(texts) < SHOWN:
            texts.append(text)

    def contradict(self, text: str, about: str = "") -> None:
        """Remark that the source contradicts itself."""
        self.note("contradiction", text, about)

    def notes(self, t_ns: int = 0) -> tuple[Note, ...]:
        """Return the remarks in the order of their first occurrence, tagged "import" and their own tag."""
        made = []
        for (tag, about), texts in self._texts.items():
            made += [Note(t_ns=t_ns, text=text, tags=("import", tag)) for text in texts]
            more = self._counts[tag, about] - len(texts)
            if more:
                text = f"{more:,} more remarks like the one before were left out."
                made.append(Note(t_ns=t_ns, text=text, tags=("import", tag)))
        return tuple(made)
