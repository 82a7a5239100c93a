"""How busy, how full and how hot the machine is while it measures, from what the system says of itself."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

Read = Callable[[str], str | None]
Run = Callable[[Sequence[str]], str | None]

# /proc/stat counts in ticks of 10 ms; over fewer than this many one tick is more than a tenth of the answer.
SHORTEST_TICKS = 10


def text_of(path: str) -> str | None:
    """The text of a system file, or None when it is not there or may not be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def output_of(command: Sequence[str]) -> str | None:
    """What a system command prints, or None when it is not there, fails or takes more than 5 s."""
    try:
        done = subprocess.run(list(command), capture_output=True, check=True, timeout=5, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class CpuTicks:
    """Processor time of the whole machine since it started, summed over its cores, in ticks of 10 ms."""

    busy: int
    niced: int
    total: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of memory in the machine, those a new program could have now, and swap in use; None: unknown."""

    total_bytes: int | None = None
    available_bytes: int | None = None
    swap_used_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class LoadSample:
    """What others did to the machine since the sample before.

    `others_cpu_fraction` is the part of all cores (0 to 1) used by processes
    that are not this one, niced ones and time stolen by a hypervisor
    included; `niced_cpu_fraction` is the niced part of it. Both are None
    where the system does not tell or the span was under 10 ticks (then the
    next sample covers it too). `load_per_core` is the load average over one
    minute ÷ cores, and holds this process.
    """

    span_ns: int
    others_cpu_fraction: float | None
    niced_cpu_fraction: float | None
    load_per_core: float | None
    memory_available_bytes: int | None
    swap_used_bytes: int | None


@dataclass(frozen=True, slots=True)
class Cooling:
    """Clock frequency and heat, as far as the system tells: Hz, °C, percent of full speed.

    `throttled` is True when the system says that it slowed the processor down, False when it says that
    it did not, None when it does not say.
    """

    frequency_hz: float | None = None
    frequency_max_hz: float | None = None
    governor: str | None = None
    hottest_celsius: float | None = None
    speed_limit_percent: int | None = None
    throttled: bool | None = None


def ticks_from_stat(text: str | None) -> CpuTicks | None:
    """The first line of /proc/stat; None when it is not there.

    Columns: user, nice, system, idle, iowait, irq, softirq, steal; guest time is in
    user and nice already.
    """
    words = (text or "").partition("\n")[0].split()
    if len(words) < 5 or words[0] != "cpu" or not all(word.isdigit() for word in words[1:]):
        return None
    numbers = [int(word) for word in words[1:9]]
    idle = sum(numbers[3:5])
    return CpuTicks(busy=sum(numbers) - idle, niced=numbers[1], total=sum(numbers))


def memory_from_meminfo(text: str | None) -> Memory:
    """/proc/meminfo in bytes; what it lacks is None."""
    kib = {name: int(value) for name, value in re.findall(r"^(\w+):\s+(\d+) kB", text or "", re.MULTILINE)}

    def bytes_of(name: str) -> int | None:
        return kib[name] * 1024 if name in kib else None

    swap, free = bytes_of("SwapTotal"), bytes_of("SwapFree")
    used = swap - free if swap is not None and free is not None else None
    return Memory(bytes_of("MemTotal"), bytes_of("MemAvailable"), used)


def ticks_on_mac() -> CpuTicks | None:
    """The same from `host_statistics(HOST_CPU_LOAD_INFO)`: user, system, idle, nice; None when it fails."""
    library, numbers, count = ctypes.CDLL(None), (ctypes.c_uint32 * 4)(), ctypes.c_uint32(4)
    try:
        host = library.mach_host_self
        host.restype = ctypes.c_uint
        if library.host_statistics(host(), 3, numbers, ctypes.byref(count)) != 0:
            return None
    except AttributeError:
        return None
    user, system, idle, nice = numbers
    return CpuTicks(busy=user + system + nice, niced=nice, total=user + system + idle + nice)


def memory_on_mac() -> Memory:
    """Memory from sysctl by ctypes, since starting `vm_stat` would cost more than a sample may."""
    total = _sysctl("hw.memsize", 8)
    free_percent = _sysctl("kern.memorystatus_level", 4)
    swap = _sysctl("vm.swapusage", 32)
    total_bytes = int.from_bytes(total, sys.byteorder) if total else None
    available = None
    if total_bytes and free_percent:
        available = total_bytes * int.from_bytes(free_percent, sys.byteorder) // 100
    # struct xsw_usage: total, available and used, 8 bytes each.
    return Memory(total_bytes, available, int.from_bytes(swap[16:24], sys.byteorder) if swap else None)


def _sysctl(name: str, size: int) -> bytes | None:
    room, length = ctypes.create_string_buffer(size), ctypes.c_size_t(size)
    try:
        call = ctypes.CDLL(None).sysctlbyname
    except AttributeError:
        return None
    failed = call(name.encode(), room, ctypes.byref(length), None, ctypes.c_size_t(0))
    return None if failed else room.raw


def cpu_ticks(system: str = sys.platform, read: Read = text_of) -> CpuTicks | None:
    """Processor time of this machine, None where it cannot be read."""
    if system == "darwin":
        return ticks_on_mac()
    return ticks_from_stat(read("/proc/stat"))


def memory(system: str = sys.platform, read: Read = text_of) -> Memory:
    """Memory of this machine in bytes."""
    if system == "darwin":
        return memory_on_mac()
    return memory_from_meminfo(read("/proc/meminfo"))


def load_per_core() -> float | None:
    """Load average over one minute ÷ cores, None where the system has none."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except OSError:
        return None


def own_seconds() -> tuple[float, float]:
    """Processor seconds of this process: in its own code, and in the system on its behalf."""
    times = os.times()
    return times.user, times.system


class LoadMeter:
    """Tells what others used of the machine between one `sample()` and the next, in well under a millisecond.

    The readers are arguments so that tests can replay a machine: `clock` in
    monotonic ns, `ticks` as `CpuTicks`, `own` as seconds (user, system) of
    this process, `own_niced` whether this process is itself niced (its user
    time then stands in the niced column).
    """

    def __init__(
        self,
        *,
        clock: Callable[[], int] = time.perf_counter_ns,
        ticks: Callable[[], CpuTicks | None] = cpu_ticks,
        own: Callable[[], tuple[float, float]] = own_seconds,
        own_niced: Callable[[], bool] = lambda: os.nice(0) > 0,
        memory: Callable[[], Memory] = memory,
        load: Callable[[], float | None] = load_per_core,
        ticks_per_second: int = 100,
    ) -> None:
        self._clock, self._ticks, self._own, self._own_niced = clock, ticks, own, own_niced
        self._memory, self._load, self._rate = memory, load, ticks_per_second
        self._began = (clock(), ticks(), own())

    def sample(self) -> LoadSample:
        """What happened since the last sample that told something, or since the meter was made."""
        began_ns, ticks, own = self._began
        now_ns, ticks_now, own_now = self._clock(), self._ticks(), self._own()
        others = niced = None
        if ticks is None or ticks_now is None:
            self._began = (now_ns, ticks_now, own_now)
        elif (total := ticks_now.total - ticks.total) >= SHORTEST_TICKS or total < 0:
            self._began = (now_ns, ticks_now, own_now)
            # A negative total is a counter that wrapped: nothing to tell this time.
            if total > 0:
                user, system = ((b - a) * self._rate for a, b in zip(own, own_now, strict=True))
                others = _fraction(ticks_now.busy - ticks.busy - user - system, total)
                mine = user if self._own_niced() else 0.0
                niced = min(others, _fraction(ticks_now.niced - ticks.niced - mine, total))
        room = self._memory()
        return LoadSample(
            span_ns=now_ns - began_ns,
            others_cpu_fraction=others,
            niced_cpu_fraction=niced,
            load_per_core=self._load(),
            memory_available_bytes=room.available_bytes,
            swap_used_bytes=room.swap_used_bytes,
        )


def _fraction(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole))


