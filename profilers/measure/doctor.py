"""What on this machine decides or disturbs a verdict, and what to do about it: `specview doctor`."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Literal

from .blas import (
    Blas,
    WidthCurve,
    blas_in_use,
    float_product,
    installed_openblas,
    medians_in_turn,
    quantised_product,
    switch_command,
    width_curve,
)
from .environment import (
    Backend,
    dtypes_of_experts,
    installed_backends,
    mlx_backend,
    power_state,
    version_of,
)
from .load import Cooling, LoadMeter, LoadSample, Memory, cooling, memory

Status = Literal["ok", "note", "warn", "bad"]
Value = str | int | float | bool | None
SEVERITY: tuple[Status, ...] = ("ok", "note", "warn", "bad")

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found: `found` and `advice` are sentences, `values` the raw numbers behind them."""

    topic: str
    status: Status
    found: str
    advice: str | None = None
    values: Mapping[str, Value] = field(default_factory=dict)


Check = Callable[[], Finding]


def findings(checks: Sequence[tuple[str, Check]] | None = None) -> tuple[Finding, ...]:
    """Make every check in turn, about a second in all; one that fails becomes a note and stops no other."""
    return tuple(_survive(topic, check) for topic, check in (checks if checks is not None else all_checks()))


def as_json(found: Sequence[Finding]) -> dict[str, object]:
    """The findings as plain lists and dictionaries, with the worst status in front."""
    worst = max((SEVERITY.index(finding.status) for finding in found), default=0)
    return {
        "schema": 1,
        "worst": SEVERITY[worst],
        "findings": [
            {
                "topic": finding.topic,
                "status": finding.status,
                "found": finding.found,
                "advice": finding.advice,
                "values": dict(finding.values),
            }
            for finding in found
        ],
    }


def _survive(topic: str, check: Check) -> Finding:
    try:
        return check()
    except Exception as error:
        return Finding(topic, "note", f"could not be read ({type(error).__name__})")


def all_checks() -> tuple[tuple[str, Check], ...]:
    """The checks of this machine, by topic; the load is sampled over the span of the checks before it."""
    meter, backend = LoadMeter(), mlx_backend()
    on_cpu: tuple[tuple[str, Check], ...] = (
        ("BLAS", _measured_blas),
        ("16-bit weights", _measured_halves),
        ("quantised weights", _measured_quantised),
        ("mixture of experts", lambda: experts_finding(dtypes_of_experts())),
    )
    on_gpu: tuple[tuple[str, Check], ...] = (
        ("BLAS", lambda: Finding("BLAS", "ok", "not used: MLX multiplies on the GPU")),
        ("quantised weights", lambda: gpu_finding(backend, _gpu_curve())),
    )
    return (
        ("MLX", lambda: mlx_finding(backend, installed_backends(), version_of("mlx"), version_of("mlx-lm"))),
        *((on_cpu if backend.device == "cpu" else on_gpu) if backend.problem is None else ()),
        ("memory", lambda: memory_finding(memory())),
        ("swap", lambda: swap_finding(memory())),
        ("load", lambda: load_finding(_told(meter, time.sleep))),
        ("power", lambda: power_finding(power_state())),
        ("heat", lambda: heat_finding(cooling())),
        ("clock", clock_finding),
        ("terminal", terminal_finding),
    )


def mlx_finding(
    backend: Backend,
    backends: Mapping[str, str],
    mlx: str | None,
    mlx_lm: str | None,
    *,
    system: str = sys.platform,
    has_nvidia: Callable[[], bool] = lambda: shutil.which("nvidia-smi") is not None,
) -> Finding:
    """Device, versions, and the extra to install when MLX has nothing to compute on."""
    values: dict[str, Value] = {"device": backend.device, "mlx": mlx, "mlx_lm": mlx_lm, **backends}
    extra = "cuda" if system != "darwin" and has_nvidia() else "cpu"
    install = f"pip install 'specview[{extra}]' (in a checkout: pip install -e '.[{extra}]')"
    if system == "darwin":
        install = "pip install --force-reinstall mlx"
    if backend.problem == "missing":
        found = "MLX is not installed" if mlx is None else f"MLX {mlx} has no backend"
        advice = f"{install}; saved sessions open without it"
        return Finding("MLX", "bad", found, advice, values)
    if backend.problem == "broken":
        advice = f"reinstall it in a fresh environment: {install}"
        return Finding("MLX", "bad", f"MLX {mlx} cannot be imported", advice, values)
    if len(backends) > 1:
        found = f"{' and '.join(backends)} are both installed, and each brings the same libmlx"
        advice = f"uninstall them and mlx, then {install}"
        return Finding("MLX", "bad", found, advice, values)
    if odd := {name: version for name, version in backends.items() if version != mlx}:
        found = f"MLX {mlx} with {', '.join(f'{name} {version}' for name, version in odd.items())}"
        advice = f"install both in one version: {install}"
        return Finding("MLX", "warn", found, advice, values)
    gpu = f" ({backend.gpu_name})" if backend.gpu_name else ""
    found = f"MLX {mlx}, mlx-lm {mlx_lm or 'missing'}, on {backend.device}{gpu}"
    if mlx_lm is None:
        return Finding("MLX", "bad", found, "pip install mlx-lm: it loads the models", values)
    if backend.device == "cpu" and system != "darwin" and extra == "cuda":
        return Finding("MLX", "note", found, f"for the NVIDIA GPU, in a fresh environment: {install}", values)
    return Finding("MLX", "ok", found, None, values)


