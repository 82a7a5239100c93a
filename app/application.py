"""The app: turns a session into views on the screen, and answers the keys that only look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.command import Provider

from ..layouts.screens.dashboard import DashboardScreen
from ..layouts.screens.page import PageScreen
from ..layouts.states import empty_dashboard
from ..layouts.themes import STYLES
from ..layouts.view_models import DashboardView, WhatIf
from .commands import ACTIONS, Commands, bindings
from .compared import ComparingApp
from .shown_session import CHECK_S, Source, SurveyMaker

__all__ = ["Source", "SpecviewApp", "SurveyMaker"]


class SpecviewApp(ComparingApp):
    """One screen over one session file; its recorder, if it has one, is a process of its own.

    Takes the keyword arguments of the classes below it too.
    """

    TITLE = "specview"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]
    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = list(STYLES)
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {Commands}

    def __init__(self, source: Source, **options: Any) -> None:
        super().__init__(source, **options)
        self._view: DashboardView = empty_dashboard(self._file_live)

    # ------------------------------------------------------------------ life

    def get_default_screen(self) -> DashboardScreen:
        """The dashboard, with what is known before anything is read."""
        return DashboardScreen(self._view)

    @property
    def view(self) -> DashboardView:
        """What is on the main screen."""
        return self._view

    def on_mount(self) -> None:
        """Show the first frame, then begin: starting a recorder first would make the frame wait for it."""
        self.call_after_refresh(self._begin)
        self.call_after_refresh(self.begin_windows)
        self.set_interval(CHECK_S, self._check)

    def _show(self) -> None:
        """Make the view and hand it to the screen; equal parts are not drawn again."""
        beside = "" if self._update is None else self._update.trouble
        reckoning = self.reckoning
        looking = None if reckoning is None or not self._is_own() else self._looking.read()
        behind_s = 0.0 if self._update is None else self._update.behind_s
        live = replace(self.live, trouble=self.live.trouble or beside, looking=looking, behind_s=behind_s)
        if reckoning is None:
            self._view = empty_dashboard(live)
            trouble = "" if self._view.headline.kind == "problem" else live.trouble
        else:
            from ..layouts.views import dashboard, trouble_of

            self._what_if = self.restored_what_if() or self._what_if
            self._view = dashboard(reckoning, live, self._what_if)
            trouble = trouble_of(reckoning.session, live)
        if self.is_running and self.screen_stack:
            self.dashboard.show(self._view, trouble)
            self.show_page(self._view.status, live.trouble or trouble)
            self.refresh_tour()

    # ------------------------------------------------------- actions: looking

    def action_export(self) -> None:
        """Ask what to export, in which form and under which name."""
        from .exporting.window import open_export

        open_export(self, self._folder)

    def _asked(self, what_if: WhatIf) -> None:
        """On the dashboard a question unfolds the panel that draws its answer."""
        if what_if != WhatIf() and self.page is None:
            self.dashboard.reveal("break-even")

    def action_panel(self, index: int) -> None:
        """Focus a panel of the dashboard, from a page too."""
        self.action_dashboard()
        self.dashboard.choose(index)

    def action_next_panel(self, by: int) -> None:
        """Focus the next panel, or in a window the next control."""
        if self.screen is self.dashboard:
            self.dashboard.choose_next(by)
        elif by > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In a window only its own keys work; on a page those that mean something there."""
        ours = {a.action.split("(")[0] for a in ACTIONS} - {"quit", "theme", "next_panel"}
        if action not in ours or len(self.screen_stack) < 2:
            return action != "dashboard"
        top = self.screen_stack[-1]
        return isinstance(top, PageScreen) and action != "what_if_k"
