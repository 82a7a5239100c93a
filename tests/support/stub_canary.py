"""A canary that always reads the same, so that no recording in a test waits for a machine to cool."""

from __future__ import annotations


class StubCanary:
    def __init__(self, clock):
        pass

    def read_ns(self):
        return 1000

    def cool_down(self, base_ns, longest_s, nap):
        return 0.0
