"""A child process that answers one-line JSON requests: asked, heard within its limits, and never left behind."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from ...engine.errors import SpecviewError

LINE_BYTES = 1 << 20
TAIL_BYTES = 4096
LARGEST = 2**63
PATIENCE_S = 600.0  # for one answer; loading a large model from a slow disk takes minutes
GRACE_S = 5.0


class ChildError(SpecviewError):
    """A process that cannot be started, died, said something else than was asked, or said nothing for too long."""


class ChildProcess:
    """One process under a context: a JSON object a line on its stdin, another back on its stdout.

    The end of its stdin tells it to end, so it goes with its parent even if that is killed. `name` is how errors call
    it. `patience_s` is how long one answer may take.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], name: str, patience_s: float = PATIENCE_S
    ) -> None:
        self.name = name
        self._command, self._environment, self._patience_s = list(command), dict(environment), patience_s
        self._process: subprocess.Popen[bytes] | None = None
        self._pending = b""

    def __enter__(self) -> Self:
        self._errors = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=self._environment,
                bufsize=0,
                start_new_session=True,  # Ctrl-C is for the parent, which then ends this one
            )
        except OSError as error:
            self._errors.close()
            raise ChildError(
                f"The process for {self.name!r} could not be started ({error.strerror}): check the installation."
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        with suppress(OSError):
            process.stdin.close()
        if kind is not None:
            process.kill()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        self._errors.close()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Its answer to one request; raises ChildError with its own sentence if it answers with an error."""
        process = self._process
        assert process is not None and process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
        except OSError:
            raise self._died() from None
        line = self._line()
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise ChildError(
                f"The process for {self.name!r} answered {_printable(line)!r}, which is no answer: run it again, and "
                "look for something that prints when Python starts."
            )
        if "error" in answer:
            raise ChildError(f"The process for {self.name!r} gave up: {_printable(str(answer['error']).encode(), 400)}")
        return answer

    def _line(self) -> bytes:
        process = self._process
        assert process is not None and process.stdout is not None
        descriptor = process.stdout.fileno()
        while b"\n" not in self._pending and len(self._pending) <= LINE_BYTES:
            if not select.select([descriptor], [], [], self._patience_s)[0]:
                raise ChildError(
                    f"The process for {self.name!r} said nothing for {self._patience_s:.0f} s: try a smaller model."
                )
            data = os.read(descriptor, 1 << 16)
            if not data:
                raise self._died()
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _died(self) -> ChildError:
        """Why it is gone, as far as it says: the last line of its stderr."""
        process = self._process
        assert process is not None
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - TAIL_BYTES))
        lines = self._errors.read().strip().splitlines()
        said = f", and said last: {_printable(lines[-1])}" if lines else ""
        how = f"was ended by signal {-process.returncode}" if (process.returncode or 0) < 0 else "ended early"
        return ChildError(f"The process for {self.name!r} {how}{said}. Run it again, or choose a smaller model.")

    def count(self, answer: Mapping[str, Any], key: str) -> int:
        """A whole number of an answer, from 0 on."""
        return self._counted(key, answer.get(key))

    def counts(self, answer: Mapping[str, Any], key: str) -> tuple[int, ...]:
        """At least one whole number of an answer."""
        values = answer.get(key)
        if not isinstance(values, list) or not values:
            raise self._wrong(key)
        return tuple(self._counted(key, value) for value in values)

    def text(self, answer: Mapping[str, Any], key: str) -> str:
        """A short text of an answer, made printable."""
        value = answer.get(key)
        if not isinstance(value, str):
            raise self._wrong(key)
        return _printable(value.encode("utf-8", "replace"))

    def _counted(self, key: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < LARGEST:
            raise self._wrong(key)
        return value

    def _wrong(self, key: str) -> ChildError:
        return ChildError(f"The process for {self.name!r} answered without a sound {key!r}: run it again.")


def _printable(text: bytes, limit: int = 160) -> str:
    """One short line without control characters and without folders."""
    safe = "".join(c if c.isprintable() else " " for c in text.decode("utf-8", "replace"))
    return " ".join(word.rpartition("/")[2] or word for word in safe.split())[:limit]
