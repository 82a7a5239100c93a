"""The time of a log's lines, counted from the first one, from whatever date stands in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

_STAMP = re.compile(r"(?:(\d{4})-)?(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)")
_LEAP_YEAR = 2024
# a date further from the first one is damage
LONGEST_S = 10 * 365 * 86_400


@dataclass(slots=True)
class LogClock:
    """Gives nanoseconds since the first date; a line without one, or with an earlier one, has the last time."""

    now_ns: int = 0
    _first: datetime | None = None

    def at(self, line: str) -> int:
        """Return when a line was written."""
        found = _STAMP.search(line[:200])
        if found:
            year, month, day, hour, minute, second = (int(part) if part else _LEAP_YEAR for part in found.groups())
            try:
                moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
            except ValueError:
                return self.now_ns
            if self._first is None:
                self._first = moment
            seconds = round((moment - self._first).total_seconds())
            if seconds < LONGEST_S:
                self.now_ns = max(self.now_ns, seconds * 1_000_000_000)
        return self.now_ns
