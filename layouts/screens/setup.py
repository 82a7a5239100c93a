"""The setup screen: a recording chosen field by field, checked while it is typed, started, or copied as a command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import DescendantFocus, Resize
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from ..panels.choice_field import ChoiceField
from ..setup import FIELD_BY_NAME, FIELDS, Field, Form, hint_of, is_needed
from ..setup_checks import PlaceOf, problems
from ..setup_options import command_line

TITLE = "Set up a recording"
KEYS = "↑ ↓ fields · ← → values · ctrl+s starts · ctrl+y copies · esc closes"
NONE_RECENT = "not one of these"
NARROW = 100
ABOUT = {
    "recent": "models that were recorded lately: ← → puts one into the field above",
    "start": "enter stops what is being recorded, if anything is, and records this into a new session",
    "copy": "enter puts the command on the clipboard; it can be marked with the mouse too",
}


class SetupScreen(ModalScreen[Form | None]):
    """Dismisses with a form without problems, or with None.

    `place_of` says what lies at a path, `last_check` what a form that seems right still lacks; `running` is a sentence
    about what Start ends.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close"),
        Binding("ctrl+s", "start", "Start", priority=True),
        Binding("ctrl+y", "copy", "Copy the command", priority=True),
        Binding("up", "app.focus_previous", "Field before", show=False, priority=True),
        Binding("down", "app.focus_next", "Next field", show=False, priority=True),
        Binding("enter", "app.focus_next", "Next field", show=False),
    ]
    AUTO_FOCUS = "#field-model"

    def __init__(
        self,
        form: Form,
        place_of: PlaceOf,
        *,
        recent: Sequence[str] = (),
        running: str = "",
        last_check: Callable[[Form], str] = lambda form: "",
    ) -> None:
        super().__init__()
        self._form, self._place_of, self._ends, self._last_check = form, place_of, running, last_check
        self._recent = tuple(each for each in recent if each != form.model)
        self._said, self._typed = "", form.model

    @property
    def form(self) -> Form:
        """What is chosen now."""
        return self._form

    def compose(self) -> ComposeResult:
        """The fields in groups; under them the command line and what can be done."""
        with Vertical(classes="window") as window:
            window.border_title, window.border_subtitle = Content(TITLE), Content(KEYS)
            with VerticalScroll(id="fields", can_focus=False):
                for field in FIELDS:
                    if field.group:
                        yield Static(Content(field.group), classes="group", markup=False)
                    yield from self._row(field)
            yield Static(id="about", markup=False)
            yield Static(id="command", markup=False)
            with Horizontal(id="doing"):
                yield Button("Start", id="start", compact=True)
                yield Button("Copy the command", id="copy", compact=True)
                yield Static(id="verdict", markup=False)

    def _row(self, field: Field) -> Iterable[Widget]:
        value = self._form.value(field.name)
        entry: Widget = (
            ChoiceField(field.choices, value, id=f"field-{field.name}")
            if field.choices
            else Input(value, id=f"field-{field.name}", compact=True, max_length=1000)
        )
        with Horizontal(id=f"row-{field.name}", classes="row"):
            yield Static(Content(field.label), classes="label", markup=False)
            yield entry
            yield Static(id=f"hint-{field.name}", classes="hint", markup=False)
        yield Static(id=f"problem-{field.name}", classes="problem", markup=False)
        if field.name == "model" and self._recent:
            with Horizontal(classes="row"):
                yield Static(Content("  used lately"), classes="label", markup=False)
                yield ChoiceField((NONE_RECENT, *self._recent), NONE_RECENT, id="recent")

    def on_mount(self) -> None:
        """Show what was prefilled, with what is wrong with it."""
        self._draw()

    def on_resize(self, event: Resize) -> None:
        """Hints stand beside the fields where there is room, and below for the focused one."""
        self.set_class(self.size.width < NARROW, "-narrow")

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Say what the focused field means."""
        self._say_about(event.widget)

    def _say_about(self, widget: Widget | None) -> None:
        name = "" if widget is None else (widget.id or "").removeprefix("field-")
        said = ABOUT.get(name, "")
        if name in FIELD_BY_NAME:
            said = f"{FIELD_BY_NAME[name].label.strip()}: {hint_of(name, self._form)}"
        _say(self.query_one("#about", Static), said)

    def on_input_changed(self, event: Input.Changed) -> None:
        """A field was typed into."""
        self._changed(event.input, event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter goes on."""
        self.focus_next()

    def on_choice_field_changed(self, event: ChoiceField.Changed) -> None:
        """Another value was chosen."""
        if event.field.id != "recent":
            self._changed(event.field, event.value)
        else:
            if self._form.model not in self._recent:
                self._typed = self._form.model
            self.query_one("#field-model", Input).value = self._typed if event.value == NONE_RECENT else event.value

    def _changed(self, entry: Widget, value: str) -> None:
        name = (entry.id or "").removeprefix("field-")
        if value != self._form.value(name):
            self._form = self._form.with_value(name, value)
            self._said = ""
            self._draw()

    def _draw(self) -> None:
        found = problems(self._form, self._place_of)
        for field in FIELDS:
            needed = is_needed(field.name, self._form)
            self.query_one(f"#row-{field.name}").display = needed
            _say(self.query_one(f"#hint-{field.name}", Static), hint_of(field.name, self._form))
            problem = self.query_one(f"#problem-{field.name}", Static)
            sentence = found.get(field.name, "")
            problem.display = bool(sentence) and needed
            _say(problem, f"▲ {sentence}" if sentence else "")
        self._say_about(self.focused)
        command = "the command that does the same stands here when every field is right"
        _say(self.query_one("#command", Static), command if found else f"$ {command_line(self._form)}")
        number = len(found)
        need = "field needs" if number == 1 else "fields need"
        said = f"▲ {number} {need} a change" if found else self._said or self._ends
        _say(self.query_one("#verdict", Static), said)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Start, or copy."""
        if event.button.id == "start":
            self.action_start()
        else:
            self.action_copy()

    def action_start(self) -> None:
        """Start, or go to the first field that keeps it from starting."""
        found = problems(self._form, self._place_of)
        if found:
            first = next(field.name for field in FIELDS if field.name in found)
            self.query_one(f"#field-{first}").focus()
            return
        why_not = self._last_check(self._form)
        if why_not:
            self._said = f"▲ {why_not}"
            self._draw()
        else:
            self.dismiss(self._form)

    def action_copy(self) -> None:
        """Put the command line on the clipboard, where the terminal allows it."""
        if problems(self._form, self._place_of):
            self.action_start()
            return
        self.app.copy_to_clipboard(command_line(self._form))
        self._said = "The command is on the clipboard, if your terminal allows it."
        self._draw()

    def action_close(self) -> None:
        """Start nothing."""
        self.dismiss(None)


def _say(static: Static, text: str) -> None:
    """Another text; the same one costs nothing."""
    if str(static.content) != text:
        static.update(Content(text))
