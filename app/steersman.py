"""A recording as the app sees it: its process, its file, what it is up to, and what it was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..engine.limits import LONGEST_DRAFT
from ..layouts.view_models import Live, LiveState
from .process import Ended, Garbage, News, RecorderProcess

CommandMaker = Callable[[Path, Sequence[str]], list[str]]


class Steersman:
    """Starts, steers and stops one recorder after another. `tell` gets the news of each, with its number.

    `options` are the next recorder's; `live` is what the newest one is up to. Nothing here draws; the app
    hands news back to `hear`, so that all changes happen in its own turn.
    """

    def __init__(
        self,
        command: CommandMaker,
        options: Sequence[str],
        tell: Callable[[int, News], None],
        clock: Callable[[], float],
        stall_s: float,
        grace_s: float,
    ) -> None:
        self._command, self._tell = command, tell
        self._clock, self._stall_s, self._grace_s = clock, stall_s, grace_s
        self.options = tuple(options)
        self._process: RecorderProcess | None = None
        self._number = 0
        self._garbage = 0
        self._last_sign = clock()
        self._wished_k: int | None = None
        self.live = Live(state="loading")
        self.path: Path | None = None
        self.measures = ""

    @property
    def running(self) -> bool:
        """Whether there is a recorder that has not ended."""
        return self._process is not None and self._process.running

    @property
    def pid(self) -> int | None:
        """The recorder's process id, once there is one."""
        return None if self._process is None else self._process.pid

    async def start(self, path: Path, survey: Sequence[str] = (), measures: str = "") -> None:
        """Start a recorder that writes `path`, or the command line of a survey that `measures` only costs."""
        self._number += 1
        number = self._number
        self.path, self.live = path, Live(state="loading", name=path.name, measures=measures)
        self.measures = measures
        self._garbage, self._wished_k, self._last_sign = 0, None, self._clock()
        self._process = RecorderProcess(
            survey or self._command(path, self.options),
            lambda news: self._tell(number, news),
            self._grace_s,
            name=measures or "recorder",
            again="y to survey again" if measures == "survey" else "r to record" if measures else "r to record again",
        )
        await self._process.start()

    async def stop(self) -> None:
        """End the recorder, if there is one."""
        if self._process is not None:
            await self._process.stop()

    async def send(self, action: str, **facts: object) -> bool:
        """Ask the recorder for something; a paused one goes on with whatever it is asked."""
        if self._process is None or not await self._process.send(action, **facts):
            return False
        self._last_sign = self._clock()
        if action == "pause":
            self.live = replace(self.live, state="paused")
        elif self.live.state == "paused":
            self.live = replace(self.live, state="recording")
        return True

    def wished_k(self, now: int, by: int) -> int | None:
        """The k to ask for next, counted from the last wish; None at the ends."""
        k = now if self._wished_k is None else self._wished_k
        wish = min(LONGEST_DRAFT, max(0, k + by))
        if wish == k:
            return None
        self._wished_k = wish
        return wish

    def grew(self) -> None:
        """Its file grew: it lives."""
        self._last_sign = self._clock()
        if self.live.state == "stalled":
            self.live = replace(self.live, state="recording", trouble="")

    def check(self) -> bool:
        """Whether it has just gone silent; says so in `live`."""
        silent = self._clock() - self._last_sign
        if not self.running or self.live.state not in ("recording", "loading") or silent <= self._stall_s:
            return False
        sentence = (
            f"The {self.measures or 'recorder'} has been silent for {int(silent)} seconds. "
            "Press r to stop it and record again."
        )
        self.live = replace(self.live, state="stalled", trouble=sentence)
        return True

    def hear(self, number: int, news: News) -> bool:
        """Take news in; False for those of a recorder that was replaced."""
        if number != self._number:
            return False
        self._last_sign = self._clock()
        self.live = self._after(self.live, news)
        return True

    def _after(self, live: Live, news: News) -> Live:
        if isinstance(news, Garbage):
            self._garbage += 1
            times = "" if self._garbage == 1 else f" ({self._garbage} such lines)"
            return replace(
                live, trouble=f"The {self.measures or 'recorder'} said what is no report{times}: “{news.text}”"
            )
        if isinstance(news, Ended):
            state: LiveState = "saved" if live.state == "saved" else "ended"
            return replace(live, state=state, trouble=news.sentence or live.trouble, progress=None)
        if live.state == "stalled":
            live = replace(live, state="recording", trouble="")
        if news.event == "loading":
            return replace(live, state="loading", doing=news.what)
        if news.event == "progress":
            state = "paused" if live.state == "paused" else "recording"
            return replace(live, state=state, progress=(news.prompts_done, news.prompts_all), doing=news.what)
        if news.event == "session":
            return replace(live, state="recording")
        if news.event == "failed":
            return replace(live, state="ended", trouble=news.message or "The recorder failed without a reason.")
        return replace(live, state="saved", progress=None)
