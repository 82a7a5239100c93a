"""The Sessions screen: the saved sessions searched, sorted and marked, and the chosen one in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from textual.binding import BindingType
from textual.content import Content
from textual.events import Resize
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from ...engine.paths import local_path
from ...profilers.record.library.entries import Entry
from ...profilers.record.library.index import Library
from ..explanations import Explanation
from ..library import (
    SORTS,
    LibraryAsk,
    LibraryFacts,
    SessionsView,
    chosen_entries,
    moved_sort,
    sessions_view,
    sorted_by,
    toggled,
)
from ..library_deeds import Annotate, Compare, Deed, Delete, Open, Rename, Undo, Words
from ..library_detail import detail_lines
from ..library_words import ASKING_KEYS, KEYS, PLACEHOLDERS, sessions_explanation
from ..lines import Line
from ..panels.ask_line import AskLine
from ..panels.table import Rows, TablePanel
from ..panels.text import TextPanel
from ..view_models import StatusView
from .page import PageScreen, key

SIDE = 150  # cells from which on the chosen session stands beside the list
Asking = Literal["", "find", "rename", "note", "tags"]


class SessionsScreen(PageScreen):
    """Shows one library; posts what is to be done with its sessions."""

    NAME: ClassVar[str] = "sessions"
    AUTO_FOCUS = "#sessions Rows"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("enter", "open", "Open", "show the selected session; one that is being recorded is followed"),
        key("slash", "find", "Find", "only sessions with these words; esc shows all; a path opens that file", "/"),
        key("S", "sort", "Sort", "by time, name, verdict, model, rounds or size; a click on a title does too"),
        key("space", "mark", "Mark", "mark the selected session for comparing, tagging or deleting"),
        key("c", "compare", "Compare", "compare the marked sessions"),
        key("N", "note", "Note", "write down what should be remembered of it; it becomes part of the file"),
        key("T", "tags", "Tags", "tag the marked sessions, or the selected one"),
        key("R", "rename", "Rename", "give the selected session another name"),
        key("D,delete", "delete", "Delete", "move the marked sessions, or the selected one, into the trash", "D"),
        key("z", "undo", "Undo", "take the last change back, or bring back what was deleted last"),
    ]

    class Wanted(Message):
        """Something is to be done with sessions."""

        def __init__(self, deed: Deed) -> None:
            super().__init__()
            self.deed = deed

    class Seen(Message):
        """Other sessions are in sight."""

    def __init__(self, status: StatusView) -> None:
        super().__init__(status)
        self._facts = LibraryFacts(Library(), {})
        self._ask = LibraryAsk()
        self._entries: dict[str, Entry] = {}
        self._selected: str | None = None
        self._wished: str | None = None
        self._asking: Asking = ""
        self._about: tuple[Entry, ...] = ()

    # ------------------------------------------------------------------ what is shown

    def panels(self) -> Iterable[Widget]:
        """The line that asks, the list, the chosen session, what everything takes."""
        yield AskLine(id="ask")
        yield TablePanel(id="sessions")
        yield TextPanel(id="detail")
        yield Static(id="storage", markup=False)

    def on_mount(self) -> None:
        """Show what it was made with."""
        super().on_mount()
        self.watch(self._rows, "scroll_y", self._seen, init=False)
        self._draw()

    def on_resize(self, event: Resize) -> None:
        """The keys on the frame depend on the width."""
        super().on_resize(event)
        self.set_class(event.size.width >= SIDE, "-side")
        self._draw()
        self._seen()

    @property
    def ask(self) -> LibraryAsk:
        """How the list is asked for now."""
        return self._ask

    @property
    def view(self) -> SessionsView:
        """What the list shows."""
        return sessions_view(self._facts, self._ask)

    @property
    def selected(self) -> Entry | None:
        """The selected session."""
        return self._entries.get(self._rows.selected or "")

    @property
    def in_sight(self) -> tuple[Path, ...]:
        """The sessions on the screen, the selected one first."""
        rows = self._rows
        first, most = rows.scroll_offset.y, max(1, rows.size.height)
        paths = [Path(row.key) for row in rows.view.rows[first : first + most]]
        chosen = self.selected
        return tuple(paths) if chosen is None else (chosen.path, *(path for path in paths if path != chosen.path))

    def state(self) -> dict[str, str]:
        """How it is sorted."""
        return {"sort": self._ask.sort, "backwards": "yes" if self._ask.backwards else ""}

    def restore(self, state: Mapping[str, str]) -> None:
        """Sort as it was sorted before."""
        if state.get("sort") in SORTS:
            self._ask = replace(self._ask, sort=state["sort"], backwards=state.get("backwards") == "yes")

    def show_library(self, facts: LibraryFacts) -> None:
        """Show another state of the library; the selected session stays selected while it is there."""
        gone = self._ask.marked - {entry.path for entry in facts.library.entries}
        if gone and not facts.library.trouble:
            self._ask = replace(self._ask, marked=self._ask.marked - gone)
        if self._selected is None and facts.shown is not None:
            self._wished = str(facts.shown)
        self._facts = facts
        if self.is_mounted:
            self._draw()
            self._seen()

    def _seen(self) -> None:
        """Other sessions may be in sight, which is known once the rows have been laid out."""
        self.call_after_refresh(self.post_message, self.Seen())

    @property
    def _rows(self) -> Rows:
        return self.query_one("#sessions", TablePanel).rows

    def _draw(self) -> None:
        view, rows, before = self.view, self._rows, list(self._entries)
        self._entries = {str(entry.path): entry for entry in chosen_entries(self._facts, self._ask)}
        room = self.query_one("#sessions").size.width or self.size.width
        keys = ASKING_KEYS.get(self._asking) or next((keys for keys in KEYS if len(keys) <= room - 6), KEYS[-1])
        self.query_one("#sessions", TablePanel).show(view.table, view.title, keys)
        rows.select(self._still_selected(before))  # a session that appears above must not take its place
        self._selected = rows.selected
        self._draw_detail()
        text = f"▲ {view.trouble}" if view.trouble else view.storage
        storage = self.query_one("#storage", Static)
        if str(storage.content) != text:
            storage.update(Content(text))

    def _still_selected(self, before: list[str]) -> str:
        """The session that was renamed to, or the one that was selected, or else the one that took its place."""
        if self._wished in self._entries:
            wished, self._wished = self._wished, None
            return wished or ""
        if self._selected is None or self._selected in self._entries or self._selected not in before:
            return self._selected or ""
        left = list(self._entries)
        return left[min(before.index(self._selected), len(left) - 1)] if left else ""

    def _draw_detail(self) -> None:
        entry = self.selected
        verdict = None if entry is None else self._facts.verdicts.get(entry.path)
        paused, zone = self._facts.paused, self._facts.zone

        def draw(width: int, height: int) -> list[Line]:
            return detail_lines(entry, verdict, width, paused, zone)

        self.query_one("#detail", TextPanel).draw_with(draw, (entry, verdict, paused), "Selected")

    def on_rows_selected(self, message: Rows.Selected) -> None:
        """Another session in full."""
        self._selected = self._rows.selected
        self._draw_detail()
        self.post_message(self.Seen())

    def _asked(self, ask: LibraryAsk) -> None:
        if ask != self._ask:
            self._ask = ask
            self._draw()
            self.post_message(self.Seen())

    # ------------------------------------------------------------------ keys

    def action_open(self) -> None:
        """Show the selected session."""
        if self.selected is not None:
            self._want(Open(self.selected.path))

    def on_rows_chosen(self, message: Rows.Chosen) -> None:
        """Enter on a session, or a second click."""
        self._want(Open(Path(message.key)))

    def action_sort(self) -> None:
        """The next order."""
        self._asked(moved_sort(self._ask))
        self._rows.select_first()

    def on_table_panel_title_clicked(self, message: TablePanel.TitleClicked) -> None:
        """Sort by that column."""
        message.stop()
        self._asked(sorted_by(self._ask, message.column))

    def action_mark(self) -> None:
        """Mark the selected session, and go on to the next."""
        if self.selected is not None:
            self._asked(toggled(self._ask, self.selected.path))
            self._rows.action_move(1)

    def action_compare(self) -> None:
        """Compare what is marked; the oldest is what the others are compared with."""
        marked = self._marked()
        if len(marked) < 2:
            self.notify("Mark two sessions or more with space, then c compares them.", markup=False)
            return
        self._want(Compare(tuple(entry.path for entry in reversed(marked))))

    def action_delete(self) -> None:
        """Move sessions into the trash."""
        chosen = self._chosen()
        if chosen:
            self._want(Delete(tuple(entry.path for entry in chosen)))

    def action_undo(self) -> None:
        """Take the last change back."""
        self._want(Undo())

    def action_find(self) -> None:
        """Ask for words."""
        self._ask_for("find", "Find", self._ask.needle, ())

    def action_rename(self) -> None:
        """Ask for a name."""
        if self.selected is not None:
            self._ask_for("rename", "Rename to", self.selected.name, (self.selected,))

    def action_note(self) -> None:
        """Ask for a note."""
        if self.selected is not None:
            self._ask_for("note", f"Note on {self.selected.name}", self.selected.note, (self.selected,))

    def action_tags(self) -> None:
        """Ask for tags; those that all of several sessions have are there already."""
        chosen = self._chosen()
        if chosen:
            about = chosen[0].name if len(chosen) == 1 else f"{len(chosen)} sessions"
            self._ask_for("tags", f"Tags of {about}", " ".join(_common(chosen)), chosen)

    def _marked(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self._facts.library.entries if entry.path in self._ask.marked)

    def _chosen(self) -> tuple[Entry, ...]:
        chosen = self.selected
        return self._marked() or (() if chosen is None else (chosen,))

    def _want(self, deed: Deed) -> None:
        self.post_message(self.Wanted(deed))

    # ------------------------------------------------------------------ the line that asks

    def _ask_for(self, asking: Asking, label: str, words: str, about: tuple[Entry, ...]) -> None:
        self._asking, self._about = asking, about
        self.add_class("-asking")
        self._draw()
        self.query_one(AskLine).ask(label, words, PLACEHOLDERS[asking])

    @property
    def asking(self) -> Asking:
        """What the line asks for, if it is open."""
        return self._asking

    def action_ask_off(self) -> None:
        """Close the line; after looking for words all sessions are shown again."""
        if self._asking == "find":
            self._asked(replace(self._ask, needle=""))
        self._close_line()

    def moved(self, old: Path, new: Path) -> None:
        """A session has another name: it stays selected and marked under that one."""
        if self._selected == str(old):
            self._wished = str(new)
        if old in self._ask.marked:
            self._ask = replace(self._ask, marked=self._ask.marked - {old} | {new})

    def _close_line(self) -> None:
        self._asking, self._about = "", ()
        self.remove_class("-asking")
        self._draw()
        self._rows.focus()

    def deed_done(self, well: bool) -> None:
        """A deed was done, or not: then what was typed stays to be corrected."""
        if well and self._asking not in ("", "find"):
            self._close_line()

    def on_input_changed(self, event: Input.Changed) -> None:
        """The list follows what is looked for."""
        if self._asking == "find":
            self._asked(replace(self._ask, needle=event.value.strip()))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Do what was asked for."""
        words, about = event.value.strip(), self._about
        if self._asking == "find":
            self._found(words)
        elif self._asking == "rename" and about:
            self._want(Rename(about[0].path, words))
        elif self._asking == "note" and about:
            self._want(Annotate((Words(about[0].path, words, about[0].tags),)))
        elif self._asking == "tags" and about:
            common, typed = _common(about), tuple(words.replace(",", " ").split())
            self._want(
                Annotate(
                    tuple(
                        Words(entry.path, entry.note, (*(t for t in entry.tags if t not in common), *typed))
                        for entry in about
                    )
                )
            )

    def _found(self, words: str) -> None:
        """Back to the rows; the words stay. A path opens that file instead."""
        if words.startswith(("/", "~", "./", "../")):
            path = local_path(words)
            if path.is_file():
                self.action_ask_off()
                self._want(Open(path))
                return
        self._close_line()

    def explanation(self) -> Explanation:
        """What is listed, and where it lies."""
        return sessions_explanation(self._facts.library, self._ask)


def _common(entries: tuple[Entry, ...]) -> tuple[str, ...]:
    """The tags that all have."""
    return tuple(tag for tag in entries[0].tags if all(tag in entry.tags for entry in entries))