def _measured_blas() -> Finding:
    coretype = os.environ.get("OPENBLAS_CORETYPE")
    return blas_finding(blas_in_use(), width_curve(float_product(1536)), installed_openblas(), coretype)


def blas_finding(blas: Blas, curve: WidthCurve, openblas: str | None, coretype: str | None = None) -> Finding:
    """What fp32 matmul over n positions costs with the BLAS in use, judged by measurement, not by name."""
    values: dict[str, Value] = {
        "name": blas.name,
        "kind": blas.kind,
        "library": blas.library,
        "threads": blas.threads,
        "core": blas.core,
        "judgement": curve.judgement,
        **_ratios(curve),
    }
    found = f"{blas.name}: fp32 matmul over n positions costs {_told_ratios(curve)}: {_MEANING[curve.judgement]}"
    if blas.kind == "openblas" and coretype:
        found += f"; OPENBLAS_CORETYPE={coretype} chose its kernels"
    if curve.judgement == "flat":
        return Finding("BLAS", "ok", found, None, values)
    if blas.kind == "accelerate":
        return Finding("BLAS", "note", found, "generate on the GPU, where MLX does without it", values)
    if blas.kind != "openblas":
        advice = (
            f"with OpenBLAS it is flat: {switch_command(openblas)}; a verdict on fp32 weights can flip with "
            "it (tests/benchmarks/prediction.py judges the bundled model on both)"
        )
        return Finding("BLAS", "warn" if curve.judgement == "n times" else "note", found, advice, values)
    advice = (
        f"it runs {blas.threads} threads, which wait for each other when anything else runs: "
        "start with OPENBLAS_NUM_THREADS=1"
        if (blas.threads or 1) > 1
        else "OpenBLAS is flat on a quiet machine: see load, then try again"
    )
    return Finding("BLAS", "warn", found, advice, values)


_MEANING = {
    "n times": "weights are read once per position, so fp32 drafts can hardly win",
    "between": "part of the weights' cost is shared between positions",
    "flat": "a verify costs about a decode step, so drafts can win",
}


def _measured_halves() -> Finding:
    products = {name: float_product(768, name) for name in ("float32", "float16", "bfloat16")}
    ns = medians_in_turn({name: partial(product, 1) for name, product in products.items()})
    half, brain = width_curve(products["float16"]), width_curve(products["bfloat16"])
    return half_finding(half, brain, ns["float16"] / ns["float32"], ns["bfloat16"] / ns["float32"])


def half_finding(half: WidthCurve, brain: WidthCurve, half_step: float, brain_step: float) -> Finding:
    """What fp16 and bf16 weights cost on the CPU: over n positions, and one position (`_step`) over fp32."""
    values: dict[str, Value] = {
        **{f"fp16_{name}": value for name, value in _ratios(half).items()},
        **{f"bf16_{name}": value for name, value in _ratios(brain).items()},
        "fp16_step_over_fp32": half_step,
        "bf16_step_over_fp32": brain_step,
    }
    found = (
        f"fp16 costs {_told_ratios(half)}, bf16 {_told_ratios(brain)}; "
        f"one position takes {half_step:.1f}× and {brain_step:.1f}× the time of fp32"
    )
    if max(half_step, brain_step) <= 1.2:
        return Finding("16-bit weights", "ok", found, None, values)
    advice = (
        "drafts may win here only because the plain step is slow: convert to float32 where memory allows, "
        "and judge the dtype you generate with"
    )
    return Finding("16-bit weights", "note", found, advice, values)


def _measured_quantised() -> Finding:
    products = {scales: quantised_product(512, scales) for scales in ("float32", "bfloat16", "float16")}
    curve = width_curve(products["float32"])
    ns = medians_in_turn({scales: partial(product, 1) for scales, product in products.items()}, repeats=5)
    return quantised_finding(curve, ns["bfloat16"] / ns["float32"], ns["float16"] / ns["float32"])


