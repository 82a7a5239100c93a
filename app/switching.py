"""Which switches of MLX there are on this machine, without loading MLX."""

from __future__ import annotations

import os
import platform
from importlib.util import find_spec

from ..layouts.experiments import SwitchFacts

NO_MLX = "MLX is not installed here: install specview[cpu] or specview[cuda] on Linux, plain specview on a Mac."


def known_switches(device: str | None) -> tuple[tuple[SwitchFacts, ...], str]:
    """The switches as they are on a device (a session's, else this machine's own), and a sentence where none can run.

    Looks for libraries, which takes a while: call it in a thread.
    """
    if find_spec("mlx") is None:
        return (), NO_MLX
    from ..profilers.measure.experiments import switches

    here = device or ("gpu metal" if (platform.system(), platform.machine()) == ("Darwin", "arm64") else "cpu")
    found = switches(here if here != "metal" else "gpu metal", os.environ)
    return tuple(
        SwitchFacts(each.name, each.title, tuple(setting.arm for setting in each.settings), each.reason or "")
        for each in found
    ), ""
