"""The app: follows a session file, steers a recorder, and turns both into views on the screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import BindingType
from textual.command import Provider
from textual.message import Message

from ..engine.limits import LONGEST_DRAFT
from ..layouts.explanations import explanation
from ..layouts.screens.choice import ChoiceScreen
from ..layouts.screens.dashboard import DashboardScreen
from ..layouts.screens.help import HelpScreen
from ..layouts.screens.page import PageScreen
from ..layouts.states import empty_dashboard
from ..layouts.themes import DARK, DARK_NAMES, LIGHT, STYLES
from ..layouts.view_models import DashboardView, Live, LiveState, WhatIf
from .choices import DRAFTERS, PROMPT_SETS, RULES, rule_choice, rule_facts
from .commands import ACTIONS, Commands, bindings, key_name
from .following import Following, Update
from .looking import LookingMeter
from .paged import PagedApp
from .process import STALL_S, News, recorder_command, survey_command
from .settings import sessions_folder
from .steersman import CommandMaker, Steersman

if TYPE_CHECKING:  # heavy: loaded with the first numbers
    from ..layouts.screens.experiments import ExperimentsScreen
    from ..layouts.views import Reckoning
    from .pages import SwitchFinder

SurveyMaker = Callable[[str, Path, Sequence[str]], list[str]]

CHECK_S = 2.0


@dataclass(frozen=True, slots=True)
class Source:
    """What to show: a saved or growing file, or a recorder to start with these options.

    With `record` a recorder writes `path`, or a new session when it is None.
    """

    path: Path | None = None
    record: bool = False
    options: tuple[str, ...] = ()
    following: bool = False


class SpecviewApp(PagedApp):
    """One screen over one session file; its recorder, if it has one, is a process of its own."""

    TITLE = "specview"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]
    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = list(STYLES)
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {Commands}

    class Followed(Message):
        """The following thread delivered something."""

        def __init__(self, update: Update) -> None:
            super().__init__()
            self.update = update

    class Heard(Message):
        """A recorder, by its number, reported something."""

        def __init__(self, number: int, news: News) -> None:
            super().__init__()
            self.number, self.news = number, news

    def __init__(
        self,
        source: Source,
        *,
        folder: Path | None = None,
        theme: Literal["dark", "light"] = "dark",
        command: CommandMaker = recorder_command,
        survey: SurveyMaker = survey_command,
        switches: SwitchFinder | None = None,
        clock: Callable[[], float] = time.monotonic,
        processor_clock: Callable[[], float] = time.process_time,
        stall_s: float = STALL_S,
        grace_s: float = 3.0,
    ) -> None:
        super().__init__(switches)
        self._source = source
        self._folder = folder or sessions_folder()
        self._first_theme = theme
        self._looking = LookingMeter(clock, processor_clock)
        self._steersman = Steersman(command, source.options, self._tell_news, clock, stall_s, grace_s)
        self._shown: Path | None = source.path
        self._file_live = Live(_first_state(source), name=source.path.name if source.path else "")
        self._update: Update | None = None
        self._what_if = WhatIf()
        self._survey = survey
        self._following = Following(self.in_thread, lambda update: self.post_message(self.Followed(update)))
        self._view: DashboardView = empty_dashboard(self._file_live)

    # ------------------------------------------------------------------ life

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our names, for themes that do not know them."""
        return DARK_NAMES

    def get_default_screen(self) -> DashboardScreen:
        """The dashboard, with what is known before anything is read."""
        return DashboardScreen(self._view)

    @property
    def dashboard(self) -> DashboardScreen:
        """The main screen, which always lies at the bottom."""
        screen = self.screen_stack[0]
        assert isinstance(screen, DashboardScreen)
        return screen

    @property
    def live(self) -> Live:
        """What the session on the screen is up to."""
        return self._steersman.live if self._is_own() else self._file_live

    @property
    def recorder_pid(self) -> int | None:
        """The process id of our recorder, once there is one."""
        return self._steersman.pid

    @property
    def recorded(self) -> Path | None:
        """The session file that our recorder wrote, if it came to that."""
        path = self._steersman.path
        return path if path is not None and path.is_file() else None

    @property
    def view(self) -> DashboardView:
        """What is on the main screen."""
        return self._view

    @property
    def settled(self) -> bool:
        """Whether the session, or the reason why there is none, is on the screen."""
        return self._update is not None

    @property
    def shown(self) -> Path | None:
        """The session file on the screen."""
        return self._shown

    def on_mount(self) -> None:
        """Show the first frame, then begin: starting a recorder first would make the frame wait for it."""
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name if self._first_theme == "dark" else LIGHT.name
        self.call_after_refresh(self._begin)
        self.set_interval(CHECK_S, self._check)

    async def _begin(self) -> None:
        if self._source.record:
            await self._record(self._source.path)
        elif self._source.path is not None:
            self._follow(self._source.path)

    async def on_unmount(self) -> None:
        """End the following thread and the recorder: no orphan stays behind."""
        self._following.stop()
        await self._steersman.stop()

    # ------------------------------------------------------- recorder and file

    async def _record(self, path: Path | None) -> None:
        from ..profilers.record.store import new_session_path

        path = path or new_session_path(self._folder, "recording", datetime.now())
        self._looking.restart()
        self._shown = self._steersman.path = path
        await self._steersman.start(path)
        self._follow(path)

    def _tell_news(self, number: int, news: News) -> None:
        self.post_message(self.Heard(number, news))

    def on_specview_app_heard(self, message: Heard) -> None:
        """Take a report in."""
        if self._steersman.hear(message.number, message.news):
            self._show()

    def _check(self) -> None:
        """See whether the recorder has gone silent."""
        if self._steersman.check():
            self._show()

    def _is_own(self) -> bool:
        """Whether the session on the screen is the one our recorder writes."""
        return self._shown is not None and self._shown == self._steersman.path

    def _follow(self, path: Path) -> None:
        self._shown, self._update, self._what_if = path, None, WhatIf()
        self.clear_pages()
        self._following.start(path)
        self._show()

    def on_specview_app_followed(self, message: Followed) -> None:
        """Show what the file says now."""
        update = message.update
        if update.path != self._shown:
            return
        self._update = update
        if not self._is_own():
            self._file_live = replace(self._file_live, state=self._file_state(update))
        elif update.grew:
            self._steersman.grew()
        self._show()

    def _file_state(self, update: Update) -> LiveState:
        """The state of a file that another process writes, or wrote."""
        if update.reckoning is None:
            return "waiting" if update.waiting else "ended"
        if update.reckoning.session.footer is not None:
            return "saved"
        return "following" if update.grew or self._source.following else "saved"

    def _show(self) -> None:
        """Make the view and hand it to the screen; equal parts are not drawn again."""
        beside = "" if self._update is None else self._update.trouble
        reckoning = self.reckoning
        looking = None if reckoning is None or not self._is_own() else self._looking.read()
        live = replace(self.live, trouble=self.live.trouble or beside, looking=looking)
        if reckoning is None:
            self._view = empty_dashboard(live)
            trouble = "" if self._view.headline.kind == "problem" else live.trouble
        else:
            from ..layouts.views import dashboard, trouble_of

            self._view = dashboard(reckoning, live, self._what_if)
            trouble = trouble_of(reckoning.session, live)
        if self.is_running and self.screen_stack:
            self.dashboard.show(self._view, trouble)
            self.show_page(self._view.status, live.trouble or trouble)

    @property
    def reckoning(self) -> Reckoning | None:
        """What the session on the screen says, once it is computed."""
        return None if self._update is None else self._update.reckoning

    @property
    def what_if(self) -> WhatIf:
        """What is asked."""
        return self._what_if

    # ------------------------------------------------------- surveys

    async def action_survey(self) -> None:
        """Survey what passes over this model cost, into a new session."""
        await self._start_survey("survey")

    async def on_experiments_screen_wanted(self, message: ExperimentsScreen.Wanted) -> None:
        """Try a switch of MLX, where it can be run."""
        switch = self.switch_named(message.name)
        if switch is None or not switch.runnable:
            why = "" if switch is None else f": {switch.reason}"
            self.notify(f"{message.name} cannot be run here{why}", markup=False)
            return
        await self._start_survey("experiment", "--switch", switch.name)

    async def _start_survey(self, question: str, *options: str) -> None:
        from ..engine.errors import SpecviewError
        from ..profilers.record.store import new_session_path
        from .again import model_options

        reckoning = self.reckoning
        try:
            model = model_options(None if reckoning is None else reckoning.session.header, self._source.options)
        except SpecviewError as error:
            self.notify(str(error), markup=False, timeout=8)
            return
        if self._steersman.running:
            if self._steersman.measures:
                self.notify(f"The {self._steersman.measures} that runs has to end first; r stops it.", markup=False)
                return
            await self._steersman.stop()
            self.notify("The recording was stopped, and is saved.", markup=False)
        path = new_session_path(self._folder, question, datetime.now())
        self._looking.restart()
        self._shown = self._steersman.path = path
        await self._steersman.start(path, self._survey(question, path, (*model, *options)), question)
        self._follow(path)

    # ------------------------------------------------------- actions: recording

    def _can_steer(self) -> bool:
        """Whether there is a recorder to steer and its session is on the screen; says so if not."""
        if not self._steersman.running:
            self.notify("Nothing is being recorded: r starts a recording.", markup=False)
            return False
        if self._steersman.measures:
            self.notify(f"The {self._steersman.measures} cannot be steered: r stops it and records.", markup=False)
            return False
        if not self._is_own():
            self.notify("This is another session; the recording goes on: o takes you back to it.", markup=False)
            return False
        return True

    async def _ask_recorder(self, words: str, action: str, **facts: object) -> None:
        if await self._steersman.send(action, **facts):
            if words:
                self.notify(words, markup=False, timeout=3)
            self._show()

    async def action_pause(self) -> None:
        """Hold the recorder, or let it go on."""
        if self._can_steer():
            if self.live.state == "paused":
                await self._ask_recorder("", "resume")
            elif self.live.state == "recording":
                await self._ask_recorder("", "pause")

    async def action_next_prompt(self) -> None:
        """Leave the present prompt."""
        if self._can_steer():
            await self._ask_recorder("Going on with the next prompt.", "next_prompt")

    async def action_longer(self, by: int) -> None:
        """Record with another k."""
        if not self._can_steer():
            return
        wish = self._steersman.wished_k(self._k_now(), by)
        if wish is not None:
            await self._ask_recorder(f"Asked for k = {wish}: a run of its own begins.", "change", k=wish)

    def _k_now(self) -> int:
        reckoning = self.reckoning
        if reckoning is not None and reckoning.ledger is not None:
            return reckoning.ledger.setting.k
        drafter = None if reckoning is None else reckoning.session.header.drafter
        return 1 if drafter is None or drafter.k is None else drafter.k

    def action_drafter(self) -> None:
        """Choose another drafter."""
        if not self._can_steer():
            return
        reckoning = self.reckoning
        now = None if reckoning is None or reckoning.ledger is None else reckoning.ledger.setting.drafter

        async def chosen(drafter: str | None) -> None:
            if drafter is not None and drafter != now and self._can_steer():
                await self._ask_recorder(f"Asked for {drafter}: a run of its own begins.", "change", drafter=drafter)

        self.push_screen(ChoiceScreen("Drafter", DRAFTERS, now), chosen)

    def action_rule(self) -> None:
        """Choose how drafts are accepted, and at which temperature text is drawn."""
        if not self._can_steer():
            return
        ledger = None if self.reckoning is None else self.reckoning.ledger
        now = None if ledger is None else rule_choice(ledger.setting.rule, ledger.setting.temperature)
        name_by_value = {choice.value: choice.name.strip() for choice in RULES}

        async def chosen(wish: str | None) -> None:
            if wish is not None and wish != now and self._can_steer():
                words = f"Asked for {name_by_value[wish]}: a run of its own begins."
                await self._ask_recorder(words, "change", **rule_facts(wish))

        self.push_screen(ChoiceScreen("Acceptance rule", RULES, now), chosen)

    def action_prompts(self) -> None:
        """Choose which prompts are measured."""
        if not self._can_steer():
            return

        async def chosen(prompts: str | None) -> None:
            if prompts is not None and self._can_steer():
                await self._ask_recorder(f"Asked for the prompts {prompts}.", "change", prompts=prompts)

        self.push_screen(ChoiceScreen("Prompt set", PROMPT_SETS), chosen)

    async def action_restart(self) -> None:
        """Stop what records, and record into a new session."""
        await self._steersman.stop()
        await self._record(None)

    # ------------------------------------------------------- actions: looking

    def action_sessions(self) -> None:
        """List the saved sessions and open one."""
        from .listing import choices_of

        def chosen(name: str | None) -> None:
            if name is not None:
                self.open_session(Path(name))

        live = self._steersman.path if self._steersman.running else None
        now = None if self._shown is None else str(self._shown)
        empty = "No session is saved yet: r records one."
        self.push_screen(ChoiceScreen("Sessions", choices_of(self._folder, live), now, empty), chosen)

    def open_session(self, path: Path) -> None:
        """Put another session on the screen; a recording goes on, and can be returned to."""
        if path != self._shown:
            self._file_live = Live("waiting", name=path.name)
            self._follow(path)

    def action_export(self) -> None:
        """Save the screen as SVG and PNG beside the session."""
        from .exports import export_screen

        self.notify(export_screen(self, self._shown, self._folder), markup=False, timeout=6)

    def action_what_if_p(self, by: int) -> None:
        """Ask what another p would change."""
        if self.reckoning is None:
            return
        from ..layouts.costs import moved_p

        p = moved_p(self._view.break_even, by)
        if p is not None:
            self._ask(replace(self._what_if, p=p))

    def action_what_if_k(self, by: int) -> None:
        """Ask what another k would change."""
        curve = self._view.break_even.curve
        if curve is not None:
            k = (curve.k if self._what_if.k is None else self._what_if.k) + by
            if 1 <= k <= LONGEST_DRAFT:
                self._ask(replace(self._what_if, k=None if k == curve.k else k))

    def action_measured(self) -> None:
        """Back from a what-if to what was measured; on a page without one, to the dashboard."""
        page = self.page
        if page is not None and (page.NAME != "sweep" or self._what_if == WhatIf()):
            self.action_dashboard()
        else:
            self._ask(WhatIf())

    def _ask(self, what_if: WhatIf) -> None:
        if what_if != self._what_if:
            self._what_if = what_if
            self._show()
            if what_if != WhatIf() and self.page is None:
                self.dashboard.reveal("break-even")

    def action_panel(self, index: int) -> None:
        """Focus a panel of the dashboard, from a page too."""
        self.action_dashboard()
        self.dashboard.choose(index)

    def action_next_panel(self, by: int) -> None:
        """Focus the next panel, or in a window the next control."""
        if self.screen is self.dashboard:
            self.dashboard.choose_next(by)
        elif by > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()

    def action_dark(self) -> None:
        """Change between light and dark."""
        self.theme = LIGHT.name if self.current_theme.dark else DARK.name

    def action_explain(self) -> None:
        """Explain the focused panel."""
        keys = [(key_name(a), a.name, a.help) for a in ACTIONS]
        page = self.page
        if page is None:
            told = explanation(self.dashboard.chosen, self._view)
        else:
            told = page.explanation()
            keys = [(shown, name, words) for shown, name, words, _ in page.own_keys()] + keys
        self.push_screen(HelpScreen(told, keys))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In a window only its own keys work; on a page those that mean something there."""
        ours = {a.action.split("(")[0] for a in ACTIONS} - {"quit", "dark", "next_panel"}
        if action not in ours or len(self.screen_stack) < 2:
            return action != "dashboard"
        top = self.screen_stack[-1]
        if not isinstance(top, PageScreen) or action == "what_if_k":
            return False
        return action != "what_if_p" or top.NAME == "sweep"


def _first_state(source: Source) -> LiveState:
    return "loading" if source.record else "following" if source.following else "waiting"
