"""The recorder as a child process: starts it, steers it, hears its reports, and ends it without leaving an orphan."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LINE_BYTES = 64 * 1024
TAIL_BYTES = 4096
GRACE_S = 3.0
STALL_S = 45.0


@dataclass(frozen=True, slots=True)
class Report:
    """One line of the recorder: loading, session, progress, finished or failed, with its facts."""

    event: str
    what: str = ""
    prompts_done: float = 0.0
    prompts_all: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class Garbage:
    """A line that is no report; `text` is its start, made printable."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The process is over. `sentence` says why when it did not end as it should."""

    code: int
    sentence: str


News = Report | Garbage | Ended


def recorder_command(path: Path, options: Sequence[str]) -> list[str]:
    """The command line of a recorder that writes `path` and obeys its stdin."""
    return [sys.executable, "-m", "specview", "record", "--control", "--out", str(path), *options]


def survey_command(question: str, path: Path, options: Sequence[str]) -> list[str]:
    """The command line of a survey (survey, experiment …) that writes `path`, reports, and ends with its stdin."""
    return [sys.executable, "-m", "specview", question, "--control", "--out", str(path), *options]


def parsed_report(line: bytes) -> Report | Garbage:
    """What a line of the recorder's stdout says."""
    try:
        entry = json.loads(line)
        event = entry["event"]
        if event not in ("loading", "session", "progress", "finished", "failed"):
            raise ValueError(event)
        return Report(
            event,
            what=printable(str(entry.get("what") or entry.get("name") or entry.get("status") or "")),
            prompts_done=_number(entry.get("prompts_done")),
            prompts_all=int(_number(entry.get("prompts_all"))),
            message=printable(str(entry.get("message") or entry.get("reason") or ""), 1000),
        )
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return Garbage(printable(line.decode("utf-8", "replace")))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        return 0.0
    return float(value)


def printable(text: str, limit: int = 120) -> str:
    """Text from outside, without anything a terminal would obey, cut to one short line."""
    safe = "".join(c if c.isprintable() else " " for c in text)
    safe = " ".join(safe.split())
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"


def error_words(error: Exception) -> str:
    """An error that nobody foresaw, as it may stand in a sentence."""
    return printable(f"{type(error).__name__}: {error}").removesuffix(":")


class RecorderProcess:
    """One recorder. `hear` is called with every report, in the loop that started it, and once with `Ended`.

    `name` is what sentences call it, and `again` the key that starts it once more.
    """

    def __init__(
        self,
        command: Sequence[str],
        hear: Callable[[News], None],
        grace_s: float = GRACE_S,
        name: str = "recorder",
        again: str = "r to record again",
    ) -> None:
        self._command = list(command)
        self._hear = hear
        self._grace_s = grace_s
        self._name, self._again = name, again
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._tail = b""
        self._said_end = False
        self._stopping = False

    @property
    def pid(self) -> int | None:
        """The child's process id, once it was started."""
        return None if self._process is None else self._process.pid

    @property
    def running(self) -> bool:
        """Whether there is a child that has not ended."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start the child; a command that cannot be started is reported as `Ended`."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=LINE_BYTES,
                start_new_session=True,  # Ctrl-C in the terminal is the app's; the child ends with its stdin
            )
        except OSError as error:
            self._hear(
                Ended(-1, f"The {self._name} cannot be started ({(error.strerror or 'unknown error').lower()}).")
            )
            return
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._keep_tail())]

    async def send(self, action: str, **facts: object) -> bool:
        """Send one command; False when nobody is there to read it."""
        process = self._process
        if process is None or process.stdin is None or process.returncode is not None:
            return False
        with suppress(OSError, RuntimeError):
            process.stdin.write(json.dumps({"action": action, **facts}).encode() + b"\n")
            await process.stdin.drain()
            return True
        return False

    async def stop(self) -> None:
        """End the child: close its stdin, wait for its footer, then terminate, then kill."""
        self._stopping = True
        process = self._process
        if process is None:
            return
        await self.send("stop")
        if process.stdin is not None:
            with suppress(OSError, RuntimeError):
                process.stdin.close()
        for urge in (None, process.terminate, process.kill):
            if process.returncode is not None:
                break
            if urge is not None:
                with suppress(ProcessLookupError):
                    urge()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), self._grace_s)
        for task in self._tasks:
            with suppress(asyncio.TimeoutError, asyncio.CancelledError):
                await asyncio.wait_for(task, self._grace_s)

    async def _listen(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:  # a line beyond the limit; what was read of it is dropped
                self._hear(Garbage("a line without end"))
                continue
            except OSError:
                break
            if not line:
                break
            news = parsed_report(line)
            if isinstance(news, Report) and news.event in ("finished", "failed"):
                self._said_end = True
            self._hear(news)
        code = await self._process.wait()
        with suppress(asyncio.CancelledError):
            await self._tasks[1]
        self._hear(Ended(code, self._sentence(code)))

    async def _keep_tail(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        with suppress(OSError):
            while chunk := await self._process.stderr.read(4096):
                self._tail = (self._tail + chunk)[-TAIL_BYTES:]

    def _sentence(self, code: int) -> str:
        if self._said_end or self._stopping:
            return ""
        how = f"with status {code}"
        if code < 0:
            with suppress(ValueError):
                how = f"by {signal.Signals(-code).name}"
        lines = self._tail.decode("utf-8", "replace").strip().splitlines()
        last = f" Its last words: {printable(lines[-1])}" if lines else ""
        return f"The {self._name} ended {how}; what it had measured is here. Press {self._again}.{last}"
