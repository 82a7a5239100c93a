"""What others did to the machine, from text that machines really print."""

from __future__ import annotations

from typing import Any

import pytest

from specview.profilers.measure.load import (
    Cooling,
    CpuTicks,
    LoadMeter,
    Memory,
    cooling,
    cooling_from_pmset,
    memory_from_meminfo,
    output_of,
    text_of,
    ticks_from_stat,
)

STAT = """cpu  16080 57386 11329 80682 270 0 96 76 500 400
cpu0 4164 28971 5335 44379 17 0 35 37 0 0
intr 1234
"""
MEMINFO = """MemTotal:       24684100 kB
MemFree:        16877452 kB
MemAvailable:   17879596 kB
SwapTotal:       1048576 kB
SwapFree:         524288 kB
HugePages_Total:       0
"""


def test_guest_time_is_not_counted_twice_and_waiting_is_idle() -> None:
    ticks = ticks_from_stat(STAT)
    assert ticks == CpuTicks(busy=16080 + 57386 + 11329 + 96 + 76, niced=57386, total=165919)


@pytest.mark.parametrize("text", [None, "", "intr 1 2 3", "cpu  1 2", "cpu  a b c d e"])
def test_a_stat_that_is_not_one_tells_nothing(text: str | None) -> None:
    assert ticks_from_stat(text) is None


def test_meminfo_is_read_in_bytes_and_swap_in_use_is_total_less_free() -> None:
    assert memory_from_meminfo(MEMINFO) == Memory(24684100 * 1024, 17879596 * 1024, 524288 * 1024)


def test_what_meminfo_lacks_is_unknown() -> None:
    assert memory_from_meminfo("MemTotal: 10 kB\n") == Memory(10240, None, None)
    assert memory_from_meminfo(None) == Memory()


def meter(ticks: list[CpuTicks | None], own: list[tuple[float, float]], *, own_niced: bool = False) -> LoadMeter:
    """A meter over a scripted machine whose clock moves 1 s a look."""
    clock = iter(range(0, 10**12, 10**9))
    script: tuple[Any, Any] = (iter(ticks), iter(own))
    return LoadMeter(
        clock=lambda: next(clock),
        ticks=lambda: next(script[0]),
        own=lambda: next(script[1]),
        own_niced=lambda: own_niced,
        memory=lambda: Memory(100, 60, 5),
        load=lambda: 0.7,
    )


def test_own_time_is_not_the_load_of_others() -> None:
    looks: list[CpuTicks | None] = [CpuTicks(0, 0, 0), CpuTicks(busy=120, niced=0, total=200)]
    sample = meter(looks, [(0.0, 0.0), (0.9, 0.1)]).sample()
    assert sample.others_cpu_fraction == pytest.approx(0.1)
    assert sample.niced_cpu_fraction == 0
    assert sample.span_ns == 10**9
    assert (sample.load_per_core, sample.memory_available_bytes, sample.swap_used_bytes) == (0.7, 60, 5)


def test_niced_load_is_told_apart_and_is_part_of_the_load_of_others() -> None:
    looks: list[CpuTicks | None] = [CpuTicks(0, 0, 0), CpuTicks(busy=200, niced=80, total=200)]
    sample = meter(looks, [(0.0, 0.0), (1.0, 0.0)]).sample()
    assert sample.others_cpu_fraction == pytest.approx(0.5)
    assert sample.niced_cpu_fraction == pytest.approx(0.4)


def test_a_niced_profiler_does_not_take_itself_for_niced_load() -> None:
    looks: list[CpuTicks | None] = [CpuTicks(0, 0, 0), CpuTicks(busy=110, niced=100, total=200)]
    sample = meter(looks, [(0.0, 0.0), (1.0, 0.1)], own_niced=True).sample()
    assert sample.niced_cpu_fraction == 0
    assert sample.others_cpu_fraction == 0


