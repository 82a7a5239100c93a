"""Which BLAS, what it makes of n positions, and how to switch: from made-up maps and a fake clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from specview.profilers.measure.blas import (
    Blas,
    WidthCurve,
    blas_in_use,
    bound_library,
    float_product,
    installed_openblas,
    kind_of,
    library_in_maps,
    quantised_product,
    switch_command,
    width_curve,
)

BUNDLED = "/env/lib/python3.11/site-packages/mlx_cpu.libs/libblas-bd8a282c.so.3.10.0"
NUMPYS = "/env/lib/python3.11/site-packages/numpy.libs/libscipy_openblas64_-32a4b2a6.so"
DEBIANS = "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so"


def maps(*paths: str) -> str:
    lines = ["7f0000000000-7f0000001000 rw-p 00000000 00:00 0", "7ffd0000-7ffe0000 rw-p 0 00:00 0    [stack]"]
    lines += [f"7f{i}000-7f{i}fff r-xp 00000000 fe:00 12{i}    {path}" for i, path in enumerate(paths)]
    return "\n".join(lines)


def asked(*answer: object) -> Callable[[str], tuple[str | None, int | None, str | None]]:
    return lambda path: answer or (None, None, None)  # type: ignore[return-value]


def test_the_wheels_own_library_is_the_reference_blas() -> None:
    found = blas_in_use(system="linux", bound=lambda: BUNDLED, environ={}, ask=asked())
    assert found == Blas("reference BLAS (netlib)", "reference", "libblas-bd8a282c.so.3.10.0")


def test_a_preloaded_openblas_tells_version_threads_and_core() -> None:
    found = blas_in_use(
        system="linux",
        bound=lambda: DEBIANS,
        environ={"LD_PRELOAD": f"/lib/other.so:{DEBIANS}"},
        ask=asked("OpenBLAS 0.3.21", 2, "Haswell"),
    )
    assert found == Blas("OpenBLAS 0.3.21", "openblas", "libopenblasp-r0.3.21.so", 2, "Haswell", True)


def test_a_library_that_answers_as_openblas_is_one_whatever_its_name() -> None:
    found = blas_in_use(
        system="linux",
        bound=lambda: "/opt/lib/libcblas.so.3",
        environ={},
        ask=asked("OpenBLAS 0.3.30", 1, None),
    )
    assert found.kind == "openblas"


def test_without_the_dynamic_linker_the_maps_decide() -> None:
    found = blas_in_use(system="linux", bound=lambda: None, maps=lambda: maps(NUMPYS, BUNDLED), environ={}, ask=asked())
    assert found.kind == "reference"


def test_without_any_trace_the_blas_is_unknown() -> None:
    found = blas_in_use(system="linux", bound=lambda: None, maps=lambda: None, environ={}, ask=asked())
    assert found == Blas("unknown", "unknown")


def test_a_mac_uses_accelerate() -> None:
    assert blas_in_use(system="darwin").kind == "accelerate"


def test_numpys_own_openblas_is_not_taken_for_mlxs() -> None:
    assert library_in_maps(maps(NUMPYS)) is None
    assert library_in_maps(maps(NUMPYS, BUNDLED)) == BUNDLED


def test_in_the_maps_a_preloaded_library_goes_before_the_bundled_one() -> None:
    assert library_in_maps(maps(BUNDLED, DEBIANS), preload=DEBIANS) == DEBIANS
    assert library_in_maps(maps(DEBIANS, BUNDLED)) == BUNDLED


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (BUNDLED, "reference"),
        (DEBIANS, "openblas"),
        ("/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3", "openblas"),
        ("/usr/lib/x86_64-linux-gnu/blas/libblas.so.3", "reference"),
        ("/usr/lib/x86_64-linux-gnu/blis-openmp/libblas.so.3", "unknown"),
        ("/opt/intel/libmkl_rt.so.2", "mkl"),
        ("/home/openblas-trial/env/mlx_cpu.libs/libblas.so.3", "reference"),
    ],
)
def test_a_library_is_known_by_its_file_and_folder_and_by_nothing_above(path: str, kind: str) -> None:
    assert kind_of(path) == kind


class Machine:
    """A clock that a product of n positions moves by `cost(n)` ns."""

    def __init__(self, cost: Callable[[int], int]) -> None:
        self.now, self.cost, self.calls = 0, cost, list[int]()

    def clock(self) -> int:
        return self.now

    def product(self, n: int) -> None:
        self.calls.append(n)
        self.now += self.cost(n)


@pytest.mark.parametrize(
    ("cost", "judgement"),
    [
        (lambda n: 1000 * n, "n times"),
        (lambda n: 1000 + 20 * n, "flat"),
        (lambda n: 770 + 230 * n, "between"),
        (lambda n: {1: 66, 2: 70, 4: 68, 8: 81}[n], "flat"),
        (lambda n: {1: 77, 2: 147, 4: 275, 8: 541}[n], "n times"),
        (lambda n: {1: 206, 2: 254, 4: 348, 8: 535}[n], "between"),
        (lambda n: {1: 127, 2: 178, 4: 248, 8: 422}[n], "between"),
    ],
)
def test_the_rigs_of_the_design_are_judged_as_they_are(cost: Callable[[int], int], judgement: str) -> None:
    machine = Machine(cost)
    assert width_curve(machine.product, clock=machine.clock).judgement == judgement


def test_widths_take_turns_and_the_first_turn_is_not_timed() -> None:
    machine = Machine(lambda n: 10**9 if len(machine.calls) <= 2 else 10 * n)
    curve = width_curve(machine.product, clock=machine.clock, widths=(2, 1), repeats=3)
    assert machine.calls == [1, 2] * 4
    assert curve.medians_ns == ((1, 10.0), (2, 20.0))


def test_a_machine_that_slows_down_leaves_the_ratio_alone() -> None:
    machine = Machine(lambda n: n * (100 + len(machine.calls)))
    assert width_curve(machine.product, clock=machine.clock, repeats=9).ratio(8) == pytest.approx(8, rel=0.05)


def test_one_disturbed_width_does_not_change_the_judgement() -> None:
    curve = WidthCurve(((1, 100.0), (2, 350.0), (4, 104.0), (8, 108.0)))
    assert curve.judgement == "flat"


LDCONFIG = """	libopenblas64.so.0 (libc6,x86-64) => /lib/x86_64-linux-gnu/libopenblas64.so.0
	libopenblas.so.0 (libc6) => /lib/i386-linux-gnu/libopenblas.so.0
	libopenblasp.so.0 (libc6,x86-64) => /lib64/libopenblasp.so.0
