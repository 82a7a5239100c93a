"""A table with one row selected, as long as it likes: only the rows on the screen are ever drawn."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from ..lines import Line, clipped, shortened, width_of
from ..tables import Fitted, TableView, fitted, header_line, row_line
from .panel import TITLE_FRAME

TONES = ("quiet", "strong", "good", "bad", "warn", "what-if")
POINTER, NO_POINTER = "▸", " "
MARGIN = 2  # the pointer and a space
FREE = 1  # a column before the frame


class Rows(ScrollView, inherit_bindings=False, can_focus=True):
    """The rows of a table. The selected one has a pointer before it, so that it shows without colour too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Row before", show=False),
        Binding("down", "move(1)", "Next row", show=False),
        Binding("pageup", "page(-1)", "Rows before", show=False),
        Binding("pagedown", "page(1)", "Next rows", show=False),
        Binding("home", "edge(-1)", "First row", show=False),
        Binding("end", "edge(1)", "Last row", show=False),
        Binding("enter", "choose", "Choose", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--selected", *(f"tone--{tone}" for tone in TONES)}

    class Selected(Message):
        """Another row is selected; `key` is its key, None where there are no rows."""

        def __init__(self, rows: Rows, key: str | None) -> None:
            super().__init__()
            self.rows, self.key = rows, key

    class Chosen(Message):
        """Enter was pressed on a row, or it was clicked twice."""

        def __init__(self, rows: Rows, key: str) -> None:
            super().__init__()
            self.rows, self.key = rows, key

    class Laid(Message):
        """Other columns are shown, or in other widths."""

        def __init__(self, rows: Rows) -> None:
            super().__init__()
            self.rows = rows

    def __init__(self) -> None:
        super().__init__()
        self._view = TableView()
        self._fit = Fitted((), ())
        self._at = 0

    @property
    def view(self) -> TableView:
        """The table it shows."""
        return self._view

    @property
    def selected(self) -> str | None:
        """The key of the selected row."""
        return self._view.rows[self._at].key if self._view.rows else None

    def show(self, view: TableView) -> None:
        """Show other rows; one that was gone to stays selected where it is still there, else the first is."""
        if view == self._view:
            return
        before = self.selected
        self._view = view
        keys = [row.key for row in view.rows]
        self._at = keys.index(before) if before in keys and self._at else 0
        self._measure()
        if self.selected != before:
            self.post_message(self.Selected(self, self.selected))

    def select(self, key: str) -> None:
        """Select the row of that key, if there is one."""
        found = next((i for i, row in enumerate(self._view.rows) if row.key == key), None)
        if found is not None:
            self._go(found)

    def select_first(self) -> None:
        """Back to the first row, as after sorting anew."""
        self._go(0)

    def fit(self) -> Fitted:
        """The columns as they are fitted now, for the header over the rows."""
        return self._fit

    def on_resize(self, event: Resize) -> None:
        """Other columns may fit."""
        self._measure()

    def _measure(self) -> None:
        width = self.scrollable_content_region.width
        fit = fitted(self._view, max(1, width - MARGIN), FREE) if width > 0 else Fitted((), ())
        if fit != self._fit:
            self._fit = fit
            self.post_message(self.Laid(self))
        self.virtual_size = Size(width, len(self._view.rows))
        self._keep_in_sight()
        self.refresh()

    def _keep_in_sight(self) -> None:
        self.scroll_to_region(Region(0, self._at, 1, 1), animate=False, force=True)

    def _go(self, to: int) -> None:
        last = len(self._view.rows) - 1
        to = max(0, min(to, last))
        if last >= 0 and to != self._at:
            self._at = to
            self._keep_in_sight()
            self.refresh()
            self.post_message(self.Selected(self, self.selected))

    def action_move(self, by: int) -> None:
        """Select the next row, or the one before."""
        self._go(self._at + by)

    def action_page(self, by: int) -> None:
        """Go on by a screen of rows."""
        self._go(self._at + by * max(1, self.scrollable_content_region.height - 1))

    def action_edge(self, by: int) -> None:
        """Go to the first row, or to the last."""
        self._go(0 if by < 0 else len(self._view.rows) - 1)

    def action_choose(self) -> None:
        """Say which row was chosen."""
        if self.selected is not None:
            self.post_message(self.Chosen(self, self.selected))

    def on_click(self, event: Click) -> None:
        """A click selects a row, a second one chooses it."""
        self._go(event.y + self.scroll_offset.y)
        if event.chain > 1:
            self.action_choose()

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        index = y + self.scroll_offset.y
        width = self.size.width
        if not 0 <= index < len(self._view.rows):
            return Strip.blank(width, self.rich_style)
        here = index == self._at
        cells = row_line(self._view, self._view.rows[index], self._fit)
        segments = [Segment(f"{POINTER if here else NO_POINTER} ", self.rich_style)]
        for span in clipped(cells, max(1, width - MARGIN - FREE)):
            tone = self.get_component_rich_style(f"tone--{span.tone}", partial=True) if span.tone else None
            segments.append(Segment(span.text, self.rich_style if tone is None else self.rich_style + tone))
        strip = Strip(segments).adjust_cell_length(width, self.rich_style)
        return strip.apply_style(self.get_component_rich_style("rows--selected", partial=True)) if here else strip


class TablePanel(Vertical):
    """A titled frame around a header and rows, or around a message where there are none."""

    class TitleClicked(Message):
        """The title of a column was clicked; `column` is its key."""

        def __init__(self, panel: TablePanel, column: str) -> None:
            super().__init__()
            self.panel, self.column = panel, column

        @property
        def control(self) -> TablePanel:
            """The panel."""
            return self.panel

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.rows = Rows()
        self._titles = ("", "")
        self._named: tuple[str, ...] = ("", "")

    def compose(self) -> ComposeResult:
        """Header, message, rows."""
        yield Static(classes="header", markup=False)
        yield Static(classes="message", markup=False)
        yield self.rows

    def on_mount(self) -> None:
        """Nothing to show yet."""
        self._lay_out()

    def on_click(self, event: Click) -> None:
        """Say which title was clicked, if one was."""
        header = self.query_one(".header", Static)
        if event.widget is not header:
            return
        index = self.rows.fit().at(event.screen_x - header.region.x - MARGIN)
        if index is not None:
            self.post_message(self.TitleClicked(self, self.rows.view.columns[index].key))

    def on_rows_laid(self, message: Rows.Laid) -> None:
        """The header follows the rows."""
        message.stop()
        self._lay_out()

    def show(self, view: TableView, title: str = "", subtitle: str = "") -> None:
        """Show another table; an equal one costs nothing."""
        if (title, subtitle) != self._titles:
            self._titles = (title, subtitle)
            self._set_titles()
        if view != self.rows.view:
            self.rows.show(view)
            self._lay_out()

    def on_resize(self, event: Resize) -> None:
        """More or less of the titles fits."""
        self._set_titles()

    def _set_titles(self) -> None:
        """Title and subtitle, as much of them as fits in whole words."""
        room = max(0, self.outer_size.width - TITLE_FRAME)
        named = tuple(shortened(text, room) for text in self._titles)
        if named != self._named:
            self._named = named
            self.border_title, self.border_subtitle = Content(named[0]), Content(named[1])

    def notify_style_update(self) -> None:
        """The header's styles are of the theme, which reaches the rows after the panel."""
        super().notify_style_update()
        if self.is_mounted:
            self.call_after_refresh(self._lay_out_if_there)

    def _lay_out_if_there(self) -> None:
        if self.rows.is_attached and self.query(".header"):  # the page may have been left meanwhile
            self._lay_out()

    def _lay_out(self) -> None:
        view = self.rows.view
        empty = not view.rows
        header, message = self.query_one(".header", Static), self.query_one(".message", Static)
        if message.display != bool(view.message and empty):
            message.display = bool(view.message and empty)
        if str(message.content) != view.message:
            message.update(Content(view.message))
        if header.display != (not empty):
            header.display = self.rows.display = not empty
        text = _content(self.rows, header_line(view, self.rows.fit())) if not empty else Content("")
        shown = header.content
        if not isinstance(shown, Content) or not text.is_same(shown):  # contents of other styles are equal
            header.update(text)


def _content(rows: Rows, spans: Line) -> Content:
    """The header in the tones of the rows."""
    parts = [
        Content.styled(span.text, rows.get_visual_style(f"tone--{span.tone}", partial=True)) if span.tone else span.text
        for span in spans
    ]
    return Content.assemble(" " * MARGIN, *parts) if width_of(spans) else Content("")
