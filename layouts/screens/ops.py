"""The Ops screen: the census with times, floors and what is avoidable; sorted, filtered, and one row in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from ..explanations import Explanation
from ..lines import Line
from ..ops import (
    NOTHING,
    SORTS,
    By,
    DetailView,
    OpsAsk,
    OpsFacts,
    detail_lines,
    detail_view,
    floors_view,
    moved_sort,
    moved_width,
    ops_view,
)
from ..panels.table import Rows, TablePanel
from ..panels.text import TextPanel
from ..sweep import notes_lines
from ..tables import table_lines
from ..view_models import StatusView
from .page import PageScreen, key

KEYS = "S sort · / filter · v place or primitive · ( ) positions"
COMING = "No census and no timed blocks yet: a survey brings both; a recording times blocks between segments."


class FilterLine(Input, inherit_bindings=True):
    """Words to look for; esc closes it and shows everything again."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "screen.filter_off", "Everything", show=False)]


class OpsScreen(PageScreen):
    """Shows the tables of one session."""

    NAME: ClassVar[str] = "ops"
    AUTO_FOCUS = "#ops Rows"
    BINDINGS: ClassVar[list[BindingType]] = [
        key("S", "sort", "Sort by the next column", "sort by the next column, round and round; or click on a title"),
        key("slash", "filter", "Filter", "show only rows with these words in their names; esc shows all", "/"),
        key("v", "by", "By place or by primitive", "one row for each place of blocks, or for each kind of primitive"),
        key("left_parenthesis", "width(-1)", "Fewer positions", "the table of a pass over the next smaller width", "("),
        key("right_parenthesis", "width(1)", "More positions", "the table of a pass over the next larger width", ")"),
    ]

    def __init__(self, status: StatusView) -> None:
        super().__init__(status)
        self._facts = OpsFacts(message="Counting …")
        self._ask = OpsAsk()

    @property
    def ask(self) -> OpsAsk:
        """How the table is asked for now."""
        return self._ask

    def state(self) -> dict[str, str]:
        """How the table is sorted, and by what it has its rows."""
        return {"by": self._ask.by, "sort": self._ask.sort}

    def restore(self, state: Mapping[str, str]) -> None:
        """Sorted as it was."""
        by: By = "primitive" if state.get("by") == "primitive" else "place"
        sort = state.get("sort")
        known = sort in SORTS and (by == "primitive" or sort != "primitive")
        self._ask = OpsAsk(by=by, sort=sort if sort is not None and known else OpsAsk().sort)

    def panels(self) -> Iterable[Widget]:
        """Filter, table, the selected row, the floors."""
        yield FilterLine(
            placeholder="words in block, category or primitive; enter keeps them, esc drops them", id="filter"
        )
        yield TablePanel(id="ops")
        yield TextPanel(id="detail")
        yield TextPanel(id="floors")

    def on_mount(self) -> None:
        """No filter is on."""
        super().on_mount()
        self.query_one("#filter").display = False
        self._draw()

    def show_facts(self, facts: OpsFacts) -> None:
        """Show the tables of another state of the session."""
        self._facts = facts
        self._draw()

    def _draw(self) -> None:
        panel = self.query_one("#ops", TablePanel)
        view = ops_view(self._shown(), self._ask)
        panel.show(view.table, view.title, f"{view.subtitle} · {KEYS}" if view.table.rows else "y survey")
        self._draw_detail(panel.rows.selected)
        floors = floors_view(self._shown(), self._ask)

        def draw(width: int, height: int) -> list[Line]:
            if not floors.table.rows:
                return notes_lines((floors.table.message,), width)
            return [*table_lines(floors.table, width), *notes_lines(floors.notes, width)]

        self.query_one("#floors", TextPanel).draw_with(draw, (floors,), "Floors by category", "ms")

    def _shown(self) -> OpsFacts:
        """The facts, or what is waited for."""
        return OpsFacts(message=COMING) if self.waiting and self._facts.message == NOTHING else self._facts

    def _draw_detail(self, key: str | None) -> None:
        view: DetailView = detail_view(self._facts, self._ask, key)
        self.query_one("#detail", TextPanel).draw_with(
            lambda width, height: detail_lines(view, width),
            (view,),
            "Selected",
            "a call over n ÷ a call over one, queued · ▲ cliff",
        )

    def on_rows_selected(self, message: Rows.Selected) -> None:
        """Another row in full."""
        self._draw_detail(message.key)

    def _asked(self, ask: OpsAsk) -> None:
        if ask != self._ask:
            self._ask = ask
            self._draw()
            self.query_one("#ops", TablePanel).rows.select_first()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._asked(moved_sort(self._ask))

    def on_table_panel_title_clicked(self, message: TablePanel.TitleClicked) -> None:
        """Sort by the column whose title was clicked."""
        message.stop()
        self._asked(replace(self._ask, sort=message.column))

    def action_by(self) -> None:
        """By place, or by primitive."""
        other: By = "primitive" if self._ask.by == "place" else "place"
        self._asked(replace(self._ask, by=other, sort="avoidable"))

    def action_width(self, by: int) -> None:
        """Another width."""
        self._asked(moved_width(self._facts, self._ask, by))

    def action_filter(self) -> None:
        """Ask for words."""
        line = self.query_one("#filter", FilterLine)
        line.display = True
        line.focus()

    def action_filter_off(self) -> None:
        """Everything again."""
        line = self.query_one("#filter", FilterLine)
        line.value = ""
        line.display = False
        self._asked(replace(self._ask, needle=""))
        self.query_one("#ops", TablePanel).rows.focus()

    @property
    def filtering(self) -> bool:
        """Whether the line for words is open."""
        return bool(self.query_one("#filter").display)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Rows follow what is typed."""
        self._asked(replace(self._ask, needle=event.value.strip()))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Back to the rows; the words stay."""
        if not event.value.strip():
            self.action_filter_off()
        self.query_one("#ops", TablePanel).rows.focus()

    def explanation(self) -> Explanation:
        """What the columns mean, and the totals."""
        view = ops_view(self._facts, self._ask)
        floors = floors_view(self._facts, self._ask)
        return Explanation(
            "Ops",
            (
                "Each row is a place of blocks that differ only in their layer, or one kind of primitive in it, all "
                "layers together. count is how often a pass runs primitives, disp. those that a device really runs; "
                "moved is bytes read and written by the census.",
                "decode and verify are times of blocks by the ruler that the frame names; of primitives, what their "
                "replays take alone, all calls of a pass. floor is the least: bytes that must move ÷ measured "
                "bandwidth, or flops ÷ measured peak, whichever is larger.",
                "Below: a call over n positions ÷ a call over one, for each weight matrix. 1 means the weights are "
                "read once for all positions, n that they are read again for each. ▲ is the upper side of a cliff.",
            ),
            ("avoidable = verify − floor", "÷ dec. = verify(n) ÷ decode, one ruler"),
            (*view.notes, *floors.notes) or (view.table.message or "Nothing is counted yet.",),
        )
