"""A short list to choose from: drafters, prompt sets, saved sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ..lines import wrapped

MOST_WIDTH, SHARE, FRAME = 110, 0.9, 7  # of the window, as windows.tcss has it; frame, padding and scroll bar
INDENT = "    "


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry: what is returned, what it is called, and a remark."""

    value: str
    name: str
    remark: str = ""


class ChoiceScreen(ModalScreen[str | None]):
    """Shows a list; dismisses with the chosen value, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Close")]

    def __init__(self, title: str, choices: Sequence[Choice], now: str | None = None, empty: str = "") -> None:
        super().__init__()
        self._title, self._choices, self._now, self._empty = title, choices, now, empty

    def compose(self) -> ComposeResult:
        """The list in a window, with the present one marked."""
        with Vertical(classes="window") as window:
            window.border_title = Content(self._title)
            window.border_subtitle = Content("enter chooses · esc closes")
            if not self._choices:
                yield Static(Content(self._empty), markup=False)
                return
            yield OptionList(*(Option(self._label(c)) for c in self._choices), markup=False)

    def on_mount(self) -> None:
        """Start at the present one."""
        for index, choice in enumerate(self._choices):
            if choice.value == self._now:
                self.query_one(OptionList).highlighted = index

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return what was chosen."""
        self.dismiss(self._choices[event.option_index].value)

    def _label(self, choice: Choice) -> Content:
        """Name and remark in a line, or the remark below the name where both do not fit."""
        mark = "● " if choice.value == self._now else "  "
        room = min(MOST_WIDTH, round(self.app.size.width * SHARE)) - FRAME
        told = f"  {choice.remark}" if choice.remark else ""
        if cell_len(f"{mark}{choice.name}{told}") > room:
            rows = wrapped(choice.remark, room - len(INDENT))
            told = "".join(f"\n{INDENT}{span.text}" for row in rows for span in row if span.text)
        return Content.assemble(mark, (choice.name, "bold"), (told, "$quiet"))
