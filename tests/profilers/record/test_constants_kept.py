"""The constants of a machine come back, and whatever lies in their place is measured over, told, and not lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specview.profilers.measure.constants import Constant
from specview.profilers.record.constants_kept import (
    LARGEST_BYTES,
    OLDEST_NS,
    OLDEST_UNSTEADY_NS,
    Calibrated,
    KeptError,
    Machine,
    calibrated,
    keep,
    machine_of,
    path_of,
)
from specview.profilers.record.records import Calibration, Environment, to_line

NOW = 1_783_000_000_000_000_000
MACHINE = Machine(chip="A chip", device="cpu", memory_bytes=1 << 34, mlx="0.32.0", os="Linux 6.1", blas="OpenBLAS")
BANDWIDTH = Constant(what="bandwidth", value=4e10, unit="B/s", low=3.9e10, high=4e10, route="a sweep")
PEAK = Constant(what="peak", dtype="float32", value=2e11, unit="flop/s", low=1.9e11, high=2e11, route="a product")


def unneeded() -> tuple[Constant, ...]:
    raise AssertionError("measured again")


def again(folder: Path, now: int = NOW, machine: Machine = MACHINE, **options: Any) -> Calibrated:
    return calibrated(folder, machine, lambda: (PEAK,), now, **options)


def test_what_was_kept_comes_back_without_measuring(tmp_path: Path) -> None:
    first = calibrated(tmp_path / "new", MACHINE, lambda: (BANDWIDTH, PEAK), NOW)
    assert first.fresh and first.constants == (BANDWIDTH, PEAK) and first.remarks == ()
    second = calibrated(tmp_path / "new", MACHINE, unneeded, NOW + OLDEST_NS)
    assert second == Calibrated(constants=(BANDWIDTH, PEAK), measured_unix_ns=NOW, fresh=False)


def test_old_constants_are_measured_again_and_so_are_those_of_the_future(tmp_path: Path) -> None:
    keep(tmp_path, MACHINE, (BANDWIDTH,), NOW)
    late = again(tmp_path, NOW + OLDEST_NS + 1)
    assert late.fresh and late.constants == (PEAK,)
    assert late.remarks == ("The kept calibration is 30 days old, so this machine is measured again.",)
    early = again(tmp_path, NOW)
    assert early.fresh and early.remarks[0].startswith("The kept calibration is dated in the future")
    assert len(list(tmp_path.iterdir())) == 1


def test_constants_of_a_busy_machine_hold_for_a_day_and_say_so(tmp_path: Path) -> None:
    busy = replace(BANDWIDTH, low=1e10)
    keep(tmp_path, MACHINE, (busy, PEAK), NOW)
    soon = calibrated(tmp_path, MACHINE, unneeded, NOW + OLDEST_UNSTEADY_NS)
    assert soon.constants == (busy, PEAK) and len(soon.remarks) == 1
    assert "(bandwidth)" in soon.remarks[0] and "calibrate again" in soon.remarks[0]
    late = again(tmp_path, NOW + OLDEST_UNSTEADY_NS + 1)
    assert late.fresh and late.remarks == ("The kept calibration is 1 day old, so this machine is measured again.",)


def test_asking_for_it_measures_again(tmp_path: Path) -> None:
    keep(tmp_path, MACHINE, (BANDWIDTH,), NOW)
    assert again(tmp_path, again=True).constants == (PEAK,)
    assert calibrated(tmp_path, MACHINE, unneeded, NOW).constants == (PEAK,)


@pytest.mark.parametrize("field", ["chip", "device", "mlx", "os", "blas"])
def test_another_machine_library_or_system_has_constants_of_its_own(tmp_path: Path, field: str) -> None:
    keep(tmp_path, MACHINE, (BANDWIDTH,), NOW)
    other = replace(MACHINE, **{field: "other"})
    assert again(tmp_path, machine=other).fresh
    assert calibrated(tmp_path, MACHINE, unneeded, NOW).constants == (BANDWIDTH,)


def _changed(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def apply(data: bytes) -> bytes:
        raw = json.loads(data)
        change(raw)
        return json.dumps(raw).encode()

    return apply


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-30],
        lambda data: b"",
        lambda data: b"\xff\xfe",
        lambda data: b"[]",
        lambda data: data + b" " * LARGEST_BYTES,
        _changed(lambda raw: raw.update(schema=2)),
        _changed(lambda raw: raw["machine"].update(chip="Another chip")),
        _changed(lambda raw: raw.update(constants=[])),
        _changed(lambda raw: raw["constants"][0].update(value=0)),
        _changed(lambda raw: raw["constants"][0].update(value=-1e9)),
        _changed(lambda raw: raw["constants"][0].update(low=1e20)),
        _changed(lambda raw: raw["constants"][0].update(value="much")),
        _changed(lambda raw: raw["constants"][0].update(what="colour")),
        _changed(lambda raw: raw["constants"][0].pop("route")),
    ],
)
def test_a_spoilt_or_foreign_file_is_told_measured_over_and_kept_aside(
    tmp_path: Path, spoil: Callable[[bytes], bytes]
) -> None:
    path = keep(tmp_path, MACHINE, (BANDWIDTH,), NOW)
    spoilt = spoil(path.read_bytes())
    path.write_bytes(spoilt)
    found = again(tmp_path)
    assert found.fresh and found.constants == (PEAK,) and len(found.remarks) == 1
    assert "measured again" in found.remarks[0] and str(tmp_path) not in found.remarks[0]
    assert path.with_name(f"{path.name}.aside-1").read_bytes() == spoilt
    assert calibrated(tmp_path, MACHINE, unneeded, NOW).constants == (PEAK,)


def test_a_second_spoilt_file_does_not_replace_the_first(tmp_path: Path) -> None:
    path = path_of(tmp_path, MACHINE)
    for text in ("one", "two"):
        path.write_text(text)
        again(tmp_path)
    assert {p.read_text() for p in tmp_path.glob("*.aside-*")} == {"one", "two"}


def test_a_folder_in_the_place_of_the_file_is_put_aside(tmp_path: Path) -> None:
    path_of(tmp_path, MACHINE).mkdir()
    found = again(tmp_path)
    assert found.constants == (PEAK,) and "is a directory" in found.remarks[0]
    assert calibrated(tmp_path, MACHINE, unneeded, NOW).constants == (PEAK,)


def test_a_folder_that_cannot_be_made_costs_a_remark_and_not_the_constants(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = again(tmp_path / "file" / "calibrations")
    assert found.fresh and found.constants == (PEAK,)
    assert any("could not be saved" in remark for remark in found.remarks)
    assert all(str(tmp_path) not in remark for remark in found.remarks)
    with pytest.raises(KeptError, match="could not be saved"):
        keep(tmp_path / "file" / "calibrations", MACHINE, (PEAK,), NOW)


def test_nothing_measured_is_not_kept(tmp_path: Path) -> None:
    assert calibrated(tmp_path, MACHINE, lambda: (), NOW).constants == ()
    assert list(tmp_path.iterdir()) == []


def test_no_temporary_file_is_left(tmp_path: Path) -> None:
    path = keep(tmp_path, MACHINE, (BANDWIDTH,), NOW)
    assert list(tmp_path.iterdir()) == [path]


def test_a_machine_is_told_by_what_its_environment_says_and_unknown_otherwise() -> None:
    environment = Environment(chip="A chip", os="Linux 6.1", mlx="0.32.0", device="cpu", blas="OpenBLAS")
    assert machine_of(environment) == replace(MACHINE, memory_bytes=0)
    assert machine_of(Environment()).chip == "unknown"


def test_constants_become_records_that_a_session_takes() -> None:
    kept = Calibrated(constants=(BANDWIDTH, PEAK), measured_unix_ns=NOW, fresh=True)
    first, second = kept.records(7)
    assert first == Calibration(what="bandwidth", value=4e10, unit="B/s", low=3.9e10, high=4e10, t_ns=7)
    assert second.dtype == "float32" and to_line(second)
