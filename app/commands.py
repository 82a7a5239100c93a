"""Every action once: its key, its name, its help line; bindings and the palette are made from this."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider

from ..layouts.screens.page import PageScreen

if TYPE_CHECKING:
    from .application import SpecviewApp


class Action(NamedTuple):
    """One thing a person can do. `short` is its word in the footer; without one it is not shown there."""

    key: str
    action: str
    name: str
    help: str
    short: str = ""


ACTIONS = (
    Action("space", "pause", "Pause or resume", "hold the recorder between two rounds, or let it go on", "Pause"),
    Action(
        "p",
        "page('ops')",
        "Ops",
        "the census with times, floors and what is avoidable, by place or by primitive",
        "Ops",
    ),
    Action("w", "page('sweep')", "Sweep", "T_verify over positions with its cliffs, and speedup by k", "Sweep"),
    Action(
        "l",
        "page('ledger')",
        "Ledger",
        "every number with its spread, ruler and source, and the division by both rulers",
        "Ledger",
    ),
    Action("x", "page('experiments')", "Experiments", "try switches of MLX against MLX as it is", "Try"),
    Action("b", "dashboard", "Back to the dashboard", "leave this screen; esc does too", "Back"),
    Action("n", "next_prompt", "Next prompt", "leave this prompt and measure the next one"),
    Action("m", "drafter", "Change the drafter", "mtp, lookup, skip …; begins a run of its own"),
    Action("u", "rule", "Acceptance rule", "greedy, rejection or exact match; begins a run of its own"),
    Action("left_square_bracket", "longer(-1)", "Shorter drafts", "record with k one less; begins a run of its own"),
    Action("right_square_bracket", "longer(1)", "Longer drafts", "record with k one more; begins a run of its own"),
    Action("s", "prompts", "Prompt set", "choose which prompts are measured"),
    Action("r", "restart", "Record again", "stop, and record into a new session"),
    Action("y", "survey", "Survey costs", "time passes, blocks and primitives of this model into a new session"),
    Action("o", "sessions", "Open a session", "list the saved sessions and open one", "Open"),
    Action("e", "export", "Export a picture", "save this screen as SVG and PNG"),
    Action("left", "what_if_p(-1)", "What if p were lower", "move p on the break-even line; Esc goes back"),
    Action("right", "what_if_p(1)", "What if p were higher", "move p on the break-even line; Esc goes back"),
    Action("up", "what_if_k(1)", "What if k were larger", "the line of a longer draft; Esc goes back"),
    Action("down", "what_if_k(-1)", "What if k were smaller", "the line of a shorter draft; Esc goes back"),
    Action(
        "escape", "measured", "Back to what was measured", "end the what-if; on another screen, back to the dashboard"
    ),
    Action("tab", "next_panel(1)", "Next panel", "focus the next panel, unfolding it"),
    Action("shift+tab", "next_panel(-1)", "Panel before", "focus the panel before, unfolding it"),
    Action("1", "panel(0)", "Panel: decode step", "three rulers and the gap"),
    Action("2", "panel(1)", "Panel: verify ÷ decode", "by op category and by positions"),
    Action("3", "panel(2)", "Panel: break-even line", "how dear verify may be at every p"),
    Action("4", "panel(3)", "Panel: stream", "the generated text"),
    Action("5", "panel(4)", "Panel: rounds", "the numbers"),
    Action("d", "dark", "Light or dark", "change between the light and the dark theme"),
    Action("question_mark", "explain", "Help", "explain the focused panel, with its formula and numbers", "Help"),
    Action("q", "quit", "Quit", "stop the recorder and leave; the session is saved", "Quit"),
)
KEY_NAMES = {
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "question_mark": "?",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "escape": "esc",
}


def bindings() -> list[Binding]:
    """A key binding for every action."""
    return [
        Binding(
            a.key,
            a.action,
            a.short or a.name,
            show=bool(a.short),
            key_display=KEY_NAMES.get(a.key),
            tooltip=a.help,
            priority=a.key in ("tab", "shift+tab"),
        )
        for a in ACTIONS
    ]


def key_name(action: Action) -> str:
    """The key as it is written on the screen."""
    return KEY_NAMES.get(action.key, action.key)


class Commands(Provider):
    """The palette's entries: every action, with its key."""

    @property
    def _app(self) -> SpecviewApp:
        return cast("SpecviewApp", self.app)

    def _runner(self, action: Action) -> partial[Coroutine[Any, Any, bool]]:
        return partial(self._app.run_action, action.action)

    def _keys_here(self) -> list[tuple[str, str, partial[Coroutine[Any, Any, bool]]]]:
        """The keys of the screen under the palette, where it has its own."""
        screen = self.screen
        if not isinstance(screen, PageScreen):
            return []
        return [
            (f"{name} ({shown})", words, partial(self._app.run_action, action, screen))
            for shown, name, words, action in screen.own_keys()
        ]

    async def discover(self) -> Hits:
        """Everything, before anything is typed."""
        for text, words, runner in self._keys_here():
            yield DiscoveryHit(text, runner, help=words)
        for action in ACTIONS:
            yield DiscoveryHit(f"{action.name} ({key_name(action)})", self._runner(action), help=action.help)

    async def search(self, query: str) -> Hits:
        """Actions whose name or help fits."""
        matcher = self.matcher(query)
        for action in ACTIONS:
            text = f"{action.name} ({key_name(action)})"
            score = max(matcher.match(text), matcher.match(action.help))
            if score > 0:
                yield Hit(score, matcher.highlight(text), self._runner(action), help=action.help)
        for text, words, runner in self._keys_here():
            score = max(matcher.match(text), matcher.match(words))
            if score > 0:
                yield Hit(score, matcher.highlight(text), runner, help=words)
