"""The main screen: verdict, panels, and how they fold where the terminal is small."""

from __future__ import annotations

from typing import Literal

from textual.app import ComposeResult
from textual.containers import Container
from textual.events import DescendantFocus, Resize
from textual.screen import Screen
from textual.widgets import Static

from ..panels.break_even import BreakEvenPanel
from ..panels.decode import DecodePanel
from ..panels.folds import Folds
from ..panels.headline import Headline
from ..panels.key_line import KeyLine
from ..panels.panel import Panel
from ..panels.rounds import RoundsPanel
from ..panels.status import StatusLine, TroubleLine
from ..panels.stream import StreamPanel
from ..panels.verify import VerifyPanel
from ..panels.what_if import WhatIfBar
from ..view_models import DashboardView

PANELS = ("decode", "verify", "break-even", "stream", "rounds")
NAMES = ("Decode", "Verify", "Break-even", "Stream", "Rounds")
LEAST = (60, 18)
Fold = Literal["all", "tall", "rows", "pair", "single"]


def fold_of(width: int, height: int) -> Fold:
    """How the panels share a terminal: all at once, in two columns, by rows of three, in pairs, or one by one."""
    if width >= 110:
        return "all" if height >= 30 else "rows"
    if width < 76:
        return "single"
    return "tall" if height >= 48 else "pair"


def shown_in(fold: Fold, chosen: int) -> frozenset[int]:
    """Which panels (from 0) are on the screen when one is chosen."""
    if fold in ("all", "tall"):
        return frozenset(range(5))
    if fold == "single":
        return frozenset((chosen,))
    if fold == "rows":
        return frozenset((0, 1, 2) if chosen < 3 else (3, 4))
    return frozenset((chosen, 4 if chosen != 4 else 3))


class DashboardScreen(Screen[None]):
    """Shows one `DashboardView`; knows no session."""

    AUTO_FOCUS = "#break-even"

    def __init__(self, view: DashboardView) -> None:
        super().__init__()
        self._first = view
        self._chosen = 2

    def compose(self) -> ComposeResult:
        """Status, verdict, trouble, panels, footer."""
        view = self._first
        yield StatusLine(view.status, id="status")
        yield Headline(view.headline, id="headline")
        yield WhatIfBar(id="what-if")
        yield TroubleLine(id="trouble")
        yield Folds(NAMES, id="folds")
        with Container(id="panels"):
            yield DecodePanel(view.decode, id="decode")
            yield VerifyPanel(view.verify, id="verify")
            yield BreakEvenPanel(view.break_even, id="break-even")
            yield StreamPanel(view.stream, id="stream")
            yield RoundsPanel(view.rounds, id="rounds")
        yield Static(f"specview needs a terminal of {LEAST[0]} × {LEAST[1]} at least.", id="too-small", markup=False)
        yield KeyLine(id="footer")

    def show(self, view: DashboardView, trouble: str = "") -> None:
        """Show another view; only panels whose part changed are drawn again."""
        self.query_one("#status", StatusLine).show(view.status)
        self.query_one("#headline", Headline).show(view.headline)
        self.query_one("#what-if", WhatIfBar).show(view.break_even)
        self.query_one("#trouble", TroubleLine).show(trouble)
        self.query_one("#decode", DecodePanel).show(view.decode)
        self.query_one("#verify", VerifyPanel).show(view.verify)
        self.query_one("#break-even", BreakEvenPanel).show(view.break_even)
        self.query_one("#stream", StreamPanel).show(view.stream)
        self.query_one("#rounds", RoundsPanel).show(view.rounds)

    @property
    def chosen(self) -> str:
        """The panel that was focused last."""
        return PANELS[self._chosen]

    def choose(self, index: int) -> None:
        """Focus a panel by its number (from 0), unfolding it where it is folded away."""
        self._chosen = index
        self._fold()
        self.query_one(f"#{PANELS[index]}", Panel).focus()

    def reveal(self, name: str) -> None:
        """Unfold a panel where it is folded away."""
        if not self.query_one(f"#{name}").display:
            self.choose(PANELS.index(name))

    def mark_toured(self, name: str | None) -> bool:
        """Point at the headline or a panel, unfolding it, or at nothing; whether it lies in the lower half."""
        for widget in self.query(".toured"):
            widget.remove_class("toured")
        if name is None:
            return False
        if name in PANELS:
            self.choose(PANELS.index(name))
        self.query_one(f"#{name}").add_class("toured")
        fold = fold_of(*self.size)
        return (name in ("stream", "rounds") and fold in ("all", "tall")) or (name == "break-even" and fold == "tall")

    def choose_next(self, by: int) -> None:
        """Go round the panels, folded ones too."""
        self.choose((self._chosen + by) % len(PANELS))

    def on_folds_chosen(self, message: Folds.Chosen) -> None:
        """A name in the line of panels was clicked."""
        self.choose(message.index)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """A click focuses a panel too."""
        if event.widget.id in PANELS:
            self._chosen = PANELS.index(event.widget.id)

    def on_mount(self) -> None:
        """Fold for the size there is."""
        self._fold()

    def on_resize(self, event: Resize) -> None:
        """Fold for the new size."""
        self._fold()

    def _fold(self) -> None:
        width, height = self.size
        small = width < LEAST[0] or height < LEAST[1]
        fold = fold_of(width, height)
        shown = shown_in(fold, self._chosen)
        self.set_class(small, "-too-small")
        for name in ("all", "tall", "rows", "pair", "single"):
            self.set_class(name == fold, f"-{name}")
        folds = self.query_one("#folds", Folds)
        folds.display = not small and len(shown) < len(PANELS)
        folds.show(shown)
        for index, name in enumerate(PANELS):
            self.query_one(f"#{name}").display = index in shown