def quantised_finding(curve: WidthCurve, brain: float, half: float) -> Finding:
    """Whether 4-bit weights share their reads between positions, and what scales that are not fp32 cost."""
    values: dict[str, Value] = {
        "judgement": curve.judgement,
        **_ratios(curve),
        "bf16_scales_over_fp32": brain,
        "fp16_scales_over_fp32": half,
    }
    found = (
        f"4-bit matmul with fp32 scales costs {_told_ratios(curve)}; "
        f"bf16 scales take {brain:.1f}× as long, fp16 scales {half:.1f}×"
    )
    advice = []
    if curve.judgement == "n times":
        advice.append("weights are read once per position: drafts hardly win, whatever the acceptance")
    if max(brain, half) > 1.5:
        advice.append("load quantised weights with float32 scales and activations")
    return Finding("quantised weights", "warn" if advice else "ok", found, "; ".join(advice) or None, values)


def gpu_finding(backend: Backend, curve: WidthCurve) -> Finding:
    """Whether 4-bit weights share their reads on this GPU; Apple's do so in part from generation 15 on."""
    generation = re.search(r"applegpu_g(\d+)", backend.architecture or "")
    values: dict[str, Value] = {
        "judgement": curve.judgement,
        "generation": int(generation[1]) if generation else None,
        **_ratios(curve),
    }
    age = f" on GPU generation {generation[1]}" if generation else ""
    found = f"4-bit matmul{age} costs {_told_ratios(curve)} ({curve.judgement})"
    if curve.judgement != "n times":
        return Finding("quantised weights", "ok", found, "look for tile cliffs in the sweep", values)
    advice = "weights are read once per position: drafts hardly win with 4-bit weights; the ledger shows the floor"
    return Finding("quantised weights", "warn", found, advice, values)


def _gpu_curve() -> WidthCurve:
    return width_curve(quantised_product(4096, "float16", chained=8), repeats=7)


def experts_finding(runs: Mapping[str, bool]) -> Finding:
    """Which dtypes an unquantised mixture of experts may have."""
    able, unable = ([name for name, can in runs.items() if can is want] for want in (True, False))
    values: dict[str, Value] = dict(runs)
    if not unable:
        return Finding("mixture of experts", "ok", f"unquantised experts run in {', '.join(able)}", None, values)
    found = f"unquantised experts run in {', '.join(able) or 'no dtype'} only, not in {', '.join(unable)}"
    advice = "load an unquantised mixture of experts in float32, or quantise it with float32 scales"
    return Finding("mixture of experts", "note", found, advice, values)


def memory_finding(room: Memory) -> Finding:
    """Memory that a model could have now."""
    if room.available_bytes is None or not room.total_bytes:
        return Finding("memory", "note", "could not be read")
    share = room.available_bytes / room.total_bytes
    found = f"{room.available_bytes / GIB:.1f} of {room.total_bytes / GIB:.1f} GiB are free for a model"
    values: dict[str, Value] = {"available_bytes": room.available_bytes, "total_bytes": room.total_bytes}
    status: Status = "ok" if share >= 0.25 else "warn" if share >= 0.1 else "bad"
    advice = None if status == "ok" else "close what holds memory: weights that are paged out time the disk"
    return Finding("memory", status, found, advice, values)


def swap_finding(room: Memory) -> Finding:
    """Swap in use; what was swapped out long ago does no harm, so it warns only when memory is short."""
    used = room.swap_used_bytes
    if used is None:
        return Finding("swap", "note", "could not be read")
    values: dict[str, Value] = {"swap_used_bytes": used}
    if used < GIB // 4:
        return Finding("swap", "ok", f"{used / GIB:.1f} GiB in use", None, values)
    tight = room.available_bytes is None or room.available_bytes < used
    advice = "free memory until it stops growing; a run in which it grows is refused"
    return Finding("swap", "warn" if tight else "note", f"{used / GIB:.1f} GiB in use", advice, values)


def _told(meter: LoadMeter, pause: Callable[[float], None]) -> LoadSample:
    sample = meter.sample()
    if sample.others_cpu_fraction is None:
        pause(0.2)
        sample = meter.sample()
    return sample


def load_finding(sample: LoadSample) -> Finding:
    """What other processes take of the cores; niced ones yield the core, not memory bandwidth and cache."""
    others, niced, load = sample.others_cpu_fraction, sample.niced_cpu_fraction, sample.load_per_core
    values: dict[str, Value] = {
        "others_cpu_fraction": others,
        "niced_cpu_fraction": niced,
        "load_per_core": load,
        "span_ns": sample.span_ns,
    }
    average = f"load average {load:.1f} per core" if load is not None else "no load average"
    if others is None:
        busy = load is not None and load > 0.5
        advice = "stop what else runs before measuring" if busy else None
        return Finding("load", "warn" if busy else "note", average, advice, values)
    part = f", {niced:.0%} by niced ones" if niced else ""
    found = f"other processes use {others:.0%} of the cores{part}; {average}"
    if others < 0.1:
        return Finding("load", "ok", found, None, values)
    advice = "stop what else runs before measuring, or the interval stays wide and the verdict may be refused"
    return Finding("load", "warn" if others >= 0.25 else "note", found, advice, values)


