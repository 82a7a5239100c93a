"""The part of the app that compares sessions on the screen: which ones, read and compared beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.message import Message

from ..layouts.screens.choice import ChoiceScreen
from ..layouts.view_models import StatusView
from .windows import WindowedApp

if TYPE_CHECKING:  # loaded with the first comparison
    from ..layouts.compare import CompareFacts
    from ..layouts.screens.compare import CompareScreen
    from ..profilers.judge.comparison.comparing import Named

NAME = "compare"
GROWING = ("loading", "recording", "paused", "following")
NOTHING = "No other session is saved yet: r records one, or specview import reads what another engine printed."


@dataclass(frozen=True, slots=True)
class Asked:
    """Which sessions are compared, the base first; `anyway` also such as were not measured alike."""

    paths: tuple[Path, ...] = ()
    anyway: bool = False


Changed = tuple[int, int] | None
Signature = tuple[Changed, ...]
Read = dict[Path, "tuple[Changed, Named]"]


class ComparingApp(WindowedApp):
    """An app that lays sessions beside each other; `compare_paths` is what other screens ask for."""

    class ComparedTold(Message):
        """Sessions were compared."""

        def __init__(self, asked: Asked, signature: Signature, facts: CompareFacts, read: Read) -> None:
            super().__init__()
            self.asked, self.signature, self.facts, self.read = asked, signature, facts, read

    def __init__(self, source: Any, **options: Any) -> None:
        super().__init__(source, **options)
        self._compare_asked = Asked()
        self._compare_due: tuple[Asked, Signature] | None = None
        self._compare_done: tuple[Asked, Signature] | None = None
        self._compare_facts: Any = None
        self._compare_read: Read = {}

    @property
    def compare_settled(self) -> bool:
        """Whether the Compare page, if it is there, shows what was asked for."""
        asked = self._compare_asked
        return self._compare_due is None and self._compare_done == (asked, self._signature(asked.paths))

    # ------------------------------------------------------------------ what is asked

    async def compare_paths(self, paths: Sequence[Path]) -> None:
        """Compare these sessions, the first is the base; one alone asks for another."""
        if len(paths) < 2:
            self._choose_other(paths[0] if paths else self._shown)
            return
        self._compare_asked = Asked(tuple(paths))
        await self.action_page(NAME)
        self._compare_now()

    async def action_compare(self) -> None:
        """Compare the session on the screen: with those it was compared with before, else with one to be chosen."""
        page, asked = self._compare_page, self._compare_asked
        if page is None and len(asked.paths) > 1 and asked.paths[0] == self._shown:
            await self.compare_paths(asked.paths)
        else:
            self._choose_other(asked.paths[0] if page is not None and asked.paths else self._shown)

    def _choose_other(self, base: Path | None) -> None:
        from .comparing_choices import others_of

        if base is None:
            self.notify("There is no session to compare yet.", markup=False)
            return

        async def chosen(path: str | None) -> None:
            if path is not None:
                await self.compare_paths((base, Path(path)))

        title = f"Compare {base.name.partition('.')[0]} with"
        now = self._compare_asked.paths[1] if len(self._compare_asked.paths) > 1 else None
        choices = others_of(self._folder, base)
        self.push_screen(ChoiceScreen(title, choices, None if now is None else str(now), NOTHING), chosen)

    def on_compare_screen_swapped(self, message: CompareScreen.Swapped) -> None:
        """Another session becomes the base and changes places with it."""
        paths = list(self._compare_asked.paths)
        if 0 < message.place < len(paths):
            paths[0], paths[message.place] = paths[message.place], paths[0]
            self._compare_asked = replace(self._compare_asked, paths=tuple(paths))
            self._compare_now()

    def on_compare_screen_anyway_wanted(self) -> None:
        """Compare what is unlike, for as long as these sessions are compared."""
        self._compare_asked = replace(self._compare_asked, anyway=True)
        self._compare_now()

    # ------------------------------------------------------------------ reading and comparing

    @property
    def _compare_page(self) -> CompareScreen | None:
        from ..layouts.screens.compare import CompareScreen

        page = self.page
        return page if isinstance(page, CompareScreen) else None

    def show_page(self, status: StatusView, trouble: str) -> None:
        """A session that grows is compared anew."""
        super().show_page(status, trouble)
        if self.page is not None and self.page.NAME == NAME:
            self._compare_now()

    def _signature(self, paths: Sequence[Path]) -> Signature:
        """What tells that files changed; one that is being measured counts as it was, because reading it disturbs."""
        live = self._shown if self.live.state in GROWING else None
        return tuple(None if path == live else _changed(path) for path in paths)

    def _compare_now(self) -> None:
        """Have it done beside the screen, once at a time; what is known already is shown at once."""
        page, asked = self._compare_page, self._compare_asked
        if page is None or not page.is_mounted:
            return
        signature = self._signature(asked.paths)
        if self._compare_done is not None and self._compare_done[0] == asked:
            page.show_facts(self._compare_facts)
        if self._compare_done != (asked, signature) and self._compare_due is None:
            self._compare_due = (asked, signature)
            known = dict(self._compare_read)

            def work() -> None:
                self.post_message(_compared(asked, signature, known))

            self.in_thread(work)

    def on_comparing_app_compared_told(self, message: ComparedTold) -> None:
        """Show it, and begin again where something else is asked by now."""
        self._compare_due = None
        self._compare_done = (message.asked, message.signature)
        self._compare_facts, self._compare_read = message.facts, message.read
        self._compare_now()


def _changed(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _compared(asked: Asked, signature: Signature, known: Read) -> ComparingApp.ComparedTold:
    """In a thread: read what changed, and compare."""
    from ..engine.errors import SpecviewError
    from ..layouts.compare import CompareFacts, compare_facts
    from .comparing import sessions_at
    from .process import error_words

    read: Read = {}
    try:
        for path, changed in zip(asked.paths, signature, strict=True):
            before = known.get(path)
            if before is not None and before[0] == changed:
                read[path] = before
            else:
                read[path] = (changed, sessions_at([path])[0])
        facts = compare_facts([read[path][1] for path in asked.paths], anyway=asked.anyway)
    except SpecviewError as error:
        facts = CompareFacts(message=f"{error} c chooses another session.")
    except Exception as error:  # what nobody foresaw must not leave a page that waits for ever
        facts = CompareFacts(message=f"They cannot be compared ({error_words(error)}). c chooses another session.")
    return ComparingApp.ComparedTold(asked, signature, facts, read)
