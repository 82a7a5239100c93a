"""The glossary in a window: type to search it; what belongs to the panel that was focused stands first."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input

from ..glossary import glossary_lines, is_about, terms_for
from ..panels.text import TextPanel


class GlossaryScreen(ModalScreen[None]):
    """Every term, or those that hold what is typed; esc clears the words first, and then closes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear_or_close", "Close"),
        Binding("down", "scroll(1)", "Scroll down", show=False),
        Binding("up", "scroll(-1)", "Scroll up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False, priority=True),
        Binding("pageup", "page(-1)", "Page up", show=False, priority=True),
    ]
    AUTO_FOCUS = "#words"

    def __init__(self, about: str = "", title: str = "") -> None:
        super().__init__()
        self._about, self._title = about, title

    def compose(self) -> ComposeResult:
        """Words to look for, and the terms."""
        with Vertical(classes="window") as window:
            window.border_title = Content("Glossary")
            window.border_subtitle = Content("type to search · ↑ ↓ scroll · esc closes")
            yield Input(placeholder="type a word, e.g. verify, alpha, catch-up", id="words", compact=True)
            yield TextPanel(id="terms")

    def on_mount(self) -> None:
        """Everything, before anything is typed."""
        self.query_one("#terms").can_focus = False
        self._draw("")

    @property
    def text(self) -> str:
        """What it shows."""
        return self.query_one("#terms", TextPanel).text

    def _draw(self, needle: str) -> None:
        terms = terms_for(self._about, needle)
        near = bool(terms) and is_about(terms[0], self._about)
        first = f" · those of {self._title} first" if self._title and near and not needle else ""
        panel = self.query_one("#terms", TextPanel)
        panel.draw_with(
            lambda width, height: glossary_lines(terms, "" if needle else self._about, width),
            (terms, needle),
            f"{len(terms)} {'word' if len(terms) == 1 else 'words'}{first}",
        )
        panel.scroll_home(animate=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        """The terms follow what is typed."""
        self._draw(event.value.strip())

    def action_clear_or_close(self) -> None:
        """Show every term again, or close where nothing is typed."""
        words = self.query_one("#words", Input)
        if words.value:
            words.value = ""
        else:
            self.dismiss()

    def action_scroll(self, by: int) -> None:
        """Scroll by a line."""
        self.query_one("#terms", TextPanel).scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        """Scroll by what is on the screen."""
        panel = self.query_one("#terms", TextPanel)
        panel.scroll_relative(y=by * max(1, panel.scrollable_content_region.height - 1), animate=False)
