"""The app's session: a file that is followed, perhaps one that its own recorder or survey writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from ..layouts.view_models import Live, LiveState, WhatIf
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


class SessionApp(PagedApp):
    """Follows one session file and runs at most one recorder, a process of its own; `_show` draws what is known."""

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
        self._looking = LookingMeter(clock, processor_clock)
        self._steersman = Steersman(command, source.options, self._tell_news, clock, stall_s, grace_s)
        self._shown: Path | None = source.path
        self._file_live = Live(_first_state(source), name=source.path.name if source.path else "")
        self._update: Update | None = None
        self._what_if = WhatIf()
        self._survey = survey
        self._following = Following(self.in_thread, lambda update: self.post_message(self.Followed(update)))

    def _show(self) -> None:
        """Draw what is known now."""
        raise NotImplementedError

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
    def settled(self) -> bool:
        """Whether the session, or the reason why there is none, is on the screen."""
        return self._update is not None

    @property
    def shown(self) -> Path | None:
        """The session file on the screen."""
        return self._shown

    @property
    def reckoning(self) -> Reckoning | None:
        """What the session on the screen says, once it is computed."""
        return None if self._update is None else self._update.reckoning

    @property
    def what_if(self) -> WhatIf:
        """What is asked."""
        return self._what_if

    async def _begin(self) -> None:
        if self._source.record:
            await self._record(self._source.path)
        elif self._source.path is not None:
            self._follow(self._source.path)

    async def on_unmount(self) -> None:
        """End the following thread and the recorder: no orphan stays behind."""
        self._following.stop()
        await self._steersman.stop()

    async def _record(self, path: Path | None) -> None:
        from ..profilers.record.store import new_session_path

        path = path or new_session_path(self._folder, "recording", datetime.now())
        self._looking.restart()
        self._shown = self._steersman.path = path
        await self._steersman.start(path)
        self._follow(path)

    def _tell_news(self, number: int, news: News) -> None:
        self.post_message(self.Heard(number, news))

    def on_session_app_heard(self, message: Heard) -> None:
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

    def on_session_app_followed(self, message: Followed) -> None:
        """Show what the file says now."""
        update = message.update
        if update.path != self._shown:
            return
        if update.reading is not None:
            self._file_live = replace(self._file_live, reading=update.reading.share, header=update.reading.header)
            self._show()
            return
        self._file_live = replace(self._file_live, reading=None)
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

    def open_session(self, path: Path) -> None:
        """Put another session on the screen; a recording goes on, and can be returned to."""
        if path != self._shown:
            self._file_live = Live("waiting", name=path.name)
            self._follow(path)

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


def _first_state(source: Source) -> LiveState:
    return "loading" if source.record else "following" if source.following else "waiting"
