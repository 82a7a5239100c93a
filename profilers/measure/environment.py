"""The facts of machine and software that go with every measurement: no host name, user name or path."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .blas import Blas, blas_in_use
from .load import Read, Run, output_of, text_of

# Each brings its own libmlx, so one environment holds at most one of them.
BACKENDS = ("mlx-metal", "mlx-cpu", "mlx-cuda-13", "mlx-cuda-12")


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """What a session's header says of the machine; None or "unknown" where the system does not tell.

    `device` is "cpu", "gpu metal", "gpu cuda" or "none" (MLX cannot be
    imported); `power` is "mains", "battery" or "unknown", with ", low power
    mode" or ", governor NAME" after it.
    """

    chip: str
    os: str
    python: str
    mlx: str | None
    mlx_lm: str | None
    device: str
    blas: str
    memory_bytes: int | None
    power: str


@dataclass(frozen=True, slots=True)
class Backend:
    """What MLX computes on: `problem` is None when it can be imported, else `missing` or `broken`.

    `gpu_name` and `architecture` (Metal: "applegpu_g15s") come from `mx.device_info`.
    """

    device: str
    problem: Literal["missing", "broken"] | None = None
    gpu_name: str | None = None
    architecture: str | None = None


def environment(
    *,
    system: str = sys.platform,
    read: Read = text_of,
    run: Run = output_of,
    backend: Callable[[], Backend] | None = None,
    blas: Callable[[], Blas] = blas_in_use,
) -> EnvironmentFacts:
    """The facts of this process; imports MLX when it is there, and never fails."""
    found = (backend or mlx_backend)()
    cpu = cpu_name(system, read, run)
    chip = cpu if found.gpu_name in (None, cpu) else f"{found.gpu_name}, {cpu}"
    return EnvironmentFacts(
        chip=_plain(chip),
        os=os_name(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        mlx=version_of("mlx"),
        mlx_lm=version_of("mlx-lm"),
        device=found.device,
        blas=_plain(blas().name) if found.problem is None else "unknown",
        memory_bytes=memory_bytes(system, run),
        power=power_state(system, read, run),
    )


def version_of(distribution: str) -> str | None:
    """The installed version of a distribution, None when it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def installed_backends(version: Callable[[str], str | None] = version_of) -> dict[str, str]:
    """Versions of the installed backend distributions of MLX, by name."""
    return {name: found for name in BACKENDS if (found := version(name)) is not None}


def mlx_backend() -> Backend:
    """The backend of MLX's default device, found by importing MLX."""
    try:
        import mlx.core as mx
    except ModuleNotFoundError:
        return Backend("none", "missing")
    except ImportError as error:
        return Backend("none", "missing" if "libmlx" in str(error) else "broken")
    except Exception:  # a backend that finds no driver raises what it likes
        return Backend("none", "broken")
    if mx.default_device() == mx.Device(mx.cpu):
        return Backend("cpu")
    info = mx.device_info()
    name, architecture = info.get("device_name"), info.get("architecture")
    return Backend(
        device="gpu metal" if mx.metal.is_available() else "gpu cuda",
        gpu_name=_plain(str(name)) if name else None,
        architecture=_plain(str(architecture)) if architecture else None,
    )


def dtypes_of_experts() -> dict[str, bool]:
    """Which dtypes the gathered product of unquantised experts runs in, by trying a tiny one."""
    import mlx.core as mx

    runs = {}
    for name in ("float32", "float16", "bfloat16"):
        kind: mx.Dtype = getattr(mx, name)
        x, experts = mx.ones((2, 1, 1, 32), kind), mx.ones((4, 32, 32), kind)
        try:
            mx.eval(mx.gather_mm(x, experts, rhs_indices=mx.array([[0], [1]])))
            runs[name] = True
        except RuntimeError:
            runs[name] = False
    return runs


def cpu_name(system: str = sys.platform, read: Read = text_of, run: Run = output_of) -> str:
    """The processor as it calls itself, else its instruction set."""
    if system == "darwin":
        brand = run(["sysctl", "-n", "machdep.cpu.brand_string"])
    else:
        line = re.search(r"^model name\s*:\s*(.+)$", read("/proc/cpuinfo") or "", re.MULTILINE)
        brand = line[1] if line else None
    return _plain(brand or "") or platform.machine() or "unknown"


def os_name() -> str:
    """System, the first two numbers of its version, and instruction set."""
    version = platform.mac_ver()[0] or platform.release()
    # The rest of a kernel's release is free text and may name the house that built it.
    numbers = re.match(r"\d+(\.\d+)?", version)
    name = "macOS" if platform.mac_ver()[0] else platform.system()
    return " ".join(filter(None, (name, numbers[0] if numbers else "", platform.machine())))


def memory_bytes(system: str = sys.platform, run: Run = output_of) -> int | None:
    """Memory of the machine in bytes."""
    if system == "darwin":
        text = (run(["sysctl", "-n", "hw.memsize"]) or "").strip()
        return int(text) if text.isdigit() else None
    try:
        pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
    return pages * page if pages > 0 and page > 0 else None


def power_state(system: str = sys.platform, read: Read = text_of, run: Run = output_of) -> str:
    """Mains or battery, and what saves power: `pmset` on macOS, /sys on Linux."""
    if system == "darwin":
        source = run(["pmset", "-g", "batt"]) or ""
        state = "battery" if "'Battery Power'" in source else "mains" if "'AC Power'" in source else "unknown"
        saving = re.search(r"^\s*(lowpowermode|powermode)\s+1\b", run(["pmset", "-g"]) or "", re.MULTILINE)
        return state + (", low power mode" if saving else "")
    governor = (read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "").strip()
    return _supply(read) + (f", governor {_plain(governor)}" if governor else "")


def _supply(read: Read) -> str:
    for name in ("AC", "AC0", "ACAD", "ADP0", "ADP1"):
        online = (read(f"/sys/class/power_supply/{name}/online") or "").strip()
        if online:
            return "mains" if online == "1" else "battery"
    for name in ("BAT0", "BAT1", "BATT"):
        status = (read(f"/sys/class/power_supply/{name}/status") or "").strip()
        if status:
            return "battery" if status == "Discharging" else "mains"
    return "unknown"


def _plain(text: str) -> str:
    """One line of at most 80 printable characters, since it is shown in a terminal and kept in a file."""
    words = "".join(c if c.isprintable() else " " for c in text).split()
    return " ".join(words)[:80]
