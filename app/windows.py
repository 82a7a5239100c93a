"""The windows over the screens: help, glossary, the guided tour, and the form that sets up a recording."""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from dataclasses import replace
from typing import Any

from ..engine.errors import SpecviewError
from ..engine.paths import local_path
from ..layouts.explanations import explanation
from ..layouts.screens.dashboard import DashboardScreen
from ..layouts.screens.help import HelpScreen
from ..layouts.view_models import WhatIf
from .commands import ACTIONS, key_name
from .library import LibraryApp
from .shown_session import Source


class WindowedApp(LibraryApp):
    """An app that explains itself; `tour` shows it round at its start, `setup` asks what to record first."""

    def __init__(self, source: Source, *, tour: bool = False, setup: bool = False, **options: Any) -> None:
        super().__init__(source, **options)
        self._tour_due, self._setup_due = tour and not setup, setup

    @property
    def dashboard(self) -> DashboardScreen:
        """The main screen, which always lies at the bottom."""
        screen = self.screen_stack[0]
        assert isinstance(screen, DashboardScreen)
        return screen

    def begin_windows(self) -> None:
        """What the app was started with: the form, or on the first launch of all the tour."""
        if self._source.record and "--model" in self._source.options:
            from ..layouts.setup_options import form_of

            self._keeper.keep(self._keeper.state.with_model(form_of(self._source.options).model))
        if self._setup_due:
            self.action_setup()
        elif self._tour_due and not self._keeper.state.toured:
            self.action_tour()

    # ------------------------------------------------------------------ help and glossary

    @property
    def about(self) -> str:
        """The panel or page that is in focus, as the glossary names it."""
        page = self.page
        return self.dashboard.chosen if page is None else page.NAME

    def action_explain(self) -> None:
        """Explain the focused panel."""
        keys = [(key_name(a), a.name, a.help) for a in ACTIONS]
        page = self.page
        if page is None:
            told = explanation(self.dashboard.chosen, self.view)
        else:
            told = page.explanation()
            keys = [(shown, name, words) for shown, name, words, _ in page.own_keys()] + keys

        def closed(glossary: bool | None) -> None:
            if glossary:
                self.action_glossary()

        self.push_screen(HelpScreen(told, keys), closed)

    def action_glossary(self) -> None:
        """Every word, those of the focused panel first."""
        from ..layouts.screens.glossary import GlossaryScreen

        told = explanation(self.dashboard.chosen, self.view) if self.page is None else self.page.explanation()
        self.push_screen(GlossaryScreen(self.about, told.title))

    # ------------------------------------------------------------------ the tour

    def action_tour(self) -> None:
        """Show the dashboard in six steps; what runs goes on."""
        from ..layouts.screens.tour import TourScreen
        from ..layouts.tour import tour_steps

        def left(through: bool | None) -> None:
            self.dashboard.mark_toured(None)
            self._keeper.keep(replace(self._keeper.state, toured=True))

        self.action_dashboard()
        self.push_screen(TourScreen(lambda: tour_steps(self.view)), left)

    def on_tour_screen_showed(self, message: Any) -> None:
        """Point at what the step is about, and keep its words off it."""
        from ..layouts.screens.tour import TourScreen

        at_top = self.dashboard.mark_toured(message.panel)
        if isinstance(self.screen, TourScreen):
            self.screen.place(at_top)

    def refresh_tour(self) -> None:
        """The numbers of a tour that is on the screen follow those under it."""
        from ..layouts.screens.tour import TourScreen

        if isinstance(self.screen, TourScreen):
            self.screen.refresh_numbers()

    # ------------------------------------------------------------------ setting up

    def action_setup(self) -> None:
        """Choose what to record, and start it."""
        from ..layouts.screens.setup import SetupScreen
        from ..layouts.setup import Form
        from ..layouts.setup_options import form_of, options_of

        async def chosen(form: Form | None) -> None:
            if form is not None:
                self._keeper.keep(self._keeper.state.with_model(form.model.strip()))
                await self.record_with(options_of(form))

        running = f"Start ends the {self._steersman.measures or 'recording'} that runs; it is saved."
        self.push_screen(
            SetupScreen(
                form_of(self._steersman.options),
                _place_of,
                recent=tuple(self._keeper.state.models),
                running=running if self._steersman.running else "",
                last_check=lambda form: _last_check(options_of(form)),
            ),
            chosen,
        )

    async def record_with(self, options: tuple[str, ...]) -> None:
        """Stop what records, and record with other options into a new session."""
        await self._steersman.stop()
        self._steersman.options = options
        self._source = replace(self._source, options=options)
        self.action_dashboard()
        self._what_if = WhatIf()
        await self._record(None)


def _place_of(text: str) -> Any:
    """What lies at a path: a model's folder, another folder, a file, or nothing that can be read."""
    path = local_path(text)
    try:
        if path.is_dir():
            return "model" if (path / "config.json").is_file() else "folder"
        return "file" if path.is_file() else "nothing"
    except (OSError, ValueError):
        return "nothing"


def _last_check(options: tuple[str, ...]) -> str:
    """Why a recorder would refuse these options before it loads anything; empty where it would not."""
    from .cli import parser
    from .recording import plan_of

    said = io.StringIO()
    try:
        with redirect_stderr(said):  # argparse prints its reason and exits
            plan_of(parser().parse_args(["record", *options]))
    except SpecviewError as error:
        return str(error)
    except SystemExit:
        return said.getvalue().strip().rpartition("error: ")[2] or "The recorder would not take these options."
    return ""
