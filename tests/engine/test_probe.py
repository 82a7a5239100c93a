"""Probes: a splitting one waits and tells the time, a free one does neither."""

from __future__ import annotations

from specview.engine.probe import FreeProbe, SplitProbe


def test_a_free_probe_waits_for_nothing(fake_clock):
    probe = FreeProbe(fake_clock)
    assert probe.fence(object()) is None
    assert not probe.splits
    assert (probe.now(), probe.now()) == (0, 1000)


def test_a_splitting_probe_waits_before_it_reads_the_clock():
    order = []

    def clock():
        order.append("clock")
        return 42

    def wait(*arrays):
        order.append(arrays)

    probe = SplitProbe(clock, wait)
    assert probe.fence("a", "b") == 42
    assert order == [("a", "b"), "clock"]
    assert probe.splits
