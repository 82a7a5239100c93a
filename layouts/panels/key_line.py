"""The last line of every screen: the keys that mean something here, as many as fit, help and quit always."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.events import Click, Resize
from textual.screen import Screen
from textual.widget import Widget

ALWAYS = ("explain", "quit")
PALETTE = "command_palette"
ROOMY_GAP, NARROW_GAP = 3, 1
# for narrow terminals
SHORT_BY_WORD = {
    "Sessions": "Open",
    "Compare": "Diff",
    "Rounds": "Plot",
    "Advice": "Tips",
    "Loads": "Load",
    "Workloads": "Load",
    "Work": "Load",
    "Experiments": "Try",
}


class Key(NamedTuple):
    """One key: how it is pressed, how it is written, its word, and whether it stays whatever the width."""

    pressed: str
    written: str
    word: str
    stays: bool

    @property
    def cells(self) -> int:
        """Cells of key and word."""
        return cell_len(self.written) + 1 + cell_len(self.word)


class KeyLine(Widget):
    """Keys and words in one line. A click on one presses it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-line--key", "key-line--word"}
    ALLOW_SELECT: ClassVar[bool] = False
    can_focus = False

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._known: tuple[Key, ...] = ()
        self._places: list[tuple[int, int, str]] = []

    def on_mount(self) -> None:
        """Follow which keys mean something."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)
        self._changed(self.screen)

    def on_resize(self, event: Resize) -> None:
        """Others may fit."""
        self.refresh()

    def _changed(self, screen: Screen[object]) -> None:
        # under a window it shows what it will be again
        if not self.is_attached or screen is not self.screen or self.app.screen is not screen:
            return
        known: list[Key] = []
        last: list[Key] = []
        for _, binding, enabled, _ in screen.active_bindings.values():
            palette = binding.action == PALETTE
            if enabled and (binding.show or palette):
                word = "all keys" if palette else binding.description
                key = Key(binding.key, self.app.get_key_display(binding), word, binding.action in ALWAYS)
                (last if palette else known).append(key)
        if (*known, *last) != self._known:
            self._known = (*known, *last)
            self.refresh()

    @property
    def text(self) -> str:
        """What it shows."""
        return str(self.render())

    def render(self) -> Content:
        """The keys that fit, in order."""
        room = self.content_size.width
        shown, gap = fitting(self._known, room)
        key, word = self.get_visual_style("key-line--key"), self.get_visual_style("key-line--word")
        parts: list[Content] = []
        self._places, x = [], 0
        for each in shown:
            if parts:
                parts.append(Content(" " * gap))
                x += gap
            self._places.append((x, x + each.cells, each.pressed))
            parts += [Content.styled(each.written, key), Content.styled(f" {each.word}", word)]
            x += each.cells
        return Content("").join(parts)

    def notify_style_update(self) -> None:
        """Styles of their own in the text have to be taken from the new theme."""
        super().notify_style_update()
        self.refresh()

    def on_click(self, event: Click) -> None:
        """Press the key under the pointer."""
        x = event.get_content_offset_capture(self).x
        for start, end, pressed in self._places:
            if start <= x < end:
                self.app.simulate_key(pressed)
                return


def fitting(keys: Sequence[Key], room: int) -> tuple[list[Key], int]:
    """The keys that fit into so many cells, and the gap between them; those that stay go last where some are left out.

    What comes first is kept first. With room for all the gap is wide; where those up to the last that stays do not all
    fit, words are the short ones.
    """
    every = sum(key.cells for key in keys)
    for gap in (ROOMY_GAP, 2, NARROW_GAP):
        if every + gap * (len(keys) - 1) <= room:
            return list(keys), gap
    last_that_stays = max((number for number, key in enumerate(keys) if key.stays), default=len(keys) - 1)
    core = keys[: last_that_stays + 1]
    if sum(key.cells + NARROW_GAP for key in core) - NARROW_GAP > room:
        keys = [key._replace(word=SHORT_BY_WORD.get(key.word, key.word)) for key in keys]
    last = [key for key in keys if key.stays]
    left = room - sum(key.cells + NARROW_GAP for key in last) + NARROW_GAP
    first: list[Key] = []
    for key in keys:
        if not key.stays:
            left -= key.cells + NARROW_GAP
            if left < 0:
                break
            first.append(key)
    return [*first, *last], NARROW_GAP
