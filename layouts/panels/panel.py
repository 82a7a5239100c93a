"""What all panels share: a frame that scrolls, a body of toned lines, redrawn only when its view changed."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Resize, Show
from textual.widget import Widget

from ..lines import Line, clipped, left, shortened

V = TypeVar("V")
TITLE_FRAME = 6  # corners, and a line and a space on either side of a title

CATEGORY_TONES = {
    "embedding": "cat-embedding",
    "linear attention": "cat-linear",
    "full attention": "cat-full",
    "MoE": "cat-moe",
    "MLP": "cat-mlp",
    "norms and residuals": "cat-norms",
    "output head": "cat-head",
    "sampling": "cat-sampling",
    "misc": "cat-misc",
}
SHORT_NAMES = {
    "linear attention": "linear attn",
    "full attention": "full attn",
    "norms and residuals": "norms, resid",
}
LABEL = 13  # cells before a bar
TONES = (
    "quiet",
    "strong",
    "good",
    "bad",
    "warn",
    "whole",
    "gap",
    "ratio",
    "extra",
    "width",
    "here",
    "axis",
    "band",
    "limit",
    "measured",
    "measured-point",
    "what-if",
    "what-if-point",
    "accepted",
    "own",
    "rejected",
    "plain",
    "mark",
    *CATEGORY_TONES.values(),
)


def label_cells(label: str) -> str:
    """The label of a bar, a space always between the two."""
    return f"{left(label, LABEL - 1)} "


class Body(Widget):
    """Lines of toned text; tones become styles when it is painted, so that a new theme needs no new lines."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"tone--{tone}" for tone in TONES}

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[Line] = []

    def show(self, lines: list[Line]) -> None:
        """Show other lines; the same ones cost nothing, and as many lines need no new layout."""
        if lines == self._lines:
            return
        as_high = len(lines) == len(self._lines)
        self._lines = lines
        if as_high:
            self.refresh()
        else:
            self.remeasure()

    def remeasure(self) -> None:
        """Forget the height it had with other lines."""
        self.clear_cached_dimensions()
        # Textual's cache of sizes is keyed by this, and refresh leaves it alone while a layout is due already
        self._layout_updates += 1
        self.refresh(layout=True)

    @property
    def text(self) -> str:
        """What it shows, without tones."""
        return "\n".join("".join(span.text for span in spans) for spans in self._lines)

    def render(self) -> Content:
        """The lines as content, every text literal."""
        return Content("\n").join(
            Content.assemble(
                *(
                    Content.styled(span.text, self.get_visual_style(f"tone--{span.tone}", partial=True))
                    if span.tone
                    else span.text
                    for span in spans
                )
            )
            for spans in self._lines
        )


class Panel(VerticalScroll, Generic[V], inherit_bindings=False, can_focus=True):
    """A titled frame around one view model. Arrow keys are the what-ifs', so a panel scrolls by pages."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pagedown", "page_down", "Scroll down", show=False),
        Binding("pageup", "page_up", "Scroll up", show=False),
        Binding("home", "scroll_home", "To the top", show=False),
        Binding("end", "scroll_end", "To the end", show=False),
    ]
    NAME: ClassVar[str] = ""

    def __init__(self, view: V, *, id: str) -> None:
        super().__init__(id=id)
        self._view = view
        self._body = Body()
        self._titles = ("", "")

    @property
    def view(self) -> V:
        """The view model it shows."""
        return self._view

    @property
    def text(self) -> str:
        """What it shows, without tones."""
        return self._body.text

    def compose(self) -> ComposeResult:
        """The body only; titles are part of the frame."""
        yield self._body

    def show(self, view: V) -> None:
        """Show another view model; an equal one costs nothing."""
        if view != self._view:
            self._view = view
            self.redraw()

    def on_mount(self) -> None:
        """Draw what it was made with."""
        self.redraw()

    def on_resize(self, event: Resize) -> None:
        """Lines depend on the width and the height."""
        self.redraw()

    def on_show(self, event: Show) -> None:
        """What was drawn while it was folded away has not been measured."""
        self._body.remeasure()
        self.redraw()

    def redraw(self) -> None:
        """Draw the view into the size there is."""
        size = self.scrollable_content_region
        room = max(0, self.outer_size.width - TITLE_FRAME)
        title, subtitle = self.titles(self._view)
        titles = shortened(title, room), shortened(subtitle, room)
        if titles != self._titles:  # setting one repaints the frame
            self._titles = titles
            self.border_title, self.border_subtitle = Content(titles[0]), self.subtitle(titles[1])
        if size.width > 0:
            lines = self.draw(self._view, size.width, size.height)
            self._body.show([clipped(spans, size.width) for spans in lines])

    def titles(self, view: V) -> tuple[str, str]:
        """Title and subtitle of the frame."""
        return self.NAME, ""

    def subtitle(self, text: str) -> Content:
        """The subtitle as content."""
        return Content(text)

    def draw(self, view: V, width: int, height: int) -> list[Line]:
        """The view as lines of `width` cells; more than `height` of them scroll."""
        raise NotImplementedError
