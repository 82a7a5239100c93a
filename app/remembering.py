"""The part of the app that looks and stands as a person left it: theme, page, sort orders, a what-if, the tour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from textual.filter import LineFilter, Monochrome, NoColor

from ..layouts.ascii import AsciiFilter
from ..layouts.screens.page import PageScreen
from ..layouts.themes import DARK_NAMES, THEME_BY_NAME, THEMES, WORDS_BY_NAME, next_theme
from ..layouts.view_models import WhatIf
from .kept_state import Keeper, session_key
from .shown_session import Source
from .steered import SteeredApp


class RememberingApp(SteeredApp):
    """An app with themes, whose state is kept by `keeper`; one without a path keeps nothing.

    `ascii` lays ASCII over all that is drawn; `few_colours` puts the terminal's own colours into the circle of themes.
    """

    def __init__(
        self,
        source: Source,
        *,
        theme: str = "dark",
        ascii: bool = False,
        few_colours: bool = False,
        keeper: Keeper | None = None,
        **session: Any,
    ) -> None:
        super().__init__(source, **session)
        self._first_theme, self._few_colours = theme, few_colours
        self._ascii = AsciiFilter() if ascii else None
        self._colourless = NoColor()
        self._keeper = keeper or Keeper()
        self._restored = False

    # ------------------------------------------------------------------ how it looks

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our names, for themes that do not know them."""
        return DARK_NAMES

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's, then ours.

        Which of its two filters NO_COLOR means, Textual decides before it knows the theme.
        """
        filters = list(super().get_line_filters())
        if self.native_ansi_color:
            filters = [self._colourless if isinstance(each, Monochrome) else each for each in filters]
        return filters if self._ascii is None else [*filters, self._ascii]

    def on_mount(self) -> None:
        """Begin in the theme that was asked for."""
        for theme in THEMES:
            self.register_theme(theme)
        self.set_class(self.no_color or self._few_colours, "-few-colours")
        self.theme = THEME_BY_NAME.get(self._first_theme, THEMES[0]).name

    @property
    def theme_name(self) -> str:
        """What the theme is called here."""
        return self.theme.removeprefix("specview-")

    def action_theme(self, name: str = "") -> None:
        """Change to a theme, or to the next one."""
        name = name or next_theme(self.theme_name, self._few_colours)
        self.theme = THEME_BY_NAME[name].name
        self.notify(f"Theme: {WORDS_BY_NAME[name]}.", markup=False, timeout=2)
        self._keeper.keep(replace(self._keeper.state, theme=name))

    # ------------------------------------------------------------------ what is kept

    def page_state(self, name: str) -> Mapping[str, str]:
        """What a page of that name had when it was left."""
        return self._keeper.state.pages.get(name, {})

    def page_changed(self, left: PageScreen | None, page: PageScreen | None) -> None:
        """Keep what was left, and where the person is now."""
        self._keep(left, page)

    def _keep(self, left: PageScreen | None, page: PageScreen | None) -> None:
        state = replace(self._keeper.state, page=None if page is None else page.NAME)
        if left is not None:
            pages = {name: facts for name, facts in state.pages.items() if name != left.NAME}
            told = left.state()
            state = replace(state, pages={**pages, left.NAME: told} if told else pages)
        self._keeper.keep(state.with_what_if(session_key(self._shown), self._what_if))

    async def action_quit(self) -> None:
        """Keep how things are, and leave."""
        if self._restored:  # before that, what was kept last time still stands
            self._keep(self.page, self.page)
        await super().action_quit()

    def restored_what_if(self) -> WhatIf | None:
        """With the first numbers: what was asked of this session when it was left. Lays the last page over them."""
        if self._restored:
            return None
        self._restored = True
        state = self._keeper.state
        if state.page is not None and len(self.screen_stack) == 1:
            self.call_later(self._restore_page, state.page)
        what_if = state.what_if_of(session_key(self._shown))
        return None if what_if == WhatIf() else what_if

    async def _restore_page(self, name: str) -> None:
        from .pages import SCREEN_BY_NAME

        if name in SCREEN_BY_NAME and len(self.screen_stack) == 1:
            await self.action_page(name)
