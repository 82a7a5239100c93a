"""The facts of a machine, from text that machines really print, and nothing that names its owner."""

from __future__ import annotations

import getpass
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import pytest

from specview.profilers.measure.blas import Blas
from specview.profilers.measure.environment import (
    Backend,
    cpu_name,
    dtypes_of_experts,
    environment,
    installed_backends,
    memory_bytes,
    mlx_backend,
    os_name,
    power_state,
    version_of,
)

CPUINFO = """processor	: 0
vendor_id	: AuthenticAMD
model name	: AMD EPYC  7R13 Processor
cpu MHz		: 2650.000

processor	: 1
model name	: another
"""


def prints(text_by_command: Mapping[str, str]) -> Callable[[Sequence[str]], str | None]:
    return lambda command: text_by_command.get(" ".join(command))


def nothing(_: object) -> None:
    return None


def test_the_chip_of_a_linux_machine_is_its_first_model_name() -> None:
    assert cpu_name("linux", {"/proc/cpuinfo": CPUINFO}.get, nothing) == "AMD EPYC 7R13 Processor"


def test_the_chip_of_a_mac_is_its_brand() -> None:
    run = prints({"sysctl -n machdep.cpu.brand_string": "Apple M3 Max\n"})
    assert cpu_name("darwin", nothing, run) == "Apple M3 Max"


def test_a_chip_without_a_name_is_called_by_its_instruction_set() -> None:
    assert cpu_name("linux", {"/proc/cpuinfo": "processor\t: 0\n"}.get, nothing) == platform.machine()


def test_a_name_cannot_smuggle_control_characters() -> None:
    hostile = "model name\t: Evil\x1b[31m\x07 CPU" + "!" * 500
    name = cpu_name("linux", {"/proc/cpuinfo": hostile}.get, nothing)
    assert name.isprintable()
    assert len(name) <= 80


def test_a_gpu_goes_before_the_processor_it_sits_beside() -> None:
    facts = environment(
        system="linux",
        read={"/proc/cpuinfo": CPUINFO}.get,
        run=nothing,
        backend=lambda: Backend("gpu cuda", None, "NVIDIA H200", "sm_90"),
        blas=lambda: Blas("reference BLAS (netlib)", "reference"),
    )
    assert facts.chip == "NVIDIA H200, AMD EPYC 7R13 Processor"
    assert facts.device == "gpu cuda"
    assert facts.blas == "reference BLAS (netlib)"


def test_a_gpu_that_is_the_chip_is_named_once() -> None:
    facts = environment(
        system="darwin",
        read=nothing,
        run=prints({"sysctl -n machdep.cpu.brand_string": "Apple M3", "sysctl -n hw.memsize": "17179869184\n"}),
        backend=lambda: Backend("gpu metal", None, "Apple M3", "applegpu_g15g"),
        blas=lambda: Blas("Accelerate", "accelerate"),
    )
    assert (facts.chip, facts.memory_bytes) == ("Apple M3", 17179869184)


def test_without_mlx_the_rest_is_still_told() -> None:
    facts = environment(
        system="linux", read=nothing, run=nothing, backend=lambda: Backend("none", "missing"), blas=Unasked()
    )
    assert (facts.device, facts.blas, facts.power) == ("none", "unknown", "unknown")


class Unasked:
    def __call__(self) -> Blas:
        raise AssertionError("there is no BLAS to ask for")


@pytest.mark.parametrize(
    ("files", "power"),
    [
        ({}, "unknown"),
        ({"/sys/class/power_supply/AC/online": "1\n"}, "mains"),
        ({"/sys/class/power_supply/ADP1/online": "0\n"}, "battery"),
        ({"/sys/class/power_supply/BAT0/status": "Discharging\n"}, "battery"),
        ({"/sys/class/power_supply/BAT1/status": "Full\n"}, "mains"),
        (
            {
                "/sys/class/power_supply/AC/online": "1\n",
                "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
            },
            "mains, governor powersave",
        ),
    ],
)
def test_linux_tells_mains_battery_and_governor(files: dict[str, str], power: str) -> None:
    assert power_state("linux", files.get, nothing) == power


@pytest.mark.parametrize(
    ("batt", "settings", "power"),
    [
        (
            "Now drawing from 'AC Power'\n -InternalBattery-0 100%; charged\n",
            " lowpowermode         0\n",
            "mains",
        ),
        ("Now drawing from 'Battery Power'\n", " lowpowermode         1\n", "battery, low power mode"),
        ("Now drawing from 'AC Power'\n", " powermode            1\n", "mains, low power mode"),
        ("", "", "unknown"),
    ],
)
def test_a_mac_tells_its_source_and_low_power_mode(batt: str, settings: str, power: str) -> None:
    run = prints({"pmset -g batt": batt, "pmset -g": settings})
    assert power_state("darwin", nothing, run) == power


def test_memory_that_sysctl_does_not_tell_is_unknown() -> None:
    assert memory_bytes("darwin", prints({"sysctl -n hw.memsize": "oops"})) is None
    assert memory_bytes("darwin", nothing) is None


def test_the_kernels_release_is_cut_to_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "mac_ver", lambda: ("", ("", "", ""), ""))
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "release", lambda: "6.1.0-17-built-by-acme")
    assert os_name() == "Linux 6.1 x86_64"


def test_backends_are_told_by_their_distributions() -> None:
    assert installed_backends({"mlx-cpu": "0.32.4", "mlx": "0.32.4"}.get) == {"mlx-cpu": "0.32.4"}
    assert version_of("specview-has-no-such-distribution") is None


def test_no_host_user_or_path_is_in_the_facts() -> None:
    facts = [str(value) for value in asdict(environment()).values()]
    assert not [fact for fact in facts if platform.node() in fact.split() or getpass.getuser() in fact.split()]
    assert not [fact for fact in facts if "/" in fact]


def test_mlx_on_this_machine_has_a_device() -> None:
    pytest.importorskip("mlx.core", exc_type=ImportError)
    backend = mlx_backend()
    assert backend.problem is None
    assert backend.device in ("cpu", "gpu metal", "gpu cuda")


def test_experts_run_in_float32_everywhere() -> None:
    pytest.importorskip("mlx.core", exc_type=ImportError)
    assert dtypes_of_experts()["float32"]
