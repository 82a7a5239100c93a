"""What the doctor says of machines that were made up, and that it says something of this one."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from specview.profilers.measure import doctor
from specview.profilers.measure.blas import Blas, WidthCurve
from specview.profilers.measure.doctor import Finding, as_json, findings
from specview.profilers.measure.environment import Backend
from specview.profilers.measure.load import Cooling, LoadSample, Memory

N_TIMES = WidthCurve(((1, 100.0), (2, 200.0), (4, 400.0), (8, 800.0)))
FLAT = WidthCurve(((1, 100.0), (2, 104.0), (4, 98.0), (8, 120.0)))
BETWEEN = WidthCurve(((1, 100.0), (2, 123.0), (4, 170.0), (8, 260.0)))
REFERENCE = Blas("reference BLAS (netlib)", "reference", "libblas.so.3")
OPENBLAS = Blas("OpenBLAS 0.3.21", "openblas", "libopenblas.so.0", 1, "Haswell", True)
PLACE = "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0"
QUIET = LoadSample(10**9, 0.02, 0.0, 0.1, 8 << 30, 0)


def test_a_check_that_fails_becomes_a_note_and_stops_no_other() -> None:
    def fails() -> Finding:
        raise ZeroDivisionError

    found = findings([("first", fails), ("second", lambda: Finding("second", "ok", "fine"))])
    assert found[0] == Finding("first", "note", "could not be read (ZeroDivisionError)")
    assert found[1].status == "ok"


def test_the_json_holds_every_finding_and_the_worst_status() -> None:
    found = (Finding("a", "note", "x"), Finding("b", "bad", "y", "do z", {"n": 1.5}), Finding("c", "ok", "w"))
    assert as_json(found) == {
        "schema": 1,
        "worst": "bad",
        "findings": [
            {"topic": "a", "status": "note", "found": "x", "advice": None, "values": {}},
            {"topic": "b", "status": "bad", "found": "y", "advice": "do z", "values": {"n": 1.5}},
            {"topic": "c", "status": "ok", "found": "w", "advice": None, "values": {}},
        ],
    }
    assert as_json(())["worst"] == "ok"


def mlx(backend: Backend, backends: dict[str, str], *, nvidia: bool = False, system: str = "linux") -> Finding:
    return doctor.mlx_finding(backend, backends, "0.32.4", "0.32.2", system=system, has_nvidia=lambda: nvidia)


def test_without_a_backend_the_extra_for_this_machine_is_named() -> None:
    missing = Backend("none", "missing")
    assert mlx(missing, {}).status == "bad"
    assert "'specview[cpu]'" in str(mlx(missing, {}).advice)
    assert "'specview[cuda]'" in str(mlx(missing, {}, nvidia=True).advice)
    assert "pip install --force-reinstall mlx" in str(mlx(missing, {}, system="darwin").advice)


def test_two_backends_in_one_environment_are_bad() -> None:
    found = mlx(Backend("cpu"), {"mlx-cpu": "0.32.4", "mlx-cuda-13": "0.32.4"})
    assert found.status == "bad"
    assert "same libmlx" in found.found


def test_a_backend_of_another_version_warns() -> None:
    assert mlx(Backend("cpu"), {"mlx-cpu": "0.31.0"}).status == "warn"


def test_a_processor_beside_an_unused_gpu_is_noted() -> None:
    assert mlx(Backend("cpu"), {"mlx-cpu": "0.32.4"}).status == "ok"
    assert mlx(Backend("cpu"), {"mlx-cpu": "0.32.4"}, nvidia=True).status == "note"


def test_the_reference_blas_warns_with_the_command_that_switches_it() -> None:
    found = doctor.blas_finding(REFERENCE, N_TIMES, PLACE)
    assert found.status == "warn"
    assert f"LD_PRELOAD={PLACE} OPENBLAS_NUM_THREADS=1 specview" in str(found.advice)
    assert found.values["ratio_8"] == 8


def test_without_an_openblas_the_package_is_named() -> None:
    assert "apt-get install" in str(doctor.blas_finding(REFERENCE, N_TIMES, None).advice)


def test_a_flat_openblas_needs_nothing() -> None:
    found = doctor.blas_finding(OPENBLAS, FLAT, PLACE)
    assert (found.status, found.advice) == ("ok", None)
    assert "CORETYPE" not in found.found


def test_a_forced_core_type_is_told_only_where_it_counts() -> None:
    assert "OPENBLAS_CORETYPE=Haswell" in doctor.blas_finding(OPENBLAS, FLAT, PLACE, "Haswell").found
    assert "CORETYPE" not in doctor.blas_finding(REFERENCE, N_TIMES, PLACE, "Haswell").found


def test_the_measurement_decides_and_not_the_name() -> None:
    assert doctor.blas_finding(REFERENCE, FLAT, PLACE).status == "ok"
    assert doctor.blas_finding(OPENBLAS, N_TIMES, PLACE).status == "warn"


def test_an_openblas_with_threads_is_told_to_use_one() -> None:
    found = doctor.blas_finding(replace(OPENBLAS, threads=2), BETWEEN, PLACE)
    assert "OPENBLAS_NUM_THREADS=1" in str(found.advice)


def test_accelerate_is_never_told_to_preload() -> None:
    found = doctor.blas_finding(Blas("Accelerate", "accelerate"), N_TIMES, None)
    assert "LD_PRELOAD" not in str(found.advice)


def test_slow_16_bit_weights_are_noted_and_fast_ones_are_fine() -> None:
    slow = doctor.half_finding(BETWEEN, BETWEEN, 4.0, 1.4)
    assert slow.status == "note"
    assert slow.values["fp16_step_over_fp32"] == 4.0
    assert doctor.half_finding(FLAT, FLAT, 0.5, 0.6).status == "ok"


def test_quantised_weights_warn_of_reads_per_position_and_of_narrow_scales() -> None:
    found = doctor.quantised_finding(N_TIMES, 8.5, 40.0)
    assert found.status == "warn"
    assert "once per position" in str(found.advice)
    assert "float32 scales" in str(found.advice)
    assert doctor.quantised_finding(FLAT, 1.0, 1.0).status == "ok"


@pytest.mark.parametrize(("curve", "status"), [(N_TIMES, "warn"), (BETWEEN, "ok"), (FLAT, "ok")])
def test_a_gpu_is_judged_by_its_curve_and_named_by_its_generation(curve: WidthCurve, status: str) -> None:
    found = doctor.gpu_finding(Backend("gpu metal", None, "Apple M2", "applegpu_g14s"), curve)
    assert found.status == status
    assert found.values["generation"] == 14


def test_experts_that_run_in_float32_only_are_noted() -> None:
    found = doctor.experts_finding({"float32": True, "float16": False, "bfloat16": False})
    assert found.status == "note"
    assert doctor.experts_finding({"float32": True, "float16": True}).status == "ok"


@pytest.mark.parametrize(("free", "status"), [(50, "ok"), (20, "warn"), (5, "bad")])
def test_memory_is_judged_by_what_is_left(free: int, status: str) -> None:
    assert doctor.memory_finding(Memory(100, free, 0)).status == status


def test_swap_warns_only_when_memory_is_short_too() -> None:
    gib = 1 << 30
    assert doctor.swap_finding(Memory(8 * gib, 4 * gib, 0)).status == "ok"
    assert doctor.swap_finding(Memory(8 * gib, 4 * gib, 2 * gib)).status == "note"
    assert doctor.swap_finding(Memory(8 * gib, gib, 2 * gib)).status == "warn"
    assert doctor.swap_finding(Memory()).status == "note"


def test_the_load_of_others_warns_and_niced_load_is_named() -> None:
    assert doctor.load_finding(QUIET).status == "ok"
    busy = doctor.load_finding(replace(QUIET, others_cpu_fraction=0.6, niced_cpu_fraction=0.5))
    assert busy.status == "warn"
    assert "60% of the cores, 50% by niced ones" in busy.found


def test_without_processor_times_the_load_average_is_judged() -> None:
    blind = replace(QUIET, others_cpu_fraction=None, niced_cpu_fraction=None)
    assert doctor.load_finding(blind).status == "note"
    assert doctor.load_finding(replace(blind, load_per_core=2.0)).status == "warn"
    assert doctor.load_finding(replace(blind, load_per_core=None)).found == "no load average"


@pytest.mark.parametrize(
    ("power", "status"),
    [
        ("mains", "ok"),
        ("battery", "warn"),
        ("mains, low power mode", "warn"),
        ("mains, governor powersave", "warn"),
        ("unknown", "note"),
    ],
)
def test_power_warns_of_batteries_and_saving(power: str, status: str) -> None:
    assert doctor.power_finding(power).status == status


def test_heat_warns_when_the_machine_slows_down() -> None:
    assert doctor.heat_finding(Cooling(speed_limit_percent=60, throttled=True)).status == "warn"
    assert doctor.heat_finding(Cooling(throttled=False)).status == "ok"
    assert doctor.heat_finding(Cooling(1.8e9, 3.6e9, "schedutil", 99.0)).status == "warn"
    assert doctor.heat_finding(Cooling(1.8e9, 3.6e9, "schedutil", 50.0)).status == "ok"
    assert doctor.heat_finding(Cooling()).status == "note"


def ticking(*steps: int) -> Finding:
    now = iter([sum(steps[:i]) for i in range(len(steps) + 1)])
    return doctor.clock_finding(lambda: next(now), reads=len(steps) + 1)


def test_the_clock_is_judged_by_its_smallest_step() -> None:
    assert ticking(0, 42, 84).values["tick_ns"] == 42
    assert ticking(0, 42, 84).status == "ok"
    assert ticking(0, 15_600_000).status == "warn"


def test_a_clock_that_runs_back_or_stands_still_is_bad() -> None:
    assert ticking(40, -5, 40).status == "bad"
    assert ticking(0, 0, 0).status == "bad"


def screen(columns: int, lines: int, *, terminal: bool = True, **environ: str) -> Finding:
    return doctor.terminal_finding(environ, lambda: os.terminal_size((columns, lines)), lambda: terminal)


def test_a_terminal_below_80_by_24_warns() -> None:
    assert screen(79, 24, TERM="xterm").status == "warn"
    assert screen(80, 24, TERM="xterm").status == "ok"
    assert screen(80, 24, terminal=False).status == "note"


def test_no_color_is_respected() -> None:
    assert screen(80, 24, TERM="xterm", COLORTERM="truecolor").values["colour"] == "16 million colours"
    assert screen(80, 24, TERM="xterm", COLORTERM="truecolor", NO_COLOR="1").values["colour"] == "no colour"


def test_this_machine_is_told_in_plain_json() -> None:
    found = findings()
    topics = [finding.topic for finding in found]
    assert topics[0] == "MLX"
    assert {"memory", "load", "power", "clock"} <= set(topics)
    assert all(finding.status in doctor.SEVERITY and finding.found for finding in found)
    assert json.loads(json.dumps(as_json(found), allow_nan=False)) == as_json(found)
    assert not [finding for finding in found if finding.found.startswith("could not be read (")]
