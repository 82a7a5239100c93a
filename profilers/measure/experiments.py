"""Differential runs: passes under a switch of MLX against passes without, each setting in a process of its own.

Most switches are read once, when a process starts. So every setting, the control included, gets a process that loads
the model and times passes on request; the processes take turns forth and back, so that drift hits all alike. The
control runs in two processes: what two of one setting differ by is what a switch must exceed.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from ...engine.errors import SpecviewError
from .blas import INSTALL, installed_openblas
from .experiment_process import ChildProcess
from .load import memory

CONTROL = "as it is"
AGAIN = "as it is, another process"
SPARE = 1.25  # of the memory that one process took, for each further one
COMMAND = (sys.executable, "-m", "specview.profilers.measure.experiment_child")

Environment = Mapping[str, str]


class ExperimentError(SpecviewError):
    """An experiment that cannot be run, or whose process failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One value of a switch: what is set in a process's environment, or taken out of it (None)."""

    arm: str
    changes: tuple[tuple[str, str | None], ...]

    def applied(self, environment: Environment) -> dict[str, str]:
        """That environment with the changes made."""
        changed: dict[str, str | None] = {**environment, **dict(self.changes)}
        return {name: value for name, value in changed.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """Something about MLX that can be switched from outside, with the settings to try against the present one.

    `reason` says why no effect is expected here, or why it cannot be run at all (then `settings` is empty).
    """

    name: str
    title: str
    settings: tuple[Setting, ...]
    reason: str | None = None

    @property
    def available(self) -> bool:
        """Whether the switch does something on this device."""
        return self.reason is None

    @property
    def runnable(self) -> bool:
        """Whether it can be run, if only as a control."""
        return bool(self.settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentModel:
    """The model, or the bare shape, that every process loads, and the positions in its cache when it times passes."""

    source: str
    shape: bool = False
    dtype: str | None = None
    layers: int | None = None
    experts: int | None = None
    context: int = 128
    seed: int = 0
    trust_remote_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentArm:
    """Passes of one visit to one process: synchronous, build included, in ns, and MLX's memory then, in bytes."""

    t_ns: int
    name: str
    arm: str
    control: bool
    width: int
    context: int
    samples_ns: tuple[int, ...]
    peak_bytes: int | None = None
    cache_bytes: int | None = None
    detail: str | None = None


def switches(
    device: str, environment: Environment, openblas: Callable[[], str | None] = installed_openblas
) -> tuple[Switch, ...]:
    """The switches of MLX as they are on this device ("cpu", "gpu metal", "gpu cuda") and in this environment."""
    gpu = device.startswith("gpu")
    only_gpu = (
        None if gpu else "MLX reads it for command buffers of a GPU: no effect is expected on the CPU, control only."
    )
    return (
        _compile(environment),
        _buffers("MLX_MAX_OPS_PER_BUFFER", "operations in a command buffer", ("8", "200"), only_gpu),
        _buffers("MLX_MAX_MB_PER_BUFFER", "megabytes in a command buffer", ("10", "1000"), only_gpu),
        _blas(gpu, environment, openblas),
    )


def switch_named(name: str, known: Sequence[Switch]) -> Switch:
    """The switch of that name; raises ExperimentError with the names there are."""
    for switch in known:
        if switch.name == name:
            return switch
    raise ExperimentError(f"There is no experiment {name!r}: choose one of {', '.join(s.name for s in known)}.")


def _compile(environment: Environment) -> Switch:
    """MLX looks whether the variable is there, not at its value."""
    name = "MLX_DISABLE_COMPILE"
    if name in environment:
        setting = Setting(arm="compile on", changes=((name, None),))
    else:
        setting = Setting(arm="compile off", changes=((name, "1"),))
    return Switch(name="compile", title="fusing element-wise operations with mx.compile", settings=(setting,))


def _buffers(variable: str, title: str, values: Sequence[str], reason: str | None) -> Switch:
    return Switch(
        name=variable.removeprefix("MLX_").lower().replace("_", "-"),
        title=title,
        settings=tuple(Setting(arm=f"{variable}={value}", changes=((variable, value),)) for value in values),
        reason=reason,
    )


def _blas(gpu: bool, environment: Environment, openblas: Callable[[], str | None]) -> Switch:
    def switch(reason: str | None, *settings: Setting) -> Switch:
        return Switch(name="blas", title="the library that multiplies on the CPU", settings=settings, reason=reason)

    preload = environment.get("LD_PRELOAD", "")
    if gpu:
        return switch("A GPU multiplies with kernels of its own.")
    others = " ".join(path for path in re.split(r"[ :]+", preload) if "blas" not in path.lower())
    if "blas" in preload.lower():
        return switch(None, Setting(arm="without the preloaded library", changes=(("LD_PRELOAD", others or None),)))
    path = openblas()
    if path is None:
        return switch(f"No OpenBLAS was found to compare with: {INSTALL}.")
    preloaded = " ".join(filter(None, (path, preload)))
    return switch(
        None, Setting(arm="OpenBLAS, one thread", changes=(("LD_PRELOAD", preloaded), ("OPENBLAS_NUM_THREADS", "1")))
    )


@dataclass(slots=True)
class _Arm:
    """One process of an experiment and what it said of itself."""

    name: str
    control: bool
    process: ChildProcess
    facts: dict[str, Any] = field(default_factory=dict)


def run_experiment(
    switch: Switch,
    model: ExperimentModel,
    widths: Sequence[int],
    repeats: int,
    clock: Callable[[], int],
    progress: Callable[[int, int], None] = lambda done, of: None,
    *,
    environment: Environment,
    random_source: random.Random,
    command: Sequence[str] = COMMAND,
    available_bytes: Callable[[], int | None] = lambda: memory().available_bytes,
) -> Iterator[ExperimentArm]:
    """Run the settings of a switch and two controls, `repeats` times forth and back over all widths.

    Yields each visit as it is made; the i-th visits of all arms at one width belong together. `progress` hears how
    many visits of how many are done, `clock` stamps them. All processes end with the generator, however it ends.
    Raises ExperimentError when a process cannot be had, dies, or answers nonsense.
    """
    if not switch.runnable:
        raise ExperimentError(f"The experiment {switch.name} cannot be run here: {switch.reason}")
    settings = (
        Setting(arm=CONTROL, changes=()),
        *switch.settings,
        Setting(arm=AGAIN, changes=()),
    )
    with ExitStack() as stack:
        arms: list[_Arm] = []
        for setting in settings:
            if arms:
                _check_memory(arms[0].facts, len(settings) - len(arms), available_bytes())
            process = stack.enter_context(ChildProcess(command, setting.applied(environment), setting.arm))
            arms.append(_Arm(setting.arm, not setting.changes, process, _loaded(process, model)))
        orders = [random_source.sample(arms, len(arms)) for _ in range(repeats)]
        total = repeats * 2 * len(arms) * len(widths)
        done = 0
        for order in orders:
            for arm in (*order, *reversed(order)):
                for width in widths:
                    yield _visited(switch.name, arm, width, clock)
                    done += 1
                    progress(done, total)


def _loaded(process: ChildProcess, model: ExperimentModel) -> dict[str, Any]:
    """Have a process load the model: its `context`, `active_bytes` and `detail`."""
    asked = {name: getattr(model, name) for name in ExperimentModel.__slots__}
    facts = process.ask({"load": asked})
    return {
        "context": process.count(facts, "context"),
        "active_bytes": process.count(facts, "active_bytes"),
        "detail": process.text(facts, "detail"),
    }


def _check_memory(first: Mapping[str, Any], further: int, available_bytes: int | None) -> None:
    needed = int(first["active_bytes"] * SPARE) * further
    if available_bytes is not None and needed > available_bytes:
        raise ExperimentError(
            f"An experiment holds the model once for each setting: {further} more of "
            f"{first['active_bytes'] / 1e9:.1f} GB do not fit the {available_bytes / 1e9:.1f} GB that are free; choose "
            "a smaller model or fewer layers."
        )


def _visited(name: str, arm: _Arm, width: int, clock: Callable[[], int]) -> ExperimentArm:
    answer = arm.process.ask({"width": width})
    return ExperimentArm(
        t_ns=clock(),
        name=name,
        arm=arm.name,
        control=arm.control,
        width=width,
        context=arm.facts["context"],
        samples_ns=arm.process.counts(answer, "samples_ns"),
        peak_bytes=arm.process.count(answer, "peak_bytes"),
        cache_bytes=arm.process.count(answer, "cache_bytes"),
        detail=arm.facts["detail"],
    )
