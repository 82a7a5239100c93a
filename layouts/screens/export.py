"""The export window: what, in which form, under which name; enter saves."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ..export.names import WORDS_BY_FORM, Form, free_name, suggested_name

Way = Form | Literal["copied", "copied text"]
COPIES: dict[Way, str] = {"copied": "Markdown, to the clipboard", "copied text": "plain text, to the clipboard"}
CLIPBOARD_WORDS = "Goes to the clipboard of your terminal, which has to allow that (OSC 52)."


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that can be exported: `screen` is its name in files, `words` on the screen, `ways` its forms."""

    screen: str
    words: str
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportView:
    """What the window offers. `folder` is where files go, as shown; `taken` are the names of files there."""

    offers: tuple[Offer, ...]
    session_name: str | None
    folder: str
    taken: Collection[str] = frozenset()
    size: tuple[int, int] = (120, 40)

    def name(self, offer: Offer, way: Way) -> str:
        """The name to suggest, empty for the clipboard."""
        if way == "copied" or way == "copied text":
            return ""
        return suggested_name(self.session_name, offer.screen, way, self.size)


@dataclass(frozen=True, slots=True)
class ExportWish:
    """What was chosen; `name` is the file's, empty for the clipboard."""

    screen: str
    way: Way
    name: str


class ExportScreen(ModalScreen[ExportWish | None]):
    """Shows one `ExportView`; dismisses with a wish, or None."""

    AUTO_FOCUS = "#ways"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Close")]

    def __init__(self, view: ExportView) -> None:
        super().__init__()
        self._view = view
        self._suggested = ""

    def compose(self) -> ComposeResult:
        """Two lists side by side, the name under them, and where it goes."""
        with Vertical(classes="window") as window:
            window.border_title = Content("Export")
            window.border_subtitle = Content("enter saves · tab what, form, name · esc closes")
            with Horizontal(id="lists"):
                yield OptionList(
                    *(Option(Content(offer.words)) for offer in self._view.offers), id="offers", markup=False
                )
                yield OptionList(id="ways", markup=False)
            yield Input(id="name", placeholder="the name of the file")
            yield Static(id="where", markup=False)

    def on_mount(self) -> None:
        """Begin with the first thing on offer in its first form."""
        offers, ways = self.query_one("#offers", OptionList), self.query_one("#ways", OptionList)
        offers.border_title, ways.border_title = Content("What"), Content("Form")
        offers.highlighted = 0

    @property
    def _offer(self) -> Offer:
        return self._view.offers[self.query_one("#offers", OptionList).highlighted or 0]

    @property
    def _way(self) -> Way:
        at = self.query_one("#ways", OptionList).highlighted or 0
        return self._offer.ways[min(at, len(self._offer.ways) - 1)]

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Forms follow what is chosen, and the name follows both unless somebody changed it."""
        if event.option_list.id == "offers":
            ways = self.query_one("#ways", OptionList)
            ways.clear_options()
            ways.add_options([Option(Content(_words(way))) for way in self._offer.ways])
            ways.highlighted = 0
        self._suggest()

    def _suggest(self) -> None:
        name = self.query_one("#name", Input)
        suggested = self._view.name(self._offer, self._way)
        name.disabled = not suggested
        if name.value in ("", self._suggested):
            name.value = suggested
        elif suggested and self._suggested:
            name.value = _with_ending_of(name.value, self._suggested, suggested)
        self._suggested = suggested
        self._say()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say where this name goes."""
        self._say()

    def _say(self) -> None:
        self.query_one("#where", Static).update(Content(self._where()))

    def _where(self) -> str:
        """Where the file goes, and under which name where this one is taken."""
        if not self._suggested:
            return f"{self._offer.words}, {_words(self._way)}. {CLIPBOARD_WORDS}"
        name = self.query_one("#name", Input).value.strip()
        if not name:
            return "A file needs a name."
        free = free_name(name, lambda each: each in self._view.taken)
        renamed = "" if free == name else f" as {free}, because {name} is there already"
        return f"{self._offer.words}, {_words(self._way)}: goes to {self._view.folder}{renamed}."

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter in a list saves."""
        self._save()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in the name saves."""
        self._save()

    def _save(self) -> None:
        name = self.query_one("#name", Input).value.strip() if self._suggested else ""
        if name or not self._suggested:
            self.dismiss(ExportWish(self._offer.screen, self._way, name))


def _words(way: Way) -> str:
    return COPIES[way] if way == "copied" or way == "copied text" else WORDS_BY_FORM[way]


def _with_ending_of(name: str, before: str, after: str) -> str:
    """A name that somebody chose keeps its beginning and takes the ending of another form."""
    old, new = f".{before.split('.', 1)[1]}", f".{after.split('.', 1)[1]}"
    return f"{name.removesuffix(old)}{new}" if name.endswith(old) else name
