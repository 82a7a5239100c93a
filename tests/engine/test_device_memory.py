"""What is asked of a GPU's memory, seen through a stand-in for Metal."""

from __future__ import annotations

import mlx.core as mx
import pytest

from specview.engine.device_memory import give_back, wired


def test_metal_keeps_everything_resident_until_the_end_even_of_a_failure(monkeypatch):
    asked = []

    def set_limit(limit):
        asked.append(limit)
        return 7

    monkeypatch.setattr(mx.metal, "is_available", lambda: True)
    monkeypatch.setattr(mx, "device_info", lambda: {"max_recommended_working_set_size": 1000})
    monkeypatch.setattr(mx, "set_wired_limit", set_limit)
    monkeypatch.setattr(mx, "synchronize", lambda: asked.append("waited"))
    with pytest.raises(ZeroDivisionError), wired():
        asked.append("inside")
        raise ZeroDivisionError
    assert asked == [1000, "inside", "waited", 7]


def test_without_metal_nothing_is_asked(monkeypatch):
    monkeypatch.setattr(mx.metal, "is_available", lambda: False)
    monkeypatch.setattr(mx, "set_wired_limit", lambda limit: pytest.fail("it asked"))
    with wired():
        pass


def test_freed_buffers_are_given_back_once_in_256_positions(monkeypatch):
    cleared = []
    monkeypatch.setattr(mx, "clear_cache", lambda: cleared.append(1))
    for before, now in ((0, 8), (250, 255), (255, 256), (256, 300), (300, 520)):
        give_back(before, now)
    assert len(cleared) == 2
