"""Every action once: its key, its name, its help line; bindings and the palette are made from this."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider

from ..layouts.screens.page import PageScreen
from ..layouts.themes import WORDS_BY_NAME

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
    Action(
        "h",
        "page('rounds')",
        "Rounds",
        "accepted lengths, acceptance over time with its interval, and the rounds one by one",
        "Rounds",
    ),
    Action(
        "a",
        "page('advice')",
        "What would win",
        "the nearest changes that would make drafting win, and whether the floor allows each; enter asks what if",
        "Advice",
    ),
    Action(
        "k",
        "page('workloads')",
        "Workloads",
        "prompt classes by sampling and length: acceptance, speedup, best k or off, and the worst prompts",
        "Loads",
    ),
    Action(
        "c",
        "compare",
        "Compare",
        "this session against another: what changed, how surely, and which part of a round did it",
        "Compare",
    ),
    Action("x", "page('experiments')", "Experiments", "try switches of MLX against MLX as it is", "Try"),
    Action("b", "dashboard", "Back to the dashboard", "leave this screen; esc does too", "Back"),
    Action("n", "next_prompt", "Next prompt", "leave this prompt and measure the next one"),
    Action("m", "drafter", "Change the drafter", "mtp, lookup, skip …; begins a run of its own"),
    Action("u", "rule", "Acceptance rule", "greedy, rejection or exact match; begins a run of its own"),
    Action("left_square_bracket", "longer(-1)", "Shorter drafts", "record with k one less; begins a run of its own"),
    Action("right_square_bracket", "longer(1)", "Longer drafts", "record with k one more; begins a run of its own"),
    Action("s", "prompts", "Prompt set", "choose which prompts are measured"),
    Action("r", "restart", "Record again", "stop, and record into a new session", "Record"),
    Action(
        "y", "survey", "Survey costs", "time passes, blocks and primitives of this model into a new session", "Survey"
    ),
    Action("o", "sessions", "Sessions", "the saved sessions: find, open, note, compare, delete with undo", "Sessions"),
    Action(
        "e",
        "export",
        "Export",
        "a picture, text, table, report or trace of this screen or session, or a copy",
        "Export",
    ),
    Action("left", "what_if_p(-1)", "What if p were lower", "move p and all that follows; Esc goes back"),
    Action("right", "what_if_p(1)", "What if p were higher", "move p and all that follows; Esc goes back"),
    Action("up", "what_if_k(1)", "What if k were larger", "on the dashboard; . on every screen. Esc goes back"),
    Action("down", "what_if_k(-1)", "What if k were smaller", "on the dashboard; , on every screen. Esc goes back"),
    Action("full_stop", "what_if_length(1)", "What if drafts were longer", "one draft more a round; Esc goes back"),
    Action("comma", "what_if_length(-1)", "What if drafts were shorter", "one draft fewer; Esc goes back"),
    Action("minus", "what_if_verify(-1)", "What if verify were cheaper", "T_verify 1% lower; Esc goes back"),
    Action("plus,equals_sign", "what_if_verify(1)", "What if verify were dearer", "T_verify 1% higher; Esc goes back"),
    Action("less_than_sign", "what_if_draft(-1)", "What if drafts were cheaper", "T_draft 1% lower; Esc goes back"),
    Action("greater_than_sign", "what_if_draft(1)", "What if drafts were dearer", "T_draft 1% higher; Esc goes back"),
    Action("left_curly_bracket", "what_if_batch(-1)", "What if the batch were smaller", "fewer sequences at once"),
    Action("right_curly_bracket", "what_if_batch(1)", "What if the batch were larger", "among measured batches"),
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
    Action(
        "t", "setup", "Set up a recording", "choose model, drafter, k, prompts and sampling, and start it", "Set up"
    ),
    Action("g", "glossary", "Glossary", "every word and formula of these screens; type to search it", "Words"),
    Action("d", "theme", "Next theme", "dark, light, and both with high contrast"),
    Action("f1", "tour", "Guided tour", "the dashboard in six steps; esc leaves it"),
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
    "full_stop": ".",
    "comma": ",",
    "minus": "-",
    "plus,equals_sign": "+",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
}
# the footer's order: what is most wanted first, because what does not fit is left out there; help and quit always are
FOOTER_KEYS = ("b", "p", "w", "l", "k", "o", "c", "x", "h", "a", "question_mark", "q", "space", "t", "g", "r", "y", "e")


def bindings() -> list[Binding]:
    """A key binding for every action, those of the footer in its order."""
    in_order = sorted(ACTIONS, key=lambda a: FOOTER_KEYS.index(a.key) if a.key in FOOTER_KEYS else len(FOOTER_KEYS))
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
        for a in in_order
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

    def _entries(self) -> list[tuple[str, str, partial[Coroutine[Any, Any, bool]]]]:
        """What is called, what it does and how it is done: of this screen, of every screen, and the themes."""
        everywhere = [(f"{a.name} ({key_name(a)})", a.help, self._runner(a)) for a in ACTIONS]
        themes = [
            (f"Theme: {name}", words, partial(self._app.run_action, f"theme('{name}')"))
            for name, words in WORDS_BY_NAME.items()
        ]
        return [*self._keys_here(), *everywhere, *themes]

    async def discover(self) -> Hits:
        """Everything, before anything is typed."""
        for text, words, runner in self._entries():
            yield DiscoveryHit(text, runner, help=words)

    async def search(self, query: str) -> Hits:
        """Actions whose name or help fits."""
        matcher = self.matcher(query)
        for text, words, runner in self._entries():
            score = max(matcher.match(text), matcher.match(words))
            if score > 0:
                yield Hit(score, matcher.highlight(text), runner, help=words)