def test_each_sample_covers_the_span_since_the_one_before() -> None:
    looks: list[CpuTicks | None] = [CpuTicks(0, 0, 0), CpuTicks(100, 0, 100), CpuTicks(100, 0, 200)]
    two = meter(looks, [(0.0, 0.0)] * 3)
    assert two.sample().others_cpu_fraction == 1
    assert two.sample().others_cpu_fraction == 0


def test_a_span_too_short_for_ticks_is_left_to_the_next_sample() -> None:
    looks: list[CpuTicks | None] = [CpuTicks(0, 0, 0), CpuTicks(4, 0, 4), CpuTicks(50, 0, 100)]
    two = meter(looks, [(0.0, 0.0), (0.0, 0.0), (0.1, 0.0)])
    assert two.sample().others_cpu_fraction is None
    late = two.sample()
    assert late.others_cpu_fraction == pytest.approx(0.4)
    assert late.span_ns == 2 * 10**9


def test_a_counter_that_wrapped_tells_nothing_once() -> None:
    looks: list[CpuTicks | None] = [CpuTicks(500, 0, 900), CpuTicks(5, 0, 10), CpuTicks(55, 0, 110)]
    two = meter(looks, [(0.0, 0.0)] * 3)
    assert two.sample().others_cpu_fraction is None
    assert two.sample().others_cpu_fraction == pytest.approx(0.5)


def test_a_machine_without_ticks_still_tells_load_and_memory() -> None:
    sample = meter([None, None], [(0.0, 0.0)] * 2).sample()
    assert (sample.others_cpu_fraction, sample.niced_cpu_fraction) == (None, None)
    assert sample.load_per_core == 0.7


def test_rounding_never_makes_the_load_of_others_negative() -> None:
    looks: list[CpuTicks | None] = [CpuTicks(0, 0, 0), CpuTicks(busy=99, niced=0, total=200)]
    assert meter(looks, [(0.0, 0.0), (1.0, 0.0)]).sample().others_cpu_fraction == 0


def test_the_meter_reads_this_machine() -> None:
    sample = LoadMeter().sample()
    assert sample.span_ns >= 0
    assert sample.memory_available_bytes is None or sample.memory_available_bytes > 0


def test_linux_frequency_and_heat_come_in_hertz_and_degrees() -> None:
    files = {
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "1800000\n",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq": "3600000\n",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "schedutil\n",
        "/sys/class/thermal/thermal_zone0/temp": "41000\n",
        "/sys/class/thermal/thermal_zone3/temp": "67500\n",
        "/sys/class/thermal/thermal_zone4/temp": "-274000\n",
        "/sys/class/thermal/thermal_zone5/temp": "nonsense\n",
    }
    assert cooling("linux", files.get) == Cooling(1.8e9, 3.6e9, "schedutil", 67.5, None, None)


def test_a_machine_without_sensors_says_nothing_of_heat() -> None:
    assert cooling("linux", lambda path: None) == Cooling()
    assert cooling("darwin", run=lambda command: None) == Cooling()


def test_a_quiet_mac_is_not_throttled() -> None:
    text = (
        "Note: No thermal warning level has been recorded\n"
        "Note: No performance warning level has been recorded\n"
        "Note: No CPU power status has been recorded\n"
    )
    assert cooling_from_pmset(text).throttled is False
    text += "2026-01-01 10:00:00 +0000 CPU Power notify\n\tCPU_Speed_Limit \t= 100\n"
    assert cooling_from_pmset(text) == Cooling(speed_limit_percent=100, throttled=False)


def test_a_mac_with_a_speed_limit_or_a_thermal_warning_is_throttled() -> None:
    assert cooling_from_pmset("\tCPU_Speed_Limit \t= 58\n") == Cooling(speed_limit_percent=58, throttled=True)
    assert cooling_from_pmset("Thermal warning level = 2\n").throttled is True


def test_files_and_commands_that_are_not_there_read_as_none() -> None:
    assert text_of("/proc/specview-has-no-such-file") is None
    assert output_of(["specview-has-no-such-command"]) is None
