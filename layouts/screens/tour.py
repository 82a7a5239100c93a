"""The tour's panel over the dashboard, at the side where the panel it speaks of is not; nothing below it stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from ..tour import Step

ROWS = 9  # of its panel with frame, in a narrow terminal


class TourScreen(ModalScreen[bool]):
    """Steps through the tour; dismisses with True at its end and False when it is left before."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,enter,space", "go(1)", "Next"),
        Binding("left,backspace", "go(-1)", "Back"),
        Binding("escape,q", "leave", "Leave"),
    ]

    class Showed(Message):
        """A step is on the screen; `panel` is what it speaks of."""

        def __init__(self, panel: str) -> None:
            super().__init__()
            self.panel = panel

    def __init__(self, steps: Callable[[], tuple[Step, ...]]) -> None:
        super().__init__()
        self._steps = steps
        self._at = 0

    @property
    def at(self) -> int:
        """Which step is shown, from 0."""
        return self._at

    def compose(self) -> ComposeResult:
        """One frame of text."""
        with Vertical(id="tour"):
            yield Static(id="said", markup=False)

    def on_mount(self) -> None:
        """The first step."""
        self._draw()

    def place(self, at_top: bool) -> None:
        """Stand at the top of the terminal, or at the bottom."""
        self.set_class(at_top, "-top")

    def refresh_numbers(self) -> None:
        """The dashboard changed: say the numbers of now."""
        if self.is_mounted:
            self._say()

    def _draw(self) -> None:
        self._say()
        self.post_message(self.Showed(self._steps()[self._at].panel))

    def _say(self) -> None:
        steps = self._steps()
        step = steps[self._at]
        frame, said = self.query_one("#tour", Vertical), self.query_one("#said", Static)
        frame.border_title = Content(f"{self._at + 1} of {len(steps)} · {step.title}")
        following = "→ next · " if self._at + 1 < len(steps) else "→ ends it · "
        back = "← back · " if self._at else ""
        frame.border_subtitle = Content(f"{following}{back}esc leaves the tour")
        parts = [Content(step.words)]
        if step.now:
            parts.append(Content.styled(step.now, "bold"))
        content = Content("\n").join(parts)
        if content != said.content:
            said.update(content)

    def action_go(self, by: int) -> None:
        """The next step or the one before; behind the last one it ends."""
        to = self._at + by
        if to >= len(self._steps()):
            self.dismiss(True)
        elif to >= 0:
            self._at = to
            self._draw()

    def action_leave(self) -> None:
        """End it here."""
        self.dismiss(False)
