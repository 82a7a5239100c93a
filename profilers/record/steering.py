"""What the app tells a running recorder: one JSON object a line on its stdin; the end of stdin stops it."""

from __future__ import annotations

import json
import queue
import threading
from collections import deque
from dataclasses import dataclass
from typing import IO, Literal

Action = Literal["pause", "resume", "stop", "next_prompt", "change"]


@dataclass(frozen=True, slots=True)
class Command:
    """One wish: pause, resume, stop, next_prompt, or change (of k, drafter or prompts)."""

    action: Action
    k: int | None = None
    drafter: str | None = None
    prompts: str | None = None
    reason: str | None = None


def parsed_command(line: str) -> Command | None:
    """The command of a line, or None for one that makes no sense: a steering app must not kill a recording."""
    try:
        entry = json.loads(line)
        action = entry["action"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if action not in ("pause", "resume", "stop", "next_prompt", "change"):
        return None
    k, drafter, prompts = entry.get("k"), entry.get("drafter"), entry.get("prompts")
    return Command(
        action,
        k if isinstance(k, int) and not isinstance(k, bool) else None,
        drafter if isinstance(drafter, str) else None,
        prompts if isinstance(prompts, str) else None,
        "the app asked for it" if action == "stop" else None,
    )


class Steering:
    """Commands waiting for the recorder. Without a stream nothing ever comes."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._waiting: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._next: deque[Command] = deque()
        if stream is not None:
            threading.Thread(target=self._listen, args=(stream,), daemon=True).start()

    def _listen(self, stream: IO[str]) -> None:
        try:
            for line in stream:
                command = parsed_command(line)
                if command is not None:
                    self._waiting.put(command)
        except (OSError, ValueError):
            pass
        self._waiting.put(Command("stop", reason="whoever started the recorder is gone"))

    def send(self, command: Command) -> None:
        """Put a command in from inside the process, e.g. on a signal."""
        self._waiting.put(command)

    def nap(self, seconds: float) -> bool:
        """Sleep so long, or until a command comes; False when one did (it still waits)."""
        if self._next:
            return False
        try:
            command = self._waiting.get(timeout=seconds)
        except queue.Empty:
            return True
        self._next.append(command)
        return False

    def poll(self) -> Command | None:
        """The next command, if one waits."""
        if self._next:
            return self._next.popleft()
        try:
            return self._waiting.get_nowait()
        except queue.Empty:
            return None

    def wait(self) -> Command:
        """The next command, waiting for it: a paused recorder costs nothing."""
        return self._next.popleft() if self._next else self._waiting.get()
