"""The help: the focused panel explained with its formula and numbers, then every key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ..explanations import Explanation


class HelpScreen(ModalScreen[bool]):
    """One explanation and the keys; any of its own keys closes it. Dismisses with True where the glossary is wanted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "dismiss(False)", "Close"),
        Binding("g", "dismiss(True)", "Glossary"),
    ]

    def __init__(self, told: Explanation, keys: Sequence[tuple[str, str, str]]) -> None:
        super().__init__()
        self._told, self._keys = told, keys

    @property
    def told(self) -> Explanation:
        """What it explains."""
        return self._told

    def compose(self) -> ComposeResult:
        """A window that scrolls."""
        with VerticalScroll(classes="window") as window:
            window.border_title = Content(f"Help · {self._told.title}")
            window.border_subtitle = Content("g every word · page down for more · esc closes")
            yield Static(self._content(), markup=False)
            yield Static(self._key_lines())

    def _content(self) -> Content:
        told = self._told
        parts = [Content(f"{words}\n") for words in told.words]
        parts += [Content.styled(f"  {formula}", "bold") for formula in told.formula]
        parts += [Content(""), Content.styled("Now", "bold")]
        parts += [Content(f"  {number}") for number in told.numbers]
        parts += [Content(""), Content.styled("Keys", "bold")]
        return Content("\n").join(parts)

    def _key_lines(self) -> Table:
        """Two columns, so that a long sentence goes on under its own beginning."""
        lines = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
        for key, name, words in self._keys:
            lines.add_row(Text(f"  {key}", "bold", no_wrap=True), Text(f"{name}: {words}"))
        lines.add_row(Text("  ^p", "bold"), Text("Palette: every action by name"))
        return lines