def cooling(system: str = sys.platform, read: Read = text_of, run: Run = output_of) -> Cooling:
    """Frequency, governor and heat of this machine; every part that cannot be read is None."""
    if system == "darwin":
        return cooling_from_pmset(run(["pmset", "-g", "therm"]))
    now, top = (
        _number(read(f"/sys/devices/system/cpu/cpu0/cpufreq/scaling_{name}_freq"), 1000.0) for name in ("cur", "max")
    )
    governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    zones = (_number(read(f"/sys/class/thermal/thermal_zone{i}/temp"), 0.001) for i in range(16))
    heats = [heat for heat in zones if heat is not None and 0 < heat < 150]
    return Cooling(
        frequency_hz=now,
        frequency_max_hz=top,
        governor=governor.strip() if governor else None,
        hottest_celsius=max(heats, default=None),
    )


def cooling_from_pmset(text: str | None) -> Cooling:
    """`pmset -g therm`: a speed limit under 100 or a warning level that was recorded means throttled."""
    if text is None:
        return Cooling()
    limit = re.search(r"CPU_Speed_Limit\s*=\s*(\d+)", text)
    percent = int(limit[1]) if limit else None
    level = re.search(r"thermal warning level[^\d\n]*(\d+)", text, re.IGNORECASE)
    slowed = (percent is not None and percent < 100) or (level is not None and int(level[1]) > 0)
    quiet = percent is not None or "no thermal warning" in text.lower()
    return Cooling(speed_limit_percent=percent, throttled=True if slowed else (False if quiet else None))


def _number(text: str | None, scale: float) -> float | None:
    try:
        return float(text) * scale if text is not None else None
    except ValueError:
        return None
