"""The Experiments screen: MLX's switches, what they do here, and what those that were tried brought."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget

from ..experiments import ExperimentsView, experiments_view
from ..explanations import Explanation
from ..panels.table import Rows, TablePanel
from ..panels.text import TextPanel
from ..sweep import notes_lines
from ..view_models import StatusView
from .page import PageScreen, key


class ExperimentsScreen(PageScreen):
    """Shows one `ExperimentsView`; posts which switch is to be tried."""

    NAME: ClassVar[str] = "experiments"
    AUTO_FOCUS = "#switches Rows"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("enter", "try", "Try the selected switch", "run it against MLX as it is, into a session of its own"),
    ]

    class Wanted(Message):
        """A switch is to be tried."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, status: StatusView) -> None:
        super().__init__(status)
        self._view = experiments_view(None, ())

    def panels(self) -> Iterable[Widget]:
        """Switches, results, sentences."""
        yield TablePanel(id="switches")
        yield TablePanel(id="results")
        yield TextPanel(id="said")

    def on_mount(self) -> None:
        """Show what it was made with."""
        super().on_mount()
        self._draw()

    def show_view(self, view: ExperimentsView) -> None:
        """Show another view; equal parts cost nothing."""
        if view != self._view:
            self._view = view
            self._draw()

    def _draw(self) -> None:
        view = self._view
        self.query_one("#switches", TablePanel).show(view.switches, "Switches of MLX", "↑ ↓ · enter tries it")
        self.query_one("#results", TablePanel).show(view.results, "What they brought", "synchronous passes")
        self._say(self.query_one("#switches", TablePanel).rows.selected)

    def _say(self, name: str | None) -> None:
        words = self._view.words(name)
        self.query_one("#said", TextPanel).draw_with(
            lambda width, height: notes_lines(words, width), (words,), "In words"
        )

    def on_rows_selected(self, message: Rows.Selected) -> None:
        """Another switch in words."""
        if message.rows is self.query_one("#switches", TablePanel).rows:
            self._say(message.key)

    def action_try(self) -> None:
        """Try the selected switch."""
        name = self.query_one("#switches", TablePanel).rows.selected
        if name is not None:
            self.post_message(self.Wanted(name))

    def on_rows_chosen(self, message: Rows.Chosen) -> None:
        """Enter on a switch."""
        if message.rows is self.query_one("#switches", TablePanel).rows:
            self.post_message(self.Wanted(message.key))

    def explanation(self) -> Explanation:
        """How a switch is judged."""
        return Explanation(
            "Experiments",
            (
                "Most switches of MLX are read once, when a process starts. So every setting gets a process of its "
                "own, which loads the model and times passes; the processes take turns forth and back.",
                "Two processes run MLX as it is: what these two controls differ by is what a setting must exceed. "
                "real: the interval leaves 1 out and lies beyond that of the controls; noise: it does not.",
                "peak memory and caches are the difference to the control in what MLX reported.",
            ),
            ("÷ control = T with the setting ÷ T as it is", "below 1 the setting is faster"),
            self._view.sentences or (self._view.results.message,),
        )
