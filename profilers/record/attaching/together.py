"""How many requests ran at once in a stretch: what looks saw, and what decode times give away between looks."""

from __future__ import annotations

from .page import Look

NS = 1_000_000_000
TOLERANCE = 1.05


class Together:
    """Follows looks; `close` ends a stretch. Nothing is known of a server that does not show what runs.

    Requests that come one after another cannot be decoded for longer than went by since the first of them began.
    """

    def __init__(self, first: Look) -> None:
        self.open(first)

    def open(self, look: Look) -> None:
        """Forget what was before."""
        self._most = look.counters.running or 0
        self._before_ns = self._at_ns = look.t_ns
        # a request that runs already began at an unknown time
        self._began_ns = look.t_ns if look.counters.running == 0 else None

    def see(self, look: Look) -> None:
        """Take one more look in."""
        self._most = max(self._most, look.counters.running or 0)
        self._before_ns, self._at_ns = self._at_ns, look.t_ns

    def idle(self, look: Look) -> None:
        """Nothing was counted up to this look."""
        self._most = look.counters.running or 0
        if look.counters.running == 0:
            self._began_ns = look.t_ns

    def close(self, look: Look, decode_seconds: float | None) -> tuple[int | None, tuple[str, ...]]:
        """Return how many ran at once and what of that is derived; `decode_seconds` are of requests that finished."""
        seen, began_ns = self._most, self._began_ns
        if decode_seconds:
            # the next one begins after this one's end, which lies behind the look before
            self._began_ns = self._before_ns
        self.idle(look)
        if look.counters.running is None:
            return None, ()
        if seen < 2 and decode_seconds and began_ns is not None:
            went_by_ns = look.t_ns + look.slack_ns - began_ns
            if decode_seconds * NS > TOLERANCE * went_by_ns:
                return 2, ("batch",)
        return (seen, ()) if seen else (1, ("batch",))
