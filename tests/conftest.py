"""Fixtures shared by all tests: the bundled model in float32, texts, a fake clock."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

MODELS = os.environ.get("SPECVIEW_MODELS")


@pytest.fixture(scope="session")
def bundled():
    """The bundled model, dequantised to float32."""
    from specview.engine.models import load_target

    return load_target(dtype="float32")


@pytest.fixture(scope="session")
def stored():
    """The bundled model as stored, 8-bit."""
    from specview.engine.models import load_target

    return load_target()


@pytest.fixture
def fake_clock() -> Callable[[], int]:
    """Every call is one microsecond later."""
    ticks = itertools.count(0, 1000)
    return lambda: next(ticks)


@pytest.fixture
def real_models() -> Path:
    """The folder with real models, for tests marked real_model."""
    if not MODELS:
        pytest.skip("set SPECVIEW_MODELS to a folder made by get_models.sh")
    return Path(MODELS)
