"""Sessions as tables and charts outside the screen."""

from __future__ import annotations

import csv
import io

import pytest

from specview.app.tables import events_table
from specview.layouts.plots import chart_lines
from specview.profilers.judge.ledger import ledger_of


@pytest.fixture
def session(build):
    """Three prompts, two segments each."""
    for prompt in ("p0", "p1", "p2"):
        build.visit(prompt)
    return build.finished()


def test_every_round_step_and_probe_is_a_row_in_order(session):
    rows = list(csv.DictReader(io.StringIO(events_table(session))))
    assert len(rows) == len(session.rounds) + len(session.steps) + len(session.probes)
    times = [int(row["t_ns"]) for row in rows]
    assert times == sorted(times)
    assert {row["arm"] for row in rows if row["event"] == "step"} == {"plain"}


def test_a_table_holds_no_model_text(session):
    assert "pieces" not in events_table(session).splitlines()[0]


def test_charts_are_plain_characters(session):
    lines = chart_lines(ledger_of(session), {})
    assert not any("\x1b" in line for line in lines)
    assert any("breaks even" in line or "still to be measured" in line for line in lines)
