"""One of a few values in one line: ← and → go through them, so that no list has to be opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widget import Widget


class ChoiceField(Widget, can_focus=True):
    """Shows ◂ value ▸; posts what was chosen. A click goes on to the next value."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "Value before", show=False),
        Binding("right,space", "move(1)", "Next value", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"choice--mark"}

    class Changed(Message):
        """Another value is chosen."""

        def __init__(self, field: ChoiceField, value: str) -> None:
            super().__init__()
            self.field, self.value = field, value

    def __init__(self, choices: Sequence[str], value: str, *, id: str) -> None:
        super().__init__(id=id)
        self._choices = tuple(choices) if value in choices else (*choices, value)
        self._value = value

    @property
    def value(self) -> str:
        """What is chosen."""
        return self._value

    def render(self) -> Content:
        """The value between marks."""
        mark = self.get_visual_style("choice--mark")
        return Content.assemble(("◂ ", mark), self._value, (" ▸", mark))

    def action_move(self, by: int) -> None:
        """Choose the next value, or the one before; round the ends."""
        at = (self._choices.index(self._value) + by) % len(self._choices)
        self._value = self._choices[at]
        self.refresh()
        self.post_message(self.Changed(self, self._value))

    def on_click(self, event: Click) -> None:
        """The next value, or by a click on the first mark the one before."""
        self.action_move(-1 if event.x < 2 else 1)
