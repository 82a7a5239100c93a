"""The census of a session as lines and totals: what adds up, what counts once, what is not known."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from survey_records import CONTEXT, HEAD, census, footer, header

from specview.profilers.judge.census_table import census_totals, census_widths, lines_by_block, lines_by_primitive
from specview.profilers.record.session import Session, session_of


def held(*rows: object) -> Session:
    return session_of([header(), *rows, footer()])  # type: ignore[list-item]


BOTH = held(*census(1), *census(2))


def test_lines_and_totals_of_a_width_add_up() -> None:
    assert census_widths(BOTH) == (1, 2)
    for totals in census_totals(BOTH):
        for lines in (lines_by_primitive(BOTH, totals.width), lines_by_block(BOTH, totals.width)):
            assert sum(each.count for each in lines) == totals.primitives == 52
            assert sum(each.dispatches for each in lines) == totals.dispatches == 45
            assert sum(each.bytes_read for each in lines) == totals.bytes_read == 43_000_000
            assert sum(each.flops for each in lines) == totals.flops


def test_those_that_move_most_come_first() -> None:
    moved = [line.bytes_moved for line in lines_by_primitive(BOTH, 1)]
    assert moved == sorted(moved, reverse=True) and moved[0] == 30_000_000 + 4096


def test_a_view_is_a_primitive_that_no_device_runs() -> None:
    view = next(line for line in lines_by_primitive(BOTH, 1) if line.primitive == "Reshape")
    assert (view.count, view.dispatches, view.bytes_moved) == (7, 0, 0)


def test_what_was_seen_by_name_only_is_not_known() -> None:
    known = {line.primitive: line.known for line in lines_by_primitive(BOTH, 1)}
    assert known == {"QuantizedMatmul": True, "Reshape": True, "Contiguous": False}
    totals = census_totals(BOTH)[0]
    assert totals.with_shapes == pytest.approx(50 / 52)
    assert "98.0% of it, 96.2% with shapes" in totals.sentence
    assert not next(line for line in lines_by_block(BOTH, 1) if line.block == HEAD).known


def test_a_census_taken_again_counts_once() -> None:
    assert census_totals(held(*census(1), *census(1))) == census_totals(held(*census(1)))


def test_a_census_at_another_context_replaces_the_one_before() -> None:
    longer = [replace(row, context=CONTEXT + 64, inputs=("float32[1,2,192]",)) for row in census(1)]
    (totals,) = census_totals(held(*census(1), *longer))
    assert (totals.primitives, totals.context) == (52, CONTEXT + 64)
    assert all(line.inputs == ("float32[1,2,192]",) for line in lines_by_primitive(held(*census(1), *longer), 1))


def test_primitives_of_one_kind_with_other_shapes_share_a_line_and_the_heaviest_shows() -> None:
    first = census(1)[0]
    light = replace(first, inputs=("float32[1]",), bytes_read=1, bytes_written=0, count=3)
    (line,) = lines_by_primitive(held(first, light), 1)
    assert line.count == first.count + 3 and line.inputs == first.inputs


def test_a_session_without_a_census_has_no_lines() -> None:
    assert census_totals(held()) == () and lines_by_primitive(held(), 1) == ()


def test_a_single_position_is_written_as_one() -> None:
    one, two = census_totals(BOTH)
    assert one.sentence.startswith("A pass over 1 position:") and two.sentence.startswith("A pass over 2 positions:")


def test_it_is_judged_without_mlx() -> None:
    code = "import sys; import specview.profilers.judge.census_table; assert not any(m.split('.')[0] == 'mlx' for m in sys.modules)"  # noqa: E501
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
