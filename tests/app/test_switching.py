"""The switches of MLX are listed without loading it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from specview.app import switching


def test_switches_are_listed_with_what_they_do_here_and_mlx_stays_unloaded() -> None:
    check = (
        "import sys; from specview.app.switching import known_switches; found, why = known_switches('cpu'); "
        "sys.exit('mlx.core' in sys.modules or why != '' or 'compile' not in [each.name for each in found])"
    )
    subprocess.run([sys.executable, "-c", check], check=True, timeout=60)


def test_without_mlx_none_can_run_and_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switching, "find_spec", lambda name: None)
    found, why = switching.known_switches(None)
    assert found == () and "install specview[cpu]" in why
