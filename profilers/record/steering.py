"""What the app tells a running recorder: one JSON object a line on its stdin; the end of stdin stops it."""

from __future__ import annotations

import json
import math
import queue
import threading
from collections import deque
from dataclasses import dataclass, replace
from typing import IO, Any, Literal

from .plan import Plan

Action = Literal["pause", "resume", "stop", "next_prompt", "change"]
CHANGEABLE = ("k", "drafter", "prompts", "rule", "temperature", "top_p", "policy", "adaptive")


@dataclass(frozen=True, slots=True)
class Command:
    """One wish: pause, resume, stop, next_prompt, or change, of what its further fields name; None stays as it is."""

    action: Action
    k: int | None = None
    drafter: str | None = None
    prompts: str | None = None
    reason: str | None = None
    rule: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    policy: str | None = None
    adaptive: bool | None = None


def changed_plan(plan: Plan, command: Command) -> Plan:
    """The plan with what a command changes of it, checked; raises PlanError. The rule greedy brings temperature 0."""
    wishes = {name: getattr(command, name) for name in CHANGEABLE}
    if command.rule == "greedy" and command.temperature is None:
        wishes["temperature"] = 0.0
    given: dict[str, Any] = {name: wish for name, wish in wishes.items() if wish not in (None, "")}
    return replace(plan, **given).checked()


def parsed_command(line: str) -> Command | None:
    """The command of a line, or None for one that makes no sense: a steering app must not kill a recording."""
    try:
        entry = json.loads(line)
        action = entry["action"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if action not in ("pause", "resume", "stop", "next_prompt", "change"):
        return None
    k, adaptive = entry.get("k"), entry.get("adaptive")
    return Command(
        action,
        k if isinstance(k, int) and not isinstance(k, bool) else None,
        _text(entry.get("drafter")),
        _text(entry.get("prompts")),
        "the app asked for it" if action == "stop" else None,
        rule=_text(entry.get("rule")),
        temperature=_number(entry.get("temperature")),
        top_p=_number(entry.get("top_p")),
        policy=_text(entry.get("policy")),
        adaptive=adaptive if isinstance(adaptive, bool) else None,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> float | None:
    """A finite number; JSON knows integers of any length, and Python's reader NaN and Infinity too."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


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
