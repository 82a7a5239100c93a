"""What the screens beside the dashboard share: status, trouble, footer, and a notice in a terminal too small."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.events import Resize
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from ..explanations import Explanation
from ..panels.key_line import KeyLine
from ..panels.status import StatusLine, TroubleLine
from ..panels.what_if import WhatIfBar
from ..view_models import BreakEvenView, StatusView

LEAST = (60, 18)
ROOMY = (110, 30)


class PageScreen(Screen[None]):
    """One page over the dashboard; what it shows comes with `show_*`, and it knows no session."""

    NAME: ClassVar[str] = ""

    def __init__(self, status: StatusView) -> None:
        super().__init__()
        self._status = status

    def compose(self) -> ComposeResult:
        """Status, trouble, panels, footer."""
        yield StatusLine(self._status, id="status")
        yield WhatIfBar(id="what-if")
        yield TroubleLine(id="trouble")
        with Container(id="page"):
            yield from self.panels()
        yield Static(f"specview needs a terminal of {LEAST[0]} × {LEAST[1]} at least.", id="too-small", markup=False)
        yield KeyLine(id="footer")

    def panels(self) -> Iterable[Widget]:
        """What is between status and footer."""
        raise NotImplementedError

    def explanation(self) -> Explanation:
        """What this page means, with its numbers now."""
        raise NotImplementedError

    def state(self) -> dict[str, str]:
        """What is to be given to `restore` when a page of this kind is opened again, e.g. how a table is sorted."""
        return {}

    def restore(self, state: Mapping[str, str]) -> None:
        """Take up what `state` told, before anything is drawn; whatever makes no sense here is left out."""

    def show_status(self, status: StatusView, trouble: str) -> None:
        """Show what runs and what is wrong."""
        self._status = status
        self.query_one("#status", StatusLine).show(status)
        self.query_one("#trouble", TroubleLine).show(trouble)

    def show_what_if(self, view: BreakEvenView) -> None:
        """Show what is asked, if anything is, in one line."""
        self.query_one("#what-if", WhatIfBar).show(view)

    @property
    def waiting(self) -> bool:
        """Whether more may come, so that nothing to show yet is no reason to say how to get it."""
        return self._status.state in ("loading", "recording", "paused", "following", "waiting")

    def own_keys(self) -> list[tuple[str, str, str, str]]:
        """This page's own keys: how they are written, what they are called, what they do, and their action."""
        found = []
        for _, binding in self._bindings:
            if isinstance(binding, Binding) and binding.tooltip:
                shown = binding.key_display or binding.key
                found.append((shown, binding.description, binding.tooltip, binding.action))
        return list(dict.fromkeys(found))

    def on_mount(self) -> None:
        """Fold for the size there is."""
        self._fold()

    def on_resize(self, event: Resize) -> None:
        """Fold for the new size."""
        self._fold()

    def _fold(self) -> None:
        width, height = self.size
        self.set_class(width < LEAST[0] or height < LEAST[1], "-too-small")
        self.set_class(width >= ROOMY[0], "-wide")
        self.set_class(height >= ROOMY[1], "-tall")


def key(name: str, action: str, description: str, tooltip: str, display: str | None = None) -> Binding:
    """A key of a page: in its help and in the palette, and named on its panels' frames rather than in the footer."""
    return Binding(name, action, description, show=False, tooltip=tooltip, key_display=display or name)
