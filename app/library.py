"""The part of the app that shows the library of saved sessions and has done what is asked for there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.events import Paste
from textual.message import Message

from .. import __version__
from .asking import AskingApp
from .dropped import dropped_path
from .settings import library_cache
from .shown_session import Source

if TYPE_CHECKING:  # loaded when the library is opened first
    from ..layouts.library_verdict import VerdictWords
    from ..layouts.screens.page import PageScreen
    from ..layouts.screens.sessions import SessionsScreen
    from ..profilers.record.library.entries import Entry
    from ..profilers.record.library.index import Library
    from .librarian import Librarian, Outcome
    from .library_verdicts import VerdictCache
    from .library_watching import LibraryWatch

PAUSED = "No verdict is reckoned while this app measures: it would disturb the measurement."


class LibraryApp(AskingApp):
    """An app with a library: its folder is watched while the Sessions screen is there."""

    class LibraryTold(Message):
        """The folder holds something else now."""

        def __init__(self, library: Library) -> None:
            super().__init__()
            self.library = library

    class VerdictTold(Message):
        """A verdict was reckoned."""

        def __init__(self, entry: Entry, verdict: VerdictWords) -> None:
            super().__init__()
            self.entry, self.verdict = entry, verdict

    class DeedTold(Message):
        """Something was done in the library, or could not be."""

        def __init__(self, outcome: Outcome) -> None:
            super().__init__()
            self.outcome = outcome

    def __init__(
        self,
        source: Source,
        *,
        cache: Path | None = None,
        clock_ns: Callable[[], int] = time.time_ns,
        **session: Any,
    ) -> None:
        super().__init__(source, **session)
        self._cache_path = cache or (library_cache() if session.get("folder") is None else None)
        self._clock_ns = clock_ns
        self._library: Library | None = None
        self._watch: LibraryWatch | None = None
        self._librarian: Librarian | None = None
        self._cache: VerdictCache | None = None
        self._being_reckoned: Path | None = None

    @property
    def library(self) -> Library | None:
        """What the folder holds, once it has been looked into."""
        return self._library

    @property
    def library_settled(self) -> bool:
        """Whether everything is read, every deed told, and every verdict in sight reckoned."""
        known = self._library is not None and not self._library.unread and self._library.looked
        return known and self._being_reckoned is None and self._next_to_reckon() is None

    async def on_unmount(self) -> None:
        """Watch no more."""
        if self._watch is not None:
            self._watch.stop()

    # ------------------------------------------------------------------ the screen

    async def action_sessions(self) -> None:
        """Put the library over the dashboard."""
        from ..layouts.screens.sessions import SessionsScreen

        await self.action_page(SessionsScreen.NAME)
        self._enter_library()

    def page_changed(self, left: PageScreen | None, page: PageScreen | None) -> None:
        """Watch the folder while its page is there."""
        super().page_changed(left, page)
        if page is not None and page.NAME == "sessions":
            self.call_after_refresh(self._enter_library)
        elif self._watch is not None:
            self._watch.stop()

    def _enter_library(self) -> None:
        if self._sessions_page is not None:
            self._open_library()
            self._show_library()

    @property
    def _sessions_page(self) -> SessionsScreen | None:
        from ..layouts.screens.sessions import SessionsScreen

        page = self.page
        return page if isinstance(page, SessionsScreen) else None

    def _open_library(self) -> None:
        from ..profilers.record.library.index import Index
        from .librarian import Librarian
        from .library_verdicts import VerdictCache
        from .library_watching import LibraryWatch

        if self._watch is None:
            self._cache = VerdictCache(self._cache_path, __version__)
            self._librarian = Librarian(self._folder, self._clock_ns)
            self._watch = LibraryWatch(
                Index(self._folder),
                self.in_thread,
                lambda library: self.post_message(self.LibraryTold(library)),
                self._elsewhere,
            )
        self._watch.start()

    def _elsewhere(self) -> tuple[Path, ...]:
        """Sessions outside the library that belong in the list: the one on the screen, and the one we record."""
        known = (self._listed(self._shown), self._own())
        return tuple(dict.fromkeys(path for path in known if path is not None and path.parent != self._folder))

    def _listed(self, path: Path | None) -> Path | None:
        """The path under which a session is listed, however it was typed."""
        if path is not None and path.parent != self._folder and path.parent.resolve() == self._folder.resolve():
            return self._folder / path.name
        return path

    def _own(self) -> Path | None:
        """The session that this app records, while it does."""
        return self._listed(self._steersman.path) if self._steersman.running else None

    def on_library_app_library_told(self, message: LibraryTold) -> None:
        """Show what the folder holds now."""
        self._library = message.library
        self._show_library()

    def _show_library(self) -> None:
        from ..layouts.library import LibraryFacts

        page, cache = self._sessions_page, self._cache
        if page is None or cache is None or self._library is None:
            return
        own = self._own()
        entries = self._library.entries
        if any(entry.path == own and entry.status != "recording" for entry in entries):
            entries = tuple(replace(each, status="recording") if each.path == own else each for each in entries)
        paused = PAUSED if self._steersman.running else ""
        facts = LibraryFacts(
            replace(self._library, entries=entries),
            cache.by_path(entries),
            self._clock_ns(),
            paused,
            self._listed(self._shown),
        )
        page.show_library(facts)
        self._reckon_next()

    # ------------------------------------------------------------------ verdicts

    def _next_to_reckon(self) -> Entry | None:
        from .library_verdicts import is_reckonable

        page, cache, library = self._sessions_page, self._cache, self._library
        if page is None or not page.is_mounted or cache is None or library is None or self._steersman.running:
            return None
        entry_by_path = {entry.path: entry for entry in library.entries}
        for path in page.in_sight:
            entry = entry_by_path.get(path)
            if entry is not None and is_reckonable(entry) and cache.of(entry) is None:
                return entry
        return None

    def _reckon_next(self) -> None:
        """Have the verdict of one session in sight reckoned, if one is missing and none is at work."""
        entry, cache = self._next_to_reckon(), self._cache
        if self._being_reckoned is not None or entry is None or cache is None:
            return
        self._being_reckoned = entry.path

        def reckon() -> None:
            self.post_message(self.VerdictTold(entry, cache.reckon(entry)))

        self.in_thread(reckon)

    def on_library_app_verdict_told(self, message: VerdictTold) -> None:
        """Show it, and go on with the next."""
        self._being_reckoned = None
        self._show_library()

    def on_sessions_screen_seen(self) -> None:
        """Other sessions are in sight."""
        self._reckon_next()

    # ------------------------------------------------------------------ deeds

    def on_sessions_screen_wanted(self, message: SessionsScreen.Wanted) -> None:
        """Have it done."""
        from ..layouts.library_deeds import Compare, Open

        deed, librarian = message.deed, self._librarian
        if isinstance(deed, Open):
            self.open_file(deed.path)
        elif isinstance(deed, Compare):
            self.compare(deed.paths)
        elif librarian is not None:

            def work() -> None:
                self.post_message(self.DeedTold(librarian.do(deed)))

            self.in_thread(work)

    def on_library_app_deed_told(self, message: DeedTold) -> None:
        """Say what became of it, and look at the folder anew."""
        outcome, page = message.outcome, self._sessions_page
        self.notify(outcome.sentence, severity="information" if outcome.well else "warning", markup=False, timeout=6)
        if page is not None:
            page.deed_done(outcome.well)
            for old, new in outcome.moved:
                page.moved(old, new)
        shown = self._listed(self._shown)
        if shown is not None and (shown in dict(outcome.moved) or shown in outcome.back):
            self._follow(dict(outcome.moved).get(shown, shown))
        if self._watch is not None and page is not None:
            self._watch.start()

    def open_file(self, path: Path) -> None:
        """Show a session and leave the page for it; a file that is none is told, and the page stays."""
        from ..layouts.screens.page import PageScreen
        from ..profilers.record.library.entries import read_entry

        try:
            entry = read_entry(path)
        except OSError as error:
            self.notify(f"{path.name} cannot be read ({(error.strerror or 'unknown error').lower()}).", markup=False)
            return
        if entry.status == "unreadable":
            words = f"{entry.reason} specview import FILE reads what other engines print."
            self.notify(words, severity="warning", markup=False, timeout=8)
            return
        while len(self.screen_stack) > 1 and not isinstance(self.screen, PageScreen):
            self.pop_screen()
        self.action_dashboard()
        self.open_session(path)

    def compare(self, paths: tuple[Path, ...]) -> None:
        """Show sessions beside each other."""
        self.call_later(self.compare_paths, paths)

    async def compare_paths(self, paths: Sequence[Path]) -> None:
        """Lay sessions beside each other, the first as the base."""

    # ------------------------------------------------------------------ dragged files

    def on_paste(self, event: Paste) -> None:
        """Open a file that was dragged onto the terminal, which pastes its path."""
        path = dropped_path(event.text)
        if path is None:
            return
        event.stop()
        if path.is_file():
            self.open_file(path)
        else:
            self.notify(f"There is no file {path.name} to open.", markup=False)
