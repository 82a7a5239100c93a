"""The part of the app that lays pages over the dashboard and brings them what they show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App
from textual.message import Message

from ..layouts.screens.page import PageScreen
from ..layouts.view_models import DashboardView, StatusView, WhatIf

if TYPE_CHECKING:  # heavy: loaded with the first page
    from ..layouts.experiments import SwitchFacts
    from ..layouts.views import Reckoning
    from .pages import Desk, PageNews, SwitchFinder


class PagedApp(App[None]):
    """An app whose dashboard may have one page over it; what it shows comes from `reckoning` and `what_if`."""

    class PageTold(Message):
        """Something was found out for a page."""

        def __init__(self, news: PageNews) -> None:
            super().__init__()
            self.news = news

    def __init__(self, switches: SwitchFinder | None = None) -> None:
        super().__init__()
        self._find_switches = switches
        self._desk: Desk | None = None
        self._trouble = ""

    @property
    def reckoning(self) -> Reckoning | None:
        """What the session on the screen says, once it is computed."""
        raise NotImplementedError

    @property
    def what_if(self) -> WhatIf:
        """What is asked."""
        raise NotImplementedError

    @property
    def view(self) -> DashboardView:
        """What is on the main screen."""
        raise NotImplementedError

    @property
    def saved_sessions(self) -> Path | None:
        """The folder of the saved sessions, where pages may look for a survey of the same model."""
        return None

    @property
    def page(self) -> PageScreen | None:
        """The screen that lies over the dashboard, if one does."""
        return next((screen for screen in self.screen_stack if isinstance(screen, PageScreen)), None)

    @property
    def page_settled(self) -> bool:
        """Whether the page, if there is one, shows all that there is to show."""
        page = self.page
        if page is None:
            return True
        return self._desk is not None and self._desk.has(page.NAME, self.reckoning)

    def in_thread(self, work: Callable[[], None]) -> None:
        """Do work that takes a while beside the screen; it may post messages and touches no widget."""
        self.run_worker(work, name="following", thread=True, exit_on_error=False)

    async def action_page(self, name: str) -> None:
        """Put a page over the dashboard, in place of one that lies there."""
        from .pages import new_page

        now = self.page
        if now is not None and name == now.NAME:
            return
        page = new_page(name, self.view.status)
        page.restore(self.page_state(name))
        self.page_changed(now, page)
        if now is None:
            await self.push_screen(page)
        else:
            await self.switch_screen(page)
        self.show_page(self.view.status, self._trouble)

    def action_dashboard(self) -> None:
        """Back to the dashboard."""
        if isinstance(self.screen, PageScreen):
            self.page_changed(self.screen, None)
            self.pop_screen()

    def page_state(self, name: str) -> Mapping[str, str]:
        """What a page of that name asked to be given again."""
        return {}

    def page_changed(self, left: PageScreen | None, page: PageScreen | None) -> None:
        """One page is left for another; None is the dashboard."""

    def clear_pages(self) -> None:
        """Forget what was found out of another session."""
        if self._desk is not None:
            self._desk.clear()

    def switch_named(self, name: str) -> SwitchFacts | None:
        """A switch of MLX, once it is known which there are."""
        switches = None if self._desk is None else self._desk.switches
        known = () if switches is None else switches.known
        return next((each for each in known if each.name == name), None)

    def show_page(self, status: StatusView, trouble: str) -> None:
        """Show the page, if there is one, what runs and what is wrong, and its part."""
        self._trouble = trouble
        page = self.page
        if page is not None and page.is_mounted:
            of_page = "" if self._desk is None else self._desk.trouble_of(page.NAME, self.reckoning)
            page.show_status(status, of_page or trouble)
            page.show_what_if(self.view.break_even)
            self._show_page()

    def _show_page(self) -> None:
        """Hand the page what it shows, or have it found out."""
        page, reckoning = self.page, self.reckoning
        if page is not None and page.is_mounted and reckoning is not None:
            self._at_desk().serve(page, reckoning, self.what_if)

    def _at_desk(self) -> Desk:
        """What pages show; made with the first page, because what it needs takes long to load."""
        if self._desk is None:
            from .pages import Desk

            found = {} if self._find_switches is None else {"switches": self._find_switches}
            self._desk = Desk(self.in_thread, self._tell_page, folder=self.saved_sessions, **found)
        return self._desk

    def _tell_page(self, news: PageNews) -> None:
        self.post_message(self.PageTold(news))

    def on_paged_app_page_told(self, message: PageTold) -> None:
        """Show what was found out."""
        self._at_desk().take(message.news, self.reckoning)
        self.show_page(self.view.status, self._trouble)