"""


def test_a_packaged_openblas_is_found_by_its_folder() -> None:
    place = "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0"
    found = installed_openblas(
        run=lambda command: None,
        glob=lambda pattern: [place] if "openblas*" in pattern else [],
        machine="x86_64",
    )
    assert found == place


def test_a_library_of_another_machine_or_with_64_bit_integers_is_not_offered() -> None:
    foreign = "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0"
    found = installed_openblas(run=lambda command: LDCONFIG, glob=lambda pattern: [foreign], machine="x86_64")
    assert found == "/lib64/libopenblasp.so.0"


def test_without_one_nothing_is_found() -> None:
    assert installed_openblas(run=lambda command: None, glob=lambda pattern: [], machine="x86_64") is None


def test_the_switch_is_a_command_to_paste_or_the_package_to_install() -> None:
    assert switch_command("/a/libopenblas.so.0", "doctor") == (
        "LD_PRELOAD=/a/libopenblas.so.0 OPENBLAS_NUM_THREADS=1 specview doctor"
    )
    assert "apt-get install -y libopenblas0-pthread" in switch_command(None)


def test_this_machines_library_is_a_file_and_its_path_is_not_told() -> None:
    pytest.importorskip("mlx.core", exc_type=ImportError)
    path = bound_library()
    found = blas_in_use()
    assert path is None or path.startswith("/")
    assert found.library is None or "/" not in found.library


def test_products_are_finished_rows_and_stay_finite_when_chained() -> None:
    mx = pytest.importorskip("mlx.core", exc_type=ImportError)
    for product in (float_product(64, "bfloat16", chained=3), quantised_product(64, chained=3)):
        result: Any = product(4)
        assert result.shape == (4, 64)
        assert mx.all(mx.isfinite(result)).item()