def power_finding(power: str) -> Finding:
    """Mains or battery, and what saves power."""
    values: dict[str, Value] = {"power": power}
    if power.startswith("battery"):
        return Finding("power", "warn", power, "plug it in: on battery the clock changes while it measures", values)
    if "low power" in power or "powersave" in power:
        return Finding("power", "warn", power, "turn power saving off while measuring", values)
    found = power if power != "unknown" else "the system does not tell (a desktop, server or virtual machine)"
    return Finding("power", "ok" if power.startswith("mains") else "note", found, None, values)


def heat_finding(state: Cooling) -> Finding:
    """Whether the processor is slowed down for heat."""
    ghz = [f / 1e9 for f in (state.frequency_hz, state.frequency_max_hz) if f]
    values: dict[str, Value] = {
        "frequency_hz": state.frequency_hz,
        "frequency_max_hz": state.frequency_max_hz,
        "hottest_celsius": state.hottest_celsius,
        "speed_limit_percent": state.speed_limit_percent,
        "throttled": state.throttled,
    }
    parts = (
        " of ".join(f"{f:.1f}" for f in ghz) + " GHz" if ghz else "",
        f"hottest sensor {state.hottest_celsius:.0f} °C" if state.hottest_celsius else "",
        f"speed limit {state.speed_limit_percent}%" if state.speed_limit_percent is not None else "",
    )
    found = ", ".join(filter(None, parts)) or "the system does not tell"
    if state.throttled or (state.hottest_celsius or 0) >= 95:
        advice = "let it cool: wide passes slow first, so a hot verify looks worse than it is"
        return Finding("heat", "warn", f"slowed down for heat: {found}", advice, values)
    if state.throttled is False:
        return Finding("heat", "ok", "not slowed down for heat", None, values)
    return Finding("heat", "ok" if state.hottest_celsius else "note", found, None, values)


def clock_finding(clock: Callable[[], int] = time.perf_counter_ns, reads: int = 2000) -> Finding:
    """The smallest step of the clock that times everything, and whether it ever runs back."""
    times = [clock() for _ in range(reads)]
    steps = [after - before for before, after in pairwise(times)]
    tick = min((step for step in steps if step > 0), default=None)
    values: dict[str, Value] = {"tick_ns": tick, "ran_back": any(step < 0 for step in steps)}
    if tick is None or values["ran_back"]:
        advice = "no time from it is true: use another machine or clock source"
        return Finding("clock", "bad", "the clock runs back or stands still", advice, values)
    if tick > 10_000:
        advice = "short blocks cannot be timed: trust whole passes only"
        return Finding("clock", "warn", f"the clock steps by {tick / 1000:.0f} µs", advice, values)
    return Finding("clock", "ok", f"monotonic, two reads are told apart at {tick} ns", None, values)


def terminal_finding(
    environ: Mapping[str, str] = os.environ,
    size: Callable[[], os.terminal_size] = shutil.get_terminal_size,
    is_terminal: Callable[[], bool] = lambda: sys.__stdout__ is not None and sys.__stdout__.isatty(),
) -> Finding:
    """Whether the screens fit and have colours."""
    columns, lines = size()
    plain = "NO_COLOR" in environ or environ.get("TERM", "dumb") in ("dumb", "unknown")
    true = environ.get("COLORTERM") in ("truecolor", "24bit")
    colour = "no colour" if plain else "16 million colours" if true else "few colours"
    values: dict[str, Value] = {"columns": columns, "lines": lines, "colour": colour}
    found = f"{columns}×{lines}, {colour}"
    if not is_terminal():
        return Finding("terminal", "note", "the output is not a terminal", None, {"colour": colour})
    if columns < 80 or lines < 24:
        return Finding("terminal", "warn", found, "make it at least 80×24: the screens are laid out for that", values)
    return Finding("terminal", "ok", found, None, values)


def _ratios(curve: WidthCurve) -> dict[str, Value]:
    return {f"ratio_{width}": curve.ratio(width) for width, _ in curve.medians_ns if width > 1}


def _told_ratios(curve: WidthCurve) -> str:
    widths = [width for width, _ in curve.medians_ns if width > 1]
    return f"{' / '.join(f'{curve.ratio(w):.2f}' for w in widths)}× at {' / '.join(map(str, widths))}"
