"""An app of nothing but the Ledger screen, for looking at it alone."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App

from specview.layouts.ledger import LedgerView, ledger_view
from specview.layouts.screens.ledger import LedgerScreen
from specview.layouts.themes import DARK, DARK_NAMES, LIGHT, STYLES
from specview.layouts.view_models import StatusView
from specview.profilers.judge.ledger_sheets import ledger_sheets
from specview.profilers.record.session import Session

STATUS = StatusView("specview — a session", "saved", "◇ saved, finished", 42.0, None)


class LedgerApp(App[None]):
    """Shows the ledger of one session."""

    CSS_PATH: ClassVar = list(dict.fromkeys((*STYLES, STYLES[0].parent / "ledger.tcss")))

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.ledger: LedgerView = ledger_view(ledger_sheets(session))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our names, for themes that do not know them."""
        return DARK_NAMES

    def on_mount(self) -> None:
        """Put the ledger on the screen."""
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name
        self.push_screen(LedgerScreen(STATUS))

    @property
    def ready(self) -> bool:
        """Whether the screen is up."""
        return isinstance(self.screen, LedgerScreen) and self.screen.is_mounted

    @property
    def page(self) -> LedgerScreen:
        """The screen."""
        screen = self.screen
        assert isinstance(screen, LedgerScreen)
        return screen
