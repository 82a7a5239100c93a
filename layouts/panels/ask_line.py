"""A line that asks for words: a label, and what is typed after it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static


class AskWords(Input, inherit_bindings=True):
    """What is typed; esc is the screen's `ask_off`."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "screen.ask_off", "Close", show=False)]


class AskLine(Horizontal):
    """A label and what is typed; it posts Input.Changed and Input.Submitted."""

    def compose(self) -> ComposeResult:
        """The label, the words."""
        yield Static(id="ask-label", markup=False)
        yield AskWords(id="ask-words", select_on_focus=False)

    def ask(self, label: str, words: str, placeholder: str) -> None:
        """Ask for something; `words` are there already."""
        line = self.query_one(AskWords)
        self.query_one("#ask-label", Static).update(Content(label))
        line.placeholder = placeholder
        with self.screen.prevent(Input.Changed):
            line.value = words
        line.cursor_position = len(words)
        line.focus()
